"""The nearest landmarks: the same as by looking at all of them, wherever the points are."""

import numpy as np
import pytest

from trigpoint._neighbors.nearest import TreeSearch, landmark_index, landmark_search


def by_looking_at_all(landmarks, X, count):
    squares = np.zeros((len(X), len(landmarks)))
    for axis in range(X.shape[1]):
        squares += (X[:, axis, None].astype(np.float64) - landmarks[:, axis]) ** 2
    order = np.argsort(squares, axis=1, kind="stable")[:, :count]
    return order, np.take_along_axis(squares, order, axis=1)


def check(landmarks, X, count):
    search = landmark_search(landmarks, count)
    assert isinstance(search, TreeSearch)
    expected = by_looking_at_all(landmarks, X, count)
    for found, wanted in zip(search.nearest(X, count), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("d", [1, 2, 3, 5, 8, 15])
@pytest.mark.parametrize("k", [1, 2, 3, 31, 32, 33, 500])
def test_uniform(d, k, rng):
    landmarks = rng.uniform(size=(k, d))
    X = np.concatenate([rng.uniform(size=(200, d)), landmarks[:50]])
    check(landmarks, X, min(4, k))


@pytest.mark.parametrize("count", [1, 4, 9, 60, 300])
def test_as_many_as_are_wanted(count, rng):
    landmarks = rng.normal(size=(300, 3))
    check(landmarks, rng.normal(size=(100, 3)), count)


@pytest.mark.parametrize("d", [1, 2, 3, 9])
def test_equal_distances_are_told_apart_by_the_lower_landmark(d, rng):
    """Points and landmarks of a coarse grid, many of them the same."""
    landmarks = rng.integers(4, size=(300, d)) / 2
    check(landmarks, rng.integers(-1, 9, size=(500, d)) / 4, 4)


def test_copies_of_one_landmark(rng):
    check(np.zeros((200, 2)), rng.normal(size=(20, 2)), 4)
    check(np.repeat(rng.normal(size=(5, 3)), 60, axis=0), rng.normal(size=(200, 3)), 4)


@pytest.mark.parametrize("distance", [10.0, 1e6, 1e100, 1e150])
def test_points_far_outside(distance, rng):
    landmarks = rng.normal(size=(400, 3))
    check(landmarks, rng.normal(size=(100, 3)) * distance, 4)


def test_infinite_squares_are_equal_ones(rng):
    with np.errstate(over="ignore"):
        check(rng.normal(size=(100, 2)), np.full((1, 2), 1e160), 4)


def test_sheets_close_to_each_other(rng):
    """A point may fall into the box of a landmark on the other sheet."""
    landmarks, X = (rng.uniform(size=(n, 3)) * [10, 10, 0] for n in (800, 3000))
    landmarks[::2, 2] = X[::2, 2] = 0.3
    check(landmarks, X + rng.normal(size=X.shape) * 0.02, 4)


def test_clusters_of_very_different_sizes(rng):
    scales = np.repeat([1e-6, 1e-3, 1.0], 200)[:, None]
    landmarks = rng.normal(size=(600, 3)) * scales + scales
    check(landmarks, rng.normal(size=(600, 3)) * scales + scales, 4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_single_precision_counts_as_it_is(dtype, rng):
    landmarks = rng.normal(size=(300, 3)).astype(dtype)
    check(landmarks, rng.normal(size=(300, 3)).astype(dtype), 4)


@pytest.mark.parametrize(("k", "count", "listed"), [(2000, 4, 32), (2000, 9, 0), (50, 9, 50)])
def test_lists_are_short(k, count, listed, rng):
    """Without them a search takes longer; beyond a length, reading them does."""
    index = landmark_index(rng.normal(size=(k, 3)), count)
    assert index.lists.shape == (k, listed)
    if listed:
        np.testing.assert_array_equal(index.lists[:, 0], np.arange(k))
        assert np.isinf(index.reach).all() == (listed == k)
