"""Compiled loops: compilation, worst-case rounding, and agreement with plain Python.

In Python, an index outside an array is an error; compiled loops would read or write whatever is
next in memory.
"""

import inspect
import json
import os
import subprocess
import sys
from importlib import import_module
from pkgutil import iter_modules

import numba
import numpy as np
import pytest
from scipy.sparse import csr_array

import trigpoint as tp
from trigpoint import _kernels as compiled
from trigpoint._kernels import jit
from trigpoint._kernels.landmark_sums import _exponentiate
from trigpoint._neighbors import tree
from trigpoint._neighbors.nearest import landmark_search
from trigpoint._neighbors.products import ProductIndex
from trigpoint._neighbors.tree import TreeIndex

MODULES = [
    *(
        import_module(f"{compiled.__name__}.{module.name}")
        for module in iter_modules(compiled.__path__)
    ),
    tree,
]


def loops(module):
    """Return the compiled functions that a module defines."""
    return [
        loop
        for loop in vars(module).values()
        if numba.extending.is_jitted(loop) and loop.py_func.__module__ == module.__name__
    ]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__.split(".")[-1])
def test_loops_call_loops_of_their_own_file_only(module):
    """Numba recompiles a cached function only if its own file changes."""
    for loop in loops(module):
        assert loop.targetoptions["nogil"], loop
        assert loop.stats.cache_path, loop
        names = inspect.getclosurevars(loop.py_func).globals
        called = [value for value in names.values() if numba.extending.is_jitted(value)]
        assert all(value.py_func.__module__ == module.__name__ for value in called), loop


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


COMPILED = """
import json
from numba.core import event

class Listener(event.Listener):
    def on_start(self, started):
        function = started.data["dispatcher"].py_func
        compiled.append(f"{function.__module__}.{function.__qualname__}")

    def on_end(self, ended):
        pass

compiled = []
event.register("numba:compile", Listener())
from sklearn.datasets import load_digits
import trigpoint as tp
X = load_digits().data
tp.LandmarkMap(random_state=0).fit(X).transform(X)
print(json.dumps(compiled))
"""


@pytest.mark.slow
def test_the_first_map_compiles_few_functions(tmp_path):
    """Each takes 0.05 s or more; `np.partition` alone would compile 24 functions of numba."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    names = json.loads(subprocess.check_output([sys.executable, "-c", COMPILED], env=environment))
    own = [name for name in names if name.startswith("trigpoint.")]
    assert 10 < len(own) <= 60, own
    others = [name for name in names if name not in own]
    assert len(others) <= 30, others


def test_where_nothing_can_be_stored_loops_are_compiled_each_time(monkeypatch):
    monkeypatch.setattr("numba.core.caching.CacheImpl._locator_classes", [])
    jit._warn_once.cache_clear()
    with pytest.warns(UserWarning, match="set NUMBA_CACHE_DIR"):
        loop = jit.compiled(lambda x: x + 1)
    # Only the first of the loops warns.
    jit.compiled(lambda x: x - 1)
    assert loop(1) == 2


def test_exponentials_are_right_to_the_last_digits():
    x = -np.concatenate([np.linspace(0, 2, 1001), np.linspace(2, 700, 4000)])
    bits = np.zeros(len(x) + 1, dtype=np.int64)
    result = np.full(len(x) + 1, 5.0)
    _exponentiate(x, result, len(x), bits, bits.view(np.float64))
    np.testing.assert_allclose(result[:-1], np.exp(x), rtol=1e-13)
    np.testing.assert_allclose(result[:-1][x > -20], np.exp(x[x > -20]), rtol=1e-15)
    assert result[-1] == 5
    # Weights below this are as small as they get.
    _exponentiate(np.array([-1e6]), result, 1, bits, bits.view(np.float64))
    np.testing.assert_allclose(result[0], np.exp(-700), rtol=1e-13)


@pytest.fixture
def same_in_python(monkeypatch):
    """Compare the arrays that a function returns with and without compilation of its loops."""
    loaded = [module for name, module in sys.modules.items() if name.startswith("trigpoint.")]

    def check(function, **tolerance):
        expected = function()
        with monkeypatch.context() as patch, np.errstate(all="ignore"):
            replaced = 0
            for module in loaded:
                for name, loop in list(vars(module).items()):
                    if numba.extending.is_jitted(loop):
                        patch.setattr(module, name, loop.py_func)
                        replaced += 1
            assert replaced > 30
            found = function()
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, **({"rtol": 0} | tolerance))

    return check


def points(n, d, seed=0):
    """Return a few points on a grid, for ties, and one with a duplicate."""
    X = np.random.default_rng(seed).normal(size=(n, d))
    X[: n // 3] = np.round(X[: n // 3])
    X[1] = X[0]
    return X


@pytest.mark.parametrize("d", [2, 16])
@pytest.mark.parametrize(
    "sampler",
    [
        tp.EfficientDPP(12, random_state=0),
        tp.EfficientDPP(12, repulsion="sin2", random_state=0),
        # After uniform proposals.
        tp.EfficientDPP(12, n_neighbors=50, bandwidth=3.0, random_state=0),
        tp.EfficientDPP(8, refine=1, kernel_bandwidth=0.7, random_state=0),
        tp.FarthestPoint(12, random_state=0),
    ],
    ids=lambda sampler: " ".join(repr(sampler).split()),
)
def test_landmarks(d, sampler, same_in_python):
    X = points(60, d)
    same_in_python(lambda: [sampler.fit(X).indices_])


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("sampler", [tp.EfficientDPP, tp.KMeansPlusPlus, tp.FarthestPoint])
def test_landmarks_of_sparse_points(sampler, metric, same_in_python):
    X = points(60, 70)
    X[np.abs(X) < 1] = 0
    X[:, 0] = 1
    embedding = tp.LaplacianEigenmaps(landmarks=sampler(12, random_state=0), metric=metric)
    same_in_python(lambda: [embedding.fit_transform(csr_array(X))], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("d", [3, 16])
@pytest.mark.parametrize(
    "embedding",
    [
        tp.LaplacianEigenmaps(landmarks=20, extension="graph", random_state=0),
        tp.LaplacianEigenmaps(landmarks=20, extension="all", random_state=0),
        tp.Isomap(landmarks=20, extension="graph", random_state=0),
        tp.KernelPCA(landmarks=20, random_state=0),
    ],
)
@pytest.mark.filterwarnings("ignore::trigpoint._extension.extensions.FarPointsWarning")
@pytest.mark.filterwarnings("ignore:the landmark graph has")
def test_coordinates(embedding, d, same_in_python):
    X = points(60, d)
    others = np.concatenate([points(10, d, seed=1), 1e3 + points(3, d)])
    same_in_python(lambda: [embedding.fit(X).transform(others)], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("covariance", ["full", "diag"])
def test_bhattacharyya_graph(covariance, same_in_python):
    graph = tp.KNNGraph(5, covariance=covariance)
    embedding = tp.LaplacianEigenmaps(landmarks=15, graph=graph, random_state=0)
    X = points(80, 70 if covariance == "diag" else 3)

    same_in_python(lambda: [embedding.fit(X).graph_.toarray()], rtol=1e-12)
    same_in_python(lambda: [embedding.fit(X).covariances_], rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("index", [TreeIndex, ProductIndex])
@pytest.mark.parametrize("m", [1, 5, 90])
def test_neighbors(index, m, same_in_python):
    X = points(90, 3)
    same_in_python(lambda: [index(X).query(X[::7], m)[1]])


@pytest.mark.parametrize("count", [1, 4, 9])
@pytest.mark.parametrize("k", [9, 40])
def test_nearest_landmarks(count, k, same_in_python):
    landmarks, X = points(k, 3), points(40, 3, seed=1)
    same_in_python(lambda: [landmark_search(landmarks, count).nearest(X, count)[0]])
