"""What landmarks leave unexplained: both engines against dense algebra."""

import numpy as np
import pytest
from scipy.linalg import LinAlgError

import trigpoint as tp
from trigpoint._numerics.gaussian import gaussian_kernel, gaussian_of
from trigpoint._numerics.residual.exchange import ExchangeableInverse, trace_error
from trigpoint._numerics.residual.factor import (
    LandmarkFactor,
    PoolFactor,
    TriangularFactor,
    unexplained_variances,
)
from trigpoint.metrics import nystrom_error


def residual_matrix(K, J):
    """What the points J leave of the kernel, from the definition."""
    J = list(J)
    return K - K[:, J] @ np.linalg.solve(K[np.ix_(J, J)], K[J])


@pytest.fixture(params=[3, 40], ids=["differences", "products"], name="data")
def points_and_bandwidth(request):
    """With these numbers of columns, the kernel is computed in two ways."""
    return np.random.default_rng(0).normal(size=(500, request.param)), 0.5 * request.param**0.5


@pytest.fixture(name="X")
def points():
    return np.random.default_rng(0).normal(size=(300, 3))


# --- a factor that grows -----------------------------------------------------------------------


def test_landmark_factor_is_that_of_the_dense_kernel(data):
    X, bandwidth = data
    K = gaussian_kernel(X, bandwidth)
    J = np.random.default_rng(1).permutation(500)[:150]
    L = np.linalg.cholesky(K[np.ix_(J, J)])
    factor = LandmarkFactor(gaussian_of(bandwidth), X.shape[1], 150, 2)
    for some in np.split(np.arange(150), [1, 40, 130]):
        factor.add(X[J[some]], L[some, : some[-1] + 1])
        t = len(factor)
        assert t == some[-1] + 1
        residual = residual_matrix(K, J[:t])
        columns = factor.columns(X[:100])
        explained = K[:100, :100] - residual[:100, :100]
        np.testing.assert_allclose(columns.T @ columns, explained, rtol=0, atol=1e-11)
        np.testing.assert_allclose(factor.residuals(X), residual.diagonal(), rtol=0, atol=1e-11)


def test_columns_come_in_parts_of_any_rows_and_threads():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(2000, 2)).astype(np.float32)
    rows = rng.permutation(2000)[:1500]
    L = np.linalg.cholesky(gaussian_kernel(X[:5].astype(float), 1.0))
    found = []
    for n_threads in (1, 3):
        factor = LandmarkFactor(gaussian_of(1.0), 2, 5, n_threads)
        factor.add(X[:5], L)
        found.append(np.hstack(list(factor.column_parts(X, rows))))
    np.testing.assert_array_equal(*found)
    np.testing.assert_allclose(found[0], factor.columns(X)[:, rows], rtol=0, atol=1e-14)


def test_triangular_factor_grows_and_solves():
    rng = np.random.default_rng(2)
    A = rng.normal(size=(400, 400))
    L = np.linalg.cholesky(A @ A.T / 400 + np.eye(400))
    factor = TriangularFactor(400)
    before = 0
    for after in (1, 5, 128, 130, 300, 390, 400):
        factor.append(L[before:after, :after])
        B = rng.normal(size=(after, 7))
        exact = np.linalg.solve(L[:after, :after], B)
        np.testing.assert_allclose(factor.solve(B), exact, rtol=0, atol=1e-12)
        before = after


@pytest.mark.parametrize("scale", [1.0, 7.0])
def test_pool_factor_is_that_of_the_dense_kernel(scale):
    """More points than are worked on at once; also of a kernel whose diagonal is not 1."""
    X = np.random.default_rng(3).normal(size=(2500, 2))
    K = scale * gaussian_kernel(X, 1.0)
    factor = PoolFactor(lambda places, part: K[places, part], K.diagonal(), 4, n_threads=2)
    for t, place in enumerate([11, 2400, 5, 1000]):
        assert factor.n_missing == 4 - t
        rows = factor.rows(np.array([7, place]))
        residual = residual_matrix(K, factor.chosen)
        np.testing.assert_allclose(rows, residual[[7, place]], rtol=0, atol=1e-12 * scale)
        explained = factor.add(place, rows[1])
        left = residual - np.outer(explained, explained)
        np.testing.assert_allclose(factor.variances, left.diagonal(), rtol=0, atol=1e-12 * scale)
    assert factor.chosen == [11, 2400, 5, 1000]
    assert not factor.variances[factor.chosen].any()
    assert factor.n_missing == 0


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_pool_factor_sees_when_all_is_explained(scale):
    """What counts as rounding error depends on the variances."""
    K = scale * gaussian_kernel(np.repeat(np.arange(3.0), 4)[:, None], 1.0)
    factor = PoolFactor(lambda places, part: K[places, part], K.diagonal(), 12, n_threads=1)
    for t, place in enumerate((0, 5, 9)):
        assert factor.n_missing == 12 - t
        factor.add(place, factor.rows(np.array([place]))[0])
    assert factor.n_missing == 0
    assert not factor.variances.any()


@pytest.mark.parametrize("block_bytes", [2**24, 5000])
def test_unexplained_variances_are_the_diagonal_of_the_residual(data, block_bytes):
    X, bandwidth = data
    J = np.arange(0, 500, 5)
    residual = residual_matrix(gaussian_kernel(X, bandwidth), J)
    # Copies of landmarks are left out.
    blocks = unexplained_variances(X, X[[*J, *J[:7]]], bandwidth, block_bytes)
    found = np.concatenate([variances for _, variances in blocks])
    np.testing.assert_allclose(found, np.maximum(residual.diagonal(), 0), rtol=0, atol=1e-11)


# --- an inverse that exchanges -----------------------------------------------------------------


def dense_tables(K, J, B, C):
    """The tables by their definition."""
    inverse = np.linalg.inv(K[np.ix_(J, J)])
    slots = [list(J).index(b) for b in B]
    weights = inverse @ K[J]
    residual = residual_matrix(K, J)
    A = np.block(
        [
            [-inverse[np.ix_(slots, slots)], weights[np.ix_(slots, C)]],
            [weights[np.ix_(slots, C)].T, residual[np.ix_(C, C)]],
        ]
    )
    functions = np.hstack([weights[slots].T, residual[:, C]])
    return A, functions.T @ functions


@pytest.mark.parametrize("bandwidth", [0.5, 1.5])
def test_tables_are_those_of_the_definition(X, bandwidth):
    rng = np.random.default_rng(1)
    J, C = np.split(rng.permutation(300)[:70], [30])
    slots = np.array([3, 0, 17, 29])
    inverse = ExchangeableInverse(X, X[J], gaussian_of(bandwidth), 1)
    A, H = dense_tables(gaussian_kernel(X, bandwidth), J, J[slots], C)
    tables = inverse.tables(slots, X[C])
    np.testing.assert_allclose(tables.A, A, rtol=1e-6, atol=1e-8 * abs(A).max())
    np.testing.assert_allclose(tables.H, H, rtol=1e-6, atol=1e-8 * abs(H).max())
    # Residuals take memory, and are kept only if asked for.
    assert tables.residuals.shape == (0, 40)
    assert inverse.tables(slots, X[C], keep=True).residuals.shape == (300, 40)
    error = nystrom_error(X, J, bandwidth)
    np.testing.assert_allclose(inverse.unexplained.sum(), error, rtol=1e-9)


def test_exchanged_inverse_is_that_of_the_new_landmarks(X):
    rng = np.random.default_rng(3)
    J, C = np.split(rng.permutation(300)[:60], [40])
    inverse = ExchangeableInverse(X, X[J], gaussian_of(0.8), 2)
    slots = np.arange(5, 30)
    pairs = np.array([[0, 3], [7, 19], [20, 4]])
    inverse.exchange(inverse.tables(slots, X[C], keep=True), slots, X[C], pairs)
    J = J.copy()
    J[slots[pairs[:, 0]]] = C[pairs[:, 1]]
    fresh = ExchangeableInverse(X, X[J], gaussian_of(0.8), 1)
    np.testing.assert_array_equal(inverse.landmarks, fresh.landmarks)
    others = np.setdiff1d(np.arange(300), J)[:30]
    tables = [some.tables(slots, X[others], keep=True) for some in (inverse, fresh)]
    for ours, theirs in zip(*tables, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-9 * abs(theirs).max())


def test_landmarks_may_be_row_numbers_of_a_matrix(X):
    K = gaussian_kernel(X, 0.8)
    J, C = np.arange(0, 60, 2), np.arange(1, 20, 2)
    slots, pairs = np.array([4, 9, 2]), np.array([[1, 0], [2, 5]])
    rows = ExchangeableInverse(J[:0], J, lambda a, b: K[np.ix_(a, b)], 1)
    tables = rows.tables(slots, C, keep=True)
    np.testing.assert_allclose(tables.A, dense_tables(K, J, J[slots], C)[0], rtol=0, atol=1e-9)
    rows.exchange(tables, slots, C, pairs)
    J = J.copy()
    J[[9, 2]] = C[[0, 5]]
    np.testing.assert_array_equal(rows.landmarks, J)
    others = np.arange(100, 120)
    A, _ = dense_tables(K, J, J[slots], others)
    np.testing.assert_allclose(rows.tables(slots, others).A, A, rtol=0, atol=1e-9)


def test_a_matrix_that_is_singular_to_rounding_is_refused():
    X, _ = tp.datasets.make_fish_bowl(1000, random_state=0)
    start = tp.Uniform(50, random_state=0).fit(X).indices_
    with pytest.raises(LinAlgError):
        ExchangeableInverse(X, X[start], gaussian_of(0.7), 1)


def test_gradient_of_the_trace_error(X):
    rng = np.random.default_rng(4)
    Z = X[:20] + 0.1 * rng.normal(size=(20, 3))
    kernel = gaussian_of(0.9)
    error, gradient = trace_error(X, Z, kernel, 0.9, 2)
    np.testing.assert_allclose(error, nystrom_error(X, Z, 0.9), rtol=1e-9)
    for _ in range(3):
        step = 1e-5 * rng.normal(size=Z.shape)
        there, back = (trace_error(X, Z + sign * step, kernel, 0.9, 1)[0] for sign in (1, -1))
        np.testing.assert_allclose((there - back) / 2, (gradient * step).sum(), rtol=1e-5)
