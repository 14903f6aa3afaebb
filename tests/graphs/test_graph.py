"""The landmark graph: neighbors, weights, connectivity, shortcuts."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist

import trigpoint as tp
from trigpoint import _geometry
from trigpoint._common.records import Landmarks
from trigpoint._extension.extensions import ordinary_edges
from trigpoint._geometry import (
    NeighborSearch,
    SingularCovarianceWarning,
    bhattacharyya_matrix,
    local_covariances,
    regularize,
)
from trigpoint._graphs import KNNGraph, RadiusGraph
from trigpoint._graphs.graph import precomputed_graph
from trigpoint._numerics.connectivity import DisconnectedGraphWarning
from trigpoint._numerics.gaussian import gaussian_kernel
from trigpoint._pool import Pool
from trigpoint._samplers import EfficientDPP


def with_covariances(X: np.ndarray, k: int) -> Landmarks:
    pool = Pool(X)
    chosen = EfficientDPP(k, random_state=0).select(pool)
    radii, covariances = local_covariances(pool, chosen, "full", 1)
    return replace(chosen, radii=radii, covariances=covariances)


@pytest.fixture(scope="module")
def landmarks(roll) -> Landmarks:
    """Return landmarks of the roll with full covariances."""
    return with_covariances(roll[0], 150)


def assert_noted(built, kind, text):
    """Check the notes of a stage, which `fit` emits as warnings."""
    (note,) = built.notes
    assert isinstance(note, kind)
    assert text in str(note)


@pytest.mark.parametrize("graph", [KNNGraph(), KNNGraph(5, metric="euclidean"), RadiusGraph(3.0)])
def test_every_graph_is_symmetric_connected_and_has_unit_loops(graph, landmarks):
    built = graph.build(landmarks)
    assert abs(built.weights - built.weights.T).max() == 0
    assert connected_components(built.weights)[0] == 1
    np.testing.assert_array_equal(built.weights.diagonal(), 1)
    assert built.weights.data.min() > 0
    assert not built.lengths.diagonal().any()


@pytest.mark.parametrize("link", ["agreed", "any"])
def test_euclidean_neighbors_and_weights_by_definition(link, landmarks):
    built = KNNGraph(4, metric="euclidean", bandwidth=2.0, link=link).build(landmarks)
    distances = cdist(landmarks.points, landmarks.points)
    ranks = np.argsort(np.argsort(distances, axis=1), axis=1)
    near, nearer = (ranks <= 4), (ranks <= 2)
    expected = near | near.T if link == "any" else (near & near.T) | nearer | nearer.T
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
    """With a single bandwidth, the outlier's edges would underflow and disconnect it."""
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


@pytest.mark.parametrize("form", ["full", "diag"])
def test_candidates_are_the_nearest_that_the_budget_allows(form, landmarks, monkeypatch):
    points, covariances = landmarks.points, landmarks.covariances
    if form == "diag":
        covariances = np.einsum("kii->ki", covariances).copy()
    budget = {"full": "_FULL_BUDGET", "diag": "_DIAGONAL_BUDGET"}[form]
    all_pairs = bhattacharyya_matrix(points, regularize(covariances, 0.01)[0])
    np.fill_diagonal(all_pairs, np.inf)
    order = np.argsort(cdist(points, points), axis=1)
    for affordable, candidates in ((30, 30), (24, 24), (5, 24), (1000, 149)):
        monkeypatch.setattr(_geometry, budget, 150 * affordable * covariances[0].size)
        near = np.full_like(all_pairs, np.inf)
        rows = np.arange(150)[:, None], order[:, 1 : candidates + 1]
        near[rows] = all_pairs[rows]
        some = Landmarks(points, landmarks.indices, landmarks.radii, covariances)
        found = NeighborSearch(some, 1).nearest("bhattacharyya", 6, 0.01)
        np.testing.assert_array_equal(found, np.argsort(near, axis=1)[:, :6])


def test_two_clusters_are_bridged_by_their_closest_pair_with_a_warning(rng):
    points = np.concatenate(
        [rng.uniform(size=(30, 2)), rng.uniform(size=(30, 2)) + np.array([50, 0])]
    )
    built = KNNGraph(9, metric="euclidean").build(Landmarks(points))
    assert_noted(built, DisconnectedGraphWarning, "2 connected components")
    between = cdist(points[:30], points[30:])
    closest = np.unravel_index(between.argmin(), between.shape)
    np.testing.assert_array_equal(built.bridges, [[closest[0], closest[1] + 30]])
    assert connected_components(built.weights)[0] == 1
    # Its Gaussian would underflow; the bridge has the mean weight of ordinary edges instead.
    i, j = built.bridges[0]
    assert built.weights[i, j] == pytest.approx(0.2, abs=1e-6)
    assert built.lengths[i, j] == pytest.approx(between.min())
    apart = ordinary_edges(built)
    assert connected_components(apart.weights)[0] == 2
    assert connected_components(apart.lengths)[0] == 2
    assert len(apart.bridges) == 0


@pytest.mark.parametrize("scale", [1.0, 1e-300, 1e300])
def test_precomputed_graph_is_taken_as_it_is_at_any_scale(scale, landmarks):
    """Otherwise, coordinates and the detection of far points would depend on the scale."""
    built = KNNGraph(6).build(landmarks)
    given = scale * built.weights
    taken = precomputed_graph(given, landmarks.points)
    np.testing.assert_allclose(taken.weights.toarray(), built.weights.toarray(), rtol=1e-14)
    assert abs(taken.lengths - built.lengths).max() < 1e-12
    np.testing.assert_array_equal(given.data, scale * built.weights.data)


def test_precomputed_graph_in_pieces_is_joined(rng):
    points = rng.normal(size=(4, 2))
    pieces = np.array([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0.5], [0, 0, 0.5, 0]], dtype=float)
    built = precomputed_graph(pieces, points)
    assert_noted(built, DisconnectedGraphWarning, "2 connected components")
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
        precomputed_graph(matrix, rng.normal(size=(4, 2)))


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
        (KNNGraph(5, ridge=0), "ridge=0.0"),
        (RadiusGraph(2.0, ridge=-1), "ridge=-1.0"),
        (KNNGraph(5, by_mass="yes"), "by_mass"),
        (KNNGraph(5, by_mass=True), "by_mass=True weighs landmarks by the points"),
        *((tp.CompleteGraph(mean_weight=bad), "mean_weight") for bad in (0, 1, -1, "half")),
    ],
)
def test_bad_parameters_are_named(graph, message, landmarks):
    with pytest.raises(tp.ParameterError, match=message):
        graph.build(landmarks)
    with pytest.raises(ValueError, match="these landmarks have none"):
        KNNGraph(3).build(Landmarks(landmarks.points))


def test_a_large_ridge_makes_bhattacharyya_neighbors_euclidean_ones(landmarks):
    """If the ridge dominates the covariances, only distances matter, in units of the spread."""
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


def test_graphs_that_share_a_search_are_those_that_search(landmarks):
    search = NeighborSearch(landmarks, 1, at_least=20)
    for n_neighbors in (10, 5, 20, 30):
        graph = KNNGraph(n_neighbors)
        shared = graph.linked(landmarks, search)
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
        built = KNNGraph(n_neighbors).linked(landmarks, search)
        assert_noted(built, SingularCovarianceWarning, "1 of 30")


def test_a_graph_by_mass_weighs_by_masses(landmarks):
    masses = np.linspace(1, 2, len(landmarks.points))
    built = KNNGraph(5, by_mass=True).build(replace(landmarks, masses=masses))
    expected = masses[:, None] * KNNGraph(5).build(landmarks).weights.toarray() * masses
    np.testing.assert_allclose(built.weights.toarray(), expected, rtol=1e-14)


@pytest.mark.parametrize("n_neighbors", [10, 20])
def test_tight_groups_of_few_landmarks_stay_connected(n_neighbors, rng):
    """Bandwidths are of the size of the groups, and bridges join the groups."""
    groups = np.repeat(np.arange(50)[:, None] * [[10.0, 0, 0]], 10, axis=0)
    points = groups + 1e-3 * rng.normal(size=(500, 3))
    built = KNNGraph(n_neighbors, metric="euclidean").build(Landmarks(points))
    assert built.bandwidths.min() > 1e-4
    bridged = np.abs(np.diff(points[built.bridges], axis=1)).max(axis=(1, 2))
    assert (bridged > 5).all()
