"""The estimators, through the public API."""

import numpy as np
import pytest
import sklearn.decomposition
import sklearn.manifold
from scipy.stats import spearmanr
from sklearn.base import clone

import trigpoint as tp
from trigpoint._extension.extensions import FarPointsWarning
from trigpoint._spectrum import RedundantEigenvectorsWarning
from trigpoint.metrics import coordinate_recovery


def up_to_sign(found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    return found * np.sign((found * expected).sum(axis=0))


def made(estimator, **options):
    """Return an estimator with 120 landmarks that compares no graphs."""
    if issubclass(estimator, tp.LaplacianEigenmaps):
        options = {"graph": "bhattacharyya", **options}
    return estimator(**{"landmarks": 120, "random_state": 0} | options)


@pytest.fixture(scope="module")
def big_roll():
    """Return a roll of 50,000 points."""
    return tp.datasets.make_swiss_roll(50_000, random_state=0)


def test_fit_transform_is_transform_of_the_training_points(estimator, roll, tmp_path):
    emb, path = made(estimator), tmp_path / "Y.npy"
    Y = emb.fit_transform(roll[0])
    np.testing.assert_array_equal(Y, emb.transform(roll[0]))
    assert made(estimator).fit_transform(roll[0], out=path) == path
    np.testing.assert_array_equal(np.load(path), Y)


def test_points_far_from_all_landmarks_come_with_a_warning(estimator, X, tmp_path):
    emb = made(estimator, landmarks=30).fit(X)
    emb.transform(X)
    far = X.copy()
    far[:3] += 1e5
    with pytest.warns(FarPointsWarning, match="3 of 60 points are more than ten bandwidths"):
        assert np.isfinite(emb.transform(far)).all()
    with pytest.warns(FarPointsWarning, match="60 of 60"):
        emb.transform(1e6 * X + 1e6, out=tmp_path / "far.npy")


def test_float32_stays_float32_and_agrees_with_float64(estimator, roll):
    X = roll[0]
    double = made(estimator).fit(X)
    single = made(estimator, landmarks=double.landmark_indices_).fit(X.astype(np.float32))
    assert single.landmark_embedding_.dtype == np.float32
    found = single.transform(X.astype(np.float32))
    assert found.dtype == np.float32
    # Layouts of a map diverge after a difference in the last digit.
    if estimator is not tp.LandmarkMap:
        expected = double.transform(X)
        atol = 1e-3 * np.abs(expected).max()
        np.testing.assert_allclose(up_to_sign(found, expected), expected, atol=atol)


def test_inputs_and_global_random_state_are_left_alone(estimator, roll):
    X = roll[0].copy()
    X.setflags(write=False)
    before = np.random.get_state()[1].copy()  # noqa: NPY002  the global state is the point
    estimator(landmarks=100, random_state=0).fit(X).transform(X)
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002  as above
    np.testing.assert_array_equal(X, roll[0])


def test_kernel_pca_of_all_points_is_scikit_learns(roll):
    X = roll[0][:500]
    emb = tp.KernelPCA(n_components=4, bandwidth=3.0).fit(X)
    peer = sklearn.decomposition.KernelPCA(4, kernel="rbf", gamma=1 / 18, eigen_solver="dense")
    # The same holds for points that were not fitted.
    expected = peer.fit(X).transform(roll[0])
    np.testing.assert_allclose(up_to_sign(emb.transform(roll[0]), expected), expected, atol=1e-9)


def test_isomap_of_all_points_is_scikit_learns_on_the_same_graph(roll):
    X = roll[0][:500]
    emb = tp.Isomap(n_components=2, graph=tp.KNNGraph(10, metric="euclidean")).fit(X)
    peer = sklearn.manifold.Isomap(
        n_components=2, n_neighbors=499, metric="precomputed", eigen_solver="dense"
    )
    expected = peer.fit_transform(emb.fitted_.extras["geodesics"])
    np.testing.assert_allclose(up_to_sign(emb.landmark_embedding_, expected), expected, atol=1e-6)


def test_leading_eigenvectors_recover_arc_length_and_the_default_height_too(big_roll):
    """The numbers are those of the Swiss roll in the README, at a twentieth of its size."""
    X, intrinsic = big_roll
    emb = tp.LaplacianEigenmaps(landmarks=1000, eigenvectors="leading", random_state=0)
    with pytest.warns(RedundantEigenvectorsWarning, match="choose eigenvectors='independent'"):
        leading = emb.fit_transform(X)
    assert abs(spearmanr(leading[:, 0], intrinsic[:, 0]).statistic) > 0.999
    length, height = coordinate_recovery(leading, intrinsic)
    assert length > 0.999
    assert height < 0.3
    default = tp.LaplacianEigenmaps(landmarks=1000, random_state=0).fit(X)
    length, height = coordinate_recovery(default.transform(X), intrinsic)
    assert length > 0.999
    assert height > 0.99
    # Five Euclidean neighbors preserve three points more, but the embedding would have holes.
    assert default.extension_ == "smooth"
    assert int(default.fitted_.decided["n_neighbors"]) >= 10
    assert list(default.stage_seconds_) == ["reading", "landmarks", "embedding"]


def test_landmarks_as_number_sampler_rows_or_points(roll):
    X = roll[0]
    emb = tp.LaplacianEigenmaps(landmarks=80, graph="bhattacharyya", random_state=3)
    by_number = clone(emb).fit(X)
    sampler = tp.EfficientDPP(80)
    by_sampler = clone(emb).set_params(landmarks=sampler).fit(X)
    np.testing.assert_array_equal(by_number.landmark_indices_, by_sampler.landmark_indices_)
    by_rows = clone(emb).set_params(landmarks=by_number.landmark_indices_).fit(X)
    np.testing.assert_allclose(by_rows.transform(X), by_number.transform(X), atol=1e-9)
    by_points = clone(emb).set_params(landmarks=by_number.landmarks_).fit(X)
    np.testing.assert_allclose(by_points.transform(X), by_number.transform(X), atol=1e-9)
    assert by_points.landmark_indices_ is None
    assert not hasattr(sampler, "indices_")


def test_graph_by_object_or_matrix(roll):
    X = roll[0]
    by_name = tp.LaplacianEigenmaps(landmarks=100, graph="euclidean", random_state=0).fit(X)
    n_neighbors = int(by_name.fitted_.decided["n_neighbors"])
    graph = tp.KNNGraph(n_neighbors, metric="euclidean")
    by_object = tp.LaplacianEigenmaps(landmarks=100, graph=graph, random_state=0).fit(X)
    np.testing.assert_array_equal(by_name.landmark_embedding_, by_object.landmark_embedding_)
    # Smooth coordinates also depend on lengths and bandwidths, which weights do not determine.
    given = {"eigenvectors": "independent", "extension": "graph"}
    by_object.set_params(**given).fit(X)
    by_matrix = tp.LaplacianEigenmaps(
        landmarks=by_name.landmark_indices_, graph=by_name.graph_, **given
    ).fit(X)
    np.testing.assert_allclose(
        by_matrix.landmark_embedding_, by_object.landmark_embedding_, atol=1e-12
    )


@pytest.mark.parametrize("loops", [0.0, 1.0])
def test_landmarks_keep_their_coordinates_on_a_graph_of_ones_own(loops, roll):
    """The weights of a binary graph do not come from a kernel."""
    X = roll[0][:500]
    emb = tp.LaplacianEigenmaps(landmarks=np.arange(500), graph="bhattacharyya").fit(X)
    links = (emb.graph_ > 0).astype(float)
    links.setdiag(loops)
    emb = tp.LaplacianEigenmaps(landmarks=np.arange(500), graph=links).fit(X)
    np.testing.assert_allclose(emb.transform(X), emb.landmark_embedding_, atol=1e-10)
    isomap = tp.Isomap(landmarks=np.arange(500), graph=links).fit(X)
    np.testing.assert_allclose(isomap.transform(X), isomap.landmark_embedding_, atol=1e-7)
