"""Bridges: a minimum spanning tree of the components, found without a k x k matrix."""

import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist

from trigpoint._numerics.connectivity import bridge_components


def chains(labels):
    """A graph whose components are the points of one label, each joined to the next."""
    order = np.argsort(labels, kind="stable")
    same = labels[order][1:] == labels[order][:-1]
    left, right = order[:-1][same], order[1:][same]
    ends = (np.concatenate([left, right]), np.concatenate([right, left]))
    return csr_array((np.ones(2 * len(left)), ends), shape=(len(labels), len(labels)))


def kruskal(labels, points):
    """The obvious way: all edges between components, shortest first, ties by index."""
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


def lengths(bridges, points):
    return np.linalg.norm(points[bridges[:, 0]] - points[bridges[:, 1]], axis=1)


def assert_joins(adjacency, bridges):
    joined = adjacency + csr_array((np.ones(len(bridges)), bridges.T), shape=adjacency.shape)
    assert connected_components(joined, directed=False, return_labels=False) == 1


@pytest.mark.parametrize("dimension", [1, 2, 10, 20])
@pytest.mark.parametrize("n_components", [1, 2, 7, 60, 120])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_bridges_are_the_minimum_spanning_tree(dimension, n_components, offset):
    rng = np.random.default_rng(n_components)
    points = rng.normal(size=(120, dimension)) + offset
    # Every label at least once.
    labels = rng.permutation(np.arange(120) % n_components)
    bridges = bridge_components(chains(labels), points)
    assert bridges.dtype == np.int64
    assert bridges.shape == (n_components - 1, 2)
    np.testing.assert_array_equal(bridges, kruskal(labels, points))


@pytest.mark.parametrize("dimension", [2, 20])
def test_large_components(dimension):
    """Beyond the size up to which neighbors are asked for one by one, and of mixed sizes."""
    rng = np.random.default_rng(1)
    sizes = [200, 90, 70, 30, 3, 1, 1]
    labels = np.repeat(np.arange(len(sizes)), sizes)
    points = rng.normal(size=(len(labels), dimension)) + 4 * rng.normal(size=(7, dimension))[labels]
    np.testing.assert_array_equal(
        bridge_components(chains(labels), points), kruskal(labels, points)
    )


@pytest.mark.parametrize("dimension", [2, 20])
def test_ties_go_to_the_smallest_indices(dimension):
    """Two parallel rows of points, every pair across equally far apart."""
    points = np.zeros((20, dimension))
    points[:, 0] = np.tile(np.arange(10), 2)
    points[10:, 1] = 3.0
    # The second of equal components reaches for the first, from its own smallest index.
    labels = np.repeat([0, 1], 10)
    np.testing.assert_array_equal(bridge_components(chains(labels), points), [[0, 10]])


@pytest.mark.parametrize("dimension", [2, 16])
def test_ties_close_no_cycle(dimension):
    """On a grid all steps have one length; the tree is as long as any minimum spanning tree."""
    grid = np.stack(np.meshgrid(np.arange(8.0), np.arange(8.0)), axis=-1).reshape(-1, 2)
    points = np.zeros((64, dimension))
    points[:, :2] = grid
    labels = np.random.default_rng(2).permutation(np.arange(64) % 40)
    adjacency = chains(labels)
    bridges = bridge_components(adjacency, points)
    assert_joins(adjacency, bridges)
    np.testing.assert_allclose(
        lengths(bridges, points).sum(), lengths(kruskal(labels, points), points).sum()
    )


@pytest.mark.parametrize("dimension", [3, 30])
def test_coincident_components_are_joined_at_no_length(dimension):
    rng = np.random.default_rng(3)
    points = np.repeat(rng.normal(size=(6, dimension)), 30, axis=0)
    labels = np.repeat(np.arange(18), 10)
    adjacency = chains(labels)
    bridges = bridge_components(adjacency, points)
    assert_joins(adjacency, bridges)
    assert np.count_nonzero(lengths(bridges, points) == 0) == 12


def test_gaps_below_the_rounding_of_a_matrix_product():
    """Squared distances of 1e-18 vanish next to squared norms of 1 in a product of matrices."""
    rng = np.random.default_rng(4)
    base = rng.normal(size=(40, 20))
    gaps = rng.permutation(np.arange(1, 41)) * 1e-9
    points = np.vstack([base, base])
    points[40:, 0] += gaps
    labels = np.repeat([0, 1], 40)
    closest = int(gaps.argmin())
    np.testing.assert_array_equal(
        bridge_components(chains(labels), points), [[closest, closest + 40]]
    )


def test_explicit_zeros_are_edges():
    points = np.array([[0.0], [0.0], [5.0]])
    adjacency = csr_array((np.zeros(2), ([0, 1], [1, 0])), shape=(3, 3))
    np.testing.assert_array_equal(bridge_components(adjacency, points), [[0, 2]])


@pytest.mark.parametrize("dimension", [3, 20])
def test_memory_stays_far_below_k_squared(dimension):
    k = 6000
    points = np.random.default_rng(5).normal(size=(k, dimension))
    adjacency = chains((points[:, 0] > 0).astype(int))
    tracemalloc.start()
    bridge_components(adjacency, points)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * k**2 / 4
