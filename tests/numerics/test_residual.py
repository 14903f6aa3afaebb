"""What landmarks leave unexplained: both engines against dense algebra."""

import numpy as np
import pytest

from trigpoint._numerics.gaussian import gaussian_kernel, gaussian_of
from trigpoint._numerics.residual.exchange import ExchangeableInverse, trace_error
from trigpoint.metrics import nystrom_error


def residual_matrix(K, J):
    """What the points J leave of the kernel, from the definition."""
    J = list(J)
    return K - K[:, J] @ np.linalg.solve(K[np.ix_(J, J)], K[J])


@pytest.fixture(name="X")
def points():
    return np.random.default_rng(0).normal(size=(300, 3))


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
