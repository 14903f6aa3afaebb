"""A distance of the user's own: an object with ``fit(rows)`` and ``__call__(rows)``."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

import trigpoint as tp
from trigpoint._common.errors import DamagedFileError
from trigpoint._estimators.tensors import read_tensors, write_tensors


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


@pytest.fixture(name="X")
def counts(rng):
    """Positive columns whose shares follow a curve, with sums that differ."""
    along = rng.uniform(0, 3, size=(600, 1))
    shares = 1.1 + np.cos(along + np.linspace(0, 3, 6))
    return shares * rng.lognormal(size=(600, 1)) + 0.01 * rng.random((600, 6))


def by_hand(X):
    """What a model fitted with the metric should see."""
    metric = Hellinger()
    metric.fit(X)
    return metric(X)


ESTIMATORS = [
    tp.LaplacianEigenmaps(landmarks=60, random_state=0),
    tp.LandmarkMap(landmarks=60, n_iter=20, random_state=0),
    tp.KernelPCA(landmarks=60, random_state=0),
    tp.Isomap(landmarks=60, random_state=0),
]

each_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)


def stored(kind, X, folder):
    if kind == "npy":
        np.save(folder / "X.npy", X)
        return folder / "X.npy"
    if kind == "dask":
        return pytest.importorskip("dask.array").from_array(X, chunks=(170, 4))
    return X


@each_estimator
@pytest.mark.parametrize("kind", ["array", "npy", "dask"])
def test_estimators_measure_by_it(estimator, kind, X, tmp_path):
    """To the bit what the rows that it returns would give, whatever batch it gets."""
    metric, source = Hellinger(), stored(kind, X, tmp_path)
    emb = clone(estimator).set_params(metric=metric).fit(source)
    plain = clone(estimator).fit(by_hand(X))
    np.testing.assert_array_equal(emb.landmark_indices_, plain.landmark_indices_)
    np.testing.assert_array_equal(emb.landmarks_, plain.landmarks_)
    expected = plain.transform(by_hand(X))
    np.testing.assert_array_equal(np.asarray(emb.transform(source)), expected)
    np.testing.assert_array_equal(emb.transform(X[300:307]), expected[300:307])
    # The user's object is copied.
    assert vars(metric) == {}
    assert emb.metric is metric
    assert emb.model_.space.name == "Hellinger"


def test_subsets_are_drawn_by_it(X):
    metric = Hellinger()
    found = tp.select(X, tp.FarthestPoint(20, random_state=0), metric=metric)
    expected = tp.FarthestPoint(20, random_state=0).fit(by_hand(X))
    np.testing.assert_array_equal(found.indices, expected.indices_)
    np.testing.assert_array_equal(found.points, X[found.indices])
    assert vars(metric) == {}


@each_estimator
def test_columns_may_be_others(estimator, X):
    emb = clone(estimator).set_params(metric=Unfitted()).fit(X)
    assert emb.landmarks_.shape == (60, 5)
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


def test_a_row_that_it_cannot_map_is_named_by_transform_too(X, tmp_path):
    emb = tp.KernelPCA(landmarks=60, metric=Hellinger(), random_state=0).fit(X)
    X[[431, 500]] = 0
    with pytest.raises(tp.ParameterError, match="contains NaN in row 431,"):
        emb.transform(X, out=tmp_path / "Y.npy")
    assert not list(tmp_path.iterdir())


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


# Model files ---------------------------------------------------------------------------------


@each_estimator
def test_with_arrays_a_new_object_will_do(estimator, X, tmp_path):
    emb = clone(estimator).set_params(metric=Stored()).fit(X)
    emb.save(tmp_path / "model.trig")
    given = Stored()
    again = tp.load(tmp_path / "model.trig", metric=given)
    np.testing.assert_array_equal(again.transform(X), emb.transform(X))
    assert vars(given) == {}
    # Fitted again, it is what it was.
    np.testing.assert_array_equal(again.fit(X).transform(X), emb.transform(X))


def test_without_them_the_object_is_used_as_it_is(X, tmp_path):
    emb = tp.LaplacianEigenmaps(landmarks=60, metric=Hellinger(), random_state=0).fit(X)
    emb.save(tmp_path / "model.trig")
    fitted = Hellinger()
    fitted.fit(X)
    again = tp.load(tmp_path / "model.trig", metric=fitted)
    np.testing.assert_array_equal(again.transform(X), emb.transform(X))


def test_the_object_must_be_passed_and_the_right_one(X, tmp_path):
    path = tmp_path / "model.trig"
    tp.KernelPCA(landmarks=60, metric=Stored(), random_state=0).fit(X).save(path)
    with pytest.raises(
        tp.ParameterError, match="metric of your own, 'stored shares', which is not"
    ):
        tp.load(path)
    with pytest.raises(tp.ParameterError, match="'Hellinger' and the model was fitted with 'sto"):
        tp.load(path, metric=Hellinger())
    tp.KernelPCA(landmarks=60, random_state=0).fit(X).save(path)
    with pytest.raises(
        tp.ParameterError, match="fitted with metric='euclidean': leave metric None"
    ):
        tp.load(path, metric=Stored())


def test_only_numbers_are_stored(X, tmp_path):
    class Words(Hellinger):
        def arrays(self):
            return {"words": np.array(["a", {}], dtype=object)}

    emb = tp.KernelPCA(landmarks=60, metric=Words(), random_state=0).fit(X)
    with pytest.raises(TypeError, match=r"'words' of type object, .* holds numbers alone"):
        emb.save(tmp_path / "model.trig")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["antigravity", "os.system", "antigravity:Stored", "__import__"])
def test_nothing_is_imported_because_a_file_says_so(name, X, tmp_path, monkeypatch):
    path = tmp_path / "model.trig"
    tp.KernelPCA(landmarks=60, metric=Stored(), random_state=0).fit(X).save(path)
    arrays, metadata = read_tensors(path)
    metadata["model"] = metadata["model"].replace("stored shares", name)
    write_tensors(path, arrays, metadata)
    monkeypatch.setattr("builtins.__import__", refused(__import__, name))
    with pytest.raises(tp.ParameterError, match="metric of your own"):
        tp.load(path)


def refused(importing, name):
    def checked(module, *args, **options):
        assert module != name.partition(":")[0]
        return importing(module, *args, **options)

    return checked


def test_damaged_arrays_are_refused(X, tmp_path):
    path = tmp_path / "model.trig"
    tp.KernelPCA(landmarks=60, metric=Stored(), random_state=0).fit(X).save(path)
    arrays, metadata = read_tensors(path)
    for scale in (np.array([np.nan]), np.empty(0)):
        write_tensors(path, arrays | {"space.scale": scale}, metadata)
        with pytest.raises(DamagedFileError):
            tp.load(path, metric=Stored())


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
