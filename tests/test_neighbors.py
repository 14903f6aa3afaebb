"""Both indexes give the exact neighbours, ties by row."""

import numpy as np
import pytest

from trigpoint.neighbors import ScanIndex, TreeIndex, coincident_rows, neighbor_index

INDEXES = [TreeIndex, ScanIndex]


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


@pytest.mark.parametrize("index", INDEXES)
def test_many_copies_of_one_point(index):
    points = np.concatenate([np.zeros((50, 4)), np.ones((50, 4))])
    distances, rows = index(points).query(np.zeros((1, 4)), 20)
    np.testing.assert_array_equal(rows[0], np.arange(20))
    assert not distances.any()


def test_float32_far_from_the_origin_loses_no_neighbour(rng):
    points = (rng.normal(size=(2000, 40)) + 1000).astype(np.float32)
    _, rows = ScanIndex(points).query(points[:50], 30)
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
    assert isinstance(neighbor_index(rng.normal(size=(10, 3))), TreeIndex)
    assert isinstance(neighbor_index(rng.normal(size=(10, 100))), ScanIndex)


def test_coincident_rows():
    points = np.array([[0.0, 1], [0, 2], [0, 1], [1, 1]])
    np.testing.assert_array_equal(coincident_rows(points, points[0]), [0, 2])
