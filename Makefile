# Every target sets up what it needs; only Python 3.11+ and access to a package index are required.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# The demonstration needs the library and Matplotlib, without the development tools.
DEMO_READY := $(VENV)/.ready-for-demo

# The peers of the benchmarks are installed in an environment of their own.
BENCH := .venv-bench
BENCH_READY := $(BENCH)/.ready

LOWEST := .venv-lowest
LOWEST_READY := $(LOWEST)/.ready

# Two test processes with one BLAS thread each, for two cores. Idle processes steal tests. Tests of
# threading ask for threads themselves. Byte code is kept for the processes that tests start.
PYTEST := OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --numprocesses 2 --dist worksteal

.PHONY: setup demo test test-fast test-lowest docs lint format reproduce bench release clean

setup: $(READY)

$(READY): pyproject.toml | $(BIN)/python
	@echo 'Installing trigpoint with development tools into $(VENV): some minutes, once.'
	@$(BIN)/python -m pip install --quiet --upgrade pip
	@$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

# Installing without compiling all modules takes half the time.
$(DEMO_READY): pyproject.toml | $(BIN)/python
	@echo 'Installing trigpoint and Matplotlib into $(VENV): half a minute, once.'
	@$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --editable '.[plot]'
	@touch $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("trigpoint needs Python 3.11 or newer; set PYTHON=...")'
	@echo 'Creating $(VENV).'
	@$(PYTHON) -m venv $(VENV)

demo: $(or $(wildcard $(READY)),$(DEMO_READY))
	@$(BIN)/trigpoint demo

# The experiments of the paper, and the benchmarks. QUICK=1: small sizes. ONLY="table1 mnist": some of
# them. DATA=: folder of the real data (or TRIGPOINT_DATA). OUT=: folder of the results.
# WHERE="data=digits method=PCA": some of the cases.
EXPERIMENT_OPTIONS = $(ONLY) $(if $(QUICK),--quick) $(if $(DATA),--data $(DATA)) $(if $(OUT),--out $(OUT)) $(if $(WHERE),--where $(WHERE))

reproduce: $(READY)
	$(BIN)/python -m experiments paper $(EXPERIMENT_OPTIONS)

bench: $(BENCH_READY)
	$(BENCH)/bin/python -m experiments bench $(EXPERIMENT_OPTIONS)

$(BENCH_READY): pyproject.toml experiments/benchmarks/requirements.txt experiments/benchmarks/shipped.txt
	$(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python -m pip install --quiet --upgrade pip
	$(BENCH)/bin/python -m pip install --quiet --editable . --requirement experiments/benchmarks/requirements.txt
	$(BENCH)/bin/python -m pip install --quiet --no-deps --requirement experiments/benchmarks/shipped.txt
	@touch $@

# All tests but those of the documentation, which `make docs` runs. ONLY=tests/experiments: some of
# them. COVERAGE=1: coverage of lines and branches as well; fails below 95 %.
test: $(READY)
	$(PYTEST) --ignore tests/test_docs.py $(ONLY) $(if $(COVERAGE),--cov --cov-report=term-missing:skip-covered)

test-fast: $(READY)
	$(PYTEST) -m 'not slow' $(ONLY)

# The fast tests with the oldest versions of the dependencies that pyproject.toml allows. These
# dependencies use what is deprecated today, so deprecation warnings are ignored.
test-lowest: $(LOWEST_READY)
	OMP_NUM_THREADS=1 $(LOWEST)/bin/python -m pytest --numprocesses 2 --dist worksteal -m 'not slow' --ignore tests/test_docs.py -W ignore::DeprecationWarning

$(LOWEST_READY): pyproject.toml $(READY)
	$(PYTHON) -m venv $(LOWEST)
	$(BIN)/uv pip install --quiet --python $(LOWEST)/bin/python --resolution lowest-direct --editable '.[test]'
	@touch $@

# The documentation, in docs/_build. Broken links, unknown names and failing examples are errors.
docs: $(READY)
	$(PYTEST) tests/test_docs.py
	$(BIN)/python -m sphinx -b html -W --keep-going -n docs docs/_build/html

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	@# What other projects see of the library's types.
	$(BIN)/mypy --config-file= --strict -c 'import trigpoint as tp; tp.LaplacianEigenmaps(landmarks=9).fit([[0.0]]).save("m.trig")'
	$(BIN)/python -m tools.lint_page

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Wheel and source archive, in dist/: built twice and compared, then tried in clean environments with
# the oldest and the newest versions of all dependencies. PYTHONS= names other interpreters to try.
# LOCK=1 only updates requirements.lock, the versions of all dependencies with their digests.
release: $(READY)
ifdef LOCK
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-emit-index-url --extra plot --extra files --extra dask pyproject.toml -o requirements.lock
else
	$(BIN)/python -m tools.release $(PYTHONS)
endif

clean:
	rm -rf $(VENV) $(BENCH) $(LOWEST) .coverage demo reproduction docs/_build docs/gallery/generated docs/reference/generated .pytest_cache .mypy_cache .ruff_cache
