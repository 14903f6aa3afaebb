"""Trace-norm error of landmarks, its factor, the lowest possible error, and coverage."""

from decimal import Decimal, localcontext

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from trigpoint import metrics
from trigpoint._numerics.residual import factor
from trigpoint.datasets import make_swiss_roll


def kernel(A, B, bandwidth):
    return np.exp(-cdist(A, B, "sqeuclidean") / (2 * bandwidth**2))


def dense_error(X, points, bandwidth):
    cross = kernel(X, points, bandwidth)
    inverse = np.linalg.pinv(kernel(points, points, bandwidth), hermitian=True)
    return len(X) - np.trace(cross @ inverse @ cross.T)


@pytest.mark.parametrize("d", [1, 3, 40])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_error_is_the_dense_formula(rng, d, dtype, monkeypatch):
    X = rng.normal(size=(300, d)).astype(dtype)
    bandwidth = 0.3 * np.sqrt(d)
    rows = rng.choice(300, 12, replace=False)
    expected = dense_error(X.astype(np.float64), X[rows].astype(np.float64), bandwidth)
    error = metrics.nystrom_error(X, rows, bandwidth)
    assert isinstance(error, float)
    assert error == pytest.approx(expected, rel=1e-8)
    assert metrics.nystrom_error(X, X[rows], bandwidth) == pytest.approx(expected, rel=1e-8)
    relative = metrics.nystrom_error(X, rows.tolist(), bandwidth, relative=True)
    assert relative == pytest.approx(expected / 300, rel=1e-8)
    for block_bytes in (1, 8 * 12, 8 * 12 * 7, 8 * 12 * 299):
        monkeypatch.setattr(factor, "BLOCK_BYTES", block_bytes)
        blocked = metrics.nystrom_error(X, rows, bandwidth)
        assert blocked == pytest.approx(error, rel=1e-10)
    centers = rng.normal(size=(7, d))
    expected = dense_error(X.astype(np.float64), centers, bandwidth)
    assert metrics.nystrom_error(X, centers, bandwidth) == pytest.approx(expected, rel=1e-8)


def test_repeated_and_coincident_landmarks_add_nothing(rng):
    X = rng.normal(size=(100, 3))
    X[90:] = X[:10]
    rows = np.arange(20)
    once = metrics.nystrom_error(X, rows, 1.0)
    assert once == pytest.approx(dense_error(X, X[rows], 1.0), rel=1e-9)
    cross = kernel(X, X[rows], 1.0)
    inverse = np.linalg.pinv(kernel(X[rows], X[rows], 1.0), hermitian=True)
    for repeated in (rows, np.tile(rows, 3), np.append(rows, np.arange(90, 100))):
        assert metrics.nystrom_error(X, repeated, 1.0) == pytest.approx(once, rel=1e-9)
        assert metrics.nystrom_error(X, X[repeated], 1.0) == pytest.approx(once, rel=1e-9)
        F = metrics.nystrom_factor(X, repeated, 1.0)
        assert F.shape == (100, 20)
        np.testing.assert_allclose(F @ F.T, cross @ inverse @ cross.T, atol=1e-8)
    # Points that nearly coincide under the kernel span one direction.
    assert metrics.nystrom_factor(X, rows, 1e9).shape == (100, 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [300, 200_000])
def test_factor_is_that_of_the_dense_formula(rng, dtype, n):
    """There may be more rows than a block of the kernel holds."""
    X = rng.normal(size=(n, 3)).astype(dtype)
    rows = rng.choice(n, 12, replace=False)
    points, few = X[rows].astype(np.float64), X[:300].astype(np.float64)
    cross = kernel(few, points, 0.5)
    expected = cross @ np.linalg.solve(kernel(points, points, 0.5), cross.T)
    for landmarks in (rows, X[rows]):
        F = metrics.nystrom_factor(X, landmarks, 0.5)
        assert F.shape == (n, 12)
        assert F.dtype == np.float64
        np.testing.assert_allclose(F[:300] @ F[:300].T, expected, atol=1e-10)
        np.testing.assert_allclose(F[rows] @ F[rows].T, kernel(points, points, 0.5), atol=1e-10)
        error = metrics.nystrom_error(X, landmarks, 0.5)
        assert n - np.square(F).sum() == pytest.approx(error, rel=1e-8, abs=1e-10)


def exact_error(X, points, bandwidth):
    """Evaluate equation 1 with 40 digits: residuals of all points after every landmark in turn."""
    with localcontext(prec=40):
        exact = np.vectorize(lambda value: Decimal(float(value)), otypes=[object])
        exp = np.vectorize(lambda value: value.exp(), otypes=[object])
        P, A = exact(points), exact(np.vstack([points, X]))
        squares = sum((A[:, None, j] - P[None, :, j]) ** 2 for j in range(X.shape[1]))
        K = exp(-squares / (2 * Decimal(float(bandwidth)) ** 2))
        remaining = exact(np.ones(len(A)))
        for j in range(len(P)):
            column = K[:, j] / remaining[j].sqrt()
            remaining = remaining - column * column
            K = K - np.outer(column, column[: len(P)])
        return float(remaining[len(P) :].sum())


def roll(n, scale):
    """Return points so close that a kernel of bandwidth 1 is nearly singular."""
    return scale * make_swiss_roll(n, random_state=0)[0]


def pairs():
    """Return pairs of landmarks 1e-5 apart, which span a direction each."""
    X = roll(120, 0.45 * 0.115)
    return X, np.vstack([X[:15], X[:10] + 1e-5 * np.random.default_rng(3).normal(size=(10, 3))])


# Errors of a millionth of the trace, where most digits cancel, and in the plain formula all.
@pytest.mark.parametrize(
    ("X", "points", "condition", "tolerance"),
    [
        *(
            (roll(160, scale * 0.115), roll(160, scale * 0.115)[:70], condition, tolerance)
            for scale, condition, tolerance in (
                (0.55, 1e11, 1e-6),
                (0.45, 1e12, 1e-5),
                (0.4, 1e13, 1e-4),
            )
        ),
        (*pairs(), 1e14, 1e-2),
    ],
)
def test_error_of_ill_conditioned_landmarks(X, points, condition, tolerance):
    assert np.linalg.cond(kernel(points, points, 1.0)) > condition
    expected = exact_error(X, points, 1.0)
    # Plain linear algebra in double precision is less accurate than the library.
    assert dense_error(X, points, 1.0) != pytest.approx(expected, rel=tolerance)
    assert metrics.nystrom_error(X, points, 1.0) == pytest.approx(expected, rel=tolerance)
    # Far from the origin, the same points are distinguished.
    X, points = ((rows + 2.0**10) - 2.0**10 for rows in (X, points))
    shifted = metrics.nystrom_error(X + 2.0**10, points + 2.0**10, 1.0)
    assert shifted == pytest.approx(metrics.nystrom_error(X, points, 1.0), rel=1e-6)


def test_memory_is_a_block_not_the_kernel(rng, monkeypatch, peak_memory):
    monkeypatch.setattr(factor, "BLOCK_BYTES", 2**18)
    X = rng.normal(size=(40_000, 2))
    rows = np.arange(100)
    metrics.nystrom_error(X[:200], rows, 1.0)
    _, peak = peak_memory(metrics.nystrom_error, X, rows, 1.0)
    # The complete n x k kernel would take 32 MB.
    assert peak < 4e6


def test_inputs_are_left_alone(rng):
    X, rows = rng.normal(size=(50, 2)), np.arange(5)
    X.setflags(write=False)
    rows.setflags(write=False)
    metrics.nystrom_error(X, rows, 1.0)
    metrics.coverage_radius(X, rows)
    metrics.coordinate_recovery(X, X)


def test_optimal_error_is_the_sum_of_the_remaining_eigenvalues(rng):
    X = rng.normal(size=(70, 3))
    eigenvalues = np.linalg.svd(kernel(X, X, 0.8), compute_uv=False)
    counts = [0, 1, 10, 69, 70]
    bounds = metrics.optimal_error(X, 0.8, counts)
    np.testing.assert_allclose(bounds, [eigenvalues[k:].sum() for k in counts], atol=1e-12)
    assert bounds[0] == pytest.approx(70)
    single = metrics.optimal_error(X, 0.8, 10)
    assert isinstance(single, float)
    assert single == bounds[2]
    np.testing.assert_allclose(metrics.optimal_error(X, 0.8, counts, relative=True), bounds / 70)


@pytest.mark.parametrize("d", [2, 30])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_euclidean_coverage(rng, d, dtype):
    X = (rng.normal(size=(400, d)) + 100).astype(dtype)
    rows = rng.choice(400, 15, replace=False)
    distances = cdist(X, X[rows]).min(axis=1)
    assert metrics.coverage_radius(X, rows) == pytest.approx(distances.max(), rel=1e-12)
    assert metrics.coverage_radius(X, X[rows]) == pytest.approx(distances.max(), rel=1e-12)
    for quantile in (0.0, 0.5, 0.9):
        assert metrics.coverage_radius(X, rows, quantile=quantile) == pytest.approx(
            np.quantile(distances, quantile), abs=1e-12
        )
    assert metrics.coverage_radius(X, np.arange(400)) == 0
