"""Connected components: bridges as a minimum spanning tree, and shortest paths across them."""

from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist

from trigpoint._numerics.connectivity import DisconnectedGraphWarning, bridge_components
from trigpoint._numerics.geodesic import geodesic_distances, geodesic_kernel


def chains(labels):
    """Return a graph whose components are the points with the same label, joined in a chain."""
    order = np.argsort(labels, kind="stable")
    same = labels[order][1:] == labels[order][:-1]
    left, right = order[:-1][same], order[1:][same]
    ends = (np.concatenate([left, right]), np.concatenate([right, left]))
    return csr_array((np.ones(2 * len(left)), ends), shape=(len(labels), len(labels)))


def kruskal(labels, points):
    """Kruskal's algorithm on all edges between components, shortest first, ties by index."""
    distances = cdist(points, points)
    parent = {label: label for label in labels}

    def root(label):
        while parent[label] != label:
            label = parent[label]
        return label

    edges = [(distances[i, j], i, j) for i in range(len(points)) for j in range(i + 1, len(points))]
    bridges = []
    for _, i, j in sorted(edges):
        left, right = root(labels[i]), root(labels[j])
        if left != right:
            parent[left] = right
            bridges.append((i, j))
    return np.array(sorted(bridges)).reshape(-1, 2)


def mixed_sizes(dimension, rng):
    """Return components, some of which are above the size up to which neighbors are searched."""
    labels = np.repeat(np.arange(7), [200, 90, 70, 30, 3, 1, 1])
    centers = 4 * rng.normal(size=(7, dimension))
    return rng.normal(size=(len(labels), dimension)) + centers[labels], labels


def parallel_rows(dimension, rng):
    """Return rows in which all pairs across are equally far; the smallest indices are joined."""
    points = np.zeros((20, dimension))
    points[:, 0] = np.tile(np.arange(10), 2)
    points[10:, 1] = 3.0
    return points, np.repeat([0, 1], 10)


def close_pairs(dimension, rng):
    """Return pairs at squared distances of 1e-18, which matrix products round away."""
    points = np.tile(rng.normal(size=(40, dimension)), (2, 1))
    points[40:, 0] += rng.permutation(np.arange(1, 41)) * 1e-9
    return points, np.repeat([0, 1], 40)


def normal(n_components, offset):
    """Return labels in any order, each at least once."""

    def cloud(dimension, rng):
        labels = rng.permutation(np.arange(120) % n_components)
        return rng.normal(size=(120, dimension)) + offset, labels

    return cloud


NORMAL = [normal(n, offset) for n in (1, 2, 7, 60, 120) for offset in (0.0, 1e6)]


@pytest.mark.parametrize(
    ("cloud", "dimension"),
    [
        *product(NORMAL, [1, 2, 10, 20]),
        *product([mixed_sizes, parallel_rows, close_pairs], [2, 20]),
    ],
)
def test_bridges_are_the_minimum_spanning_tree(cloud, dimension, rng):
    points, labels = cloud(dimension, rng)
    bridges = bridge_components(chains(labels), points)
    assert bridges.dtype == np.int64
    np.testing.assert_array_equal(bridges, kruskal(labels, points))


def grid(dimension, rng):
    """Return a grid whose steps have the same length."""
    steps = np.stack(np.meshgrid(np.arange(8.0), np.arange(8.0)), axis=-1).reshape(-1, 2)
    return np.pad(steps, ((0, 0), (0, dimension - 2))), rng.permutation(np.arange(64) % 40)


def coincident(dimension, rng):
    """Return six points with three components each."""
    return np.repeat(rng.normal(size=(6, dimension)), 30, axis=0), np.repeat(np.arange(18), 10)


@pytest.mark.parametrize("dimension", [2, 16])
@pytest.mark.parametrize("cloud", [grid, coincident])
def test_ties_close_no_cycle(cloud, dimension, rng):
    """There are several minimum spanning trees of the same length."""
    points, labels = cloud(dimension, rng)
    adjacency = chains(labels)
    bridges = bridge_components(adjacency, points)
    joined = adjacency + csr_array((np.ones(len(bridges)), bridges.T), shape=adjacency.shape)
    assert connected_components(joined, directed=False, return_labels=False) == 1
    length, least = (
        np.linalg.norm(points[ends[:, 0]] - points[ends[:, 1]], axis=1).sum()
        for ends in (bridges, kruskal(labels, points))
    )
    assert length == pytest.approx(least)


def test_explicit_zeros_are_edges():
    points = np.array([[0.0], [0.0], [5.0]])
    adjacency = csr_array((np.zeros(2), ([0, 1], [1, 0])), shape=(3, 3))
    np.testing.assert_array_equal(bridge_components(adjacency, points), [[0, 2]])


@pytest.mark.parametrize("dimension", [3, 20])
def test_memory_stays_far_below_k_squared(dimension, peak_memory):
    k = 6000
    points = np.random.default_rng(5).normal(size=(k, dimension))
    adjacency = chains((points[:, 0] > 0).astype(int))
    _, peak = peak_memory(bridge_components, adjacency, points)
    assert peak < 8 * k**2 / 4


def floyd_warshall(X, n_neighbors):
    """The Floyd-Warshall algorithm, on distinct points."""
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
    """More duplicates than neighbors must be neither disconnected nor infinitely far apart."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 2))
    copies = np.concatenate([np.arange(40), np.full(30, 7), [3, 3]])
    # A warning would be an error.
    distances = geodesic_distances(X[copies], n_neighbors=6)
    np.testing.assert_allclose(distances, geodesic_distances(X, n_neighbors=6)[copies][:, copies])
    assert (distances[7, 40:70] == 0).all()
    # Zeros of different signs are equal.
    assert geodesic_distances(np.array([[0.0], [-0.0], [1.0]]), n_neighbors=1)[0, 1] == 0
    np.testing.assert_array_equal(geodesic_distances(np.ones((5, 2)), n_neighbors=3), 0)


def test_distances_that_round_to_zero_are_edges():
    """The squared distance between distinct points underflows."""
    X = np.array([[0.0], [1e-200], [1.0], [2.0]])
    distances = geodesic_distances(X, n_neighbors=2)
    assert distances[0, 1] < 1e-100
    np.testing.assert_allclose(distances[:, 3], [2, 2, 1, 0])


def test_separate_components_are_joined_with_a_warning():
    """Of three clusters on a line, paths pass through the middle one."""
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
