"""Randomly pivoted Cholesky: distribution of the pivots, factor, rounding and cost."""

from unittest.mock import Mock

import numpy as np
import pytest
from subset_statistics import POINTS, SIGNIFICANCE, ordered_probabilities, p_value

from trigpoint._numerics.gaussian import gaussian_kernel
from trigpoint._samplers import cholesky
from trigpoint._samplers.cholesky import PivotDraw, RPCholesky, gaussian_of
from trigpoint.metrics import nystrom_error

POINTS = POINTS[:5]

# With the wider kernel, nearly every draw recomputes the residuals of all points.
MEDIUM, WIDE = 1.6, 6.0


# --- the distribution --------------------------------------------------------------------------


def ordered_draws(bandwidth, k=3):
    """Return the probability of every ordered draw, from the residuals given the earlier pivots."""
    K = gaussian_kernel(POINTS, bandwidth)

    def left(J):
        return (K - K[:, J] @ np.linalg.solve(K[np.ix_(J, J)], K[J])).diagonal()

    return ordered_probabilities(len(K), k, left)


@pytest.mark.parametrize(
    ("bandwidth", "block_size", "n_draws"),
    [(MEDIUM, 1, 1400), (MEDIUM, 4, 2800), (MEDIUM, 5, 2100), (WIDE, 4, 2100)],
)
def test_blocks_have_the_distribution_of_one_at_a_time(bandwidth, block_size, n_draws, monkeypatch):
    monkeypatch.setattr(cholesky, "_PROPOSALS", block_size)
    renewed = Mock(side_effect=PivotDraw._renew_weights)
    monkeypatch.setattr(PivotDraw, "_renew_weights", lambda draw: renewed(draw))
    sampler = RPCholesky(3, bandwidth=bandwidth, random_state=np.random.default_rng(1), n_jobs=1)
    draws = [sampler.fit(POINTS).indices_ for _ in range(n_draws)]
    assert bandwidth == MEDIUM or renewed.call_count > 0.9 * n_draws
    assert p_value(draws, ordered_draws(bandwidth), ordered=True) > SIGNIFICANCE


# --- the factor and the error ------------------------------------------------------------------


@pytest.fixture(params=[3, 40], ids=["differences", "products"])
def points(request):
    """With these numbers of columns, the kernel is computed in two ways."""
    return np.random.default_rng(0).normal(size=(500, request.param)), request.param**0.5


def test_residual_trace_is_the_nystrom_error(points):
    X, bandwidth = points
    for k in (1, 2, 70, 150):
        sampler = RPCholesky(k, bandwidth=bandwidth, random_state=0).fit(X)
        error = nystrom_error(X, sampler.indices_, bandwidth, relative=True)
        assert sampler.residual_trace_ == pytest.approx(error, rel=1e-9)


def test_residual_trace_of_many_points_is_estimated(monkeypatch):
    monkeypatch.setattr(cholesky, "_TRACE_POINTS", 2000)
    X = np.random.default_rng(1).normal(size=(10_000, 3))
    sampler = RPCholesky(40, random_state=0).fit(X)
    error = nystrom_error(X, sampler.indices_, sampler.bandwidth_, relative=True)
    assert sampler.residual_trace_ == pytest.approx(error, rel=0.1)
    assert sampler.residual_trace_ != pytest.approx(error, rel=1e-6)


# --- rounding ----------------------------------------------------------------------------------


def test_points_that_nearly_coincide_are_distinguished_in_many_columns():
    """Next to a spread of a million bandwidths, products would lose all of these distances."""
    rng = np.random.default_rng(4)
    places = rng.normal(size=(5, 40)) * 1e6
    X = np.repeat(places, 3, axis=0) + rng.normal(size=(15, 40)) / 3
    all_rows, nine = (RPCholesky(k, bandwidth=1.0, random_state=0).fit(X) for k in (15, 9))
    assert sorted(all_rows.indices_) == list(range(15))
    error = nystrom_error(X, nine.indices_, 1.0, relative=True)
    assert nine.residual_trace_ == pytest.approx(error, rel=1e-3)


@pytest.mark.parametrize("seed", range(5))
def test_an_exhausted_kernel_is_refused_with_what_could_be_drawn(seed):
    """The numerical rank is 12; the remedy that the message names works."""
    X = np.random.default_rng(5).uniform(size=(300, 1))
    with pytest.raises(ValueError, match="smaller bandwidth") as refused:
        RPCholesky(40, bandwidth=0.5, random_state=seed).fit(X)
    message = str(refused.value)
    assert "n_landmarks=40 is too large" in message
    count = int(message.split("n_landmarks <= ")[1].split(",")[0])
    assert 9 <= count <= 13
    sampler = RPCholesky(count, bandwidth=0.5, random_state=seed).fit(X)
    assert sampler.residual_trace_ < 1e-11
    assert len(RPCholesky(40, bandwidth=0.02, random_state=seed).fit(X).indices_) == 40


# --- cost --------------------------------------------------------------------------------------


def test_entries_computed_do_not_grow_with_the_number_of_points(monkeypatch):
    computed = 0

    def counted(bandwidth):
        kernel = gaussian_of(bandwidth)

        def count(A, B):
            nonlocal computed
            computed += len(A) * len(B)
            return kernel(A, B)

        return count

    monkeypatch.setattr(cholesky, "gaussian_of", counted)
    monkeypatch.setattr(cholesky, "_TRACE_POINTS", 1000)
    X = np.random.default_rng(6).normal(size=(200_000, 2))
    monkeypatch.setattr(cholesky, "_PROPOSALS", 64)
    sampler = RPCholesky(100, random_state=0, n_jobs=1).fit(X)
    # Too few for the residuals of all points to be recomputed.
    assert sampler.n_proposals_ < 5000
    blocks = 100 + sampler.n_proposals_ / 64
    assert 0 < computed < 100 * sampler.n_proposals_ + 64**2 * blocks + 1000 * 100


# --- the contract ------------------------------------------------------------------------------


def test_float32_points_are_worked_on_in_float64():
    X = np.random.default_rng(9).normal(size=(500, 50)).astype(np.float32)
    single, double = (RPCholesky(60, random_state=0).fit(x) for x in (X, X.astype(np.float64)))
    np.testing.assert_array_equal(single.indices_, double.indices_)
    # The rule for the bandwidth measures distances in the precision of the points.
    assert single.residual_trace_ == pytest.approx(double.residual_trace_, rel=1e-5)


def test_fewer_landmarks_are_the_first_of_more():
    X = np.random.default_rng(11).normal(size=(1000, 3))
    many, few = (RPCholesky(k, bandwidth=0.5, random_state=0).fit(X) for k in (300, 20))
    np.testing.assert_array_equal(few.indices_, many.indices_[:20])
