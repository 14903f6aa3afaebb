"""Geodesic distances: shortest paths, copies of points, and graphs that fall apart."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from trigpoint._numerics.connectivity import DisconnectedGraphWarning
from trigpoint._numerics.geodesic import geodesic_distances, geodesic_kernel


def floyd_warshall(X, n_neighbors):
    """The obvious way, on distinct points."""
    euclidean = cdist(X, X)
    paths = np.full(euclidean.shape, np.inf)
    for i, row in enumerate(euclidean):
        near = np.argsort(row, kind="stable")[: n_neighbors + 1]
        paths[i, near] = paths[near, i] = row[near]
    for middle in range(len(X)):
        paths = np.minimum(paths, paths[:, [middle]] + paths[[middle]])
    return paths


@pytest.mark.parametrize("dimension", [1, 3, 20])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_shortest_paths(dimension, dtype):
    X = np.random.default_rng(0).normal(size=(80, dimension)).astype(dtype)
    distances = geodesic_distances(X, n_neighbors=7)
    assert distances.dtype == np.float64
    np.testing.assert_allclose(distances, floyd_warshall(X.astype(np.float64), 7), rtol=1e-12)
    np.testing.assert_array_equal(distances, distances.T)
    assert (distances.diagonal() == 0).all()


def test_copies_of_a_point_are_no_distance_apart():
    """More copies than neighbors: they must neither fall off the graph nor be infinitely far."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 2))
    copies = np.concatenate([np.arange(40), np.full(30, 7), [3, 3]])
    # A warning would be an error.
    distances = geodesic_distances(X[copies], n_neighbors=6)
    np.testing.assert_allclose(distances, geodesic_distances(X, n_neighbors=6)[copies][:, copies])
    assert (distances[7, 40:70] == 0).all()
    # Zeros of different signs are one place.
    assert geodesic_distances(np.array([[0.0], [-0.0], [1.0]]), n_neighbors=1)[0, 1] == 0
    np.testing.assert_array_equal(geodesic_distances(np.ones((5, 2)), n_neighbors=3), 0)


def test_distances_that_round_to_zero_are_edges():
    """Distinct points whose squared distance underflows."""
    X = np.array([[0.0], [1e-200], [1.0], [2.0]])
    distances = geodesic_distances(X, n_neighbors=2)
    assert distances[0, 1] < 1e-100
    np.testing.assert_allclose(distances[:, 3], [2, 2, 1, 0])


def test_separate_components_are_joined_with_a_warning():
    """Three clusters on a line: the middle one is on the way."""
    rng = np.random.default_rng(2)
    X = rng.uniform(size=(45, 2)) + np.repeat([[0.0, 0.0], [10.0, 0.0], [20.0, 0.0]], 15, axis=0)
    with pytest.warns(DisconnectedGraphWarning, match="3 components"):
        distances = geodesic_distances(X, n_neighbors=4)
    assert np.isfinite(distances).all()
    first, middle, last = np.split(np.arange(45), 3)
    through = distances[np.ix_(first, middle)].min(axis=1).min()
    # Bridges are the shortest edges between clusters.
    assert through == pytest.approx(cdist(X[first], X[middle]).min())
    assert distances[np.ix_(middle, last)].min() == pytest.approx(cdist(X[middle], X[last]).min())


def test_kernel_is_the_gaussian_of_the_distances():
    X = np.random.default_rng(3).normal(size=(30, 2))
    expected = np.exp(-(geodesic_distances(X, 5) ** 2) / (2 * 0.7**2))
    np.testing.assert_allclose(geodesic_kernel(X, 0.7, 5), expected)
