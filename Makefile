# Every target sets up what it needs; only Python 3.11+ and access to a package index are required.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# What the demonstration needs: the library and Matplotlib, without the tools of development.
DEMO_READY := $(VENV)/.ready-for-demo

# The benchmarks' peers have an environment of their own.
BENCH := .venv-bench
BENCH_READY := $(BENCH)/.ready

# With as many processes as cores, threads of BLAS would wait for those of the other process. Tests
# of threads ask for theirs. Bytecode is kept for the processes that tests start. Neighboring tests
# run in one process, which shares what they are run on; whoever is done first takes from the other.
PYTEST := OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --numprocesses 2 --dist worksteal

LOWEST := .venv-lowest
LOWEST_READY := $(LOWEST)/.ready

.PHONY: setup demo reproduce test test-fast test-experiments test-lowest coverage mutate torture fuzz properties load docs pictures figures bench lint release lock format clean

setup: $(READY)

$(READY): pyproject.toml | $(BIN)/python
	@echo 'Installing trigpoint with the tools of development into $(VENV): some minutes, once.'
	@$(BIN)/python -m pip install --quiet --upgrade pip
	@$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

# Modules are compiled where they are imported, which spares the time for most of them.
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

# The paper's experiments and the benchmarks: QUICK=1 uses small sizes, ONLY="table1 mnist" runs some
# of them, DATA= is the folder of real data (or TRIGPOINT_DATA), OUT= the folder to write to;
# DEVICE=cuda computes what the paper has on real data on a GPU.
EXPERIMENT_OPTIONS = $(ONLY) $(if $(QUICK),--quick) $(if $(DATA),--data $(DATA)) $(if $(OUT),--out $(OUT)) $(if $(DEVICE),--device $(DEVICE))

reproduce: $(READY)
	$(BIN)/python -m experiments paper $(EXPERIMENT_OPTIONS)

bench: $(BENCH_READY)
	$(BENCH)/bin/python -m experiments bench $(EXPERIMENT_OPTIONS)

# The tests of the library; `make docs` runs the documentation's examples.
test: $(READY)
	$(PYTEST) --ignore tests/experiments --ignore tests/test_docs.py

test-fast: $(READY)
	$(PYTEST) -m 'not slow'

# The paper's experiments and the benchmarks, on small data.
test-experiments: $(READY)
	$(PYTEST) tests/experiments

# Coverage of lines and branches; fails below 95 %.
coverage: $(READY)
	$(PYTEST) --cov --cov-report=term-missing:skip-covered

# The fast tests with the oldest versions that pyproject.toml allows and this Python supports. Their own
# dependencies are recent, so deprecation warnings are ignored.
test-lowest: $(LOWEST_READY)
	OMP_NUM_THREADS=1 $(LOWEST)/bin/python -m pytest --numprocesses 2 -m 'not slow' --ignore tests/test_docs.py -W ignore::DeprecationWarning

$(LOWEST_READY): pyproject.toml $(READY)
	$(PYTHON) -m venv $(LOWEST)
	$(BIN)/uv pip install --quiet --python $(LOWEST)/bin/python --resolution lowest-direct --editable '.[test]'
	@touch $@

# Do the tests notice small mistakes? Defaults: LINES=200, SEED=0, PROCESSES= all cores, OUT=mutation.
mutate: $(READY)
	$(BIN)/python -m tools.mutation --lines $(or $(LINES),200) --seed $(or $(SEED),0) $(if $(PROCESSES),--processes $(PROCESSES)) $(if $(OUT),--out $(OUT))

# Kill, fail and cut off everything that writes a file, at every call and at 1,000 random moments; needs
# Linux and a C compiler. KILLS=, and ONLY="zarr save" for some of the operations.
torture: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m tools.torture --kills $(or $(KILLS),1000) $(if $(ONLY),--only $(ONLY))

# Damaged files of every format, and forged models; fails if one is not read or refused by name.
# Defaults: all targets, EXECUTIONS=1000000 of each, SECONDS without limit, SEED=0.
fuzz: $(READY)
	$(BIN)/python -m tools.fuzz $(ONLY) --executions $(or $(EXECUTIONS),1000000) --seed $(or $(SEED),0) $(if $(SECONDS),--seconds $(SECONDS))

# What must not change a result, for many random clouds of points: EXAMPLES=10000 of each property.
properties: $(READY)
	PROFILE=many EXAMPLES=$(or $(EXAMPLES),10000) $(PYTEST) tests/properties

# Long use: a model that serves 64 threads for SECONDS=600, and a thousand fits.
load: $(READY)
	$(BIN)/python -m tools.load serve --seconds $(or $(SECONDS),600)
	$(BIN)/python -m tools.load soak

# The documentation, in docs/_build; broken links, unknown names and examples that fail are errors.
docs: $(READY)
	$(PYTEST) tests/test_docs.py
	$(BIN)/python -m sphinx -b html -W --keep-going -n docs docs/_build/html

# Those of its pictures that a build cannot draw; DATA= is the folder of real data.
pictures: $(READY)
	$(BIN)/python -m tools.pictures $(ONLY) $(if $(DATA),--data $(DATA))

figures: $(READY)
	$(BIN)/python -m experiments.benchmarks.figures

$(BENCH_READY): pyproject.toml experiments/benchmarks/requirements.txt
	$(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python -m pip install --quiet --upgrade pip
	$(BENCH)/bin/python -m pip install --quiet --editable . --requirement experiments/benchmarks/requirements.txt
	@touch $@

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --config-file= --strict examples/atlas
	$(BIN)/python -m tools.lint_page

# Wheel and source archive, in dist/: built twice and compared, then tried in clean environments with
# the oldest and the newest versions of all dependencies. PYTHONS= names other interpreters to try.
release: $(READY)
	$(BIN)/python -m tools.release $(PYTHONS)

# The versions of all dependencies that the library was released with, with their digests.
lock: $(READY)
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-emit-index-url --extra plot --extra ct --extra files --extra dask pyproject.toml -o requirements.lock

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) $(BENCH) $(LOWEST) mutation fuzz-found .coverage demo reproduction docs/_build docs/benchmarks/generated docs/gallery/generated docs/reference/generated .pytest_cache .mypy_cache .ruff_cache
