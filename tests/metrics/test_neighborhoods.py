"""Shortcuts and true neighbors of a graph."""

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array
from scipy.spatial.distance import cdist

from trigpoint import metrics


def graph_of(edges, k, value=1.0):
    row, col = np.array(edges).T
    return coo_array((np.full(len(row), value), (row, col)), shape=(k, k))


def test_shortcuts_of_a_line_by_hand():
    # Landmarks at 0, 1, 3, 6, 10. Distance to the 1st neighbor: 1, 1, 2, 3, 4; to the 2nd: 3, 2,
    # 3, 4, 7.
    u = np.array([0.0, 1.0, 3.0, 6.0, 10.0])
    edges = [(0, 1), (0, 2), (0, 3), (1, 3), (3, 4), (0, 4), (1, 4)]
    # With 1: limits 2, 4, 6, 6, 8, 8, 8 for lengths 1, 3, 6, 5, 4, 10, 9: the last two.
    assert metrics.shortcut_rate(graph_of(edges, 5), u, 1) == pytest.approx(2 / 7)
    # With 2: limits 6, 6, 8, 8, 14, 14, 14: none.
    assert metrics.shortcut_rate(graph_of(edges, 5), u, 2) == 0
    assert metrics.shortcut_rate(graph_of([(0, 2), (2, 0), (1, 2)], 5), u, 1) == 0
    # Two close pairs: the edge between them is longer than twice the distance within either.
    u = np.array([0.0, 1.0, 5.0, 5.5])
    assert metrics.shortcut_rate(graph_of([(0, 1), (1, 2), (2, 3)], 4), u, 1) == pytest.approx(
        1 / 3
    )


def test_each_edge_counts_once_and_the_diagonal_never():
    u = np.arange(6.0)
    once = graph_of([(0, 1), (1, 2), (0, 5)], 6)
    twice = graph_of([(0, 1), (1, 0), (1, 2), (0, 5), (5, 0), (0, 5), (3, 3), (4, 4)], 6)
    assert metrics.shortcut_rate(once, u, 1) == pytest.approx(1 / 3)
    for graph in (twice, csr_array(twice), twice.toarray(), csr_array(twice).T):
        assert metrics.shortcut_rate(graph, u[:, None], 1) == pytest.approx(1 / 3)
    # Stored zeros are edges: of zero length, or with a weight too small for float64.
    assert metrics.shortcut_rate(graph_of([(0, 1), (0, 5)], 6, value=0.0), u, 1) == 0.5


def test_an_edge_of_twice_the_reach_is_no_shortcut_on_a_grid():
    # In tenths, not all of which are equally far apart in float64.
    u = np.arange(0, 50) / 10
    graph = graph_of([(i, i + 2) for i in range(48)], 50)
    assert metrics.shortcut_rate(graph, u, 1) == 0
    assert metrics.shortcut_rate(graph_of([(i, i + 3) for i in range(47)], 50), u, 1) == 1


def recall_by_sets(linked, u, n_neighbors):
    D = cdist(u, u)
    np.fill_diagonal(D, np.inf)
    shares = []
    for i in range(len(u)):
        true = np.argsort(D[i])[:n_neighbors]
        shares.append(np.mean((linked | linked.T)[i, true]))
    return np.mean(shares)


@pytest.mark.parametrize("n_neighbors", [1, 5, 30])
def test_recall_against_sets_of_neighbors(rng, n_neighbors):
    u = rng.random((60, 2))
    linked = np.triu(rng.random((60, 60)) < 0.3, 1)
    recall = metrics.neighbor_recall(csr_array(linked), u, n_neighbors)
    assert recall == pytest.approx(recall_by_sets(linked, u, n_neighbors), rel=1e-12)


def test_tied_neighbors_are_interchangeable_but_nearer_ones_are_not():
    # From the middle of a cross, four landmarks are tied in the second to fifth place.
    u = np.array([[0.0, 0.0], [0.3, 0.0], [0.0, 1.0], [0.0, -1.0], [-1.0, 0.0], [0.6, 0.8]])
    for tied in range(2, 6):
        found = metrics.neighbor_recall(graph_of([(0, 1), (0, tied)], 6), u, 2)
        # 0 finds both; 1 finds 0, tied finds 0 if it is among its nearest two.
        second = np.sort(cdist(u, u)[tied])[2]
        assert found == pytest.approx((2 + 1 + (second >= 1)) / 12)
    # Three tied ones do not make up for the one that is nearer than they are.
    found = metrics.neighbor_recall(graph_of([(0, 2), (0, 3), (0, 4)], 6), u[:, [0, 1]], 2)
    own = 1
    others = sum(np.sort(cdist(u, u)[i])[2] >= 1 for i in (2, 3, 4))
    assert found == pytest.approx((own + others) / 12)
