"""Maps: places of points, and what holds for them to the bit."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial import cKDTree, procrustes
from scipy.stats import spearmanr
from sklearn.datasets import load_digits

import trigpoint as tp


@pytest.fixture(scope="module", params=[3, 30, 80], ids=lambda d: f"{d}-D")
def groups(request):
    """Five groups of points on planes, and which each belongs to."""
    rng = np.random.default_rng(request.param)
    labels = rng.integers(5, size=3000)
    centers = 8 * rng.normal(size=(5, request.param))
    basis = np.linalg.qr(rng.normal(size=(request.param, 2)))[0]
    X = centers[labels] + rng.normal(size=(3000, 2)) @ basis.T
    return (X + 0.05 * rng.normal(size=X.shape)).astype(np.float32), labels


@pytest.fixture(scope="module")
def fitted(groups):
    return tp.LandmarkMap(landmarks=400, n_iter=250, random_state=0).fit(groups[0][:2500])


def test_groups_stay_apart_and_new_points_join_theirs(fitted, groups):
    X, labels = groups
    placed = fitted.transform(X)
    _, rows = cKDTree(placed[:2500]).query(placed[2500:], k=10)
    assert (labels[rows] == labels[2500:, None]).mean() > 0.99


def test_landmarks_are_drawn_from_a_pool(rng):
    X = rng.normal(size=(3000, 60)).astype(np.float32)
    emb = tp.LandmarkMap(landmarks=100, n_iter=10, random_state=0).fit(X)
    assert len(np.unique(emb.landmark_indices_)) == 100
    # Beyond the 2,000 points that a pool of the first ones would have.
    assert emb.landmark_indices_.max() >= 2000
    np.testing.assert_array_equal(emb.landmarks_, X[emb.landmark_indices_])
    assert emb.masses_.sum() >= 1000
    # All points are refined, not the pool.
    fine = tp.LandmarkMap(landmarks=100, n_iter=10, refine=2, random_state=0).fit(X)
    np.testing.assert_array_equal(fine.landmark_indices_, np.arange(3000))


def test_few_distinct_among_many_points_are_all_landmarks(rng):
    X = np.repeat(rng.normal(size=(30, 4)), 7000, axis=0)
    emb = tp.LandmarkMap(n_iter=10, random_state=0).fit(X)
    # The pool has a copy of each, if not the first one.
    np.testing.assert_array_equal(emb.landmark_indices_ // 7000, np.arange(30))
    X = rng.normal(size=(150, 4))
    X[140:] = X[:10]
    emb = tp.LandmarkMap(n_iter=50, random_state=0).fit(X)
    np.testing.assert_array_equal(emb.landmark_indices_, np.arange(140))
    np.testing.assert_array_equal(emb.masses_, np.repeat([2.0, 1.0], [10, 130]))
    np.testing.assert_array_equal(emb.transform(X)[:140], emb.landmark_embedding_)


def test_masses_count_the_nearest_points(rng):
    X = rng.normal(size=(400, 3))
    emb = tp.LandmarkMap(landmarks=X[:50], n_iter=5, random_state=0).fit(X)
    expected = np.bincount(cKDTree(X[:50]).query(X)[1], minlength=50)
    np.testing.assert_array_equal(emb.masses_, expected)
    # Of many points, a sample is counted.
    few = tp.LandmarkMap(landmarks=X[:20], n_iter=5, random_state=0).fit(X)
    assert few.masses_.sum() == 200


@pytest.mark.parametrize(
    "options",
    [{"n_neighbors": 1}, {"n_neighbors": 19}, {"landmarks": 2, "n_components": 1}],
    ids=str,
)
def test_hardly_any_or_all_neighbors(options, rng):
    """Nearest landmarks still attract each other, and what is apart stays apart."""
    X = np.repeat([[0.0, 0], [9, 9]], 100, axis=0) + 0.1 * rng.normal(size=(200, 2))
    Y = tp.LandmarkMap(
        **{"landmarks": 20, "n_iter": 100, "random_state": 0} | options
    ).fit_transform(X)
    assert np.isfinite(Y).all()
    assert np.ptp(Y[:100], axis=0).max() < np.ptp(Y, axis=0).max()


def kept_neighbors(X, Y):
    there, here = (cKDTree(points).query(points, k=11)[1][:, 1:] for points in (X, Y))
    return np.mean([len(set(a) & set(b)) for a, b in zip(there, here, strict=True)]) / 10


def test_refined_maps_keep_more_neighbors(rng):
    # A surface would be followed between few landmarks as well.
    X = rng.uniform(size=(1500, 5))
    coarse = tp.LandmarkMap(landmarks=100, n_iter=200, random_state=0)
    fine = tp.LandmarkMap(landmarks=100, n_iter=200, refine=200, random_state=0)
    kept = kept_neighbors(X, coarse.fit_transform(X))
    assert kept_neighbors(X, fine.fit_transform(X)) > kept + 0.05
    assert len(fine.landmarks_) == 1500
    np.testing.assert_array_equal(fine.transform(X), fine.landmark_embedding_)


def test_refined_maps_see_what_the_projection_leaves_out(rng):
    """Neighbors by all columns, where most of the distances is outside of the projection."""
    X = 1.5 * rng.normal(size=(5, 400))[rng.integers(5, size=400)] + rng.normal(size=(400, 400))
    coarse, fine = (
        kept_neighbors(X, tp.LandmarkMap(refine=steps, random_state=0).fit_transform(X))
        for steps in (0, 100)
    )
    # With distances in the projection it was less than .01 more.
    assert fine > coarse + 0.03


def test_sparse_points_are_refused_with_the_remedy_but_placed(rng):
    X = rng.poisson(0.1, size=(400, 80)) * rng.random((400, 80))
    emb = tp.LandmarkMap(landmarks=50, n_iter=20, random_state=0)
    with pytest.raises(tp.ParameterError, match=r"LandmarkMap does not .*: .*TruncatedSVD") as seen:
        emb.fit(csr_array(X))
    assert isinstance(seen.value, TypeError)
    assert seen.value.parameter == "X"
    assert "EfficientDPP" not in str(seen.value)
    with pytest.raises(TypeError, match="does not take sparse"):
        emb.fit(csr_array(X[:, :5]))
    emb.fit(X)
    np.testing.assert_array_equal(emb.transform(csr_array(X)), emb.transform(X))


def test_quality_and_report_of_a_map(tmp_path):
    X = load_digits().data[::2]
    emb = tp.LandmarkMap(landmarks=300, random_state=0).fit(X)
    found = emb.quality(X)
    assert found.neighbors_kept > 2 * found.pca_kept
    assert found.pieces is None
    assert found.grade == "excellent"
    assert found.remedy == ""
    assert found.verdict in repr(found)
    for points in (None, X):
        page = emb.report(tmp_path / "map.html", points).read_text(encoding="utf-8")
        assert "Map of" in page
        assert "Eigenvalue spectrum" not in page


def test_the_remedy_for_a_map_is_one_that_it_takes():
    """Digits have seven local dimensions, and a map at most three coordinates."""
    X = load_digits().data[::2]
    coarse = tp.LandmarkMap(landmarks=30, random_state=0).fit(X).quality(X)
    assert coarse.remedy == "refine=200"
    better = tp.LandmarkMap(landmarks=30, refine=200, random_state=0).fit(X).quality(X)
    assert better.neighbors_kept > 1.5 * coarse.neighbors_kept


def test_surfaces_keep_their_large_shape_with_any_seed():
    X, intrinsic = tp.datasets.make_swiss_roll(3000, random_state=0)
    maps = [
        tp.LandmarkMap(landmarks=600, n_iter=200, random_state=seed).fit_transform(X)
        for seed in (0, 1)
    ]
    pairs = np.random.default_rng(0).integers(len(X), size=(2, 5000))
    on_the_surface, in_the_map = (
        np.linalg.norm(places[pairs[0]] - places[pairs[1]], axis=1)
        for places in (intrinsic, maps[0])
    )
    # From principal components it is 0.69: the roll is cut.
    assert spearmanr(on_the_surface, in_the_map).statistic > 0.97
    assert procrustes(*maps)[2] < 0.02


@pytest.mark.parametrize("n", [3, 5, 12, 31, 60])
def test_few_points_are_kept_apart(n, rng):
    placed = tp.LandmarkMap(n_iter=200, random_state=0).fit_transform(rng.normal(size=(n, 3)))
    apart = np.linalg.norm(placed[:, None] - placed, axis=2)[~np.eye(n, dtype=bool)]
    assert np.median(apart) > 1


@pytest.mark.parametrize("constant", [7.0, 1e20, 1e150])
def test_a_constant_column_changes_nothing(constant, rng):
    X = rng.normal(size=(100, 4))
    beside = np.insert(X, 2, constant, axis=1)
    placed, expected = (
        tp.LandmarkMap(landmarks=40, n_iter=50, random_state=0).fit_transform(points)
        for points in (beside, X)
    )
    assert procrustes(placed, expected)[2] < 1e-6
