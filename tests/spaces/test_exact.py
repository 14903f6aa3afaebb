"""Metrics that are exact maps: the order of distances is that of SciPy and scikit-learn."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.metrics.pairwise import haversine_distances
from tests.spaces.cases import each_estimator

import trigpoint as tp
from trigpoint._spaces import space_for


def numbers(rng):
    return rng.normal(size=(600, 6)) @ rng.normal(size=(6, 6)) + 40


def counts(rng):
    return rng.poisson(3.0, size=(600, 8)) + np.eye(600, 8)


def codes(rng):
    return np.c_[rng.integers(0, 2, size=(600, 8)), rng.integers(3, 9, size=(600, 7))] * 1.0


def places(rng):
    return np.c_[np.degrees(np.arcsin(rng.uniform(-1, 1, 600))), rng.uniform(-180, 180, 600)]


def mahalanobis(X, Y):
    return cdist(X, Y, "mahalanobis", VI=np.linalg.inv(np.cov(X.T)))


def hellinger(X, Y):
    X, Y = (np.sqrt(Z / Z.sum(axis=1, keepdims=True)) for Z in (X, Y))
    return cdist(X, Y) / np.sqrt(2)


def haversine(X, Y):
    return 2 * np.sin(haversine_distances(np.radians(X), np.radians(Y)) / 2)


# The data, the distance, and what the Euclidean distance between mapped rows is, exactly.
KNOWN = {
    "correlation": (numbers, lambda X, Y: np.sqrt(2 * cdist(X, Y, "correlation"))),
    "mahalanobis": (numbers, mahalanobis),
    "hellinger": (counts, lambda X, Y: np.sqrt(2) * hellinger(X, Y)),
    "hamming": (codes, lambda X, Y: np.sqrt(cdist(X, Y, "hamming"))),
    "haversine": (places, haversine),
}
each_metric = pytest.mark.parametrize("metric", KNOWN)


@each_metric
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distances_are_those_of_scipy(metric, dtype, rng):
    make, distance = KNOWN[metric]
    X = make(rng).astype(dtype)
    mapped = space_for(metric).fit(X)(X)
    assert mapped.dtype == dtype
    expected = distance(X.astype(np.float64), X.astype(np.float64))
    atol = 1e-7 if dtype == np.float64 else 1e-4 * expected.max()
    np.testing.assert_allclose(cdist(mapped, mapped), expected, rtol=1e-4, atol=atol)


@each_metric
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_row_has_the_same_bits_in_any_block(metric, dtype, rng):
    X = KNOWN[metric][0](rng).astype(dtype)
    space = space_for(metric).fit(X)
    whole = space(X)
    for size in (1, 7, 300):
        parts = [space(X[start : start + size]) for start in range(0, len(X), size)]
        np.testing.assert_array_equal(np.concatenate(parts), whole)
    np.testing.assert_array_equal(space(np.asfortranarray(X)), whole)


@each_metric
@each_estimator
@pytest.mark.filterwarnings("ignore:.* points are more than ten bandwidths")
def test_every_estimator_and_storage(metric, estimator, rng, tmp_path):
    X = KNOWN[metric][0](rng)
    fitted, new = X[:400], X[380:]
    emb = clone(estimator).set_params(metric=metric).fit(fitted)
    expected = emb.transform(new)
    space = space_for(metric).fit(fitted)
    plain = clone(estimator).fit(space(fitted))
    np.testing.assert_array_equal(emb.landmark_indices_, plain.landmark_indices_)
    np.testing.assert_array_equal(expected, plain.transform(space(new)))
    emb.save(tmp_path / "model.trig")
    again = tp.load(tmp_path / "model.trig")
    np.testing.assert_array_equal(again.transform(new), expected)
    np.save(tmp_path / "X.npy", new)
    np.testing.assert_array_equal(again.transform(tmp_path / "X.npy"), expected)
    dask = pytest.importorskip("dask.array")
    np.testing.assert_array_equal(
        np.asarray(again.transform(dask.from_array(new, chunks=(90, 2)))), expected
    )
    assert emb.quality(X).n_points == len(X)


@each_metric
def test_tensors(metric, rng):
    torch = pytest.importorskip("torch")
    X = KNOWN[metric][0](rng)
    emb = tp.KernelPCA(landmarks=40, metric=metric, random_state=0).fit(X)
    found, _ = emb.model_.to(torch.device("cpu"))(torch.from_numpy(X))
    np.testing.assert_allclose(found.numpy(), emb.transform(X), atol=1e-8)


def test_sparse_counts(rng):
    X = np.where(rng.random((600, 40)) < 0.2, rng.poisson(2.0, (600, 40)), 0.0) + np.eye(600, 40)
    X = X[X.any(axis=1)]
    space = space_for("hellinger")
    np.testing.assert_array_equal(space(csr_array(X)).toarray(), space(X))
    X[8, 3] = -1
    with pytest.raises(tp.ParameterError, match="X has -1 in row 8, column 3: metric='hellinger'"):
        space(csr_array(X))


def test_directions_without_variance_are_left_out(rng):
    """The pseudo-inverse of the covariance; columns of any unit count equally."""
    X = numbers(rng) * 10.0 ** np.arange(-6, 6, 2)
    wide = np.c_[X, X[:, 0] + X[:, 1], np.full(600, 7.0)]
    plain, mapped = (space_for("mahalanobis").fit(rows)(rows) for rows in (X, wide))
    assert mapped.shape == X.shape
    np.testing.assert_allclose(cdist(mapped, mapped), cdist(plain, plain), atol=1e-5)
    with pytest.raises(tp.ParameterError, match="all columns of X are constant"):
        space_for("mahalanobis").fit(np.ones((30, 3)))


def test_values_that_the_pool_lacks_are_far_from_all_others(rng):
    X = codes(rng)
    space = space_for("hamming").fit(X)
    new = X[:1].copy()
    new[0, [0, 14]] = 77
    squares = np.square(space(new) - space(X)).sum(axis=1) * X.shape[1]
    others = (X[:, 1:14] != new[:, 1:14]).sum(axis=1)
    np.testing.assert_allclose(squares - others, 0.25 + 0.5)


BAD = [
    ("haversine", np.array([[47.4, 8.5], [91, 8.5]]), r"X has 91 in row 1, column 0: .* degrees"),
    ("haversine", np.array([[8.5, 47.4], [8.5, -191]]), r"X has -191 in row 1, column 1"),
    ("haversine", np.ones((2, 3)), r"X has 3 columns, and metric='haversine' takes two"),
    ("hellinger", np.array([[1.0, 2], [1, -2]]), r"X has -2 in row 1, column 1: metric='hellinger"),
    ("hellinger", np.array([[1.0, 2], [0, 0]]), r"only zeros in row 1; the hellinger metric is un"),
    ("correlation", np.array([[1.0, 2], [0.1, 0.1]]), r"a single value in all columns in row 1; "),
    ("hamming", np.random.default_rng(0).random((300, 2)), r"column 0 of X has 300 distinct val"),
]


@pytest.mark.parametrize(("metric", "X", "message"), BAD)
def test_rows_that_a_metric_cannot_take(metric, X, message):
    emb = tp.KernelPCA(metric=metric)
    with pytest.raises(tp.ParameterError, match=message):
        emb.fit(X)


@each_metric
def test_new_rows_are_checked_and_named(metric, rng):
    X = KNOWN[metric][0](rng)
    emb = tp.KernelPCA(landmarks=40, metric=metric, random_state=0).fit(X)
    X[17] = np.nan
    with pytest.raises(tp.ParameterError, match="contains NaN in row 17, column 0"):
        emb.transform(X)
    with pytest.raises(ValueError, match="features"):
        emb.transform(X[:, 1:])
