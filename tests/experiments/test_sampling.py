"""Figure 1: what the landmarks reach of the roll."""

import numpy as np
import pytest
from reproducing import reproduce

from experiments.framework.experiment import Settings
from experiments.framework.summary import column
from experiments.internals import gaussian_kernel
from experiments.paper.sampling import (
    COUNTS,
    EFFICIENT,
    GEODESIC,
    SCALE,
    STANDARD,
    UNIFORM,
    coverage,
    points,
    share_radius,
)

WIDE = (1.0, 2.0, 4.0)


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    """One quick run of the experiment."""
    return reproduce("sampling", tmp_path_factory.mktemp("sampling"), Settings(quick=True))


def runs(result, method, bandwidth, *, own=False):
    """Runs of a method, with its own number of landmarks or the common one."""
    wanted = (method, bandwidth, None if own else COUNTS[bandwidth])
    rows = result.rows
    return [row for row in rows if (row["method"], row["bandwidth"], row["n_landmarks"]) == wanted]


def arc_length(t):
    return 0.5 * (t * np.sqrt(1 + t**2) + np.arcsinh(t))


def test_inner_part_is_the_first_half_turn():
    X, plane, inner = points(2000, seed=0)
    border = SCALE * (arc_length(2.5 * np.pi) - arc_length(1.5 * np.pi))
    np.testing.assert_array_equal(inner, plane[:, 0] <= border)
    # All of it has another layer around it: the same direction, one turn on.
    radius = np.hypot(X[:, 0], X[:, 2])
    assert radius[inner].max() + 2 * np.pi * SCALE <= 4.5 * np.pi * SCALE + 1e-9


def test_coverage_by_hand():
    plane = np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 0.0], [3.0, 4.0]])
    inner = np.array([True, True, True, False])
    found = coverage(plane, inner, np.array([1]), reach=1.0)
    assert found == {
        "inner_landmarks": 1,
        "radius": round(np.sqrt(20), 4),
        "inner_radius": 2.0,
        "inner_reached": round(2 / 3, 4),
    }
    none = coverage(plane, inner, np.array([], dtype=int), reach=1.0)
    assert none["inner_reached"] == 0
    assert none["radius"] is None


def test_discs_of_the_reach_have_the_area_of_the_roll():
    plane = np.array([[0.0, 0.0], [10.0, 2.0]])
    assert 5 * np.pi * share_radius(plane, 5) ** 2 == pytest.approx(20.0)


@pytest.mark.parametrize("bandwidth", WIDE)
def test_numbers_of_landmarks(result, bandwidth):
    for method in (UNIFORM, STANDARD, GEODESIC, EFFICIENT):
        assert (column(runs(result, method, bandwidth), "drawn") == COUNTS[bandwidth]).all()
    standard = runs(result, STANDARD, bandwidth, own=True)
    variance = expected = 0.0
    for row in standard:
        values = np.linalg.eigvalsh(gaussian_kernel(points(row["n"], row["seed"])[0], bandwidth))
        kept = np.maximum(values, 0) / (1 + np.maximum(values, 0))
        expected, variance = expected + kept.sum(), variance + (kept * (1 - kept)).sum()
    total = column(standard, "drawn").sum()
    assert abs(total - expected) < 4 * np.sqrt(variance)


@pytest.mark.parametrize("bandwidth", WIDE)
def test_geodesic_dpp_draws_more_landmarks(result, bandwidth):
    """Along the manifold points are further apart, so that more of them are unlike each other."""
    standard, geodesic = (
        runs(result, method, bandwidth, own=True) for method in (STANDARD, GEODESIC)
    )
    assert (column(geodesic, "drawn") > column(standard, "drawn")).all()
    assert column(geodesic, "inner_landmarks").sum() > column(standard, "inner_landmarks").sum()


@pytest.mark.parametrize("method", [GEODESIC, EFFICIENT])
def test_with_wide_bandwidths_the_inner_part_is_reached_better(result, method):
    gains = [
        column(runs(result, method, bandwidth), "inner_reached").mean()
        - column(runs(result, STANDARD, bandwidth), "inner_reached").mean()
        for bandwidth in WIDE
    ]
    assert min(gains) > 0
    assert np.mean(gains) > 0.1
