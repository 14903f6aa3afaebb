"""Searches return the exact neighbors, nearest first with ties by row, and do little work."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from trigpoint._kernels import candidates
from trigpoint._neighbors import products
from trigpoint._neighbors.index import neighbor_index
from trigpoint._neighbors.nearest import any_within, landmark_index, landmark_search, nearest
from trigpoint._neighbors.products import ProductIndex, SparseIndex
from trigpoint._neighbors.tree import TreeIndex, build_tree


def by_definition(points, queries, m):
    """Sort all distances, computed from float64 differences column by column."""
    squares = np.zeros((len(queries), len(points)))
    for points_column, query_column in zip(points.T, queries.T, strict=True):
        squares += (query_column[:, None].astype(np.float64) - points_column) ** 2
    rows = np.argsort(squares, axis=1, kind="stable")[:, :m]
    return np.sqrt(np.take_along_axis(squares, rows, axis=1)), rows


def among_landmarks(points, queries, m):
    rows, squares = landmark_search(points, m).nearest(queries, m)
    return np.sqrt(squares), rows


SEARCHES = {
    "tree": lambda points, *asked: TreeIndex(points, 2).query(*asked),
    "tree of small buckets": lambda points, *asked: TreeIndex(points, bucket=8).query(*asked),
    "products": lambda points, *asked: ProductIndex(points, 2).query(*asked),
    "nearest": lambda *asked: nearest(*asked, n_threads=2),
    "landmarks": among_landmarks,
}


def check(search, points, queries, *sizes):
    """Compare rows and distances with the definition; other queries must not change any bit."""
    expected_distances, expected_rows = by_definition(points, queries, max(sizes))
    # In many columns, distances to landmarks are summed in another order.
    in_order = search not in (among_landmarks, SEARCHES["nearest"]) or points.shape[1] <= 15
    rtol = 0 if in_order else 1e-13
    for m in sizes:
        distances, rows = found = search(points, queries, m)
        np.testing.assert_array_equal(rows, expected_rows[:, :m])
        np.testing.assert_allclose(distances, expected_distances[:, :m], rtol=rtol)
        assert (distances.dtype, rows.dtype) == (np.float64, np.int64)
        for values, again in zip(found, search(points, queries[::7], m), strict=True):
            np.testing.assert_array_equal(again, values[::7])


def uniform(d, rng):
    points = rng.uniform(size=(500, d))
    return points, np.concatenate([rng.uniform(size=(150, d)), points[:50]])


def far_from_the_origin(d, rng):
    return rng.normal(size=(300, d)) + 1e6, rng.normal(size=(200, d)) + 1e6


def grid(d, rng):
    """Return points on a grid, with many equal distances and duplicates."""
    return rng.integers(4, size=(300, d)) / 2, rng.integers(-1, 9, size=(200, d)) / 4


def shifted_grid(d, rng):
    """Return a grid far from the origin, whose center is not a multiple of its step."""
    points = (rng.integers(0, 3, size=(400, d)) + 100).astype(np.float32)
    points[0] += 0.25
    return points, points[:100]


def copies(d, rng):
    return np.repeat(rng.normal(size=(5, d)), 60, axis=0), rng.normal(size=(100, d))


def outside(d, rng):
    return rng.normal(size=(400, d)), rng.normal(size=(100, d)) * 1e6


def clusters(d, rng):
    """Return clusters of very different sizes."""
    scales = np.repeat([1e-6, 1e-3, 1.0], 100)[:, None]
    return tuple(rng.normal(size=(300, d)) * scales + scales for _ in range(2))


def sheets(d, rng):
    """Return sheets so close that a query may fall into the box of a point of the other sheet."""
    points, queries = (rng.uniform(size=(n, d)) * 10 for n in (800, 400))
    points[:, -1] = np.arange(800) % 2 * 0.3
    queries[:, -1] = np.arange(400) % 2 * 0.3 + rng.normal(size=400) * 0.02
    return points, queries


def close_pairs(d, rng):
    """Return pairs at squared distances of 1e-18, which matrix products round away."""
    base = rng.normal(size=(60, d))
    points = np.vstack([base, base])
    points[60:, 0] += 1e-9
    base[:, 0] += 0.7e-9
    return points, base


def single_precision(d, rng):
    return tuple((rng.normal(size=(300, d)) + 1000).astype(np.float32) for _ in range(2))


def few(d, rng):
    return rng.normal(size=(3, d)), rng.normal(size=(20, d))


CLOUDS = [
    uniform,
    far_from_the_origin,
    grid,
    shifted_grid,
    copies,
    outside,
    clusters,
    sheets,
    close_pairs,
    single_precision,
    few,
]


@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES.keys())
@pytest.mark.parametrize("cloud", CLOUDS)
@pytest.mark.parametrize("d", [1, 3, 15, 16, 40])
def test_neighbors_are_those_of_the_definition(search, cloud, d, rng):
    points, queries = cloud(d, rng)
    check(search, points, queries, *(min(m, len(points)) for m in (1, 4, 60)))


@pytest.mark.parametrize("k", [1, 2, 31, 32, 33])
def test_any_number_of_landmarks(k, rng):
    check(among_landmarks, rng.uniform(size=(k, 3)), rng.uniform(size=(200, 3)), min(4, k))


@pytest.mark.parametrize("distance", [1e100, 1e150, 1e160])
def test_landmarks_of_points_far_outside(distance, rng):
    """Infinite squares are equal."""
    with np.errstate(over="ignore"):
        check(among_landmarks, rng.normal(size=(400, 3)), np.full((1, 3), distance), 4)


def test_a_tree_of_points_at_decreasing_distances(rng):
    """Each split separates a single point, so there are more nodes than expected at first."""
    points = 3.0 ** -np.arange(600)[:, None]
    rng.shuffle(points)
    tree = build_tree(points, 8)
    assert len(tree.starts) > 64 + 8 * (600 // 8)
    buckets = np.flatnonzero(tree.children == 0)
    assert (tree.stops - tree.starts)[buckets].max() <= 8
    np.testing.assert_array_equal(np.sort(tree.rows), np.arange(600))
    np.testing.assert_array_equal(tree.points, points[tree.rows])


def test_a_large_tree_is_the_same_for_any_number_of_threads(rng):
    """Several threads split the top of the tree; the points include an outlier and duplicates."""
    points = rng.normal(size=(300_000, 3)).astype(np.float32)
    points[::3] = points[0]
    points[5] = 1e4
    trees = [build_tree(points, 64, n_threads) for n_threads in (1, 2, 16)]
    assert len(trees[0].starts) > 1000
    for tree in trees[1:]:
        for values, expected in zip(tree, trees[0], strict=True):
            np.testing.assert_array_equal(values, expected)
    np.testing.assert_array_equal(np.sort(trees[0].rows), np.arange(len(points)))
    np.testing.assert_array_equal(trees[0].points, points[trees[0].rows])
    # Points below the top can be found.
    check(SEARCHES["tree"], points, points[[1, 5, 7, 100_001, 299_999]], 40)


def test_only_the_lowest_rows_of_many_duplicates_are_read(rng):
    """Other duplicates are sorted behind them in the tree and never read."""
    points = rng.normal(size=(2000, 3))
    points[rng.permutation(2000)[:1500]] = 0.25
    queries, m = rng.normal(size=(4, 3)), 700
    rows = by_definition(points, queries, m)[1]
    index = TreeIndex(points, bucket=8)
    found = index.search(queries, m)
    copies = np.flatnonzero((index.tree.points == 0.25).all(axis=1))
    assert (np.diff(index.tree.rows[copies]) > 0).all()
    index.tree.points[copies[m + 1 :]] = queries[0]
    np.testing.assert_array_equal(index.query(queries, m)[1], rows)
    for q, (members, _) in enumerate(index.members(found)):
        assert set(members) == set(rows[q])


def test_a_scan_holds_one_block_of_points_at_once(rng, calls, monkeypatch):
    """Products are computed for blocks of bounded size, whatever the number of points."""
    monkeypatch.setattr(products, "SCAN_BYTES", 32 * (40 + 64) * 8)
    sifted = calls(candidates, "sift")
    points = rng.normal(size=(1000, 40))
    ProductIndex(points).search(points[:17], 30)
    # Queries are padded to a full tile.
    assert [products.shape for products, *_ in sifted] == [(32, 32)] * 31 + [(32, 8)]


def test_duplicates_take_at_most_two_passes(rng, calls):
    """Most points coincide: their distances differ from 0 by rounding only."""
    points = rng.normal(size=(5000, 20)).astype(np.float32) + 3
    points[::2] = points[0]
    passes = calls(ProductIndex, "_candidates")
    check(SEARCHES["products"], points, points[:10], 60)
    # Once for each of two calls.
    assert len(passes) <= 4
    # There are more ties than room for candidates.
    points = np.concatenate([rng.normal(size=(100, 20)) + 9, np.ones((9000, 20))])
    check(SEARCHES["products"], points, np.ones((2, 20)), 50)


def test_index_follows_the_dimension(rng):
    assert isinstance(neighbor_index(rng.normal(size=(10, 3)), 5, 2), TreeIndex)
    assert isinstance(neighbor_index(rng.normal(size=(10, 100)), 5, 2), ProductIndex)


@pytest.mark.parametrize("index", [TreeIndex, ProductIndex, SparseIndex])
def test_copies_of_a_point(index):
    points = [[0.0, 1], [0, 2], [0, 1], [1, 3], [1, 0], [0, 0], [-0.0, 1], [3, 1], [1, 1], [1, 3]]
    points = np.array(points)
    index = index(csr_array(points) if index is SparseIndex else points)
    np.testing.assert_array_equal(index.copies(points[0]), [0, 2, 6])
    np.testing.assert_array_equal(index.copies(points[3]), [3, 9])
    np.testing.assert_array_equal(index.copies(points[5]), [5])
    np.testing.assert_array_equal(index.copies(np.array([3.0, 4])), [])


@pytest.mark.parametrize("d", [3, 40])
@pytest.mark.parametrize("m", [1, 2])
def test_precisions_may_differ(d, m, rng):
    """The additional digits of float64 queries count."""
    points = rng.normal(size=(40, d)).astype(np.float32)
    queries = points[:10].astype(np.float64)
    queries[:, 0] += 1e-10
    distances, rows = nearest(points, queries, m)
    np.testing.assert_array_equal(rows[:, 0], np.arange(10))
    np.testing.assert_allclose(distances[:, 0], 1e-10, rtol=1e-5)


@pytest.mark.parametrize("d", [2, 30])
def test_any_within(d, rng):
    points, queries = rng.normal(size=(20, d)), rng.normal(size=(100, d))
    least = by_definition(points, queries, 1)[0][:, 0]
    reach = float(np.median(least))
    np.testing.assert_array_equal(any_within(points, queries, reach), least <= reach)
    # A point exactly at the reach is within it.
    query = np.eye(1, d) * 2
    assert any_within(np.zeros((1, d)), query, 2.0).all()
    assert not any_within(np.zeros((1, d)), query, np.nextafter(2.0, 0)).any()


@pytest.mark.parametrize(("k", "count", "listed"), [(2000, 4, 32), (2000, 9, 0), (50, 9, 50)])
def test_lists_are_short(k, count, listed, rng):
    """Short lists shorten the search; reading long ones takes longer."""
    index = landmark_index(rng.normal(size=(k, 3)), count)
    assert index.lists.shape == (k, listed)
    if listed:
        first = index.by_distance[:, 0]
        np.testing.assert_array_equal(index.lists[np.arange(k), first], np.arange(k))
        assert (np.diff(index.landmarks[index.lists], axis=1) > 0).all()
        assert np.isinf(index.reach).all() == (listed == k)
