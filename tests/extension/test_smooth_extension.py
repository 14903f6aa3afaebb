"""The smooth extension: planes by definition, no shortcuts, bounded coordinates."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import trigpoint as tp
from trigpoint._common.records import LandmarkGraph, Landmarks
from trigpoint._extension.smooth import SmoothExtension
from trigpoint._graphs import KNNGraph
from trigpoint._kernels.landmark_search import blended_planes
from trigpoint._numerics.connectivity import DisconnectedGraphWarning


@pytest.mark.parametrize(
    ("d", "n_components", "n", "expected"),
    [(2, 2, 2000, "smooth"), (4, 2, 2000, "graph"), (4, 4, 2000, "smooth"), (2, 2, 200, "graph")],
)
def test_the_default_goes_by_dimension_coordinates_and_points(d, n_components, n, expected, rng):
    emb = tp.LaplacianEigenmaps(n_components, landmarks=150, random_state=0)
    assert emb.fit(rng.uniform(size=(n, d))).extension_ == expected
    own, shown = emb.fitted_.spectrum.coordinates, emb.landmark_embedding_
    if expected == "graph":
        np.testing.assert_array_equal(shown, own)
    else:
        # The extension smooths the coordinates of the landmarks.
        assert 0 < np.abs(shown - own).max() < 0.2 * np.abs(own).max()
        np.testing.assert_array_equal(emb.transform(emb.landmarks_), shown)


def flat(rng, k=200, d=2, n_neighbors=12):
    landmarks = rng.uniform(size=(k, d))
    graph = KNNGraph(n_neighbors, metric="euclidean").build(Landmarks(landmarks))
    return landmarks, graph


def test_planes_by_definition(rng):
    """One landmark at a time, with as many unknowns as dimensions."""
    landmarks, graph = flat(rng, d=3, n_neighbors=6)
    coordinates = rng.normal(size=(200, 2))
    fitted = SmoothExtension.prepare(landmarks, graph, coordinates)
    planes, reach = fitted.planes, fitted.reach
    direct = np.where(graph.lengths.toarray() > 0, graph.lengths.toarray(), np.inf)
    np.fill_diagonal(direct, 0)
    # Neighbors within one or two edges.
    paths = (direct[:, :, None] + direct[None]).min(axis=1)
    values, slopes = np.empty((200, 2)), np.empty((200, 2, 3))
    for i in range(200):
        neighbors = np.argsort(paths[i])[1 : min(21, np.isfinite(paths[i]).sum())]
        lengths = np.linalg.norm(landmarks[neighbors] - landmarks[i], axis=1)
        bandwidth = 0.7 * np.sort(lengths)[(len(lengths) + 1) // 2 - 1]
        weights = np.append(1, np.exp(-((lengths / bandwidth) ** 2) / 2))
        weights /= weights.sum()
        fitted = np.append(i, neighbors)
        x, y = landmarks[fitted] - landmarks[i], coordinates[fitted]
        mean_x, mean_y = weights @ x, weights @ y
        covariance = (weights[:, None] * (x - mean_x)).T @ (x - mean_x)
        covariance += 0.01 * np.trace(covariance) * np.eye(3)
        slopes[i] = np.linalg.solve(
            covariance, (weights[:, None] * (x - mean_x)).T @ (y - mean_y)
        ).T
        values[i] = mean_y - slopes[i] @ mean_x
        assert reach[i] == pytest.approx(lengths.max())
    stretch = (values * coordinates).sum(axis=0) / (values**2).sum(axis=0)
    np.testing.assert_allclose(planes[:, :, -1], values * stretch, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        planes[:, :, :-1], slopes * stretch[:, None], rtol=1e-9, atol=1e-9 * np.abs(slopes).max()
    )


def test_points_by_definition(rng):
    landmarks, graph = flat(rng)
    extension = SmoothExtension.prepare(landmarks, graph, rng.normal(size=(200, 3)))
    X = rng.uniform(-0.5, 1.5, size=(100, 2))
    found, far = extension(X)
    n_far = far.sum()
    assert n_far > 0
    beyond = 0
    for x, y in zip(X, found, strict=True):
        distances = np.linalg.norm(landmarks - x, axis=1)
        order = np.argsort(distances)
        near, r = order[:5], distances[order[5]]
        shares = (1 - (distances[near] / r) ** 2) ** 2
        n_far -= (distances[near] > 10 * graph.bandwidths[near]).all()
        expected = np.zeros(3)
        for p, share in zip(near, shares / shares.sum(), strict=True):
            step = min(1, extension.reach[p] / distances[p])
            beyond += step < 1
            slopes, value = extension.planes[p, :, :-1], extension.planes[p, :, -1]
            expected += share * (value + slopes @ (step * (x - landmarks[p])))
        np.testing.assert_allclose(y, expected, rtol=1e-9, atol=1e-12)
    assert n_far == 0
    assert beyond > 50


def test_a_point_equally_far_from_all_that_share_is_at_their_mean(rng):
    """If the next landmark is equally far, no landmark has a share, and all count alike."""
    landmarks = np.concatenate([np.eye(3), -np.eye(3)])
    planes = rng.normal(size=(6, 2, 4))
    result, far = np.full((1, 2), np.nan), np.zeros(1, dtype=bool)
    around = np.arange(6)[None], np.ones((1, 6)), np.zeros((1, 3))
    blended_planes(*around, landmarks, planes, np.full(6, 2.0), np.ones(6), result, far)
    each = planes[:, :, 3] - np.einsum("pcd,pd->pc", planes[:, :, :3], landmarks)
    np.testing.assert_allclose(result[0], each[:5].mean(axis=0))


def test_nothing_is_fitted_across_a_bridge(rng):
    landmarks = np.concatenate([rng.uniform(size=(30, 2)), rng.uniform(size=(30, 2)) + 50])
    graph = KNNGraph(9, metric="euclidean").build(Landmarks(landmarks))
    assert isinstance(graph.notes[0], DisconnectedGraphWarning)
    coordinates = np.repeat([[1.0], [-1.0]], 30, axis=0)
    fitted = SmoothExtension.prepare(landmarks, graph, coordinates)
    expected = np.pad(coordinates, ((0, 0), (2, 0)))
    np.testing.assert_allclose(fitted.planes[:, 0], expected, atol=1e-12)
    assert (fitted.reach < 2).all()


def test_a_landmark_without_neighbors_is_level():
    nothing = csr_array((4, 4))
    graph = LandmarkGraph(nothing, nothing, np.empty((0, 2), dtype=int), np.ones(4))
    level = SmoothExtension.prepare(np.eye(4, 2), graph, np.arange(4.0)[:, None])
    expected = np.pad(np.arange(4.0)[:, None], ((0, 0), (2, 0)))
    np.testing.assert_array_equal(level.planes[:, 0], expected)
    assert (level.reach == 0).all()


def test_a_hub_does_not_make_memory_grow_as_the_square(rng, peak_memory):
    """If one landmark is linked to all others, paths of two edges link all pairs."""
    k = 3000
    landmarks = rng.normal(size=(k, 3))
    others = np.arange(1, k)
    ends = np.concatenate([others, np.zeros(k - 1, dtype=int)])
    starts = np.concatenate([np.zeros(k - 1, dtype=int), others])
    distances = np.linalg.norm(landmarks[starts] - landmarks[ends], axis=1)
    lengths = csr_array((distances, (starts, ends)), shape=(k, k))
    star = LandmarkGraph(lengths, lengths, np.empty((0, 2), dtype=int), np.ones(k))
    _, peak = peak_memory(SmoothExtension.prepare, landmarks, star, landmarks[:, :2])
    assert peak < 8 * k**2 / 2
