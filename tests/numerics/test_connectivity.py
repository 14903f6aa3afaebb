"""Bridges: a minimum spanning tree of the components, found without a k x k matrix."""

from itertools import product

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


def mixed_sizes(dimension, rng):
    """Some beyond the size up to which neighbors are asked for one by one."""
    labels = np.repeat(np.arange(7), [200, 90, 70, 30, 3, 1, 1])
    centers = 4 * rng.normal(size=(7, dimension))
    return rng.normal(size=(len(labels), dimension)) + centers[labels], labels


def parallel_rows(dimension, rng):
    """Every pair across is equally far apart: the smallest indices are joined."""
    points = np.zeros((20, dimension))
    points[:, 0] = np.tile(np.arange(10), 2)
    points[10:, 1] = 3.0
    return points, np.repeat([0, 1], 10)


def close_pairs(dimension, rng):
    """Squared distances of 1e-18 vanish next to squared norms of 1 in a product of matrices."""
    points = np.tile(rng.normal(size=(40, dimension)), (2, 1))
    points[40:, 0] += rng.permutation(np.arange(1, 41)) * 1e-9
    return points, np.repeat([0, 1], 40)


def normal(n_components, offset):
    """Every label at least once, in any order."""

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
    """All steps have one length."""
    steps = np.stack(np.meshgrid(np.arange(8.0), np.arange(8.0)), axis=-1).reshape(-1, 2)
    return np.pad(steps, ((0, 0), (0, dimension - 2))), rng.permutation(np.arange(64) % 40)


def coincident(dimension, rng):
    """Three components at each of six points."""
    return np.repeat(rng.normal(size=(6, dimension)), 30, axis=0), np.repeat(np.arange(18), 10)


@pytest.mark.parametrize("dimension", [2, 16])
@pytest.mark.parametrize("cloud", [grid, coincident])
def test_ties_close_no_cycle(cloud, dimension, rng):
    """There are several trees, all of one length."""
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
