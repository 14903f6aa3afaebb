"""Compiled loops on disk: never older than their sources, and never in the way of a result."""

import json
import os
import shutil
import sys
import time
import types
import warnings
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import numba
import numpy as np
import pytest
from copies import COMPILER, Copies, Copy

import trigpoint
from trigpoint._numerics import compiled as loops
from trigpoint._numerics.compiled import cache
from trigpoint._numerics.compiled.clock import COMPILE_CLOCK, CompileClock
from trigpoint._numerics.compiled.jit import compiled

SOURCE = Path(trigpoint.__file__).parent


MODULES = [module.name for module in iter_modules(loops.__path__)]


@pytest.mark.parametrize("name", sorted(set(MODULES) - {"cache", "clock", "jit"}))
def test_every_loop_is_kept_and_leaves_the_interpreter_lock_alone(name):
    module = import_module(f"{loops.__name__}.{name}")
    found = [loop for loop in vars(module).values() if numba.extending.is_jitted(loop)]
    assert found
    for loop in found:
        assert isinstance(loop._cache, cache.LoopCache), loop
        assert loop.targetoptions["nogil"], loop


def plus_one(x):
    return x + 1


def run_loop():
    """What a new process would do: compile or load `plus_one`, run it, and tell how it went."""
    loop = compiled(plus_one)
    cache.cache_folder.cache_clear()
    cache._warned.clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert loop(1.0) == 2.0
        assert loop(np.float32(1)) == 2.0
    return sum(loop.stats.cache_hits.values()), caught


@pytest.fixture
def chosen(tmp_path, monkeypatch):
    """A folder chosen by the user."""
    folder = tmp_path / "chosen"
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(folder))
    yield folder
    cache.cache_folder.cache_clear()


def kept(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.nbc"))


def test_loops_are_kept_where_the_user_says(chosen):
    assert run_loop()[0] == 0
    assert len(kept(chosen)) == 2
    assert run_loop()[0] == 2


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: bytes(len(content)),
        lambda content: content[: len(content) // 2],
        lambda content: content[:-4] + b"####",
    ],
    ids=["empty", "zeros", "cut off", "altered"],
)
def test_damaged_files_are_compiled_again_and_replaced(chosen, damage):
    run_loop()
    for path in kept(chosen):
        path.write_bytes(damage(path.read_bytes()))
    loaded, [warning] = run_loop()
    assert loaded == 0
    assert str(cache.cache_folder()) in str(warning.message)
    assert "delete that folder" in str(warning.message)
    assert warning.filename == __file__
    assert run_loop() == (2, [])


@contextmanager
def full_disk():
    """Every file longer than a few bytes fails, as on a disk without space."""
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_full_disk_costs_time_and_no_result(chosen):
    with full_disk():
        loaded, [warning] = run_loop()
    assert loaded == 0
    assert "free some disk space" in str(warning.message)
    assert list(cache.cache_folder().iterdir()) == []
    run_loop()
    assert run_loop() == (2, [])


def test_folders_that_cannot_be_written(tmp_path, chosen, monkeypatch):
    package, home = tmp_path / "package", tmp_path / "home"
    monkeypatch.setattr(cache, "__file__", str(package / "cache.py"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    # Not even an administrator can make a folder where there is a file.
    chosen.touch()
    run_loop()
    assert cache.cache_folder().parent == package / "__pycache__"
    assert run_loop() == (2, [])

    shutil.rmtree(package / "__pycache__")
    (package / "__pycache__").touch()
    run_loop()
    if sys.platform == "linux":
        assert cache.cache_folder().parent == home / "trigpoint"
    assert run_loop() == (2, [])

    monkeypatch.setattr(cache, "_parents", lambda: [chosen])
    assert run_loop() == (0, [])
    assert cache.cache_folder() is None


def test_sources_edited_under_a_running_process(chosen, monkeypatch):
    monkeypatch.setattr(cache, "source_digest", lambda: "edited")
    run_loop()
    assert kept(chosen) == []


def test_old_folders_are_removed_and_nothing_else(chosen):
    ours = [chosen / f"trigpoint-{number:016x}" for number in range(6)]
    others = [chosen / "trigpoint-data", chosen / "pynndescent_0123456789abcdef"]
    for age, folder in enumerate([*ours, *others]):
        folder.mkdir(parents=True)
        (folder / "loop.nbc").touch()
        os.utime(folder, (1e9 - age, 1e9 - age))
    run_loop()
    assert sorted(chosen.iterdir()) == sorted([cache.cache_folder(), *ours[:3], *others])


# The least of the package that compiles loops: without the rest, a process starts quickly.
NEEDED = [
    "_common/__init__.py",
    "_common/warn.py",
    "_numerics/__init__.py",
    *(f"_numerics/compiled/{name}.py" for name in ("__init__", "cache", "clock", "jit")),
]
INNER = """
from trigpoint._numerics.compiled.clock import COMPILE_CLOCK, CompileClock
from trigpoint._numerics.compiled.jit import compiled

@compiled
def inner(x):
    return x + 1
"""
OUTER = """
from trigpoint._numerics.compiled.inner import inner
from trigpoint._numerics.compiled.clock import COMPILE_CLOCK, CompileClock
from trigpoint._numerics.compiled.jit import compiled

@compiled
def outer(x):
    return 10 * inner(x)
"""
SCRIPT = """
import json, sys
import numpy as np
from trigpoint._numerics.compiled.outer import outer

values = [float(outer(np.dtype(name).type(1))) for name in sys.argv[1:]]
print(json.dumps([values, sum(outer.stats.cache_hits.values())]))
"""


@pytest.fixture(scope="module")
def without_loops(tmp_path_factory):
    """Start processes from one that has imported nothing of the package."""
    environment = {name: value for name, value in os.environ.items() if "NUMBA" not in name}
    with Copies(COMPILER, tmp_path_factory.mktemp("copies"), environment) as copies:
        yield copies


@pytest.fixture
def start(tmp_path, without_loops):
    """Start a process with a copy of the package in which a loop calls one of another file."""
    for name in NEEDED:
        path = tmp_path / "trigpoint" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(SOURCE / name, path)
    (tmp_path / "trigpoint" / "__init__.py").touch()
    compiled = tmp_path / "trigpoint" / "_numerics" / "compiled"
    (compiled / "inner.py").write_text(INNER)
    (compiled / "outer.py").write_text(OUTER)

    def start(*dtypes: str) -> Copy:
        return without_loops.start(SCRIPT, *dtypes, path=[tmp_path])

    return start


def result(process: Copy) -> list:
    """Values, and the number of loops that were loaded and not compiled."""
    assert process.wait() == 0, process.stderr
    return json.loads(process.stdout)


def test_an_edit_in_a_called_file_is_seen(start, tmp_path):
    assert result(start("f8")) == [[20], 0]
    assert result(start("f8")) == [[20], 1]
    inner = tmp_path / "trigpoint" / "_numerics" / "compiled" / "inner.py"
    inner.write_text(INNER.replace("+ 1", "+ 2"))
    assert result(start("f8")) == [[30], 0]


@pytest.mark.slow
def test_processes_that_start_at_once_keep_each_others_loops(start):
    dtypes = "f4", "f8", "i8"
    for process in [start(dtype) for dtype in dtypes]:
        assert result(process) == [[20], 0]
    assert result(start(*dtypes)) == [[20, 20, 20], 3]


def test_another_interpreter_does_not_find_our_loops(monkeypatch):
    """Their machine code calls into the one that compiled them."""
    ours = cache.source_digest()
    other = types.SimpleNamespace(cache_tag="cpython-399")
    monkeypatch.setattr(cache.sys, "implementation", other)
    assert cache.source_digest() != ours


def test_compiling_is_timed_and_loading_is_not(chosen):
    def compiling():
        before = COMPILE_CLOCK.seconds
        run_loop()
        return COMPILE_CLOCK.seconds - before

    assert compiling() > 0
    assert compiling() == 0


def test_loops_that_others_call_are_timed_once():
    clock = CompileClock()
    start = time.perf_counter()
    for step in (clock.on_start, clock.on_start, clock.on_end, clock.on_end):
        step(None)
        time.sleep(0.01)
    assert 0.03 <= clock.seconds < time.perf_counter() - start
