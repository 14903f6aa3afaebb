"""Shortcuts, suspicious edges and true neighbors of a graph; rows far from all others."""

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array
from scipy.spatial.distance import cdist

import trigpoint as tp
from trigpoint import metrics
from trigpoint._common.records import LandmarkGraph, Landmarks
from trigpoint.metrics._neighborhoods import shortcut_rate
from trigpoint.metrics._outliers import outlying_rows
from trigpoint.metrics._suspects import BRIDGE, ORDINARY, SHORTCUT, judge_edges, with_covariances


def measured(X, sampler, covariance="full"):
    """Return landmarks of a fit with their local covariances."""
    graph = tp.KNNGraph(covariance=covariance)
    emb = tp.LaplacianEigenmaps(landmarks=sampler, graph=graph, extension="graph")
    return emb.fit(X).fitted_.landmarks


@pytest.fixture(scope="module")
def landmarks():
    """Return landmarks of a Swiss roll with covariances, and their true coordinates."""
    X, intrinsic = tp.datasets.make_swiss_roll(20_000, random_state=1)
    found = measured(X, tp.EfficientDPP(300, random_state=1))
    return found, intrinsic[found.indices]


def is_shortcut(ends, intrinsic, n_neighbors):
    """Apply the rule of `shortcut_rate` to one edge."""
    distances = np.linalg.norm(intrinsic[:, None] - intrinsic[None], axis=2)
    reach = np.sort(distances, axis=1)[:, n_neighbors]
    left, right = ends.T
    return distances[left, right] > 2 * np.maximum(reach[left], reach[right])


@pytest.mark.parametrize(("n_neighbors", "recall"), [(20, 0.95), (50, 0.85)])
def test_shortcuts_of_a_euclidean_graph_are_found(landmarks, n_neighbors, recall):
    points, intrinsic = landmarks
    graph = tp.KNNGraph(n_neighbors, metric="euclidean").build(points)
    edges = judge_edges(graph, points)
    true = is_shortcut(edges.ends, intrinsic, n_neighbors)
    assert true.mean() == pytest.approx(shortcut_rate(graph.lengths, intrinsic, n_neighbors))
    assert true.sum() > 100
    suspected = edges.kinds == SHORTCUT
    assert (suspected & true).sum() > recall * true.sum()
    assert (suspected & true).sum() > 0.95 * suspected.sum()


def test_a_graph_without_shortcuts_is_hardly_suspected(landmarks):
    points, intrinsic = landmarks
    graph = tp.KNNGraph(20, metric="bhattacharyya").build(points)
    edges = judge_edges(graph, points)
    assert not is_shortcut(edges.ends, intrinsic, 20).any()
    assert edges.count(SHORTCUT) <= 0.002 * len(edges.kinds)


@pytest.mark.parametrize("metric", ["euclidean", "bhattacharyya"])
def test_varying_density_alone_raises_no_suspicion(metric):
    X, _ = tp.datasets.make_fish_bowl(20_000, random_state=0)
    points = measured(X, tp.EfficientDPP(300, random_state=0))
    edges = judge_edges(tp.KNNGraph(20, metric=metric).build(points), points)
    assert edges.count(SHORTCUT) <= 0.001 * len(edges.kinds)


def test_diagonal_covariances_serve_too():
    """Edges between two sheets that are close enough to be linked are suspicious."""
    rng = np.random.default_rng(0)
    sheets = np.repeat([0.0, 0.4], 4000)
    X = np.column_stack([rng.uniform(0, 4, (8000, 2)), sheets + rng.normal(0, 0.01, 8000)])
    points = measured(X, tp.EfficientDPP(200, n_neighbors=60, random_state=0), "diag")
    edges = judge_edges(tp.KNNGraph(10, metric="euclidean").build(points), points)
    across = np.ptp(sheets[points.indices][edges.ends], axis=1) > 0
    assert across.sum() > 20
    assert ((edges.kinds == SHORTCUT) == across).mean() > 0.98


def graph_of(points, pairs, bridges=()):
    left, right = np.transpose(pairs)
    lengths = np.linalg.norm(points[left] - points[right], axis=1)
    rows, columns = np.concatenate([left, right]), np.concatenate([right, left])
    matrix = csr_array((np.tile(lengths, 2), (rows, columns)), shape=2 * (len(points),))
    bridges = np.array(bridges, dtype=np.int64).reshape(-1, 2)
    return LandmarkGraph(matrix, matrix, bridges, np.ones(len(points)))


def test_without_covariances_ends_that_share_no_neighbor_are_suspected():
    """Two cliques of six are joined by an edge between members without common neighbors."""
    points = np.random.default_rng(0).normal(size=(12, 2))
    inside = [(i, j) for part in (range(6), range(6, 12)) for i in part for j in part if i < j]
    edges = judge_edges(graph_of(points, [*inside, (0, 6)]), Landmarks(points))
    assert edges.ends[edges.kinds == SHORTCUT].tolist() == [[0, 6]]
    bridged = judge_edges(graph_of(points, [*inside, (0, 6)], [(6, 0)]), Landmarks(points))
    assert bridged.ends[bridged.kinds == BRIDGE].tolist() == [[0, 6]]
    assert bridged.count(SHORTCUT) == 0


def test_a_chain_where_nobody_shares_a_neighbor_is_not_suspected():
    points = np.arange(10.0)[:, None]
    edges = judge_edges(graph_of(points, [(i, i + 1) for i in range(9)]), Landmarks(points))
    assert (edges.kinds == ORDINARY).all()


def test_covariances_that_a_model_file_lacks_are_estimated_from_points(rng, tmp_path):
    """Large covariances are not saved."""
    X = rng.normal(size=(600, 20))
    fitted = tp.LaplacianEigenmaps(landmarks=60, random_state=0).fit(X)
    fitted.save(tmp_path / "wide.trig")
    loaded = tp.load(tmp_path / "wide.trig").fitted_.landmarks
    assert with_covariances(loaded, X[:9], 1).covariances is None
    assert with_covariances(loaded, X, 1).covariances.shape == (60, 20, 20)
    own = fitted.fitted_.landmarks
    assert with_covariances(own, X, 1) is own


def slow_rows(X):
    """Compute from all distances; all points are in the sample."""
    third = np.sort(cdist(X, X), axis=1)[:, 3]
    usual = np.sort(third)[int(0.99 * (len(X) - 1))]
    return np.flatnonzero(third > 4 * usual)


@pytest.mark.parametrize("d", [2, 15, 16, 40])
def test_agrees_with_all_distances(d, rng):
    X = rng.normal(size=(250, d))
    X[[3, 77, 200]] += 30 * rng.normal(size=(3, d))
    expected = slow_rows(X)
    assert expected.tolist() == [3, 77, 200]
    np.testing.assert_array_equal(outlying_rows(X), expected)


def test_small_groups_of_outliers_are_outliers(rng):
    X = rng.normal(size=(5000, 3))
    X[10:13] = 100 + 0.01 * rng.normal(size=(3, 3))
    assert outlying_rows(X).tolist() == [10, 11, 12]


def test_varying_density_is_not_an_outlier(bowl, rng):
    assert len(outlying_rows(bowl[0])) == 0
    assert len(outlying_rows(rng.normal(size=(20_000, 3)))) == 0


@pytest.mark.parametrize("d", [2, 16])
def test_rows_that_are_not_among_the_sampled_points_are_found_too(d, rng):
    X = rng.normal(size=(3000, d))
    X[1234] = 1000
    assert outlying_rows(X).tolist() == [1234]


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_few_or_equal_points_have_none(n):
    assert len(outlying_rows(np.arange(2.0 * n).reshape(n, 2))) == 0
    assert len(outlying_rows(np.ones((100 * n, 2)))) == 0


def joined(edges, k, value=1.0):
    row, col = np.array(edges).T
    return coo_array((np.full(len(row), value), (row, col)), shape=(k, k))


def test_each_edge_counts_once_and_the_diagonal_never():
    u = np.arange(6.0)
    once = joined([(0, 1), (1, 2), (0, 5)], 6)
    twice = joined([(0, 1), (1, 0), (1, 2), (0, 5), (5, 0), (0, 5), (3, 3), (4, 4)], 6)
    assert metrics.shortcut_rate(once, u, 1) == pytest.approx(1 / 3)
    for graph in (twice, csr_array(twice), twice.toarray(), csr_array(twice).T):
        assert metrics.shortcut_rate(graph, u[:, None], 1) == pytest.approx(1 / 3)
    # Stored zeros are edges: of length zero, or with a weight too small for float64.
    assert metrics.shortcut_rate(joined([(0, 1), (0, 5)], 6, value=0.0), u, 1) == 0.5


def test_an_edge_of_twice_the_reach_is_no_shortcut_on_a_grid():
    # Multiples of a tenth, not all of which are equally far apart in float64.
    u = np.arange(0, 50) / 10
    graph = joined([(i, i + 2) for i in range(48)], 50)
    assert metrics.shortcut_rate(graph, u, 1) == 0
    assert metrics.shortcut_rate(joined([(i, i + 3) for i in range(47)], 50), u, 1) == 1


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
    # From the center of a cross, four landmarks are tied in ranks two to five.
    u = np.array([[0.0, 0.0], [0.3, 0.0], [0.0, 1.0], [0.0, -1.0], [-1.0, 0.0], [0.6, 0.8]])
    for tied in range(2, 6):
        found = metrics.neighbor_recall(joined([(0, 1), (0, tied)], 6), u, 2)
        # 0 finds both; 1 finds 0, and a tied landmark finds 0 if it is among its nearest two.
        second = np.sort(cdist(u, u)[tied])[2]
        assert found == pytest.approx((2 + 1 + (second >= 1)) / 12)
    # Three tied landmarks do not outweigh the one that is nearer.
    found = metrics.neighbor_recall(joined([(0, 2), (0, 3), (0, 4)], 6), u[:, [0, 1]], 2)
    own = 1
    others = sum(np.sort(cdist(u, u)[i])[2] >= 1 for i in (2, 3, 4))
    assert found == pytest.approx((own + others) / 12)
