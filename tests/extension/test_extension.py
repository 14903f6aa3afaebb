"""Nystrom: landmarks come back exactly, blocks and threads change nothing."""

import numpy as np
import pytest
import sklearn.decomposition
from scipy.sparse.csgraph import dijkstra
from scipy.spatial.distance import cdist

import trigpoint as tp
from trigpoint._common.records import Landmarks
from trigpoint._extension.extensions import GeodesicExtension, extend, ordinary_edges
from trigpoint._extension.weighted import (
    GraphNeighbors,
    KernelExtension,
    MarkovExtension,
    NearestLandmarks,
    support_of,
)
from trigpoint._graphs import KNNGraph
from trigpoint._kernels.landmark_sums import shepard_shares
from trigpoint._numerics.connectivity import DisconnectedGraphWarning
from trigpoint._numerics.gaussian import gaussian_kernel
from trigpoint._spectrum import (
    classical_scaling,
    density_scale,
    diffusion_maps,
    kernel_pca,
    laplacian_eigenmaps,
)


@pytest.fixture(scope="module", params=[3, 40], ids=["tree", "products"])
def space(request, roll):
    """Landmarks, their graph and other points, in low and in high dimension."""
    X = roll[0]
    if request.param > 3:
        basis = np.linalg.qr(np.random.default_rng(0).normal(size=(request.param, 3)))[0]
        X = X @ basis.T + 5
    landmarks = X[:200]
    graph = KNNGraph(8, metric="euclidean").build(Landmarks(landmarks))
    return landmarks, graph, X[200:]


def extended(extension, X, n_threads=1, rows=None):
    """Coordinates alone."""
    return extend(extension, X, n_threads, rows)[0]


def same(landmarks, bandwidth):
    """One bandwidth for every landmark."""
    return np.full(len(landmarks), bandwidth)


def along_the_graph(x, landmarks, graph, coordinates, mu, scale):
    """Extension of one point, term by term."""
    distances = np.linalg.norm(landmarks - x, axis=1)
    order = np.argsort(distances)
    r = distances[order[3]]
    shares = ((r - distances[order[:3]]) / distances[order[:3]]) ** 2
    weights = np.zeros(len(landmarks))
    for nearest, share in zip(order[:3], shares / shares.sum(), strict=True):
        for other in graph.weights[[nearest]].nonzero()[1]:
            bandwidth = max(graph.bandwidths[nearest], graph.bandwidths[other])
            length = np.linalg.norm(landmarks[nearest] - landmarks[other])
            factor = graph.weights[nearest, other] / np.exp(-((length / bandwidth) ** 2) / 2)
            weights[other] += share * factor * np.exp(-((distances[other] / bandwidth) ** 2) / 2)
    weights *= scale
    return weights @ (coordinates / mu) / weights.sum()


def test_extension_along_the_graph_by_definition(space):
    landmarks, graph, X = space
    spectrum = diffusion_maps(graph.weights, 4, alpha=1.0, time=2)
    setting = spectrum.coordinates, spectrum.eigenvalues, density_scale(graph.weights, 1.0)
    extension = MarkovExtension.prepare(GraphNeighbors.prepare(landmarks, graph), *setting)
    expected = [along_the_graph(x, landmarks, graph, *setting) for x in X[:100]]
    np.testing.assert_allclose(extended(extension, X[:100]), expected, rtol=1e-6, atol=1e-9)


def test_markov_extension_by_definition(space):
    landmarks, graph, X = space
    spectrum = laplacian_eigenmaps(graph.weights, 3)
    mu = 1 - spectrum.eigenvalues
    extension = MarkovExtension.prepare(
        support_of("all", landmarks, same(landmarks, 2.0), None), spectrum.coordinates, mu
    )
    kernel = np.exp(-cdist(X, landmarks, "sqeuclidean") / 8)
    expected = kernel / kernel.sum(axis=1, keepdims=True) @ spectrum.coordinates / mu
    np.testing.assert_allclose(extended(extension, X), expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("given", [None, (2.0, 3.0), (2.0, 2.0)])
def test_points_take_bandwidths_from_their_landmarks(space, given):
    """At a landmark its own; elsewhere between those of the nearest three."""
    landmarks, graph, X = space
    bandwidths = graph.bandwidths if given is None else np.resize(given, len(landmarks))
    support = support_of("all", landmarks, bandwidths, None)
    both = np.concatenate([landmarks, X])
    squares = cdist(both, landmarks, "sqeuclidean")
    # The narrowest landmark shows a point's own bandwidth, which is the larger of the two.
    narrowest = np.argmin(bandwidths)
    weights = support.sums(both, np.eye(len(landmarks))[[narrowest]]).sums[:, 0]
    seen = np.flatnonzero((squares[:, narrowest] > 1e-6) & (weights > 0))
    assert len(seen) > 1000
    own = np.zeros(len(both))
    own[seen] = np.sqrt(squares[seen, narrowest] / (-2 * np.log(weights[seen])))
    nearest = np.argsort(squares, axis=1)[:, :3]
    at_landmarks = seen[seen < 200]
    np.testing.assert_allclose(own[at_landmarks], bandwidths[at_landmarks], rtol=1e-5)
    around = bandwidths[nearest[seen]]
    assert (own[seen] <= around.max(axis=1) * (1 + 1e-9)).all()
    assert (own[seen] >= around.min(axis=1) * (1 - 1e-9)).all()


@pytest.mark.parametrize("method", ["laplacian", "isomap"])
def test_coordinates_are_continuous_across_the_cells_of_the_landmarks(method, rng):
    """Points a hair apart never jump, though a line across the square crosses many cells."""
    landmarks = rng.uniform(size=(200, 2))
    graph = KNNGraph(12, metric="euclidean").build(Landmarks(landmarks))
    support = GraphNeighbors.prepare(landmarks, graph)
    if method == "laplacian":
        spectrum = laplacian_eigenmaps(graph.weights, 2)
        extension = MarkovExtension.prepare(support, spectrum.coordinates, 1 - spectrum.eigenvalues)
    else:
        paths = dijkstra(graph.lengths, directed=False)
        extension = GeodesicExtension.prepare(
            support, paths, classical_scaling(paths, 2), graph.bandwidths
        )
    for start, end in rng.uniform(size=(5, 2, 2)):
        line = start + np.linspace(0, 1, 20_001)[:, None] * (end - start)
        steps = np.linalg.norm(np.diff(extended(extension, line), axis=0), axis=1)
        assert steps.max() < 20 * steps.mean()


def test_bridges_keep_their_weight_in_the_extension(rng):
    landmarks = np.concatenate([rng.uniform(size=(30, 2)), rng.uniform(size=(30, 2)) + 50])
    graph = KNNGraph(9, metric="euclidean").build(Landmarks(landmarks))
    assert isinstance(graph.notes[0], DisconnectedGraphWarning)
    spectrum = laplacian_eigenmaps(graph.weights, 3)
    support = GraphNeighbors.prepare(landmarks, graph)
    extension = MarkovExtension.prepare(support, spectrum.coordinates, 1 - spectrum.eigenvalues)
    np.testing.assert_allclose(extended(extension, landmarks), spectrum.coordinates, atol=1e-10)
    paths = dijkstra(graph.lengths, directed=False)
    scaled = classical_scaling(paths, 2)
    isomap = GeodesicExtension.prepare(
        GraphNeighbors.prepare(landmarks, ordinary_edges(graph)), paths, scaled, graph.bandwidths
    )
    np.testing.assert_allclose(extended(isomap, landmarks), scaled.coordinates, atol=1e-9)


def test_all_landmarks_and_as_many_nearest_agree(space):
    landmarks, graph, X = space
    spectrum = laplacian_eigenmaps(graph.weights, 3)
    results = [
        extended(MarkovExtension.prepare(support, spectrum.coordinates, np.ones(3)), X)
        for support in (
            support_of("all", landmarks, graph.bandwidths, None),
            NearestLandmarks.prepare(landmarks, graph.bandwidths, len(landmarks)),
        )
    ]
    np.testing.assert_allclose(*results, rtol=1e-6, atol=1e-9)


def test_kernel_extension_is_scikit_learns_projection(space):
    landmarks, _, X = space
    kernel = gaussian_kernel(landmarks, 4.0)
    spectrum = kernel_pca(kernel, 4)
    support = support_of("all", landmarks, same(landmarks, 4.0), None)
    found = extended(KernelExtension.prepare(support, kernel.mean(axis=0), spectrum), X)
    peer = sklearn.decomposition.KernelPCA(4, kernel="rbf", gamma=1 / 32, eigen_solver="dense")
    peer.fit(landmarks)
    expected = peer.transform(X)
    expected *= np.sign((peer.transform(landmarks) * spectrum.coordinates).sum(axis=0))
    np.testing.assert_allclose(found, expected, atol=1e-8)


def test_geodesic_extension_of_landmarks_is_exact_and_of_points_by_definition(space):
    landmarks, graph, X = space
    paths = dijkstra(graph.lengths, directed=False)
    spectrum = classical_scaling(paths, 3)
    support = GraphNeighbors.prepare(landmarks, graph)
    extension = GeodesicExtension.prepare(support, paths, spectrum, graph.bandwidths)
    np.testing.assert_allclose(
        extended(extension, landmarks), spectrum.coordinates, atol=1e-5 * paths.max()
    )
    expected = np.zeros((5, 3))
    for shares, lengths, columns in support.starts(X[:5]):
        through = (lengths[:, :, None] + paths[columns]).min(axis=1)
        centered = -(through**2 - (paths**2).mean(axis=0)) / 2
        expected += shares[:, None] * (centered @ (spectrum.coordinates / spectrum.eigenvalues))
    np.testing.assert_allclose(extended(extension, X[:5]), expected, atol=1e-8)


def test_points_far_from_every_landmark_get_finite_coordinates(space):
    landmarks, graph, _ = space
    spectrum = laplacian_eigenmaps(graph.weights, 3)
    far = landmarks[:2] + 1e4
    for support in (
        support_of("all", landmarks, graph.bandwidths, None),
        NearestLandmarks.prepare(landmarks, graph.bandwidths, 5),
        GraphNeighbors.prepare(landmarks, graph),
    ):
        extension = MarkovExtension.prepare(support, spectrum.coordinates, np.ones(3))
        found = extended(extension, far)
        assert np.isfinite(found).all()
        assert (np.abs(found) <= np.abs(spectrum.coordinates).max(axis=0) + 1e-9).all()


def test_products_of_float32_are_refined_within_far_clusters(rng):
    """Clusters a thousand times further apart than they are wide."""
    centers = rng.normal(size=(4, 30)) * 1000
    X = np.concatenate([center + rng.normal(size=(60, 30)) for center in centers])
    landmarks = X[::3]
    support = support_of("all", landmarks, np.full(len(landmarks), 2.0), None)
    values = rng.normal(size=(len(landmarks), 3))
    single, double = (
        extended(MarkovExtension.prepare(support, values, np.ones(3)), X.astype(dtype))
        for dtype in (np.float32, np.float64)
    )
    np.testing.assert_allclose(single, double, atol=1e-3)


@pytest.mark.parametrize("offset", [1e2, 1e4])
def test_float32_far_from_the_origin_is_moved_with_the_landmarks(offset, rng):
    X = (rng.normal(size=(300, 20)) + offset).astype(np.float32)
    landmarks = X[:40]
    support = support_of("all", landmarks, np.ones(40), None)
    squares = -2 * np.log(support.sums(X, np.eye(40)).sums)
    expected = cdist(X.astype(float), landmarks.astype(float), "sqeuclidean")
    np.testing.assert_allclose(squares, expected, atol=1e-4)


def test_points_beyond_every_kernel_take_the_nearest_landmark(rng):
    landmarks = rng.normal(size=(50, 2)) * 1e-6
    graph = KNNGraph(5, metric="euclidean").build(Landmarks(landmarks))
    spectrum = laplacian_eigenmaps(graph.weights, 2)
    extension = MarkovExtension.prepare(
        GraphNeighbors.prepare(landmarks, graph), spectrum.coordinates, np.ones(2)
    )
    found = extended(extension, np.full((1, 2), 1e152))
    assert (np.abs(found - spectrum.coordinates).max(axis=1) < 1e-12).any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_isomap_of_far_points_grows_with_their_distance(dtype, rng):
    landmarks = rng.normal(size=(60, 3))
    graph = KNNGraph(8, metric="euclidean").build(Landmarks(landmarks))
    paths = dijkstra(graph.lengths, directed=False)
    support = GraphNeighbors.prepare(landmarks, graph)
    extension = GeodesicExtension.prepare(
        support, paths, classical_scaling(paths, 2), graph.bandwidths
    )
    near, far = (extended(extension, np.array([[s, 0, 0]], dtype=dtype)) / s for s in (1e4, 1e8))
    np.testing.assert_allclose(far, near, rtol=1e-2)


def test_shares_of_landmarks_that_are_equally_far():
    """Also of the fourth: nothing tells the three apart, and all of them count alike."""
    shares = shepard_shares(np.full((1, 4), 2.0), 3)
    np.testing.assert_allclose(shares, np.full((1, 3), 1 / 3))
    # A landmark that the point is on has all of it.
    shares = shepard_shares(np.array([[0.0, 1.0, 4.0, 9.0]]), 3)
    np.testing.assert_array_equal(shares, [[1, 0, 0]])


def test_far_points_are_counted_where_float32_is_too_coarse(rng):
    X = rng.normal(size=(200, 20)).astype(np.float32)
    emb = tp.LaplacianEigenmaps(landmarks=50, random_state=0).fit(X)
    mixed = X[:7].copy()
    mixed[:3] += 1e4
    with pytest.warns(tp.ParameterWarning, match="3 of 7"):
        emb.transform(mixed)
