"""Approximate neighbors in cells, compared with exact ones, for any threads and blocks."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

from trigpoint._neighbors.cells import (
    Cells,
    CellSearch,
    Singles,
    candidates_per_row,
    nearest_of,
    neighbors_of_all,
)


def clusters(n, d, rng, gap=8.0):
    """Return ten round groups."""
    centers = gap * rng.normal(size=(10, d))
    return centers[rng.integers(10, size=n)] + rng.normal(size=(n, d))


def exact(X, m):
    squares = cdist(X, X, "sqeuclidean")
    np.fill_diagonal(squares, np.inf)
    return np.argsort(squares, axis=1, kind="stable")[:, :m]


def recall(found, expected):
    hits = [len(set(a) & set(b)) for a, b in zip(found, expected, strict=True)]
    return np.mean(hits) / expected.shape[1]


def all_neighbors(X, m, n_threads=1):
    return neighbors_of_all(X, m, np.random.default_rng(0), n_threads)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_most_neighbors_are_found(dtype, rng):
    X = clusters(4000, 50, rng).astype(dtype)
    found = all_neighbors(X, 15)
    assert recall(found, exact(X, 15)) > 0.95
    assert (found != np.arange(4000)[:, None]).all()
    assert all(len(set(row)) == 15 for row in found)
    np.testing.assert_array_equal(all_neighbors(X, 15, 2), found)


@pytest.mark.parametrize(("n", "d"), [(3000, 3), (1500, 15), (1500, 50), (2, 50)])
def test_of_few_columns_or_points_neighbors_are_exact(n, d, rng):
    X = clusters(n, d, rng)
    m = min(15, n - 1)
    np.testing.assert_array_equal(np.sort(all_neighbors(X, m)), np.sort(exact(X, m)))


@pytest.mark.parametrize("gap", [1e3, 1e5, 1e7])
def test_neighbors_in_groups_far_apart(gap, rng):
    """Compared with the gap, points of a group hardly differ in single precision."""
    X = clusters(3000, 20, rng)
    Y = X.copy()
    Y[1500:, :3] += gap
    expected = np.concatenate([exact(X[:1500], 15), 1500 + exact(X[1500:], 15)])
    assert recall(all_neighbors(Y, 15), expected) > 0.95


@pytest.mark.parametrize("far", [1e6, 1e12, 1e30, 1e150])
def test_a_far_row_does_not_change_the_neighbors_of_others(far, rng):
    X = clusters(3000, 20, rng)
    expected, others = exact(X, 15), np.arange(3000) != 1234
    X[1234] = far
    assert recall(all_neighbors(X, 15)[others], expected[others]) > 0.95


def test_more_neighbors_than_a_cell_has(rng):
    X = rng.normal(size=(1600, 20))
    found = all_neighbors(X, 1500)
    assert (np.diff(np.sort(found), axis=1) > 0).all()
    assert (found != np.arange(1600)[:, None]).all()
    assert recall(found, exact(X, 1500)) > 0.95


def test_neighbors_of_duplicates(rng):
    """There are more duplicates than neighbors, and a cell of one repeated point."""
    X = np.concatenate([np.repeat(clusters(100, 30, rng), 20, axis=0), np.ones((1000, 30))])
    found = all_neighbors(X, 15)
    assert (found != np.arange(3000)[:, None]).all()
    assert all(len(set(row)) == 15 for row in found)
    np.testing.assert_array_equal(X[found], np.repeat(X[:, None], 15, axis=1))


def test_every_point_is_in_one_cell(rng):
    X = clusters(3000, 20, rng)
    singles = Singles.of(X)
    points = singles(X)
    assert points.dtype == np.float32
    cells = Cells.of(points, rng, 2)
    np.testing.assert_array_equal(np.sort(cells.order), np.arange(3000))
    assert (cells.starts[0], cells.starts[-1]) == (0, 3000)
    of_point = np.repeat(np.arange(len(cells.centers)), np.diff(cells.starts))
    to_centers = cdist(points[cells.order], cells.centers)
    own = to_centers[np.arange(3000), of_point]
    np.testing.assert_allclose(own, to_centers.min(axis=1), rtol=1e-3)


@pytest.fixture(params=["plain", "offset", "gap", "duplicates"])
def landmarks(request, rng):
    X = clusters(4000, 20, rng)
    if request.param == "offset":
        X += 1e9
    elif request.param == "gap":
        X[2000:] += 1e8
    elif request.param == "duplicates":
        X[1000:1050] = X[0]
    return X


def test_searches_find_each_landmark_and_mostly_the_nearest(landmarks, rng):
    search = CellSearch.of(landmarks)
    found, squares = search.nearest(landmarks, 9)
    assert (squares[:, 0] == 0).all()
    np.testing.assert_array_equal(landmarks[found[:, 0]], landmarks)
    queries = landmarks[:300] + 0.3 * rng.normal(size=(300, 20))
    found, squares = search.nearest(queries, 9)
    assert (np.diff(squares, axis=1) >= 0).all()
    expected = np.square(queries[:, None] - landmarks[found]).sum(axis=2)
    np.testing.assert_allclose(squares, expected, rtol=1e-12)
    nearest = np.sort(cdist(queries, landmarks, "sqeuclidean"), axis=1)[:, :9]
    assert (squares <= nearest * (1 + 1e-9)).mean() > 0.9


def test_a_query_has_the_same_result_in_any_block(landmarks, rng):
    search = CellSearch.of(landmarks)
    queries = landmarks[::9] + rng.normal(size=landmarks[::9].shape)
    found, squares = search.nearest(queries, 9)
    for size in (1, 7, 64):
        for start in range(0, 130, size):
            part = slice(start, start + size)
            one, square = search.nearest(np.asfortranarray(queries[part]), 9)
            np.testing.assert_array_equal(one, found[part])
            np.testing.assert_array_equal(square, squares[part])


@pytest.mark.parametrize("far", [1e20, 1e60, 1e150])
def test_searches_for_very_far_points_end(far, rng):
    search = CellSearch.of(clusters(2000, 20, rng))
    found, squares = search.nearest(np.array([[far] * 20, [-far] * 20]), 2000)
    np.testing.assert_array_equal(np.sort(found), [np.arange(2000)] * 2)
    assert np.isfinite(squares).all()


def test_candidates_in_fewer_columns_contain_the_neighbors_in_all(rng):
    """Half of the variance is in columns that candidates do not see."""
    X = rng.normal(size=(3000, 40)).astype(np.float32)
    inside = np.ascontiguousarray(X[:, :20])
    count = candidates_per_row(X, inside, 5, rng)
    assert 10 < count <= 40
    candidates = neighbors_of_all(inside, count, rng, 1)
    found, squares = nearest_of(X, candidates, 5, 2)
    most = recall(found, exact(X, 5))
    assert most > 1.5 * recall(neighbors_of_all(inside, 5, rng, 1), exact(X, 5))
    expected = np.square(X[:, None].astype(np.float64) - X[found]).sum(axis=2)
    np.testing.assert_allclose(squares, expected, rtol=1e-5)
    assert candidates_per_row(X, X, 5, rng) == 5


def test_sparse_points_have_the_distances_of_dense_ones(rng):
    X = rng.poisson(0.2, size=(200, 60)).astype(np.float64)
    candidates = np.array([rng.permutation(np.delete(np.arange(200), i))[:50] for i in range(200)])
    found, squares = nearest_of(csr_array(X), candidates, 7, 1)
    expected = np.square(X[:, None] - X[found]).sum(axis=2)
    np.testing.assert_array_equal(squares, expected)
    among = np.take_along_axis(cdist(X, X, "sqeuclidean"), candidates, axis=1)
    np.testing.assert_allclose(np.sort(squares), np.sort(among)[:, :7])
