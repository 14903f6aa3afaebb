"""metric="cosine" and metric="seuclidean": the same as mapping rows by hand, to the bit."""

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array
from sklearn.base import clone

import trigpoint as tp
from trigpoint._spaces import SPACES, Cosine, Space, Standardized, space_for
from trigpoint.metrics import coverage_radius, neighbor_preservation

SAMPLERS = {
    "EfficientDPP": tp.EfficientDPP(12),
    "EfficientDPP, refined": tp.EfficientDPP(12, refine=1),
    "ExactDPP": tp.ExactDPP(12),
    "FarthestPoint": tp.FarthestPoint(12),
    "KMeansLandmarks": tp.KMeansLandmarks(12),
}
ESTIMATORS = {
    "LaplacianEigenmaps": tp.LaplacianEigenmaps(landmarks=40, random_state=0),
    "DiffusionMaps": tp.DiffusionMaps(landmarks=40, random_state=0),
    "Isomap": tp.Isomap(landmarks=40, random_state=0),
    "KernelPCA": tp.KernelPCA(landmarks=40, random_state=0),
    "LandmarkMap": tp.LandmarkMap(landmarks=40, n_iter=20, random_state=0),
}

each_sampler = pytest.mark.parametrize("name", SAMPLERS)
each_estimator = pytest.mark.parametrize("name", ESTIMATORS)
each_metric = pytest.mark.parametrize("metric", ["cosine", "seuclidean"])


def by_hand(X):
    """Rows of unit length, slowly: squares are summed one after the other, as cumsum does."""
    doubles = X.astype(np.float64)
    norms = np.sqrt(np.cumsum(np.square(doubles), axis=1)[:, -1])
    return (doubles / norms[:, None]).astype(X.dtype)


def mapped(metric, X):
    """What the metric makes of rows after a fit to the first 300."""
    return space_for(metric).fit(X[:300])(X)


def vectors(rng, n=400, d=20, dtype=np.float64):
    """Directions around a curve, of very different lengths."""
    angles = rng.uniform(0, 3, size=n)
    centers = np.cos(angles[:, None] * np.linspace(0, 2, d))
    X = (centers + 0.1 * rng.normal(size=(n, d))) * rng.lognormal(size=(n, 1))
    return X.astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 3, 20])
def test_unit_rows_are_those_by_hand(d, dtype, rng):
    X = rng.normal(size=(50, d)).astype(dtype)
    units = Cosine()(X)
    assert units.dtype == dtype
    np.testing.assert_array_equal(units, by_hand(X))
    np.testing.assert_allclose(np.linalg.norm(units, axis=1), 1, rtol=1e-6)


@pytest.mark.parametrize("power", [-1000, -600, 600, 1020])
def test_rows_of_any_magnitude_are_scaled(power, rng):
    """Their squares overflow or vanish."""
    X = rng.normal(size=(6, 5))
    np.testing.assert_array_equal(Cosine()(X * 2.0**power), Cosine()(X))


def test_rows_of_the_smallest_numbers_are_scaled():
    tiny = np.finfo(np.float64).smallest_subnormal
    np.testing.assert_allclose(Cosine()(np.array([[3 * tiny, 4 * tiny]])), [[0.6, 0.8]])


def test_scales_are_standard_deviations(rng):
    X = np.c_[vectors(rng), np.full(400, 5.0)] * 1e4
    space = Standardized().fit(X)
    np.testing.assert_allclose(space.scales, [*X[:, :-1].std(axis=0), 1], rtol=1e-12)
    np.testing.assert_array_equal(Standardized().fit(np.asfortranarray(X)).scales, space.scales)


def test_scales_that_vanish_in_single_precision_are_those_of_constant_columns(rng):
    """Dividing by a scale of zero would give values that are not numbers."""
    X = np.zeros((800, 3), dtype=np.float32)
    X[:, :2] = rng.normal(size=(800, 2))
    X[7, 2] = 1e-45
    emb = tp.LaplacianEigenmaps(landmarks=100, metric="seuclidean", random_state=0).fit(X)
    assert emb.model_.space.scales[2] == 1.0
    assert np.isfinite(emb.transform(X)).all()


@pytest.mark.parametrize("extension", ["smooth", "graph", "all"])
def test_rows_that_are_too_large_when_scaled_are_refused(extension, rng):
    X = (rng.normal(size=(800, 3)) * [1, 1, 1e-25]).astype(np.float32)
    emb = tp.LaplacianEigenmaps(
        landmarks=100, metric="seuclidean", extension=extension, random_state=0
    ).fit(X)
    X[5, 2] = 1e10
    with pytest.raises(tp.ParameterError, match=r"X under metric=.seuclidean. has values up to 1"):
        emb.transform(X)


@pytest.mark.parametrize("name", SPACES)
def test_spaces_are_restored_from_their_arrays(name, rng):
    X = vectors(rng)
    space = space_for(name).fit(X)
    again = SPACES[name].from_arrays(space.arrays(), X.shape[1])
    np.testing.assert_array_equal(again(X), space(X))


class Doubled(Space):
    """A space with more columns than the rows, and arrays of its own shape."""

    name = "doubled"

    def fit(self, rows):
        self.center = rows.mean(axis=0)[:2]
        return self

    def _map(self, block, rows):
        return np.c_[block, block]

    def width(self, n_columns):
        return 2 * n_columns

    def arrays(self):
        return {"center": self.center}

    @classmethod
    def from_arrays(cls, arrays, n_columns):
        space = cls()
        space.center = arrays["center"]
        return space


def test_a_space_may_change_the_number_of_columns(rng, tmp_path, monkeypatch):
    monkeypatch.setitem(SPACES, "doubled", Doubled)
    X = vectors(rng)
    emb = tp.LaplacianEigenmaps(landmarks=50, metric="doubled", random_state=0).fit(X)
    emb.save(tmp_path / "model.trig")
    np.testing.assert_array_equal(tp.load(tmp_path / "model.trig").transform(X), emb.transform(X))


@each_sampler
@each_metric
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_subsets_are_chosen_among_mapped_rows(name, metric, dtype, rng):
    X = vectors(rng, 300, dtype=dtype)
    before = X.copy()
    sampler = clone(SAMPLERS[name]).set_params(random_state=1)
    expected = clone(sampler).fit(mapped(metric, X))
    found = tp.select(X, sampler, metric=metric)
    np.testing.assert_array_equal(found.indices, expected.indices_)
    np.testing.assert_array_equal(found.points, X[found.indices])
    np.testing.assert_array_equal(X, before)


@each_estimator
@each_metric
@pytest.mark.parametrize("d", [3, 20])
@pytest.mark.filterwarnings("ignore:1 of 400 points are more than ten bandwidths")
def test_estimators_fit_and_transform_mapped_rows(name, metric, d, rng, tmp_path):
    X = vectors(rng, d=d)
    before, rows = X.copy(), mapped(metric, X)
    expected = clone(ESTIMATORS[name]).fit(rows[:300])
    found = clone(ESTIMATORS[name]).set_params(metric=metric).fit(X[:300])
    np.testing.assert_array_equal(found.landmarks_, expected.landmarks_)
    np.testing.assert_array_equal(found.transform(X), expected.transform(rows))
    np.testing.assert_array_equal(X, before)
    assert found.quality(X).neighbors_kept == expected.quality(rows).neighbors_kept
    found.save(tmp_path / "model.trig")
    np.testing.assert_array_equal(tp.load(tmp_path / "model.trig").transform(X), found.transform(X))


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_the_metric_matters(metric, rng):
    """Two directions, lengths from 1 to 1,000: only one metric tells them apart."""
    directions = np.repeat(np.eye(20)[:2], 200, axis=0) + 0.02 * rng.normal(size=(400, 20))
    X = directions * np.geomspace(1, 1000, 200)[np.arange(400) % 200, None]
    chosen = tp.select(X, tp.FarthestPoint(4, random_state=0), metric=metric)
    lengths = np.linalg.norm(chosen.points, axis=1)
    assert (lengths[1:].min() > 100) == (metric == "euclidean")


@pytest.mark.parametrize("sparse", [False, True])
def test_a_row_of_zeros_is_named(sparse, rng):
    X = vectors(rng)
    X[:, 5:] = 0
    emb = tp.LaplacianEigenmaps(landmarks=20, metric="cosine", random_state=0)
    kind = csr_array if sparse else np.asarray
    emb.fit(kind(X))
    X[[17, 30, 40]] = 0
    message = r"only zeros in row 17; also in rows 30, 40; .*remove such rows or set metric='eucl"
    for call in (emb.fit, emb.transform, clone(emb).fit):
        with pytest.raises(tp.ParameterError, match=message):
            call(kind(X))


def test_a_row_of_zeros_in_a_file_is_counted_from_its_start(tmp_path, rng):
    X = rng.normal(size=(3000, 16)).astype(np.float32)
    X[2701] = 0
    np.save(tmp_path / "X.npy", X)
    with pytest.raises(ValueError, match="only zeros in row 2701;"):
        tp.select(tmp_path / "X.npy", 5, metric="cosine")


def test_a_row_of_zeros_in_a_pool_has_its_number_in_the_data(rng, monkeypatch):
    monkeypatch.setattr("trigpoint._pool.LEAST_ROWS", 100)
    X = np.zeros((3000, 16))
    with pytest.raises(ValueError, match=r"only zeros in row (\d+)") as raised:
        tp.select(X, 2, metric="cosine", random_state=0)
    rows = np.sort(np.random.default_rng(0).choice(3000, 128, replace=False))
    assert f"row {rows[0]};" in str(raised.value)


def test_a_model_keeps_its_metric(tmp_path, rng):
    X = vectors(rng)
    emb = tp.LaplacianEigenmaps(landmarks=30, metric="cosine", random_state=0).fit(X)
    expected = emb.transform(X)
    emb.save(tmp_path / "model.trig")
    again = tp.load(tmp_path / "model.trig")
    assert again.metric == "cosine"
    np.testing.assert_array_equal(again.transform(8 * X), expected)
    # What was fitted stays so until the next fit.
    emb.set_params(metric="euclidean")
    np.testing.assert_array_equal(emb.transform(X), expected)


def test_metrics_of_neighborhoods_by_direction(rng):
    X = vectors(rng)
    units, rows = by_hand(X), np.arange(0, 400, 20)
    assert neighbor_preservation(X, units, metric="cosine") == 1.0
    assert neighbor_preservation(X, units) < 0.9
    assert coverage_radius(X, rows, metric="cosine") == coverage_radius(units, rows)
    assert coverage_radius(X, X[rows], metric="cosine") == coverage_radius(units, rows)
    with pytest.raises(ValueError, match="metric='angle' is not known"):
        neighbor_preservation(X, units, metric="angle")


def test_sparse_rows_are_refused():
    sparse = csr_array(random_array((100, 50), density=0.05, rng=0, format="csr"))
    with pytest.raises(ValueError, match="metric='seuclidean' does not take sparse rows"):
        tp.select(sparse, 5, metric="seuclidean")


@pytest.mark.parametrize("metric", ["angle", None, Standardized, np.linalg.norm])
def test_unknown_metrics_are_refused(metric, rng):
    with pytest.raises(TypeError, match="is not known: choose one of 'euclidean'"):
        tp.select(vectors(rng), 5, metric=metric)
