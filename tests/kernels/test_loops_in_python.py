"""Loops run as plain Python, where a place outside of an array is an error, and give the same.

Compiled, they would read or write whatever is next in memory.
"""

import sys
from importlib import import_module
from pkgutil import iter_modules

import numba
import numpy as np
import pytest
from scipy.sparse import csr_array

import trigpoint as tp
from trigpoint import _kernels as compiled
from trigpoint._neighbors.nearest import landmark_search
from trigpoint._neighbors.products import ProductIndex
from trigpoint._neighbors.tree import TreeIndex


@pytest.fixture
def in_python(monkeypatch):
    """Call a function with all loops in plain Python."""
    for module in iter_modules(compiled.__path__):
        import_module(f"{compiled.__name__}.{module.name}")
    loaded = [module for name, module in sys.modules.items() if name.startswith("trigpoint.")]

    def call(function):
        with monkeypatch.context() as patch, np.errstate(all="ignore"):
            replaced = 0
            for module in loaded:
                for name, loop in list(vars(module).items()):
                    if numba.extending.is_jitted(loop):
                        patch.setattr(module, name, loop.py_func)
                        replaced += 1
            assert replaced > 30
            return function()

    return call


def points(n, d, seed=0):
    """A few of them on a grid, for ties, and one with a copy."""
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
        # Beyond uniform proposals.
        tp.EfficientDPP(12, n_neighbors=50, bandwidth=3.0, random_state=0),
        tp.EfficientDPP(8, refine=1, kernel_bandwidth=0.7, random_state=0),
        tp.AnnealedDPP(6, bandwidth=0.7, n_sweeps=5, random_state=0),
        tp.FarthestPoint(12, random_state=0),
    ],
    ids=lambda sampler: " ".join(repr(sampler).split()),
)
def test_landmarks(d, sampler, in_python):
    X = points(60, d)

    def found():
        return sampler.fit(X).indices_.copy()

    np.testing.assert_array_equal(in_python(found), found())


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("sampler", [tp.EfficientDPP, tp.KMeansPlusPlus, tp.FarthestPoint])
def test_landmarks_of_sparse_points(sampler, metric, in_python):
    X = points(60, 70)
    X[np.abs(X) < 1] = 0
    X[:, 0] = 1
    embedding = tp.LaplacianEigenmaps(landmarks=sampler(12, random_state=0), metric=metric)

    def found():
        return embedding.fit_transform(csr_array(X))

    np.testing.assert_allclose(in_python(found), found(), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("d", [3, 16])
@pytest.mark.parametrize(
    ("kind", "extension"),
    [
        *((tp.LaplacianEigenmaps, extension) for extension in ("graph", 3, "all")),
        *((tp.Isomap, extension) for extension in ("graph", 3)),
        *((tp.KernelPCA, extension) for extension in (3, "all")),
    ],
)
@pytest.mark.filterwarnings("ignore::trigpoint._extension.extensions.FarPointsWarning")
@pytest.mark.filterwarnings("ignore:the landmark graph has")
def test_coordinates(kind, d, extension, in_python):
    X = points(60, d)
    embedding = kind(landmarks=20, extension=extension, random_state=0)
    others = np.concatenate([points(10, d, seed=1), 1e3 + points(3, d)])

    def found():
        return embedding.fit(X).transform(others)

    np.testing.assert_allclose(in_python(found), found(), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("covariance", ["full", "diag"])
def test_bhattacharyya_graph(covariance, in_python):
    graph = tp.KNNGraph(5, covariance=covariance)
    embedding = tp.LaplacianEigenmaps(landmarks=15, graph=graph, random_state=0)
    X = points(80, 70 if covariance == "diag" else 3)

    def found():
        fitted = embedding.fit(X)
        return fitted.graph_.toarray(), fitted.covariances_

    (weights, covariances), (expected, expected_covariances) = in_python(found), found()
    np.testing.assert_allclose(weights, expected, rtol=1e-12)
    np.testing.assert_allclose(covariances, expected_covariances, atol=1e-12)


@pytest.mark.parametrize("index", [TreeIndex, ProductIndex])
@pytest.mark.parametrize("m", [1, 5, 90])
def test_neighbors(index, m, in_python):
    X = points(90, 3)

    def found():
        return index(X).query(X[::7], m)[1]

    np.testing.assert_array_equal(in_python(found), found())


@pytest.mark.parametrize("count", [1, 4, 9])
@pytest.mark.parametrize("k", [9, 40])
def test_nearest_landmarks(count, k, in_python):
    landmarks, X = points(k, 3), points(40, 3, seed=1)

    def found():
        return landmark_search(landmarks, count).nearest(X, count)[0]

    np.testing.assert_array_equal(in_python(found), found())
