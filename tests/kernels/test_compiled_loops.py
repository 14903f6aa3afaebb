"""How the loops are compiled: cached between processes, and never older than what they call."""

import inspect
import json
import os
import subprocess
import sys
from importlib import import_module
from pkgutil import iter_modules

import numba
import pytest

from trigpoint import _kernels as compiled
from trigpoint._neighbors import tree

MODULES = [
    *(
        import_module(f"{compiled.__name__}.{module.name}")
        for module in iter_modules(compiled.__path__)
    ),
    tree,
]


def loops(module):
    """Compiled functions that a module defines."""
    return [
        loop
        for loop in vars(module).values()
        if numba.extending.is_jitted(loop) and loop.py_func.__module__ == module.__name__
    ]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__.split(".")[-1])
def test_loops_call_loops_of_their_own_file_only(module):
    """Numba compiles a cached function again when its own file changes, and not otherwise."""
    for loop in loops(module):
        assert loop.targetoptions["nogil"], loop
        assert loop.stats.cache_path, loop
        names = inspect.getclosurevars(loop.py_func).globals
        called = [value for value in names.values() if numba.extending.is_jitted(value)]
        assert all(value.py_func.__module__ == module.__name__ for value in called), loop


def test_loops_that_several_files_need_are_the_same():
    sources = {}
    for module in MODULES:
        for loop in loops(module):
            sources.setdefault(loop.py_func.__name__, set()).add(inspect.getsource(loop.py_func))
    assert len(sources) > 40
    for name in ("_squared_distance", "_box_square"):
        assert len(sources[name]) == 1


CODE = """
import json
import numpy as np
from trigpoint._kernels.distances import squares_to
squares_to(np.zeros((2, 3)), np.arange(2), np.zeros(3))
print(json.dumps(sum(squares_to.stats.cache_hits.values())))
"""


def test_loops_are_cached_between_processes(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    hits = [
        json.loads(subprocess.check_output([sys.executable, "-c", CODE], env=environment))
        for _ in range(2)
    ]
    assert hits == [0, 1]
