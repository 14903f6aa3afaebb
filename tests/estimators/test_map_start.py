"""Initialization of the layout of a map."""

import numpy as np
import pytest
from scipy.spatial import procrustes
from sklearn.decomposition import PCA

import trigpoint as tp
from trigpoint.metrics import map_scores


def test_a_layout_starts_where_it_is_told(rng):
    X = rng.normal(size=(500, 8))
    X[400:] = X[:100]
    given = rng.normal(size=(500, 2))
    given[400:] = given[:100]
    Y = tp.LandmarkMap(init=given, n_iter=1).fit_transform(X)
    # One of at most five steps.
    assert procrustes(given, Y)[2] < 0.5
    turned = tp.LandmarkMap(init=3 * given @ [[0, 1], [-1, 0]] + 7, n_iter=1).fit_transform(X)
    assert procrustes(Y, turned)[2] < 1e-3
    # Rows of a sample start from the same positions.
    few = tp.LandmarkMap(landmarks=300, init=given, n_iter=1).fit(X)
    assert procrustes(given[few.landmark_indices_], few.landmark_embedding_)[2] < 0.5


@pytest.mark.parametrize("n_components", [1, 2, 3])
@pytest.mark.parametrize("init", ["auto", "pca", "spectral"])
def test_starts_by_name_preserve_neighbors(init, n_components, rng):
    X = rng.normal(size=(5, 9))[rng.integers(5, size=600)] + 0.1 * rng.normal(size=(600, 9))
    Y = tp.LandmarkMap(n_components, init=init).fit_transform(X)
    assert Y.shape == (600, n_components)
    pca = PCA(n_components).fit_transform(X)
    kept, by_pca = (map_scores(X, found).neighbors_preserved for found in (Y, pca))
    assert kept > by_pca + 0.15


def test_a_spectral_start_unrolls_and_principal_components_do_not():
    X, intrinsic = tp.datasets.make_swiss_roll(1500, random_state=0)
    follows = {
        init: map_scores(intrinsic, tp.LandmarkMap(init=init).fit_transform(X)).rank_correlation
        for init in ("auto", "spectral", "pca")
    }
    assert follows["auto"] > 0.9
    assert min(follows["auto"], follows["spectral"]) > follows["pca"] + 0.05


@pytest.mark.parametrize(
    ("init", "message"),
    [
        (np.zeros((99, 2)), r"init has shape \(99, 2\), and \(100, 2\) is needed"),
        (np.zeros((100, 3)), r"init has shape \(100, 3\), and \(100, 2\) is needed"),
        (np.full((100, 2), np.nan), "init .*NaN"),
        (np.full((100, 2), np.inf), "init .*inf"),
        ("PCA", "init='PCA' is not known: choose one of 'auto', 'pca', 'spectral', or pass"),
        (np.zeros(100), "init=.* is neither a name nor a 2-D array"),
    ],
    ids=["rows", "columns", "nan", "inf", "name", "1-D"],
)
def test_starts_that_cannot_be_are_refused_before_any_work(init, message, unread, rng):
    with pytest.raises(tp.ParameterError, match=message) as seen:
        tp.LandmarkMap(init=init).fit(unread(rng.normal(size=(100, 4))))
    assert seen.value.parameter == "init"


def test_coordinates_of_rows_do_not_start_landmarks_that_are_not_rows(rng):
    X = rng.normal(size=(100, 4))
    with pytest.raises(tp.ParameterError, match="the landmarks are not rows"):
        tp.LandmarkMap(landmarks=X[:30] + 1, init=X[:, :2]).fit(X)
