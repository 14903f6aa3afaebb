"""How far the farthest point is from a landmark."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from trigpoint import metrics


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


def geodesic_by_relaxation(X, rows, n_neighbors):
    """Shortest paths from the landmarks by relaxing all edges until nothing changes."""
    D = cdist(X, X)
    linked = np.zeros_like(D, dtype=bool)
    for i in range(len(X)):
        linked[i, np.argsort(D[i], kind="stable")[: n_neighbors + 1]] = True
    lengths = np.where(linked | linked.T, D, np.inf)
    distances = np.full(len(X), np.inf)
    distances[rows] = 0
    for _ in range(len(X)):
        distances = np.minimum(distances, (distances[:, None] + lengths).min(axis=0))
    return distances


@pytest.mark.parametrize("d", [2, 20])
def test_geodesic_coverage(rng, d):
    X = rng.normal(size=(150, d))
    X[:, 0] *= 5
    rows = rng.choice(150, 4, replace=False)
    distances = geodesic_by_relaxation(X, rows, 6)
    assert np.isfinite(distances).all()
    radius = metrics.coverage_radius(X, rows, metric="geodesic", n_neighbors=6)
    assert radius == pytest.approx(distances.max(), rel=1e-12)
    assert radius > metrics.coverage_radius(X, rows)
    median = metrics.coverage_radius(X, rows, metric="geodesic", n_neighbors=6, quantile=0.5)
    assert median == pytest.approx(np.median(distances), rel=1e-12)


def test_geodesic_coverage_follows_a_circle():
    angle = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    assert metrics.coverage_radius(circle, [0]) == pytest.approx(2)
    radius = metrics.coverage_radius(circle, [0], metric="geodesic", n_neighbors=2)
    assert radius == pytest.approx(np.pi, rel=1e-4)


def test_coincident_points_are_one_vertex(rng):
    X = rng.normal(size=(120, 2))
    once = metrics.coverage_radius(X, [0, 1], metric="geodesic", n_neighbors=5)
    # More copies than neighbors: linked to each other only, they would be cut off.
    copies = np.vstack([np.repeat(X, 12, axis=0), X + 0.0])
    rows = [5, 120 * 12 + 1]
    copied = metrics.coverage_radius(copies, rows, metric="geodesic", n_neighbors=5)
    assert copied == once
    # Copies of one point only, with zeros of either sign.
    zeros = np.zeros((30, 2))
    zeros[::2] = -0.0
    assert metrics.coverage_radius(zeros, [3], metric="geodesic", n_neighbors=4) == 0
    # Distinct, though the square of their distance rounds to zero.
    tiny = np.array([[0.0], [1e-200], [2e-200], [1.0]])
    radius = metrics.coverage_radius(tiny, [0], metric="geodesic", n_neighbors=2)
    assert radius == pytest.approx(1.0)


def test_coverage_of_pieces_without_a_landmark(rng):
    X = np.vstack([rng.normal(size=(40, 2)), rng.normal(size=(30, 2)) + 100])
    message = (
        "30 of the 70 points cannot be reached.*n_neighbors=10 .* 2 components; raise n_neighbors"
    )
    with pytest.raises(ValueError, match=message):
        metrics.coverage_radius(X, [0, 1], metric="geodesic")
    # With a landmark in each piece every point is reached.
    radius = metrics.coverage_radius(X, [0, 40], metric="geodesic")
    assert radius == pytest.approx(geodesic_by_relaxation(X, [0, 40], 10).max())
    # And with enough neighbors the pieces are one.
    assert metrics.coverage_radius(X, [0], metric="geodesic", n_neighbors=60) > 100
