"""Both indexes give the exact neighbors, ties by row."""

import dataclasses

import numpy as np
import pytest
from scipy.sparse import csr_array

from trigpoint._kernels import candidates
from trigpoint._kernels.distances import squares_to
from trigpoint._neighbors import products
from trigpoint._neighbors.index import neighbor_index
from trigpoint._neighbors.products import ProductIndex, SparseIndex
from trigpoint._neighbors.tree import TreeIndex, build_tree

INDEXES = [TreeIndex, ProductIndex]


def by_definition(points: np.ndarray, queries: np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Sort all distances, one query at a time."""
    distances, rows = [], []
    for query in queries.astype(np.float64):
        distance = np.sqrt(((points.astype(np.float64) - query) ** 2).sum(axis=1))
        order = np.lexsort((np.arange(len(points)), distance))[:m]
        distances.append(distance[order])
        rows.append(order)
    return np.array(distances), np.array(rows)


@pytest.mark.parametrize("index", INDEXES)
@pytest.mark.parametrize("m", [1, 7, 300])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_query_is_exact(index, m, offset, rng):
    points = rng.normal(size=(300, 6)) + offset
    distances, rows = index(points).query(points[:20], m)
    expected_distances, expected_rows = by_definition(points, points[:20], m)
    np.testing.assert_array_equal(rows, expected_rows)
    np.testing.assert_allclose(distances, expected_distances, rtol=1e-9)
    assert rows.dtype == np.int64
    assert distances.dtype == np.float64


@pytest.mark.parametrize("index", INDEXES)
@pytest.mark.parametrize("m", [3, 10, 40])
def test_ties_go_to_the_lower_row(index, m, rng):
    points = rng.integers(0, 3, size=(200, 3)).astype(float)
    _, rows = index(points).query(points, m)
    np.testing.assert_array_equal(rows, by_definition(points, points, m)[1])


@pytest.mark.parametrize("m", [1, 16, 400, 4000])
@pytest.mark.parametrize("scale", ["even", "uneven"])
def test_tree_with_many_buckets_is_exact(m, scale, rng):
    """Enough points for a deep tree, and clusters within clusters for a ragged one."""
    points = rng.normal(size=(5000, 3))
    if scale == "uneven":
        points *= 10.0 ** rng.integers(-4, 3, size=(5000, 1))
    distances, rows = TreeIndex(points, bucket=max(8, m // 16)).query(points[::500], m)
    expected_distances, expected_rows = by_definition(points, points[::500], m)
    np.testing.assert_array_equal(rows, expected_rows)
    np.testing.assert_allclose(distances, expected_distances, rtol=1e-9)


@pytest.mark.parametrize("index", INDEXES)
def test_neighborhoods_reach_as_far_as_the_query_finds(index, rng):
    """A grid, so that many points lie at just the radius and rows decide."""
    points = rng.integers(0, 4, size=(700, 5)).astype(np.float32)
    searched = index(points, 2)
    found = searched.search(points[:90], 40)
    distances, rows = searched.query(points[:90], 40)
    np.testing.assert_array_equal(np.sqrt(found.squared_radii), distances[:, -1])
    np.testing.assert_array_equal(found.last_rows, rows[:, -1])
    without = dataclasses.replace(found, members=None)
    for neighborhoods in (found, without):
        for (members, squares), expected in zip(searched.members(neighborhoods), rows, strict=True):
            np.testing.assert_array_equal(np.sort(members), np.sort(expected))
            assert squares.max() <= found.squared_radii.max()
    assert searched.n_searches == 180


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 3, 15, 16, 40])
def test_distances_that_decide_are_summed_in_order(d, dtype, rng):
    """Float64 differences, added one coordinate after the other: bits that all stores share."""
    points = rng.normal(size=(50, d)).astype(dtype)
    expected = np.zeros(50)
    for column in points.astype(np.float64).T:
        expected += (column - column[7]) ** 2
    np.testing.assert_array_equal(squares_to(points, np.arange(50), points[7]), expected)


def test_a_tree_of_points_that_come_ever_closer(rng):
    """Each split cuts off one point, which takes more nodes than there is room for at first."""
    points = 3.0 ** -np.arange(600)[:, None]
    rng.shuffle(points)
    tree = build_tree(points, 8)
    assert len(tree.starts) > 64 + 8 * (600 // 8)
    buckets = np.flatnonzero(tree.children == 0)
    assert (tree.stops - tree.starts)[buckets].max() <= 8
    np.testing.assert_array_equal(np.sort(tree.rows), np.arange(600))
    np.testing.assert_array_equal(tree.points, points[tree.rows])


def test_a_large_tree_is_the_same_for_any_number_of_threads(rng):
    """Enough points for a top that several threads split; an outlier and copies among them."""
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
    # What is below the top can be found.
    queries = points[[1, 5, 7, 100_001, 299_999]]
    distances, rows = TreeIndex(points, bucket=64).query(queries, 40)
    expected_distances, expected_rows = by_definition(points, queries, 40)
    np.testing.assert_array_equal(rows, expected_rows)
    np.testing.assert_allclose(distances, expected_distances, rtol=1e-9)


def test_of_many_copies_only_the_lowest_rows_are_read(rng):
    """The others become better neighbors in the tree, and are not found."""
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


def test_a_scan_holds_one_block_of_points_at_once(rng, monkeypatch):
    """Products are taken with bounded blocks, whatever the number of points."""
    monkeypatch.setattr(products, "SCAN_BYTES", 32 * (40 + 64) * 8)
    shapes = []

    def sift(products, *rest):
        shapes.append(products.shape)
        return original(products, *rest)

    original = candidates.sift
    monkeypatch.setattr(candidates, "sift", sift)
    points = rng.normal(size=(1000, 40))
    _, rows = ProductIndex(points).query(points[:17], 30)
    np.testing.assert_array_equal(rows, by_definition(points, points[:17], 30)[1])
    # Queries are filled up to a whole tile.
    assert shapes == [(32, 32)] * 31 + [(32, 8)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_order_ties_by_row_too(dtype, rng):
    """A grid far from the origin, centered by an offset that is not a multiple of its step."""
    points = (rng.integers(0, 3, size=(600, 20)) + 100).astype(dtype)
    points[0] += 0.25
    _, rows = ProductIndex(points).query(points[:20], 100)
    np.testing.assert_array_equal(rows, by_definition(points, points[:20], 100)[1])


def test_copies_take_two_passes_at_most(rng, monkeypatch):
    """Most of the points are one: their distances differ from 0 by rounding only."""
    points = rng.normal(size=(5000, 20)).astype(np.float32) + 3
    points[::2] = points[0]
    passes = []

    def candidates(self, *arguments):
        passes.append(1)
        return original(self, *arguments)

    original = ProductIndex._candidates
    monkeypatch.setattr(ProductIndex, "_candidates", candidates)
    _, rows = ProductIndex(points).query(points[:10], 60)
    np.testing.assert_array_equal(rows, by_definition(points, points[:10], 60)[1])
    assert len(passes) <= 2


def test_more_ties_than_candidates_have_room_for(rng):
    points = np.concatenate([rng.normal(size=(100, 20)) + 9, np.ones((9000, 20))])
    _, rows = ProductIndex(points).query(np.ones((2, 20)), 50)
    np.testing.assert_array_equal(rows, np.tile(np.arange(100, 150), (2, 1)))


def test_float32_far_from_the_origin_loses_no_neighbor(rng):
    points = (rng.normal(size=(2000, 40)) + 1000).astype(np.float32)
    _, rows = ProductIndex(points).query(points[:50], 30)
    np.testing.assert_array_equal(rows, by_definition(points, points[:50], 30)[1])


@pytest.mark.parametrize("index", INDEXES)
def test_threads_change_nothing(index, rng):
    points = rng.normal(size=(500, 8)).astype(np.float32)
    one = index(points, 1).query(points, 25)
    two = index(points, 2).query(points, 25)
    np.testing.assert_array_equal(one[0], two[0])
    np.testing.assert_array_equal(one[1], two[1])


@pytest.mark.parametrize("index", INDEXES)
def test_answer_does_not_depend_on_the_other_queries(index, rng):
    points = rng.normal(size=(500, 20)).astype(np.float32)
    together = index(points).query(points[:64], 25)
    alone = [index(points).query(points[[i]], 25) for i in range(64)]
    np.testing.assert_array_equal(together[0], np.concatenate([a[0] for a in alone]))
    np.testing.assert_array_equal(together[1], np.concatenate([a[1] for a in alone]))


def test_index_follows_the_dimension(rng):
    assert isinstance(neighbor_index(rng.normal(size=(10, 3)), 5, 2), TreeIndex)
    assert isinstance(neighbor_index(rng.normal(size=(10, 100)), 5, 2), ProductIndex)


@pytest.mark.parametrize("index", [*INDEXES, SparseIndex])
def test_copies_of_a_point(index):
    points = [[0.0, 1], [0, 2], [0, 1], [1, 3], [1, 0], [0, 0], [-0.0, 1], [3, 1], [1, 1], [1, 3]]
    points = np.array(points)
    index = index(csr_array(points) if index is SparseIndex else points)
    np.testing.assert_array_equal(index.copies(points[0]), [0, 2, 6])
    np.testing.assert_array_equal(index.copies(points[3]), [3, 9])
    np.testing.assert_array_equal(index.copies(points[5]), [5])
    np.testing.assert_array_equal(index.copies(np.array([3.0, 4])), [])
