"""Maps: positions of points, and bitwise reproducibility."""

import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial import cKDTree, procrustes
from scipy.stats import spearmanr
from sklearn.datasets import load_digits

import trigpoint as tp
from trigpoint._estimators import landmark_map


@pytest.fixture(scope="module", params=[3, 30, 80], ids=lambda d: f"{d}-D")
def groups(request):
    """Return five groups of points on planes, and the group of each point."""
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
    # There are more than 2,000 points, the size of a pool of the first ones.
    assert emb.landmark_indices_.max() >= 2000
    # Distances are measured in principal components.
    around = X[emb.landmark_indices_] - emb.fitted_.extras["center"]
    expected = around @ emb.fitted_.extras["components"]
    np.testing.assert_allclose(emb.landmarks_, expected, atol=1e-4)
    assert emb.masses_.sum() >= 1000


def test_few_distinct_among_many_points_are_all_landmarks(rng):
    X = np.repeat(rng.normal(size=(30, 4)), 7000, axis=0)
    emb = tp.LandmarkMap(n_iter=10, random_state=0).fit(X)
    # The pool holds a duplicate of each, if not the first one.
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
    # If there are many points, masses are counted in a sample.
    few = tp.LandmarkMap(landmarks=X[:20], n_iter=5, random_state=0).fit(X)
    assert few.masses_.sum() == 200


@pytest.mark.parametrize(
    "options",
    [{"n_neighbors": 1}, {"n_neighbors": 19}, {"landmarks": 2, "n_components": 1}],
    ids=str,
)
def test_hardly_any_or_all_neighbors(options, rng):
    """Nearest landmarks still attract each other, and separate groups stay separate."""
    X = np.repeat([[0.0, 0], [9, 9]], 100, axis=0) + 0.1 * rng.normal(size=(200, 2))
    Y = tp.LandmarkMap(
        **{"landmarks": 20, "n_iter": 100, "random_state": 0} | options
    ).fit_transform(X)
    assert np.isfinite(Y).all()
    assert np.ptp(Y[:100], axis=0).max() < np.ptp(Y, axis=0).max()


def kept_neighbors(X, Y):
    there, here = (cKDTree(points).query(points, k=11)[1][:, 1:] for points in (X, Y))
    return np.mean([len(set(a) & set(b)) for a, b in zip(there, here, strict=True)]) / 10


def test_maps_of_all_rows_preserve_more_neighbors(rng):
    # On a surface, few landmarks would suffice.
    X = rng.uniform(size=(1500, 5))
    kept = kept_neighbors(X, tp.LandmarkMap(landmarks=100).fit_transform(X))
    emb = tp.LandmarkMap()
    assert kept_neighbors(X, emb.fit_transform(X)) > kept + 0.05
    np.testing.assert_array_equal(emb.landmark_indices_, np.arange(1500))
    np.testing.assert_array_equal(emb.masses_, np.ones(1500))


def test_maps_of_all_rows_use_distances_in_all_columns(rng):
    """All columns determine the attraction, and most of each distance is outside the projection."""
    X = 1.5 * rng.normal(size=(5, 400))[rng.integers(5, size=400)] + rng.normal(size=(400, 400))
    emb = tp.LandmarkMap().fit(X)
    in_projection = tp.LandmarkMap().fit_transform(emb.landmarks_)
    assert kept_neighbors(X, emb.landmark_embedding_) > kept_neighbors(X, in_projection) + 0.02


def stored(kind, X):
    if kind == "frame":
        names = [f"x{j}" for j in range(X.shape[1])]
        return pytest.importorskip("pandas").DataFrame(X, columns=names)
    return {"sparse": csr_array, "array": np.asarray}[kind](X)


@pytest.mark.parametrize("kind", ["array", "frame", "sparse"])
@pytest.mark.parametrize(
    ("d", "dtype", "offset"), [(3, np.float32, 0), (40, np.float64, 1e9), (80, np.float32, 5)]
)
def test_rows_keep_their_positions_in_the_layout(kind, d, dtype, offset, rng):
    X = (rng.normal(size=(700, d)) * 0.9 ** np.arange(d) + offset).astype(dtype)
    if kind == "sparse":
        X[rng.random(X.shape) < 0.5] = 0
    X[600:] = X[rng.integers(600, size=100)]
    emb = tp.LandmarkMap(n_iter=20)
    Y = emb.fit_transform(stored(kind, X))
    assert len(emb.landmarks_) == len(np.unique(X, axis=0)) <= 600
    np.testing.assert_array_equal(emb.transform(stored(kind, X)), Y)
    for row in (0, 650):
        np.testing.assert_array_equal(emb.transform(stored(kind, X[row : row + 1])), Y[[row]])
    assert emb.masses_.sum() == 700


def test_many_rows_keep_their_positions_in_the_layout(groups):
    """With many rows, neighbors are searched in cells."""
    X = np.concatenate([groups[0] + shift for shift in range(6)])[:16_000]
    emb = tp.LandmarkMap(n_iter=2)
    np.testing.assert_array_equal(emb.fit_transform(X), emb.transform(X))


def test_the_same_data_gives_the_same_map(rng, tmp_path):
    """No seed is given; the number of threads and the storage vary."""
    X = rng.normal(size=(2500, 60)) + 100
    expected = tp.LandmarkMap(n_iter=20).fit_transform(X)
    for n_jobs in (1, 2):
        emb = tp.LandmarkMap(n_iter=20, n_jobs=n_jobs)
        np.testing.assert_array_equal(emb.fit_transform(np.asfortranarray(X)), expected)
    np.save(tmp_path / "X.npy", X)
    dask = pytest.importorskip("dask.array").from_array(X, chunks=(700, 13))
    for source in (tmp_path / "X.npy", dask):
        found = tp.LandmarkMap(n_iter=20).fit_transform(source)
        np.testing.assert_array_equal(np.asarray(found), expected)
    other = tp.LandmarkMap(n_iter=20, random_state=1).fit_transform(X)
    assert not np.array_equal(other, expected)


# Which rows are laid out -------------------------------------------------------------------------


def test_all_rows_of_more_than_memory_holds_are_refused(rng, unread, monkeypatch):
    monkeypatch.setattr(landmark_map, "physical_memory", lambda: 2**20)
    X = rng.normal(size=(1000, 4))
    with pytest.raises(tp.ParameterError, match=r"landmarks='all' needs .* 1,000 rows") as seen:
        tp.LandmarkMap(landmarks="all").fit(unread(X))
    assert seen.value.parameter == "landmarks"
    tp.LandmarkMap(landmarks=50, n_iter=2).fit(X)


def test_beyond_the_limit_landmarks_are_drawn(rng, monkeypatch):
    X = rng.normal(size=(1200, 4))
    monkeypatch.setattr(landmark_map, "MOST_ROWS", 1000)
    monkeypatch.setattr(tp.LandmarkMap, "_default_landmarks", 300)
    assert len(tp.LandmarkMap(n_iter=2).fit(X).landmarks_) == 300
    assert len(tp.LandmarkMap(n_iter=2).fit(X[:1000]).landmarks_) == 1000
    assert len(tp.LandmarkMap(landmarks="all", n_iter=2).fit(X).landmarks_) == 1200
    monkeypatch.setattr(landmark_map, "_MOST_BYTES", 1000 * 4 * 8 - 1)
    assert len(tp.LandmarkMap(n_iter=2).fit(X[:1000]).landmarks_) == 300


def test_many_columns_of_sparse_rows_take_little_memory(rng, monkeypatch):
    """Dense rows would take 0.5 GB, and landmarks would be drawn."""
    monkeypatch.setattr(landmark_map, "_MOST_BYTES", 2**26)
    columns = rng.integers(1000, size=(1000, 20)) + 1000 * rng.integers(3, size=1000)[:, None]
    X = csr_array(
        (np.ones(20_000), columns.ravel(), np.arange(0, 20_001, 20)), shape=(1000, 60_000)
    )
    emb = tp.LandmarkMap(n_iter=10)
    tracemalloc.start()
    Y = emb.fit_transform(X)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 3 * 10**8
    assert len(emb.landmarks_) == 1000
    np.testing.assert_array_equal(emb.transform(X), Y)


# Outlying rows -----------------------------------------------------------------------------------


def spoiled(kind, X):
    """Return `X` with additions that must not change the map of some rows, and these rows."""
    rows = np.arange(len(X))
    if kind == "far groups":
        X = X.copy()
        X[500:, 0] += 1e5
    elif kind == "five times":
        X = np.repeat(X, 5, axis=0)
        rows = 5 * rows
    elif kind == "constant":
        X = np.insert(X, 3, 1e20, axis=1)
    else:
        X = np.insert(X, 400, 0.0, axis=0)
        X[400, 3] = kind
        rows = np.delete(np.arange(len(X)), 400)
    return X, rows


@pytest.mark.parametrize("d", [20, 80])
@pytest.mark.parametrize("kind", [1e6, 1e12, "constant", "five times", "far groups"], ids=str)
def test_odd_rows_do_not_spoil_the_map_of_the_others(kind, d, rng):
    X = 2 * rng.normal(size=(10, d))[rng.integers(10, size=1000)] + rng.normal(size=(1000, d))
    parts = (slice(500), slice(500, None)) if kind == "far groups" else (slice(None),)

    def kept(Y):
        return np.mean([kept_neighbors(X[part], Y[part]) for part in parts])

    clean = kept(tp.LandmarkMap().fit_transform(X))
    odd, rows = spoiled(kind, X)
    Y = tp.LandmarkMap().fit_transform(odd)
    assert np.isfinite(Y).all()
    assert kept(Y[rows]) > clean - 0.02


def test_a_far_sparse_row_does_not_spoil_the_map_of_the_others(rng):
    topics = rng.dirichlet(np.full(300, 0.05), size=8)
    X = rng.poisson(40 * topics[rng.integers(8, size=800)]).astype(float)
    clean = kept_neighbors(X, tp.LandmarkMap().fit_transform(csr_array(X)))
    far = X.copy()
    far[77, 5] = 1e9
    Y = tp.LandmarkMap().fit_transform(csr_array(far))
    rows = np.arange(800) != 77
    assert kept_neighbors(X[rows], Y[rows]) > clean - 0.02


# Models ------------------------------------------------------------------------------------------


def test_models_of_many_columns_are_small(rng, tmp_path):
    X = rng.normal(size=(20_000, 100)).astype(np.float32)
    emb = tp.LandmarkMap(n_iter=2).fit(X)
    emb.save(tmp_path / "map.trig")
    assert (tmp_path / "map.trig").stat().st_size < 8 * 10**6
    new = rng.normal(size=(300, 100)).astype(np.float32)
    again = tp.load(tmp_path / "map.trig")
    np.testing.assert_array_equal(again.transform(new), emb.transform(new))
    np.testing.assert_array_equal(again.transform(X[:3000]), emb.landmark_embedding_[:3000])


def test_a_model_that_started_from_coordinates_is_saved(rng, tmp_path):
    X = rng.normal(size=(100, 4))
    emb = tp.LandmarkMap(init=X[:, :2], n_iter=5).fit(X)
    emb.save(tmp_path / "map.trig")
    again = tp.load(tmp_path / "map.trig")
    np.testing.assert_array_equal(again.transform(X), emb.transform(X))
    assert again.init == "auto"


@pytest.mark.parametrize("d", [10, 80])
def test_some_rows_of_many_may_be_laid_out(d, rng):
    labels = rng.integers(6, size=3000)
    X = 3 * rng.normal(size=(6, d))[labels] + rng.normal(size=(3000, d))
    rows = rng.choice(3000, 300, replace=False)
    for landmarks in (300, rows, X[rows], tp.Uniform(300), tp.EfficientDPP(300)):
        emb = tp.LandmarkMap(landmarks=landmarks)
        Y = emb.fit_transform(X)
        assert emb.landmarks_.shape == (300, min(d, 50))
        # Only new points are interpolated by `transform`; landmarks keep their positions.
        if emb.landmark_indices_ is not None:
            np.testing.assert_array_equal(Y[emb.landmark_indices_], emb.landmark_embedding_)
        _, near = cKDTree(Y).query(Y, k=6)
        assert (labels[near[:, 1:]] == labels[:, None]).mean() > 0.95


@pytest.mark.parametrize("d", [30, 80])
def test_sparse_rows_have_the_map_of_dense_ones(d, rng):
    X = rng.poisson(0.5, size=(500, d)) * rng.random((500, d))
    X[:, 0] += np.repeat(8 * np.arange(5), 100)
    sparse, dense = (tp.LandmarkMap().fit_transform(rows) for rows in (csr_array(X), X))
    assert kept_neighbors(X, sparse) == pytest.approx(kept_neighbors(X, dense), abs=0.03)
    drawn = tp.LandmarkMap(landmarks=100, n_iter=20).fit(csr_array(X))
    assert len(drawn.landmarks_) == 100
    assert np.isfinite(drawn.transform(csr_array(X))).all()


def test_quality_and_report_of_a_map(tmp_path):
    X = load_digits().data[::2]
    emb = tp.LandmarkMap(landmarks=300, random_state=0).fit(X)
    found = emb.quality(X)
    assert found.preserved > 2 * found.by_pca
    assert found.pieces is None
    assert found.grade == "excellent"
    assert found.remedy == ""
    assert found.verdict in " ".join(repr(found).split())
    for points in (None, X):
        page = emb.report(tmp_path / "map.html", points).read_text(encoding="utf-8")
        assert "Map of" in page
        assert "Eigenvalue spectrum" not in page


def test_the_remedy_for_a_map_works():
    """Digits have seven local dimensions, and a map has at most three coordinates."""
    X = load_digits().data[::2]
    coarse = tp.LandmarkMap(landmarks=30, random_state=0).fit(X).quality(X)
    assert coarse.remedy == 'landmarks="all"'
    better = tp.LandmarkMap(landmarks="all", random_state=0).fit(X).quality(X)
    assert better.preserved > 1.5 * coarse.preserved
    assert "landmarks" not in better.remedy


def test_surfaces_keep_their_large_shape_with_any_seed():
    X, intrinsic = tp.datasets.make_swiss_roll(3000, random_state=0)
    maps = [tp.LandmarkMap(landmarks=600, random_state=seed).fit_transform(X) for seed in (0, 1)]
    pairs = np.random.default_rng(0).integers(len(X), size=(2, 5000))
    on_the_surface, in_the_map = (
        np.linalg.norm(places[pairs[0]] - places[pairs[1]], axis=1)
        for places in (intrinsic, maps[0])
    )
    # A start from principal components gives 0.69, because it cuts the roll.
    assert spearmanr(on_the_surface, in_the_map).statistic > 0.97
    assert procrustes(*maps)[2] < 0.02


def test_parts_of_the_data_have_similar_maps():
    """Without the force toward the initialization, the mean is 0.90."""
    X = load_digits().data
    found = []
    for seed in range(4):
        shuffled = np.random.default_rng(seed).permutation(len(X))
        parts = np.sort(shuffled[:1200]), np.sort(shuffled[-1200:])
        common = np.intersect1d(*parts)
        maps = [
            tp.LandmarkMap().fit_transform(X[part])[np.searchsorted(part, common)] for part in parts
        ]
        found.append(tp.metrics.procrustes_r2(*maps))
    assert np.mean(found) > 0.92


@pytest.mark.parametrize("n", [3, 5, 12, 31, 60])
def test_few_points_are_kept_apart(n, rng):
    placed = tp.LandmarkMap(random_state=0).fit_transform(rng.normal(size=(n, 3)))
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
