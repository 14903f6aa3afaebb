"""Parameters that cannot be used: an error that names the parameter, the value and the remedy."""

import numpy as np
import pytest

import trigpoint as tp
import trigpoint._common.memory
from trigpoint._common.errors import ParameterWarning


def test_more_landmarks_than_points_or_distinct_points(estimator, X):
    with pytest.raises(ValueError, match=r"landmarks=61 is too large.*60 points"):
        estimator(landmarks=61).fit(X)
    with pytest.raises(ValueError, match=r"^landmarks=40 is too large: after 30 landmarks"):
        estimator(landmarks=40, random_state=0).fit(np.repeat(X[:30], 2, axis=0))


# A map takes no extension, and three coordinates at most.
@pytest.mark.parametrize(
    "estimator", [tp.LaplacianEigenmaps, tp.DiffusionMaps, tp.Isomap, tp.KernelPCA]
)
@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"n_components": 0}, ValueError, "n_components=0 is too small"),
        ({"n_components": 60}, ValueError, "n_components=60 is too large.*60 landmarks"),
        ({"n_components": "two"}, TypeError, "n_components must be a whole number"),
        ({"landmarks": 0}, ValueError, "landmarks=0 is too small"),
        ({"landmarks": 1}, ValueError, "landmarks=1 is too small: choose landmarks >= 2"),
        ({"landmarks": [["a", "b"]]}, ValueError, "landmarks has 'a' .* in row 0, column 0"),
        ({"landmarks": True}, TypeError, "landmarks=True is not understood"),
        ({"landmarks": []}, ValueError, "landmarks is empty"),
        ({"landmarks": tp.Uniform}, TypeError, "landmarks=.*Uniform.*is not understood"),
        ({"landmarks": np.full((3, 2), 1e200)}, ValueError, "landmarks has values up to 1e.200"),
        ({"landmarks": "many"}, TypeError, "landmarks='many' is not understood"),
        ({"landmarks": [0, 1, 99]}, ValueError, "rows from 0 to 99: choose rows from 0 to 59"),
        ({"landmarks": [0, 1, 1]}, ValueError, "3 entries, only 2 of them distinct"),
        ({"landmarks": np.ma.masked_less(np.eye(2), 1)}, ValueError, "landmarks has masked values"),
        ({"landmarks": np.eye(2) * 1j}, ValueError, "landmarks holds complex128"),
        (
            {"landmarks": [True] * 20 + [False] * 40},
            TypeError,
            r"landmarks=\[True.*\.\.\..* pass np.flatnonzero\(landmarks\)",
        ),
        ({"landmarks": np.ones((3, 5))}, ValueError, "5 columns and X has 2"),
        ({"landmarks": np.full((3, 2), np.nan)}, ValueError, "NaN"),
        ({"extension": "some"}, ValueError, "extension='some' is not known"),
        ({"extension": 61}, ValueError, "extension=61 is too large.*60 landmarks"),
        ({"random_state": "x"}, TypeError, "random_state must be"),
        ({"random_state": True}, TypeError, "random_state must be .* got True"),
        ({"n_jobs": 0}, ValueError, "n_jobs=0 is too small"),
        ({"n_jobs": np.array([1, 2])}, TypeError, "n_jobs must be a"),
        ({"n_jobs": 10**20}, ValueError, "n_jobs=1.* is too large: choose n_jobs <= 65536"),
    ],
)
def test_bad_parameters_of_every_estimator(estimator, parameters, error, message, X):
    with pytest.raises(error, match=message):
        estimator(**parameters).fit(X)


@pytest.mark.parametrize(
    ("estimator", "parameters", "message"),
    [
        (tp.LaplacianEigenmaps, {"graph": "cosine"}, "graph='cosine' is not known"),
        (tp.LaplacianEigenmaps, {"eigenvectors": "best"}, "eigenvectors='best' is not known"),
        (tp.LaplacianEigenmaps, {"graph": np.ones((3, 3))}, r"graph has shape \(3, 3\)"),
        (tp.DiffusionMaps, {"alpha": -1}, "alpha=-1.0 is out of range: choose alpha from 0 to 1$"),
        (tp.DiffusionMaps, {"alpha": 1.5}, "alpha=1.5 is out of range: choose alpha from 0 to 1$"),
        (tp.DiffusionMaps, {"alpha": 1e-300}, "choose alpha 0, or from 2e-154 to 1$"),
        (tp.LandmarkMap, {"n_components": 4}, "n_components=4 is too large.*<= 3"),
        (tp.LandmarkMap, {"n_neighbors": 0}, "n_neighbors=0 is too small"),
        (tp.LandmarkMap, {"n_neighbors": 70}, "=70 is too large: choose n_neighbors <= 59"),
        (tp.LandmarkMap, {"exaggeration": -1.0}, "exaggeration=-1.0 is out of range"),
        (tp.LandmarkMap, {"n_iter": 0}, "n_iter=0 is too small"),
        (tp.LandmarkMap, {"n_iter": 10**20}, "0 is too large: choose n_iter <= 1000000$"),
        (tp.LandmarkMap, {"init": "random"}, "init='random' is not known: choose one of 'auto', "),
        (tp.DiffusionMaps, {"time": -1}, "time=-1.0 is out of range: choose time >= 0$"),
        (tp.DiffusionMaps, {"time": 1e-200}, "choose time >= 2e-154, or 0$"),
        (tp.DiffusionMaps, {"time": np.inf}, r"time=inf is out of range: choose time <= 6e\+153$"),
        (tp.Isomap, {"extension": "all"}, "extension='all' is not known: choose one of 'auto'"),
        (tp.KernelPCA, {"bandwidth": 1e-3}, "bandwidth=0.001 is too small.*choose one near"),
        (tp.KernelPCA, {"bandwidth": 1e8}, "bandwidth=100000000.0 is too large.*choose one near"),
        (
            tp.LaplacianEigenmaps,
            {"graph": tp.KNNGraph(bandwidth=0.01)},
            "bandwidth=0.01 is too small.*landmarks without",
        ),
        (
            tp.LaplacianEigenmaps,
            {"graph": np.ones((10, 10)), "landmarks": 10},
            "graph is a matrix.*pass the row numbers or the points of its landmarks",
        ),
        (tp.KernelPCA, {"extension": "graph"}, "extension='graph' is not known"),
        (tp.KernelPCA, {"bandwidth": -2}, "bandwidth=-2.0 is out of range"),
    ],
)
def test_bad_parameters_of_one_estimator(estimator, parameters, message, X):
    with pytest.raises(ValueError, match=message):
        estimator(**parameters).fit(X)


@pytest.mark.parametrize("graph", [None, tp.KNNGraph, 0.5, [1.0, 2.0]])
def test_parameters_of_another_kind(graph, X):
    with pytest.raises(TypeError, match=r"graph=.* is not understood: pass one of 'auto', 'bhatt"):
        tp.LaplacianEigenmaps(graph=graph).fit(X)
    with pytest.raises(TypeError, match=r"init=.* is neither a name nor a 2-D array: pass coord"):
        tp.LandmarkMap(init=graph).fit(X)


@pytest.mark.parametrize("scale", [1e151, 1e152])
def test_a_bandwidth_far_too_small_is_refused_without_warnings(scale, X):
    with pytest.raises(tp.ParameterError, match=r"bandwidth=0\.001 is too small"):
        tp.KernelPCA(landmarks=20, bandwidth=1e-3, random_state=0).fit(X * scale)


@pytest.mark.parametrize("kernel", ["gaussian", "geodesic"])
def test_neighbors_are_checked_whatever_the_kernel(kernel, X):
    with pytest.raises(ValueError, match=r"n_neighbors=0 is too small: choose n_neighbors >= 1"):
        tp.ExactDPP(kernel=kernel, n_neighbors=0).fit(X[:, :2].repeat(2, axis=0))


def test_a_diffusion_time_after_which_nothing_is_left(X):
    maps = tp.DiffusionMaps(landmarks=40, random_state=0)
    with pytest.raises(ValueError, match=r"time=1000000.0 makes all coordinates vanish") as caught:
        maps.set_params(time=1e6).fit(X)
    longest = float(str(caught.value).split()[-1])
    with pytest.warns(ParameterWarning, match="makes 1 of the 2 coordinates vanish") as warned:
        found = maps.set_params(time=longest).fit_transform(X.astype(np.float32))
    assert found[:, 0].any()
    longest = float(str(warned[0].message).partition("choose time below ")[2].split()[0])
    found = maps.set_params(time=longest).fit_transform(X.astype(np.float32))
    assert found.any(axis=0).all()


def test_parameters_are_checked_before_any_work(X):
    """A sampler that must not be reached."""
    sampler = tp.EfficientDPP(10, repulsion=lambda *_: pytest.fail("sampled"))
    for wrong, message in (
        ({"n_components": 0}, "n_components=0"),
        ({"extension": "x"}, "extension='x'"),
        ({"graph": tp.KNNGraph(0)}, "n_neighbors=0"),
        ({"graph": tp.RadiusGraph(-1)}, "radius=-1"),
        ({"graph": tp.CompleteGraph(mean_weight=2)}, "mean_weight=2"),
    ):
        with pytest.raises(ValueError, match=message):
            tp.LaplacianEigenmaps(landmarks=sampler, **wrong).fit(X)


@pytest.mark.parametrize("estimator", [tp.Isomap, tp.KernelPCA])
def test_dense_work_that_cannot_fit_is_refused_before_it_starts(estimator, X, monkeypatch):
    monkeypatch.setattr(trigpoint._common.memory, "physical_memory", lambda: 1e3)
    with pytest.raises(ValueError, match=r"60 landmarks need a dense matrix.*fewer landmarks"):
        estimator().fit(X)
