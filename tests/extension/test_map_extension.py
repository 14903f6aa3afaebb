"""Positions of points among the landmarks of a map, compared with the definition."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.sparse import csr_array
from scipy.spatial import cKDTree

from trigpoint._extension.placing import MapExtension, nearest_landmarks
from trigpoint._kernels.candidates import list_candidates, nearest_among
from trigpoint._kernels.map_placing import place
from trigpoint._numerics.projection import all_projected, principal_projection, projected


def mean_among(squares, positions, spacings, steps=0.0):
    """Return the position of a point as `MapExtension` documents it, and the group that counts.

    Squared distances are those to the landmarks, nearest first, and to the next one, if any;
    positions, spacings and the steps of the slopes are in the same order.
    """
    count = len(positions)
    limit = squares[count] if len(squares) > count else 2 * squares[-1]
    shares = np.square(1 - squares[:count] / limit)
    if not shares.any():
        shares[:] = 1
    apart = np.square(positions[:, None] - positions).sum(axis=-1) / spacings[:, None] ** 2
    middle = (shares / (1 + apart / 9)).sum(axis=1).argmax()
    weights = shares * np.square(np.maximum(0, 1 - apart[middle] / 9))
    mean = positions[middle]
    if weights.any():
        lengths = np.linalg.norm(np.broadcast_to(steps, positions.shape), axis=1)
        shorter = np.minimum(1, spacings / np.maximum(lengths, 1e-300))[:, None]
        mean = weights @ (positions + shorter * steps) / weights.sum()
    # The other landmarks pull slightly.
    away = positions - mean
    lengths = np.linalg.norm(away, axis=1)
    pulls = np.divide(shares - weights, lengths, out=np.zeros(count), where=lengths > 0)
    place = mean + 0.25 * spacings[middle] * (pulls @ away) / shares.sum()
    if weights.any():
        place = toward_own(place, squares, positions, np.flatnonzero(weights)[0])
    return place, middle


def toward_own(place, squares, positions, own):
    """Return how far a point is moved to a landmark, so that no farther landmark is too near."""

    def moved(way):
        return place + way * (positions[own] - place)

    def excess(way, j):
        to_own, to_other = np.linalg.norm(positions[[own, j]] - moved(way), axis=1)
        return to_own * np.sqrt(2 - 3 * squares[own] / squares[j]) - to_other

    farther = [j for j in range(len(positions)) if squares[own] < 2 / 3 * squares[j]]
    near = [j for j in farther if excess(0.0, j) > 0]
    exact = {"xtol": 1e-15, "rtol": 1e-15}
    return moved(max((brentq(excess, 0, 1, (j,), **exact) for j in near), default=0.0))


def slope_by_hand(landmarks, positions, spacing, j):
    """Return the weighted ridge regression of steps in the map on steps in the data."""
    others = np.argsort(np.square(landmarks - landmarks[j]).sum(axis=1), kind="stable")[1:21]
    sides, steps = landmarks[others] - landmarks[j], positions[others] - positions[j]
    weights = np.square(np.maximum(0, 1 - np.square(steps).sum(axis=1) / (9 * spacing**2)))
    if not weights.any():
        return np.zeros((landmarks.shape[1], positions.shape[1]))
    ridge = 1.5 * (weights @ np.square(sides).sum(axis=1)) / weights.sum()
    normal = sides.T @ (weights[:, None] * sides) + ridge * np.eye(landmarks.shape[1])
    return np.linalg.solve(normal, sides.T @ (weights[:, None] * steps))


def slow_places(points, landmarks, positions):
    """Evaluate the definition point by point."""
    k = len(landmarks)
    around = np.sort(np.linalg.norm(positions[:, None] - positions, axis=-1), axis=1)
    spacings = around[:, min(6, k - 1)]
    slopes = np.array([slope_by_hand(landmarks, positions, spacings[j], j) for j in range(k)])

    def mean(x):
        squares = np.square(landmarks - x).sum(axis=1)
        order = np.argsort(squares, kind="stable")
        some = order[:8]
        steps = np.einsum("ja,jac->jc", x - landmarks[some], slopes[some])
        return mean_among(squares[order[:9]], positions[some], spacings[some], steps)[0]

    offsets = np.array([place - mean(x) for place, x in zip(positions, landmarks, strict=True)])
    placed = np.empty((len(points), positions.shape[1]))
    for i, x in enumerate(points):
        distances = np.linalg.norm(landmarks - x, axis=1)
        first, second = np.sort(distances)[[0, min(1, k - 1)]]
        drawn = max(0, 1 - (first / (0.5 * second)) ** 2) ** 2
        placed[i] = mean(x) + drawn * offsets[distances.argmin()]
    return placed


@pytest.mark.parametrize("k", [2, 3, 8, 9, 21, 60])
@pytest.mark.parametrize("n_components", [1, 2, 3])
def test_positions_by_definition(k, n_components, rng):
    landmarks, positions = rng.normal(size=(k, 3)), 3 * rng.normal(size=(k, n_components))
    points = np.concatenate([rng.normal(size=(40, 3)), landmarks + 0.05 * rng.normal(size=(k, 3))])
    found, is_far = MapExtension(landmarks, positions)(points)
    n_far = is_far.sum()
    np.testing.assert_allclose(found, slow_places(points, landmarks, positions), atol=1e-12)
    assert n_far == 0


def test_positions_scale_with_the_map(rng):
    """Some landmarks coincide in the map."""
    landmarks, positions = rng.normal(size=(60, 3)), rng.normal(size=(60, 2))
    positions[:15] = positions[0]
    points = rng.normal(size=(100, 3))
    small, large = (MapExtension(landmarks, scale * positions) for scale in (2.0**-40, 1.0))
    np.testing.assert_array_equal(small(points)[0] * 2.0**40, large(points)[0])


def test_far_points_by_definition(rng):
    """Points start at the nearest landmark, farther from the projection than any landmark."""
    X = rng.normal(size=(400, 12)) * 0.5 ** np.arange(12)
    projection = principal_projection(X, 4, rng)
    landmarks, points = X[:60], X[60:] * np.exp(rng.uniform(0, 6, size=(340, 1)))
    points[100:, :4] = X[160:, :4]
    projections, residual = projected(projection, landmarks)
    positions = rng.normal(size=(60, 2))
    extension = MapExtension(projections, positions, projection, residual.max())
    _, is_far = extension(points)
    n_far = is_far.sum()

    def parts(some):
        inside = (some - projection.center) @ projection.components
        outside = (some - projection.center) - inside @ projection.components.T
        return inside, np.linalg.norm(outside, axis=1)

    (inside, residuals), (places, outside) = parts(landmarks), parts(points)
    bandwidths = cKDTree(inside).query(inside, k=21)[0][:, -1]
    distances, nearest = cKDTree(inside).query(places)
    far = distances + np.maximum(outside - residuals.max(), 0) > 10 * bandwidths[nearest]
    assert n_far == np.count_nonzero(far)
    # Some are far within the projection, some only in the direction of the residual.
    assert 0 < np.count_nonzero(distances > 10 * bandwidths[nearest]) < n_far < 300


def place_flat(nearest, squares, count, positions, spacings, found):
    """Interpolate without slopes and offsets."""
    k = len(positions)
    X, landmarks, slopes = np.zeros((len(nearest), 1)), np.zeros((k, 1)), np.zeros((k, 1, 2))
    offsets = np.zeros((k, 2))
    place(
        *(X, landmarks, nearest, squares, count, positions, spacings, 3.0, slopes, offsets, found)
    )


@pytest.mark.parametrize("more", [True, False])
def test_positions_if_landmarks_are_equally_far(more, rng):
    """If the next landmark is equally far, no landmark has a share, and all count alike."""
    count = 6
    positions, spacings = rng.normal(size=(30, 2)), rng.uniform(0.1, 2, size=30)
    nearest = np.array([rng.choice(30, count, replace=False) for _ in range(200)])
    squares = np.full((200, count + more), 3.0)
    found = np.full((200, 2), np.nan)
    place_flat(nearest, squares, count, positions, spacings, found)
    expected = [mean_among(squares[0], positions[row], spacings[row]) for row in nearest]
    np.testing.assert_allclose(found, [mean for mean, _ in expected], atol=1e-12)
    # Any of them may be the middle one.
    assert {middle for _, middle in expected} == set(range(count))


def test_a_point_torn_between_landmarks_goes_to_the_one_in_the_middle():
    """Three distant landmarks share the point; the fourth has no share but a wide reach."""
    angles = 2 * np.pi * np.arange(3) / 3
    positions = np.concatenate([30 * np.stack([np.cos(angles), np.sin(angles)], axis=-1), [[1, 2]]])
    spacings = np.array([1.0, 1.0, 1.0, 9.0])
    squares, found = np.array([[1.0, 1.0, 1.0, 2.0, 2.0]]), np.full((1, 2), np.nan)
    place_flat(np.arange(4)[None], squares, 4, positions, spacings, found)
    expected, middle = mean_among(squares[0], positions, spacings)
    assert middle == 3
    np.testing.assert_allclose(found[0], expected, atol=1e-12)
    assert np.linalg.norm(found[0] - [1, 2]) < 0.25 * 9
    # Of two equally good landmarks, the nearer or the first one is taken.
    place_flat(np.array([[2, 0]]), squares[:, :2], 2, positions, spacings, found)
    # Half of the shares pull it to the other one.
    toward = (positions[0] - positions[2]) / np.linalg.norm(positions[0] - positions[2])
    np.testing.assert_allclose(found[0], positions[2] + 0.125 * toward, atol=1e-12)


def test_nearest_of_candidates_by_definition(rng):
    """Integers give ties, and products are wrong by as much as is allowed."""
    landmarks = rng.integers(3, size=(50, 4)).astype(np.float64)
    X = rng.integers(3, size=(40, 4)).astype(np.float64)
    squares = np.square(X[:, None] - landmarks).sum(axis=-1)
    order = np.argsort(squares, axis=1, kind="stable")
    norms = np.square(landmarks).sum(axis=1).astype(np.float32)
    for slack, count in ((0.0, 1), (0.0, 5), (0.7, 5), (3.0, 50)):
        products = X @ landmarks.T + slack / 2 * rng.uniform(-1, 1, size=squares.shape)
        products, slacks = products.astype(np.float32), np.full(40, slack)
        # There are one or several tiles, with or without room for all candidates.
        for tile, room in ((50, 50), (7, 50), (7, 20), (50, 3)):
            smallest, values = np.full((40, count), np.inf), np.empty((40, room), np.float32)
            columns, counts = np.empty((40, room), np.int32), np.zeros(40, np.int64)
            for start in range(0, 50, tile):
                some = slice(start, start + tile)
                part = np.ascontiguousarray(products[:, some])
                listed = smallest, values, columns, counts
                list_candidates(part, norms[some], start, slacks, *listed)
            assert room != 50 or (counts <= room).all()
            assert room != 3 or count == 1 or (counts > room).any()
            found, to_found = np.full((40, count), -1), np.full((40, count), -100.0)
            limits = smallest[:, -1] + 2 * slacks
            nearest_among(limits, values, columns, counts, X, landmarks, found, to_found)
            np.testing.assert_array_equal(found, order[:, :count])
            np.testing.assert_array_equal(to_found, np.take_along_axis(squares, found, axis=1))


@pytest.mark.parametrize("dimension", [3, 30])
def test_nearest_landmarks_come_in_the_order_of_the_points(rng, dimension):
    X = rng.normal(size=(10_000, dimension))
    blocks = list(nearest_landmarks(X, X[:40], 4, 2))
    rows = np.concatenate([rows for rows, _ in blocks])
    np.testing.assert_array_equal(rows, cKDTree(X[:40]).query(X, k=4)[1])
    assert len(blocks) > 1


def test_projection_is_that_of_principal_components(rng):
    X = rng.normal(size=(400, 70)) @ np.diag(0.9 ** np.arange(70))
    projection = principal_projection(X, 10, rng)
    around = X - X.mean(axis=0)
    directions = np.linalg.svd(around, full_matrices=False)[2][:10]
    overlap = np.linalg.svd(directions @ projection.components)[1]
    assert overlap.min() > 0.99
    expected = around @ projection.components
    inside, residuals = projected(projection, X)
    # In single precision, so that models are small.
    rounded, largest = all_projected(projection, X, 2)
    np.testing.assert_array_equal(rounded, inside.astype(np.float32))
    assert largest == residuals.max()
    # Except where squares would overflow.
    large, _ = all_projected(projection, 1e16 * X, 2)
    assert large.dtype == np.float64
    np.testing.assert_allclose(inside, expected, atol=1e-12)
    left = around - expected @ projection.components.T
    np.testing.assert_allclose(residuals, np.linalg.norm(left, axis=1), rtol=1e-9)
    # Sparse rows have the same projection in any block.
    sparse, lengths = projected(projection, csr_array(X))
    np.testing.assert_allclose(sparse, inside, atol=1e-12)
    np.testing.assert_allclose(lengths, residuals, rtol=1e-6)
    np.testing.assert_array_equal(projected(projection, csr_array(X[7:9]))[0], sparse[7:9])


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_a_few_far_points_do_not_turn_the_projection(kind, rng):
    X = rng.normal(size=(2000, 70)) @ np.diag(0.7 ** np.arange(70))
    X[rng.random(X.shape) < 0.6] = 0
    expected = principal_projection(kind(X), 5, np.random.default_rng(0))
    X[::400, 60:65] = 1e12 * np.eye(5)
    found = principal_projection(kind(X), 5, np.random.default_rng(0))
    assert np.linalg.svd(expected.components.T @ found.components)[1].min() > 0.99
    np.testing.assert_allclose(found.center, expected.center, atol=0.05)
