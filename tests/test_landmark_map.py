"""Maps: places of points, and what holds for them to the bit."""

import pickle
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array, save_npz
from scipy.spatial import cKDTree
from sklearn.datasets import load_digits

import trigpoint as tp
from trigpoint._extension.placing import MapExtension, nearest_landmarks
from trigpoint._extension.search import exact_search
from trigpoint._numerics.reduction import all_projected, principal_projection


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


def test_a_point_has_the_same_place_in_any_batch(fitted, groups):
    X = groups[0]
    whole = fitted.transform(X)
    some = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_array_equal(fitted.transform(X[some]), whole[some])
    for rows in (1, 7, 64, 500):
        np.testing.assert_array_equal(fitted.transform(X[:rows]), whole[:rows])
    np.testing.assert_array_equal(fitted.fitted_.extension(X)[0].astype(np.float32), whole)


def test_landmarks_keep_their_places(fitted):
    np.testing.assert_array_equal(fitted.transform(fitted.landmarks_), fitted.landmark_embedding_)


def test_a_point_next_to_a_landmark_is_next_to_it_in_the_map(fitted):
    near = fitted.landmarks_[:50].astype(np.float64) + 1e-7
    extent = np.ptp(fitted.landmark_embedding_)
    offsets = fitted.transform(near) - fitted.landmark_embedding_[:50]
    assert abs(offsets).max() < 1e-4 * extent


def test_same_bits_with_any_number_of_threads(groups):
    X = groups[0]
    results = [
        tp.LandmarkMap(landmarks=600, n_iter=40, random_state=3, n_jobs=jobs).fit_transform(X)
        for jobs in (1, 2, 4)
    ]
    np.testing.assert_array_equal(results[1], results[0])
    np.testing.assert_array_equal(results[2], results[0])


def test_pickled_and_saved(fitted, groups, tmp_path):
    X = groups[0]
    expected = fitted.transform(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).transform(X), expected)
    fitted.save(tmp_path / "map.trig")
    again = tp.load(tmp_path / "map.trig")
    np.testing.assert_array_equal(again.transform(X), expected)
    np.testing.assert_array_equal(again.masses_, fitted.masses_)
    assert again.get_params()["n_neighbors"] == 10


def test_groups_stay_apart_and_new_points_join_theirs(fitted, groups):
    X, labels = groups
    placed = fitted.transform(X)
    _, rows = cKDTree(placed[:2500]).query(placed[2500:], k=10)
    assert (labels[rows] == labels[2500:, None]).mean() > 0.99


def test_points_lie_between_landmarks_not_on_them(fitted, groups):
    landmarks = fitted.landmark_embedding_
    spacings = cKDTree(landmarks).query(landmarks, k=2)[0][:, 1]
    distances, rows = cKDTree(landmarks).query(fitted.transform(groups[0][2500:]))
    assert (distances < 0.05 * spacings[rows]).mean() < 0.03


def test_far_points_come_with_a_warning(fitted, groups):
    X = groups[0][:60]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted.transform(X)
    new = X.copy()
    new[:3] += 1e5
    with pytest.warns(tp.FarPointsWarning, match="3 of 60 points"):
        placed = fitted.transform(new)
    assert np.isfinite(placed).all()


def test_points_far_outside_of_the_projection_are_far(rng):
    X = rng.normal(size=(500, 80)) * (np.arange(80) < 40)
    emb = tp.LandmarkMap(landmarks=100, n_iter=20, random_state=0).fit(X)
    outside = X[:5].copy()
    outside[:, 70] = 1e4
    assert emb.projection_.components.shape == (80, 50)
    with pytest.warns(tp.FarPointsWarning, match="5 of 5 points"):
        emb.transform(outside)


def test_places_by_hand():
    """The mean by shares among the landmarks around which most shares lie."""
    rng = np.random.default_rng(1)
    landmarks, positions = rng.normal(size=(60, 3)), 3 * rng.normal(size=(60, 2))
    extension = MapExtension.prepare(landmarks, positions)
    to_map = np.sort(np.linalg.norm(positions[:, None] - positions, axis=-1), axis=1)
    points = rng.normal(size=(40, 3))
    found = extension(points)[0]
    compared = 0
    for x, place in zip(points, found, strict=True):
        squares = np.square(landmarks - x).sum(axis=1)
        order = np.argsort(squares)[:21]
        if squares[order[0]] < 0.25 * squares[order[1]]:
            # Drawn to its landmark.
            continue
        shares = np.square(1 - squares[order[:20]] / squares[order[20]])
        around = positions[order[:20]]
        apart = np.square(around[:, None] - around).sum(axis=-1) / to_map[order[:20], 6, None] ** 2
        middle = (shares / (1 + apart / 9)).sum(axis=1).argmax()
        weights = shares * np.square(np.maximum(0, 1 - apart[middle] / 9))
        np.testing.assert_allclose(place, weights @ around / weights.sum(), atol=1e-12)
        compared += 1
    assert compared > 20


@pytest.mark.parametrize("shift", [0.0, 1e4, 1e25])
def test_exact_search_in_high_dimension(shift):
    """Candidates from products miss no neighbor, even where float32 has no digits left."""
    rng = np.random.default_rng(0)
    landmarks = rng.normal(size=(300, 20))
    landmarks[150:] += shift
    points = landmarks[rng.integers(300, size=50)] + rng.normal(size=(50, 20))
    found, squares = exact_search(landmarks, 5).nearest(points, 5)
    expected = np.square(points[:, None] - landmarks).sum(axis=-1)
    order = np.argsort(expected, axis=1, kind="stable")[:, :5]
    np.testing.assert_allclose(squares, np.take_along_axis(expected, order, axis=1), rtol=1e-12)
    if shift < 1e20:
        np.testing.assert_array_equal(found, order)


def test_masses_count_the_nearest_points(rng):
    X = rng.normal(size=(400, 3))
    emb = tp.LandmarkMap(landmarks=X[:50], n_iter=5, random_state=0).fit(X)
    expected = np.bincount(cKDTree(X[:50]).query(X)[1], minlength=50)
    np.testing.assert_array_equal(emb.masses_, expected)
    # Of many points, a sample is counted.
    few = tp.LandmarkMap(landmarks=X[:20], n_iter=5, random_state=0).fit(X)
    assert few.masses_.sum() == 200


@pytest.mark.parametrize("dimension", [3, 30])
def test_nearest_landmarks_come_in_the_order_of_the_points(rng, dimension):
    X = rng.normal(size=(10_000, dimension))
    blocks = list(nearest_landmarks(X, X[:40], 4, 2))
    rows = np.concatenate([rows for rows, _ in blocks])
    np.testing.assert_array_equal(rows, cKDTree(X[:40]).query(X, k=4)[1])
    assert len(blocks) > 1


def test_projection_is_that_of_principal_components(rng):
    X = rng.normal(size=(400, 70)) @ np.diag(0.9 ** np.arange(70))
    projection = principal_projection(X, 10, rng)
    around = X - X.mean(axis=0)
    directions = np.linalg.svd(around, full_matrices=False)[2][:10]
    overlap = np.linalg.svd(directions @ projection.components)[1]
    assert overlap.min() > 0.99
    expected = around @ projection.components
    np.testing.assert_allclose(all_projected(projection, X, 2), expected, atol=1e-12)


def test_few_points_are_all_landmarks(rng):
    X = rng.normal(size=(150, 4))
    X[140:] = X[:10]
    emb = tp.LandmarkMap(n_iter=50, random_state=0).fit(X)
    np.testing.assert_array_equal(emb.landmark_indices_, np.arange(140))
    np.testing.assert_array_equal(emb.masses_, np.repeat([2.0, 1.0], [10, 130]))
    np.testing.assert_array_equal(emb.transform(X)[:140], emb.landmark_embedding_)


def test_refined_maps_keep_more_neighbors(rng):
    X = rng.uniform(size=(1500, 2)) @ np.linalg.qr(rng.normal(size=(5, 2)))[0].T
    X += 0.02 * rng.normal(size=X.shape)
    coarse = tp.LandmarkMap(landmarks=100, n_iter=200, random_state=0)
    fine = tp.LandmarkMap(landmarks=100, n_iter=200, refine=200, random_state=0)

    def kept(Y):
        there, here = (cKDTree(points).query(points, k=11)[1][:, 1:] for points in (X, Y))
        pairs = zip(there, here, strict=True)
        return np.mean([len(set(a) & set(b)) for a, b in pairs]) / 10

    assert kept(fine.fit_transform(X)) > kept(coarse.fit_transform(X)) + 0.05
    assert len(fine.landmarks_) == 1500
    np.testing.assert_array_equal(fine.transform(X), fine.landmark_embedding_)


def test_given_landmarks_and_samplers(groups):
    X = groups[0][:500]
    rows = np.arange(0, 500, 5)
    for landmarks in (rows, X[rows], tp.Uniform(100), tp.KMeansLandmarks(100, snap=False)):
        emb = tp.LandmarkMap(landmarks=landmarks, n_iter=20, random_state=0).fit(X)
        assert emb.landmark_embedding_.shape == (100, 2)
        np.testing.assert_array_equal(emb.transform(emb.landmarks_), emb.landmark_embedding_)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 4}, "n_components=4 is too large.*<= 3"),
        ({"n_neighbors": 0}, "n_neighbors=0 is too small"),
        ({"exaggeration": -1.0}, "exaggeration=-1.0 is out of range"),
        ({"n_iter": 0}, "n_iter=0 is too small"),
        ({"refine": -1}, "refine=-1 is too small"),
        ({"refine": True}, "refine"),
    ],
)
def test_refuses(parameters, message, rng):
    with pytest.raises((ValueError, TypeError), match=message):
        tp.LandmarkMap(**parameters).fit(rng.normal(size=(30, 2)))


def test_report_has_no_spectrum(groups, tmp_path):
    emb = tp.LandmarkMap(landmarks=50, n_iter=20, random_state=0).fit(groups[0][:300])
    page = emb.report(tmp_path / "map.html", groups[0][:300]).read_text()
    assert "Map of 300 points" in page
    assert "Eigenvalue spectrum" not in page


def test_cosine_measures_directions_only(rng):
    X = rng.normal(size=(600, 6)) + 2
    longer = X * np.exp2(rng.integers(-3, 4, size=(600, 1)))
    emb = tp.LandmarkMap(landmarks=100, n_iter=30, metric="cosine", random_state=0)
    np.testing.assert_array_equal(emb.fit_transform(longer), emb.fit_transform(X))
    np.testing.assert_allclose(np.linalg.norm(emb.landmarks_, axis=1), 1)
    plain = tp.LandmarkMap(landmarks=100, n_iter=30, random_state=0)
    assert not np.array_equal(plain.fit_transform(longer), plain.fit_transform(X))


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


def test_a_sparse_file_is_refused_too(tmp_path, rng):
    save_npz(tmp_path / "X.npz", csr_array(rng.poisson(0.1, size=(400, 80)).astype(float)))
    with pytest.raises(TypeError, match="LandmarkMap does not take sparse points"):
        tp.LandmarkMap(landmarks=50, n_iter=20).fit(tmp_path / "X.npz")


def test_quality_and_report_of_a_map(tmp_path):
    X = load_digits().data
    emb = tp.LandmarkMap(landmarks=600, random_state=0).fit(X)
    found = emb.quality(X)
    assert found.neighbors_kept > 2 * found.pca_kept
    assert found.pieces is None
    assert found.grade == "excellent"
    assert found.remedy == ""
    assert found.verdict in repr(found)
    for points in (None, X):
        page = emb.report(tmp_path / "map.html", points).read_text(encoding="utf-8")
        assert "Map of" in page


def test_the_remedy_for_a_map_is_one_that_it_takes():
    """Digits have seven local dimensions, and a map at most three coordinates."""
    X = load_digits().data
    coarse = tp.LandmarkMap(landmarks=60, random_state=0).fit(X).quality(X)
    assert coarse.remedy == "refine=200"
    better = tp.LandmarkMap(landmarks=60, refine=200, random_state=0).fit(X).quality(X)
    assert better.neighbors_kept > 1.5 * coarse.neighbors_kept
