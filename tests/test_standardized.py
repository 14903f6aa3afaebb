"""metric="seuclidean": the same as mapping rows by hand."""

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

import trigpoint as tp
from trigpoint._spaces import SPACES, Standardized, space_for

ESTIMATORS = [tp.LaplacianEigenmaps, tp.DiffusionMaps, tp.Isomap, tp.KernelPCA, tp.LandmarkMap]


@pytest.fixture(name="X")
def points(rng):
    """A curved sheet whose columns have very different units, and a constant one."""
    u, v = rng.uniform(0, 3, size=(2, 300))
    return np.c_[1e4 * np.cos(u), 7e4 + 1e2 * np.sin(u), v, np.full(300, 5.0)]


def by_hand(X):
    return X / np.where(X.std(axis=0) > 0, X.std(axis=0), 1)


def test_scales_are_standard_deviations(X):
    space = Standardized().fit(X)
    np.testing.assert_allclose(space.scales, [*X[:, :3].std(axis=0), 1], rtol=1e-12)
    np.testing.assert_array_equal(Standardized().fit(np.asfortranarray(X)).scales, space.scales)


@pytest.mark.parametrize("name", SPACES)
def test_spaces_are_restored_from_their_arrays(name, X):
    space = space_for(name).fit(X)
    again = SPACES[name].from_arrays(space.arrays())
    np.testing.assert_array_equal(again(X), space(X))


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_fit_and_transform_divide_alike(estimator, X, tmp_path):
    emb = estimator(landmarks=60, metric="seuclidean", random_state=0).fit(X[:250])
    scaled = Standardized().fit(X[:250])(X)
    plain = estimator(landmarks=60, random_state=0).fit(scaled[:250])
    np.testing.assert_array_equal(emb.landmark_indices_, plain.landmark_indices_)
    np.testing.assert_array_equal(emb.transform(X), plain.transform(scaled))
    np.testing.assert_allclose(emb.landmarks_, by_hand(X[:250])[emb.landmark_indices_], rtol=1e-9)
    emb.save(tmp_path / "m.trig")
    np.testing.assert_array_equal(tp.load(tmp_path / "m.trig").transform(X), emb.transform(X))
    assert emb.quality(X).neighbors_kept == plain.quality(scaled).neighbors_kept


def test_subsets_of_files_and_arrays(X, tmp_path):
    np.save(tmp_path / "x.npy", X)
    scaled = Standardized().fit(X)(X)
    for sampler in (tp.EfficientDPP, tp.FarthestPoint, tp.KMeansPlusPlus):
        draw = sampler(30, random_state=0)
        here = tp.select(X, draw, metric="seuclidean")
        there = tp.select(tmp_path / "x.npy", draw, metric="seuclidean")
        np.testing.assert_array_equal(here.indices, draw.fit(scaled).indices_)
        np.testing.assert_array_equal(here.indices, there.indices)


def test_given_points_are_scaled_too(X):
    rows = np.arange(0, 300, 10)
    by_rows = tp.KernelPCA(landmarks=rows, metric="seuclidean", random_state=0).fit(X)
    given = tp.KernelPCA(landmarks=X[rows], metric="seuclidean", random_state=0).fit(X)
    np.testing.assert_array_equal(by_rows.landmarks_, given.landmarks_)


def test_sparse_rows_are_refused():
    sparse = csr_array(random_array((100, 50), density=0.05, rng=0, format="csr"))
    with pytest.raises(ValueError, match="metric='seuclidean' does not take sparse rows"):
        tp.select(sparse, 5, metric="seuclidean")


@pytest.mark.parametrize("metric", ["angle", None, Standardized, np.linalg.norm])
def test_unknown_metrics_are_refused(X, metric):
    with pytest.raises(TypeError, match="is not known: choose one of 'euclidean'"):
        tp.select(X, 5, metric=metric)
