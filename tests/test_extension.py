"""Nystrom: landmarks come back exactly, blocks and threads change nothing."""

import numpy as np
import pytest
import sklearn.decomposition
from scipy.spatial.distance import cdist

from trigpoint.extension import (
    AllLandmarks,
    GeodesicExtension,
    GraphNeighbors,
    KernelExtension,
    MarkovExtension,
    NearestLandmarks,
    extend,
)
from trigpoint.graph import KNNGraph
from trigpoint.kernels import gaussian_kernel
from trigpoint.records import Landmarks
from trigpoint.spectrum import (
    classical_scaling,
    density_scale,
    diffusion_maps,
    geodesics,
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


def own_row(graph, row):
    """Columns and squared distances of a landmark's own row of W."""
    columns = graph.weights[[row]].nonzero()[1]
    squares = -2 * graph.bandwidth**2 * np.log(graph.weights[[row]].toarray()[0, columns])
    return columns[None, :], squares[None, :]


@pytest.mark.parametrize("method", ["laplacian", "diffusion"])
def test_a_landmarks_own_row_gives_back_its_coordinates(space, method):
    landmarks, graph, _ = space
    if method == "laplacian":
        spectrum = laplacian_eigenmaps(graph.weights, 4)
        mu, scale = 1 - spectrum.eigenvalues, None
    else:
        spectrum = diffusion_maps(graph.weights, 4, alpha=1.0, time=2)
        mu, scale = spectrum.eigenvalues, density_scale(graph.weights, 1.0)
    support = GraphNeighbors(landmarks, graph.lengths)
    extension = MarkovExtension(support, spectrum.coordinates, mu, graph.bandwidth, scale)
    rows = np.concatenate([extension.coordinates(*own_row(graph, row)) for row in range(200)])
    np.testing.assert_allclose(rows, spectrum.coordinates, atol=1e-10)
    # The support finds that row by itself.
    np.testing.assert_allclose(extend(extension, landmarks), spectrum.coordinates, atol=1e-7)


def test_markov_extension_by_definition(space):
    landmarks, graph, X = space
    spectrum = laplacian_eigenmaps(graph.weights, 3)
    mu = 1 - spectrum.eigenvalues
    extension = MarkovExtension(AllLandmarks(landmarks), spectrum.coordinates, mu, 2.0)
    kernel = np.exp(-cdist(X, landmarks, "sqeuclidean") / 8)
    expected = kernel / kernel.sum(axis=1, keepdims=True) @ spectrum.coordinates / mu
    np.testing.assert_allclose(extend(extension, X), expected, rtol=1e-6, atol=1e-9)


def test_nearest_landmarks_are_the_nearest(space):
    landmarks, _, X = space
    columns, squares = NearestLandmarks(landmarks, 7)(X[:50])
    expected = np.sort(cdist(X[:50], landmarks), axis=1)[:, :7]
    np.testing.assert_allclose(np.sqrt(np.sort(squares, axis=1)), expected, rtol=1e-6, atol=1e-6)
    found = np.take_along_axis(cdist(X[:50], landmarks), columns, axis=1)
    np.testing.assert_allclose(found, np.sqrt(squares), rtol=1e-6, atol=1e-6)


def test_graph_neighbours_are_those_of_the_nearest_landmark(space):
    landmarks, graph, X = space
    columns, squares = GraphNeighbors(landmarks, graph.lengths)(X[:50])
    nearest = cdist(X[:50], landmarks).argmin(axis=1)
    for row, landmark in enumerate(nearest):
        present = columns[row][np.isfinite(squares[row])]
        assert set(present) == set(graph.weights[[landmark]].nonzero()[1])


def test_all_landmarks_and_as_many_nearest_agree(space):
    landmarks, graph, X = space
    spectrum = laplacian_eigenmaps(graph.weights, 3)
    results = [
        extend(MarkovExtension(support, spectrum.coordinates, np.ones(3), 2.0), X)
        for support in (AllLandmarks(landmarks), NearestLandmarks(landmarks, len(landmarks)))
    ]
    np.testing.assert_allclose(*results, rtol=1e-6, atol=1e-9)


def test_kernel_extension_is_scikit_learns_projection(space):
    landmarks, _, X = space
    kernel = gaussian_kernel(landmarks, 4.0)
    spectrum = kernel_pca(kernel, 4)
    found = extend(KernelExtension(AllLandmarks(landmarks), kernel, spectrum, 4.0), X)
    peer = sklearn.decomposition.KernelPCA(4, kernel="rbf", gamma=1 / 32, eigen_solver="dense")
    peer.fit(landmarks)
    expected = peer.transform(X)
    expected *= np.sign((peer.transform(landmarks) * spectrum.coordinates).sum(axis=0))
    np.testing.assert_allclose(found, expected, atol=1e-8)


def test_geodesic_extension_of_landmarks_is_exact_and_of_points_by_definition(space):
    landmarks, graph, X = space
    paths = geodesics(graph.lengths)
    spectrum = classical_scaling(paths, 3)
    support = GraphNeighbors(landmarks, graph.lengths)
    extension = GeodesicExtension(support, paths, spectrum)
    np.testing.assert_allclose(
        extend(extension, landmarks), spectrum.coordinates, atol=1e-5 * paths.max()
    )
    columns, squares = support(X[:5])
    through = np.sqrt(squares)[:, :, None] + paths[columns]
    centred = -(through.min(axis=1) ** 2 - (paths**2).mean(axis=0)) / 2
    expected = centred @ (spectrum.coordinates / spectrum.eigenvalues)
    np.testing.assert_allclose(extend(extension, X[:5]), expected, atol=1e-8)


@pytest.mark.parametrize("rows", [1, 7, 100_000])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_blocks_and_threads_change_nothing(space, rows, n_threads):
    landmarks, graph, X = space
    spectrum = laplacian_eigenmaps(graph.weights, 3)
    support = GraphNeighbors(landmarks, graph.lengths)
    extension = MarkovExtension(support, spectrum.coordinates, np.ones(3), graph.bandwidth)
    whole = extend(extension, X[:300])
    np.testing.assert_allclose(
        extend(extension, X[:300], n_threads, rows), whole, rtol=1e-9, atol=1e-12
    )


def test_points_far_from_every_landmark_get_finite_coordinates(space):
    landmarks, graph, _ = space
    spectrum = laplacian_eigenmaps(graph.weights, 3)
    far = landmarks[:2] + 1e4
    for support in (AllLandmarks(landmarks), GraphNeighbors(landmarks, graph.lengths)):
        extension = MarkovExtension(support, spectrum.coordinates, np.ones(3), graph.bandwidth)
        found = extend(extension, far)
        assert np.isfinite(found).all()
        assert (np.abs(found) <= np.abs(spectrum.coordinates).max(axis=0) + 1e-9).all()


def test_float32_in_float32_out(space):
    landmarks, graph, X = space
    spectrum = laplacian_eigenmaps(graph.weights, 3)
    support = GraphNeighbors(landmarks.astype(np.float32), graph.lengths)
    extension = MarkovExtension(support, spectrum.coordinates, np.ones(3), graph.bandwidth)
    assert extend(extension, X.astype(np.float32)).dtype == np.float32
