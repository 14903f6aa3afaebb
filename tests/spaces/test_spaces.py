"""Distances: to the bit the same as Euclidean ones between rows that are mapped by hand."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

import trigpoint as tp
from trigpoint._common.errors import DamagedFileError
from trigpoint._estimators.tensors import read_tensors, write_tensors
from trigpoint._spaces import Cosine, Standardized, space_for
from trigpoint.metrics import coverage_radius, map_scores, neighborhood_agreement


class Hellinger:
    """Square roots of shares, and a scale that is learned; knows nothing of this library."""

    def fit(self, rows):
        self.scale = np.sqrt(rows / rows.sum(axis=1, keepdims=True)).std()

    def __call__(self, rows):
        with np.errstate(invalid="ignore"):
            return np.sqrt(rows / rows.sum(axis=1, keepdims=True)) / self.scale


class Stored(Hellinger):
    """What it has learned can be saved."""

    name = "stored shares"

    def arrays(self):
        return {"scale": np.array([self.scale])}

    @classmethod
    def from_arrays(cls, arrays):
        made = cls()
        made.scale = float(arrays["scale"][0])
        return made


class Unfitted(Hellinger):
    """Has nothing to learn, and gives fewer columns than it takes."""

    def fit(self, rows):
        pass

    def __call__(self, rows):
        return np.cumsum(rows[:, 1:], axis=1)


def vectors(rng, n=400, d=20, dtype=np.float64):
    """Positive columns whose shares follow a curve, with sums that differ."""
    along = rng.uniform(0, 3, size=(n, 1))
    shares = 1.1 + np.cos(along + np.linspace(0, 3, d))
    return ((shares + 0.01 * rng.random((n, d))) * rng.lognormal(size=(n, 1))).astype(dtype)


@pytest.fixture(name="X")
def points(rng):
    return vectors(rng, d=6)


def by_hand(X):
    """Rows of unit length, slowly: squares are summed one after the other, as cumsum does."""
    doubles = X.astype(np.float64)
    norms = np.sqrt(np.cumsum(np.square(doubles), axis=1)[:, -1])
    return (doubles / norms[:, None]).astype(X.dtype)


def mapped(metric, X):
    """What the metric makes of rows after a fit to the first 300."""
    if isinstance(metric, str):
        return space_for(metric).fit(X[:300])(X)
    metric = type(metric)()
    metric.fit(X[:300])
    return metric(X).astype(X.dtype)


def stored(kind, X, folder):
    if kind == "npy":
        np.save(folder / "X.npy", X)
        return folder / "X.npy"
    if kind == "dask":
        return pytest.importorskip("dask.array").from_array(X, chunks=(170, 4))
    return X


SAMPLERS = [
    tp.EfficientDPP(12),
    tp.EfficientDPP(12, refine=1),
    tp.ExactDPP(12),
    tp.FarthestPoint(12),
    tp.KMeansLandmarks(12),
]
ESTIMATORS = [
    tp.LaplacianEigenmaps(landmarks=40, random_state=0),
    tp.DiffusionMaps(landmarks=40, random_state=0),
    tp.Isomap(landmarks=40, random_state=0),
    tp.KernelPCA(landmarks=40, random_state=0),
    tp.LandmarkMap(landmarks=40, n_iter=20, random_state=0),
]


def name(thing):
    return thing if isinstance(thing, str) else type(thing).__name__


each_metric = pytest.mark.parametrize("metric", ["cosine", "seuclidean", Stored()], ids=name)
each_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=name)


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


@each_metric
@pytest.mark.parametrize("sampler", SAMPLERS, ids=repr)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_subsets_are_chosen_among_mapped_rows(sampler, metric, dtype, rng):
    X = vectors(rng, 300, dtype=dtype)
    before = X.copy()
    sampler = clone(sampler).set_params(random_state=1)
    expected = clone(sampler).fit(mapped(metric, X))
    found = tp.select(X, sampler, metric=metric)
    np.testing.assert_array_equal(found.indices, expected.indices_)
    np.testing.assert_array_equal(found.points, X[found.indices])
    np.testing.assert_array_equal(X, before)


@each_metric
@each_estimator
@pytest.mark.parametrize(("kind", "d"), [("array", 20), ("npy", 3), ("dask", 20)])
@pytest.mark.filterwarnings("ignore:.* of 400 points are more than ten bandwidths")
def test_estimators_measure_by_it(estimator, metric, kind, d, rng, tmp_path):
    """To the bit what mapped rows would give, whatever the storage and the batch."""
    X = vectors(rng, d=d)
    before, rows = X.copy(), mapped(metric, X)
    plain = clone(estimator).fit(rows[:300])
    expected = plain.transform(rows)
    emb = clone(estimator).set_params(metric=metric).fit(stored(kind, X[:300], tmp_path))
    np.testing.assert_array_equal(emb.landmark_indices_, plain.landmark_indices_)
    np.testing.assert_array_equal(emb.landmarks_, plain.landmarks_)
    np.testing.assert_array_equal(emb.transform(stored(kind, X, tmp_path)), expected)
    np.testing.assert_array_equal(emb.transform(X[300:307]), expected[300:307])
    np.testing.assert_array_equal(X, before)
    found, expected_quality = emb.quality(X, advise=False), plain.quality(rows, advise=False)
    assert found.preserved == expected_quality.preserved
    emb.save(tmp_path / "model.trig")
    again = tp.load(tmp_path / "model.trig", metric=None if isinstance(metric, str) else metric)
    np.testing.assert_array_equal(again.transform(X), expected)
    # Fitted again, it is what it was.
    np.testing.assert_array_equal(again.fit(X[:300]).transform(X), expected)
    if not isinstance(metric, str):
        # The user's object is copied.
        assert vars(metric) == {}
        assert emb.metric is metric
        assert emb.model_.space.name == "stored shares"


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


def test_a_row_of_zeros_in_a_pool_has_its_number_in_the_data(rng, monkeypatch):
    monkeypatch.setattr("trigpoint._pool.LEAST_ROWS", 100)
    X = np.zeros((3000, 16))
    with pytest.raises(ValueError, match=r"only zeros in row (\d+)") as raised:
        tp.select(X, 2, metric="cosine", random_state=0)
    rows = np.sort(np.random.default_rng(0).choice(3000, 128, replace=False))
    assert f"row {rows[0]};" in str(raised.value)


def test_metrics_of_neighborhoods_by_direction(rng):
    X = vectors(rng)
    units, rows = by_hand(X), np.arange(0, 400, 20)
    assert map_scores(X, units, metric="cosine").neighbors_preserved == 1.0
    assert map_scores(X, units).neighbors_preserved < 0.9
    assert coverage_radius(X, rows, metric="cosine") == coverage_radius(units, rows)
    assert coverage_radius(X, X[rows], metric="cosine") == coverage_radius(units, rows)
    agreed = neighborhood_agreement(X, X[:, :2], metric="cosine")
    assert agreed == neighborhood_agreement(units, X[:, :2]) != neighborhood_agreement(X, X[:, :2])


@pytest.mark.parametrize("metric", ["angle", None, Standardized, 2])
def test_unknown_metrics_are_refused(metric, rng):
    with pytest.raises(TypeError, match="is not known: choose one of 'euclidean'"):
        tp.select(vectors(rng), 5, metric=metric)


# Metrics of the user's own ---------------------------------------------------------------------


@each_estimator
def test_columns_may_be_others(estimator, X):
    emb = clone(estimator).set_params(metric=Unfitted()).fit(X)
    assert emb.landmarks_.shape == (40, 5)
    assert emb.n_features_in_ == 6
    plain = clone(estimator).fit(Unfitted()(X))
    np.testing.assert_array_equal(emb.transform(X), plain.transform(Unfitted()(X)))


def test_sparse_rows_if_it_takes_them(rng):
    class Shares(Unfitted):
        takes_sparse = True

        def __call__(self, rows):
            return rows.multiply(1 / rows.sum(axis=1)[:, None])

    S = csr_array(rng.poisson(0.2, size=(400, 40)) + np.eye(400, 40) + np.eye(400, 40, -40) + 0.0)
    S = S[np.flatnonzero(S.sum(axis=1))]
    emb = tp.KernelPCA(landmarks=40, metric=Shares(), random_state=0).fit(S)
    shares = S.toarray() / S.sum(axis=1)[:, None]
    np.testing.assert_allclose(emb.landmarks_, shares[emb.landmark_indices_], rtol=1e-12)
    assert np.isfinite(emb.transform(S)).all()
    with pytest.raises(tp.ParameterError, match="metric='Unfitted' does not take sparse rows"):
        tp.KernelPCA(landmarks=40, metric=Unfitted()).fit(S)


BROKEN = {
    "one row for each": lambda rows: rows[1:],
    "return a 2-D array": lambda rows: rows.sum(axis=1),
    "returned <U": lambda rows: rows.astype(str),
    "contains NaN in row 7,": lambda rows: (
        np.where(rows == rows[7:8], np.nan, rows) if len(rows) > 7 else rows
    ),
}


@each_estimator
@pytest.mark.parametrize("message", BROKEN)
def test_what_it_returns_is_checked(estimator, message, X):
    class Broken(Unfitted):
        def __call__(self, rows):
            return BROKEN[message](rows)

    with pytest.raises(tp.ParameterError, match=message) as caught:
        clone(estimator).set_params(metric=Broken()).fit(X)
    assert caught.value.parameter == "metric"


def test_a_device_needs_a_method(X):
    """PyTorch computes on its CPU here as it would on a GPU."""
    torch = pytest.importorskip("torch")
    cpu = torch.device("cpu")
    emb = tp.KernelPCA(landmarks=60, metric=Hellinger(), random_state=0).fit(X)
    with pytest.raises(tp.ParameterError, match="metric='Hellinger' is computed on the CPU"):
        emb.model_.to(cpu)

    class OnDevice(Unfitted):
        def to(self, device):
            return lambda rows: torch.cumsum(rows[:, 1:], dim=1)

    emb.set_params(metric=OnDevice()).fit(X)
    found, _ = emb.model_.to(cpu)(torch.from_numpy(X))
    np.testing.assert_allclose(found.numpy(), emb.transform(X), atol=1e-8)


@pytest.fixture
def saved(X, tmp_path):
    """A model with a metric that can be stored."""
    path = tmp_path / "model.trig"
    tp.KernelPCA(landmarks=60, metric=Stored(), random_state=0).fit(X).save(path)
    return path


def test_the_object_must_be_passed_and_the_right_one(X, saved):
    with pytest.raises(tp.ParameterError, match="of your own, 'stored shares', which is not"):
        tp.load(saved)
    with pytest.raises(tp.ParameterError, match="'Hellinger' and the model was fitted with 'sto"):
        tp.load(saved, metric=Hellinger())
    tp.KernelPCA(landmarks=60, random_state=0).fit(X).save(saved)
    with pytest.raises(tp.ParameterError, match="with metric='euclidean': leave metric None"):
        tp.load(saved, metric=Stored())
    # Without arrays in the file, the object is used as it is.
    emb = tp.LaplacianEigenmaps(landmarks=60, metric=Hellinger(), random_state=0).fit(X)
    emb.save(saved)
    fitted = Hellinger()
    fitted.fit(X)
    np.testing.assert_array_equal(tp.load(saved, metric=fitted).transform(X), emb.transform(X))


def test_only_numbers_are_stored(X, tmp_path):
    class Words(Hellinger):
        def arrays(self):
            return {"words": np.array(["a", {}], dtype=object)}

    emb = tp.KernelPCA(landmarks=60, metric=Words(), random_state=0).fit(X)
    with pytest.raises(TypeError, match=r"'words' of type object, .* holds only numbers"):
        emb.save(tmp_path / "model.trig")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["antigravity", "os.system", "antigravity:Stored", "__import__"])
def test_nothing_is_imported_because_a_file_says_so(name, saved, monkeypatch):
    arrays, metadata = read_tensors(saved)
    metadata["model"] = metadata["model"].replace("stored shares", name)
    write_tensors(saved, arrays, metadata)
    importing = __import__

    def checked(module, *args, **options):
        assert module != name.partition(":")[0]
        return importing(module, *args, **options)

    monkeypatch.setattr("builtins.__import__", checked)
    with pytest.raises(tp.ParameterError, match="metric of your own"):
        tp.load(saved)


def test_damaged_arrays_are_refused(saved):
    arrays, metadata = read_tensors(saved)
    for scale in (np.array([np.nan]), np.empty(0)):
        write_tensors(saved, arrays | {"space.scale": scale}, metadata)
        with pytest.raises(DamagedFileError):
            tp.load(saved, metric=Stored())


class Doubling:
    """A metric that writes to the rows it is given."""

    def fit(self, rows):
        return self

    def __call__(self, rows):
        rows *= 2
        return rows


@pytest.mark.parametrize("make", [np.asarray, csr_array])
def test_a_metric_of_the_user_cannot_write_to_the_rows(make, rng):
    X = make(rng.normal(size=(200, 30)) * (rng.uniform(size=(200, 30)) < 0.1))
    before = X.copy()
    metric = Doubling()
    metric.takes_sparse = True
    with pytest.raises(ValueError, match="read-only"):
        tp.LaplacianEigenmaps(landmarks=50, metric=metric).fit(X)
    assert abs(X - before).sum() == 0
