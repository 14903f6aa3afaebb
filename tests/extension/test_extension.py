"""Extensions, compared with their definitions, also for distant points and after rounding."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra
from scipy.spatial.distance import cdist

from trigpoint._common.records import Landmarks, Spectrum
from trigpoint._extension.extensions import GeodesicExtension
from trigpoint._extension.weighted import (
    FAR_LOG_WEIGHT,
    AllLandmarks,
    GraphNeighbors,
    KernelExtension,
    MarkovExtension,
)
from trigpoint._graphs import KNNGraph
from trigpoint._kernels.landmark_sums import shepard_shares
from trigpoint._spectrum import classical_scaling


@pytest.fixture(scope="module", params=[3, 40], ids=["tree", "products"])
def space(request, roll):
    """Return landmarks, their graph and other points, in low and in high dimension."""
    X = roll[0]
    if request.param > 3:
        basis = np.linalg.qr(np.random.default_rng(0).normal(size=(request.param, 3)))[0]
        X = X @ basis.T + 5
    landmarks = X[:200]
    graph = KNNGraph(8, metric="euclidean").build(Landmarks(landmarks))
    return landmarks, graph, X[200:]


SUPPORTS = {
    "all": lambda landmarks, graph: AllLandmarks.prepare(landmarks, graph.bandwidths),
    "graph": GraphNeighbors.prepare,
}


def weights_by_definition(kind, x, landmarks, graph):
    """Return the landmarks that support a point, and the logarithms of their weights."""
    distances = np.linalg.norm(landmarks - x, axis=1)
    order = np.argsort(distances)
    near, r = order[:3], distances[order[3]]
    shares = ((r - distances[near]) / distances[near]) ** 2
    shares /= shares.sum()
    if kind != "graph":
        bandwidths = np.maximum(shares @ graph.bandwidths[near], graph.bandwidths[order])
        return order, -((distances[order] / bandwidths) ** 2) / 2
    columns, logarithms = [], []
    for start, share in zip(near, shares, strict=True):
        others = graph.weights[[start]].nonzero()[1]
        bandwidths = np.maximum(graph.bandwidths[start], graph.bandwidths[others])
        lengths = np.linalg.norm(landmarks[start] - landmarks[others], axis=1)
        # An edge preserves the ratio of its weight to the kernel of its length.
        factors = graph.weights[[start]].toarray()[0, others] / np.exp(
            -((lengths / bandwidths) ** 2) / 2
        )
        columns.extend(others)
        logarithms.extend(np.log(share * factors) - (distances[others] / bandwidths) ** 2 / 2)
    return np.array(columns), np.array(logarithms)


@pytest.mark.parametrize("kind", SUPPORTS)
def test_sums_by_definition(space, kind, rng):
    """Some points are near landmarks, and some so far away that all weights nearly vanish."""
    landmarks, graph, X = space
    outwards = (X[:50] - X.mean(axis=0)) * np.geomspace(1, 100, 50)[:, None]
    X = np.concatenate([X[:200], X.mean(axis=0) + outwards])
    spectrum = Spectrum(rng.normal(size=(200, 4)), rng.uniform(size=4))
    scale, means = rng.uniform(size=(2, 200))
    support = SUPPORTS[kind](landmarks, graph)
    markov = MarkovExtension.prepare(support, spectrum.coordinates, spectrum.eigenvalues, scale)
    projection = KernelExtension.prepare(support, means, spectrum)
    # Sparse points have many columns.
    for array in (np.asarray, csr_array)[: 1 + (X.shape[1] > 15)]:
        (means_of_values, far), (projected, again) = markov(array(X)), projection(array(X))
        assert 10 < far.sum() < 100
        np.testing.assert_array_equal(again, far)
        for i, x in enumerate(X):
            columns, logarithms = weights_by_definition(kind, x, landmarks, graph)
            values = spectrum.coordinates / spectrum.eigenvalues
            assert far[i] == (logarithms.max() < FAR_LOG_WEIGHT)
            weights = scale[columns] * np.exp(logarithms - logarithms.max())
            expected = weights @ values[columns] / weights.sum()
            np.testing.assert_allclose(means_of_values[i], expected, rtol=1e-6, atol=1e-8)
            expected = np.exp(logarithms) @ values[columns] - means @ values
            np.testing.assert_allclose(projected[i], expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("kind", SUPPORTS)
def test_points_beyond_every_kernel_take_the_nearest_landmark(kind, rng):
    """If a point is infinitely far and no landmark is nearest, the first landmark is taken."""
    landmarks = rng.normal(size=(50, 2))
    graph = KNNGraph(5, metric="euclidean").build(Landmarks(landmarks))
    coordinates = rng.normal(size=(50, 2))
    support = SUPPORTS[kind](landmarks, graph)
    extension = MarkovExtension.prepare(support, coordinates, np.ones(2))
    with np.errstate(over="ignore"):
        found, far = extension(np.full((1, 2), 1e200))
    np.testing.assert_allclose(found, coordinates[:1], atol=1e-12)
    assert far.all()


def extended(extension, X):
    """Return only the coordinates."""
    return extension(X)[0]


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


def test_products_of_float32_are_refined_within_far_clusters(rng):
    """The clusters are a thousand times farther apart than they are wide."""
    centers = rng.normal(size=(4, 30)) * 1000
    X = np.concatenate([center + rng.normal(size=(60, 30)) for center in centers])
    landmarks = X[::3]
    support = AllLandmarks.prepare(landmarks, np.full(len(landmarks), 2.0))
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
    support = AllLandmarks.prepare(landmarks, np.ones(40))
    squares = -2 * np.log(support.sums(X, np.eye(40)).sums)
    expected = cdist(X.astype(float), landmarks.astype(float), "sqeuclidean")
    np.testing.assert_allclose(squares, expected, atol=1e-4)


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
    """If the fourth is equally far as well, the three count alike."""
    shares = shepard_shares(np.full((1, 4), 2.0), 3)
    np.testing.assert_allclose(shares, np.full((1, 3), 1 / 3))
    # A point that coincides with a landmark takes its coordinates.
    shares = shepard_shares(np.array([[0.0, 1.0, 4.0, 9.0]]), 3)
    np.testing.assert_array_equal(shares, [[1, 0, 0]])
