"""Suspected shortcuts, against true ones."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import trigpoint as tp
from trigpoint._common.records import LandmarkGraph, Landmarks
from trigpoint.metrics._neighborhoods import shortcut_rate
from trigpoint.metrics._suspects import BRIDGE, ORDINARY, SHORTCUT, judge_edges, with_covariances


def measured(X, sampler, covariance="full"):
    """Landmarks of a fit, with their local covariances."""
    graph = tp.KNNGraph(covariance=covariance)
    emb = tp.LaplacianEigenmaps(landmarks=sampler, graph=graph, extension="graph")
    return emb.fit(X).fitted_.landmarks


@pytest.fixture(scope="module")
def landmarks():
    """Landmarks of a Swiss roll with covariances, and their true coordinates."""
    X, intrinsic = tp.datasets.make_swiss_roll(20_000, random_state=1)
    found = measured(X, tp.EfficientDPP(300, random_state=1))
    return found, intrinsic[found.indices]


def is_shortcut(ends, intrinsic, n_neighbors):
    """The rule of `shortcut_rate`, edge by edge."""
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
    """Two sheets above each other, close enough to be linked: the links between are suspected."""
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
    """Two cliques of six, joined by one edge between members that share no neighbor."""
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
    """Large ones are not saved."""
    X = rng.normal(size=(600, 20))
    fitted = tp.LaplacianEigenmaps(landmarks=60, random_state=0).fit(X)
    fitted.save(tmp_path / "wide.trig")
    loaded = tp.load(tmp_path / "wide.trig").fitted_.landmarks
    assert with_covariances(loaded, X[:9], 1).covariances is None
    assert with_covariances(loaded, X, 1).covariances.shape == (60, 20, 20)
    own = fitted.fitted_.landmarks
    assert with_covariances(own, X, 1) is own
