"""The landmark graph: neighbors, weights, connectedness, shortcuts."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist
from trigpoint._graph import (
    KNNGraph,
    NeighborSearch,
    RadiusGraph,
    graph_in_one_piece,
    neighbors,
    ordinary_edges,
    precomputed_graph,
)

import trigpoint as tp
from trigpoint._common.records import Landmarks, LowRankCovariances
from trigpoint._geometry import bhattacharyya_matrix, regularize
from trigpoint._numerics.connectivity import DisconnectedGraphWarning
from trigpoint._numerics.gaussian import gaussian_kernel
from trigpoint._samplers import EfficientDPP
from trigpoint.datasets import make_swiss_roll
from trigpoint.metrics import neighbor_recall, shortcut_rate


@pytest.fixture(scope="module")
def landmarks(roll) -> Landmarks:
    """Landmarks of the roll with full covariances."""
    sampler = EfficientDPP(150, covariance="full", random_state=0).fit(roll[0])
    return Landmarks(sampler.landmarks_, sampler.indices_, sampler.radii_, sampler.covariances_)


@pytest.mark.parametrize("graph", [KNNGraph(), KNNGraph(5, metric="euclidean"), RadiusGraph(3.0)])
def test_every_graph_is_symmetric_connected_and_has_unit_loops(graph, landmarks):
    built = graph.build(landmarks)
    assert abs(built.weights - built.weights.T).max() == 0
    assert connected_components(built.weights)[0] == 1
    np.testing.assert_array_equal(built.weights.diagonal(), 1)
    assert built.weights.data.min() > 0
    assert not built.lengths.diagonal().any()


def test_euclidean_neighbors_and_weights_by_definition(landmarks):
    built = KNNGraph(4, metric="euclidean", bandwidth=2.0).build(landmarks)
    distances = cdist(landmarks.points, landmarks.points)
    ranks = np.argsort(np.argsort(distances, axis=1), axis=1)
    near, nearer = (ranks <= 4), (ranks <= 2)
    expected = (near & near.T) | nearer | nearer.T
    np.fill_diagonal(expected, False)
    expected = expected * np.exp(-(distances**2) / 8) + np.eye(150)
    np.testing.assert_allclose(built.weights.toarray(), expected, atol=1e-12)
    present = built.lengths.toarray() > 0
    np.testing.assert_allclose(built.lengths.toarray()[present], distances[present])


def test_automatic_bandwidths_follow_the_edges_and_make_the_mean_weight_a_fifth(landmarks):
    built = KNNGraph(6, metric="euclidean").build(landmarks)
    lengths = built.lengths.toarray()
    edge = lengths > 0
    reach = [np.quantile(row[row > 0], 0.5, method="lower") for row in lengths]
    assert np.ptp(built.bandwidths / reach) < 1e-9
    larger = np.maximum(built.bandwidths[:, None], built.bandwidths)
    expected = np.exp(-(lengths**2) / (2 * larger**2))[edge]
    np.testing.assert_allclose(built.weights.toarray()[edge], expected)
    assert expected.mean() == pytest.approx(0.2, abs=1e-6)


def test_a_landmark_far_from_all_others_still_counts(rng):
    """With one bandwidth for all, the outlier's edges would underflow and cut it off."""
    points = np.concatenate([rng.normal(size=(100, 2)), [[1e4, 0]]])
    built = KNNGraph(8, metric="euclidean").build(Landmarks(points))
    assert not len(built.bridges)
    edge_weight = np.asarray(built.weights.sum(axis=1)).ravel() - 1
    assert edge_weight[100] > 0.1 * np.median(edge_weight)


def test_radius_graph_by_definition(landmarks):
    built = RadiusGraph(9.0, metric="euclidean").build(landmarks)
    expected = cdist(landmarks.points, landmarks.points) <= 9.0
    assert not len(built.bridges)
    np.testing.assert_array_equal(built.weights.toarray() > 0, expected)


def test_candidates_give_nearly_the_graph_of_all_pairs(landmarks, monkeypatch):
    whole = KNNGraph(6).build(landmarks).weights > 0
    monkeypatch.setattr(neighbors, "_FULL_BUDGET", 150 * 9 * 40)
    part = KNNGraph(6).build(landmarks).weights > 0
    shared = (whole.multiply(part)).sum() / whole.sum()
    assert 0.95 < shared <= 1


def in_form(matrices, form):
    """Covariances as matrices, variances, or two directions; and what a pair of them costs."""
    if form == "full":
        return matrices, 3 * 3
    if form == "diag":
        return np.einsum("kii->ki", matrices).copy(), 3
    values, vectors = np.linalg.eigh(matrices)
    directions = np.ascontiguousarray(vectors.transpose(0, 2, 1)[:, :0:-1])
    return LowRankCovariances(directions, values[:, :0:-1].copy(), values[:, 0]), 2 * 2 * 3


@pytest.mark.parametrize("form", ["full", "diag", "low-rank"])
def test_candidates_are_the_nearest_that_the_budget_allows(form, landmarks, monkeypatch):
    points = landmarks.points
    covariances, cost = in_form(landmarks.covariances, form)
    budget = {"full": "_FULL_BUDGET", "diag": "_DIAGONAL_BUDGET", "low-rank": "_LOW_RANK_BUDGET"}
    all_pairs = bhattacharyya_matrix(points, regularize(covariances, 0.01))
    np.fill_diagonal(all_pairs, np.inf)
    order = np.argsort(cdist(points, points), axis=1)
    for affordable, candidates in ((30, 30), (24, 24), (5, 24), (1000, 149)):
        monkeypatch.setattr(neighbors, budget[form], 150 * affordable * cost)
        near = np.full_like(all_pairs, np.inf)
        rows = np.arange(150)[:, None], order[:, 1 : candidates + 1]
        near[rows] = all_pairs[rows]
        some = Landmarks(points, landmarks.indices, landmarks.radii, covariances)
        found = neighbors.NeighborSearch(some, 1).nearest("bhattacharyya", 6, 0.01)
        np.testing.assert_array_equal(found, np.argsort(near, axis=1)[:, :6])


def test_two_clusters_are_bridged_by_their_closest_pair_with_a_warning(rng):
    points = np.concatenate(
        [rng.uniform(size=(30, 2)), rng.uniform(size=(30, 2)) + np.array([50, 0])]
    )
    with pytest.warns(DisconnectedGraphWarning, match="2 components"):
        built = KNNGraph(9, metric="euclidean").build(Landmarks(points))
    between = cdist(points[:30], points[30:])
    closest = np.unravel_index(between.argmin(), between.shape)
    np.testing.assert_array_equal(built.bridges, [[closest[0], closest[1] + 30]])
    assert connected_components(built.weights)[0] == 1
    # Its Gaussian would underflow; it weighs as much as the mean ordinary edge instead.
    i, j = built.bridges[0]
    assert built.weights[i, j] == pytest.approx(0.2, abs=1e-6)
    assert built.lengths[i, j] == pytest.approx(between.min())
    apart = ordinary_edges(built)
    assert connected_components(apart.weights)[0] == 2
    assert connected_components(apart.lengths)[0] == 2
    assert len(apart.bridges) == 0


def test_bhattacharyya_graph_avoids_shortcuts_where_the_euclidean_one_takes_them():
    """The issue of section 3.3, in numbers: 100,000 points, 1,000 landmarks."""
    X, intrinsic = make_swiss_roll(100_000, random_state=0)
    sampler = EfficientDPP(1000, covariance="full", random_state=0).fit(X)
    chosen = Landmarks(sampler.landmarks_, covariances=sampler.covariances_)
    on_plane = intrinsic[sampler.indices_]
    for n_neighbors, share in [(50, 1 / 20), (100, 1 / 20), (200, 1 / 5)]:
        rates = {
            metric: shortcut_rate(
                KNNGraph(n_neighbors, metric=metric).build(chosen, 2).weights, on_plane, n_neighbors
            )
            for metric in ("euclidean", "bhattacharyya")
        }
        assert rates["bhattacharyya"] < share * rates["euclidean"], (n_neighbors, rates)
    recall = neighbor_recall(KNNGraph(25).build(chosen, 2).weights, on_plane, 25)
    assert recall > 0.85


def test_precomputed_graph_is_taken_as_it_is(landmarks):
    built = KNNGraph(5).build(landmarks)
    taken = precomputed_graph(built.weights, landmarks.points, None)
    assert abs(taken.weights - built.weights).max() < 1e-15
    assert abs(taken.lengths - built.lengths).max() < 1e-12


def test_scale_of_precomputed_weights_changes_nothing(landmarks):
    """Coordinates would have it, and points seem far from all landmarks."""
    built = KNNGraph(6, metric="euclidean").build(landmarks)
    for scale in (1e-300, 1e300):
        given = scale * built.weights
        taken = precomputed_graph(given, landmarks.points, None)
        np.testing.assert_allclose(taken.weights.toarray(), built.weights.toarray())
        np.testing.assert_array_equal(given.data, scale * built.weights.data)


def test_precomputed_graph_in_pieces_is_joined(rng):
    points = rng.normal(size=(4, 2))
    pieces = np.array([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0.5], [0, 0, 0.5, 0]], dtype=float)
    with pytest.warns(DisconnectedGraphWarning, match="2 components"):
        built = precomputed_graph(pieces, points, None)
    assert connected_components(built.weights)[0] == 1
    assert built.weights[*built.bridges[0]] == 0.75


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.ones((3, 3)), r"shape \(3, 3\) for 4 landmarks"),
        (np.arange(16.0).reshape(4, 4), "not symmetric"),
        (-np.ones((4, 4)), "negative"),
        (np.full((4, 4), np.nan), "missing"),
        (np.eye(4), "no edges"),
        (csr_array((4, 4)), "no edges"),
        (np.ones((4, 4)) * 1j, "matrix of complex128, not of real numbers"),
        (csr_array(np.ones((4, 4)) * 1j), "matrix of complex128, not of real numbers"),
        (np.ones((4, 4)).astype(str), "matrix of <U32, not of real numbers"),
    ],
)
def test_bad_precomputed_graphs_are_refused(matrix, message, rng):
    with pytest.raises(tp.ParameterError, match=message):
        precomputed_graph(matrix, rng.normal(size=(4, 2)), None)


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (KNNGraph(150), "n_neighbors=150 is too large.*150 landmarks"),
        (KNNGraph(0), "n_neighbors=0 is too small"),
        (KNNGraph(metric="cosine"), "metric='cosine' is not known"),
        (KNNGraph(bandwidth=1e-3), "bandwidth=0.001 is too small for this graph.*choose one near"),
        (KNNGraph(bandwidth=-1), "bandwidth=-1.0 is out of range"),
        (RadiusGraph(1e-9, metric="euclidean"), "radius=1e-09 connects no two landmarks"),
        (RadiusGraph(0), "radius=0.0 is out of range"),
    ],
)
def test_bad_parameters_are_named(graph, message, landmarks):
    with pytest.raises(ValueError, match=message):
        graph.build(landmarks)


def test_bhattacharyya_without_covariances_is_refused(rng):
    with pytest.raises(ValueError, match="the landmarks have none"):
        KNNGraph(3).build(Landmarks(rng.normal(size=(10, 2))))


def test_a_large_ridge_makes_bhattacharyya_neighbors_euclidean_ones(landmarks):
    """With covariances drowned in the ridge, only distances are left, in units of the spread."""
    same = Landmarks(
        landmarks.points,
        covariances=np.tile(np.diag([1.0, 2.0, 3.0]), (len(landmarks.points), 1, 1)),
    )
    euclidean = KNNGraph(8, metric="euclidean").build(same).weights
    shares = []
    for ridge in (0.01, 1e6):
        edges = KNNGraph(8, ridge=ridge).build(same).weights
        shares.append((edges.astype(bool) != euclidean.astype(bool)).nnz)
    assert shares[0] > 0
    assert shares[1] == 0


@pytest.mark.parametrize("graph", [KNNGraph(5, ridge=0), RadiusGraph(2.0, ridge=-1)])
def test_a_ridge_must_be_positive(graph, landmarks):
    with pytest.raises(ValueError, match="ridge"):
        graph.build(landmarks)


def test_complete_graph_is_the_kernel_of_all_pairs(rng):
    points = rng.normal(size=(60, 4))
    graph = tp.CompleteGraph(bandwidth=1.5).build(Landmarks(points))
    np.testing.assert_allclose(graph.weights.toarray(), gaussian_kernel(points, 1.5), atol=1e-12)
    assert graph.lengths.nnz == 60 * 59
    assert len(graph.bridges) == 0


@pytest.mark.parametrize("d", [3, 50])
@pytest.mark.parametrize("mean_weight", [0.1, 0.4])
def test_complete_graph_has_the_mean_weight(d, mean_weight, rng):
    points = rng.normal(size=(300, d)) * np.exp(rng.normal(size=(300, 1)))
    weights = tp.CompleteGraph(mean_weight=mean_weight).build(Landmarks(points)).weights.toarray()
    assert weights[~np.eye(300, dtype=bool)].mean() == pytest.approx(mean_weight, rel=1e-3)
    np.testing.assert_array_equal(weights, weights.T)


@pytest.mark.parametrize("mean_weight", [0, 1, -1, "half"])
def test_complete_graph_refuses_an_impossible_mean_weight(mean_weight, rng):
    with pytest.raises(tp.ParameterError, match="mean_weight"):
        tp.CompleteGraph(mean_weight=mean_weight).build(Landmarks(rng.normal(size=(5, 2))))


def test_anchor_graph_sums_products_of_shares(rng):
    """Block by block, the same as the product of the whole matrix of shares."""
    nearest = np.array([rng.choice(20, 3, replace=False) for _ in range(400)])
    shares = rng.random((400, 3))
    shares /= shares.sum(axis=1, keepdims=True)
    blocks = [(nearest[i : i + 150], shares[i : i + 150]) for i in range(0, 400, 150)]
    graph = tp.AnchorGraph().build(Landmarks(rng.normal(size=(20, 2))), lambda first: blocks)
    Z = np.zeros((400, 20))
    np.put_along_axis(Z, nearest, shares, axis=1)
    np.testing.assert_allclose(graph.weights.toarray(), Z.T @ Z, atol=1e-12)
    # Shares of a point sum to 1, so degrees are the shares that landmarks have in all points.
    np.testing.assert_allclose(graph.weights.sum(axis=1), Z.sum(axis=0), atol=1e-12)


@pytest.mark.filterwarnings("ignore::trigpoint._numerics.connectivity.DisconnectedGraphWarning")
def test_a_landmark_that_no_point_shares_has_a_loop_like_others(rng):
    """Its loop weighs as much as those of the others on average."""
    nearest = np.array([rng.choice(5, 2, replace=False) for _ in range(100)])
    blocks = [(nearest, np.full((100, 2), 0.5))]
    graph = tp.AnchorGraph(2).build(Landmarks(rng.normal(size=(6, 2))), lambda first: blocks)
    loops = graph.weights.diagonal()
    assert loops[5] == pytest.approx(loops[:5].mean())


def test_one_anchor_links_nothing(rng):
    emb = tp.LaplacianEigenmaps(landmarks=20, graph=tp.AnchorGraph(1), random_state=0)
    with pytest.raises(tp.ParameterError, match="n_anchors=1 is too small: choose n_anchors >= 2"):
        emb.fit(rng.normal(size=(200, 3)))


def test_more_anchors_than_landmarks(rng):
    X = rng.normal(size=(200, 3))
    emb = tp.LaplacianEigenmaps(landmarks=20, graph=tp.AnchorGraph(21), random_state=0)
    with pytest.raises(tp.ParameterError, match="choose n_anchors <= 20"):
        emb.fit(X)
    # The default is as many as there are.
    tp.LaplacianEigenmaps(1, landmarks=2, graph="anchors", random_state=0).fit(X)


def test_graphs_that_share_a_search_are_those_that_search(landmarks):
    search = NeighborSearch(landmarks, 1, at_least=20)
    for n_neighbors in (10, 5, 20, 30):
        graph = KNNGraph(n_neighbors)
        shared = graph_in_one_piece(graph, landmarks, search, 0)
        np.testing.assert_array_equal(
            shared.weights.toarray(), graph.build(landmarks).weights.toarray()
        )


def test_graphs_that_share_a_search_all_warn_of_singular_covariances(rng):
    points = rng.normal(size=(30, 2))
    covariances = np.broadcast_to(np.eye(2), (30, 2, 2)).copy()
    covariances[0] = 0
    landmarks = Landmarks(points, covariances=covariances)
    search = NeighborSearch(landmarks, 1)
    for n_neighbors in (10, 5):
        with pytest.warns(tp.SingularCovarianceWarning, match="1 of 30"):
            graph_in_one_piece(KNNGraph(n_neighbors), landmarks, search, 0)


def test_a_graph_by_mass_needs_masses(landmarks):
    with pytest.raises(tp.ParameterError, match="by_mass=True weights landmarks by the number"):
        KNNGraph(5, by_mass=True).build(landmarks)
    masses = np.linspace(1, 2, len(landmarks.points))
    built = KNNGraph(5, by_mass=True).build(replace(landmarks, masses=masses))
    expected = masses[:, None] * KNNGraph(5).build(landmarks).weights.toarray() * masses
    np.testing.assert_allclose(built.weights.toarray(), expected, rtol=1e-14)


def test_by_mass_is_true_or_false(landmarks):
    with pytest.raises(tp.ParameterError, match="by_mass"):
        KNNGraph(5, by_mass="yes").build(landmarks)


@pytest.mark.parametrize("n_neighbors", [10, 20])
def test_tight_groups_of_few_landmarks_stay_in_one_piece(n_neighbors, rng):
    """Bandwidths are of the size of the groups, and bridges lead from one group to another."""
    groups = np.repeat(np.arange(50)[:, None] * [[10.0, 0, 0]], 10, axis=0)
    points = groups + 1e-3 * rng.normal(size=(500, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DisconnectedGraphWarning)
        built = KNNGraph(n_neighbors, metric="euclidean").build(Landmarks(points))
    assert built.bandwidths.min() > 1e-4
    bridged = np.abs(np.diff(points[built.bridges], axis=1)).max(axis=(1, 2))
    assert (bridged > 5).all()
