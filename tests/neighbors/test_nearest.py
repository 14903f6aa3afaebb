"""Nearest points of many queries, against all distances."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from trigpoint._neighbors.nearest import any_within, nearest


@pytest.mark.parametrize("d", [1, 3, 15, 16, 60])
@pytest.mark.parametrize("m", [1, 4, 50])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_agrees_with_all_distances(d, m, offset, rng):
    points, queries = rng.normal(size=(50, d)) + offset, rng.normal(size=(300, d)) + offset
    distances, rows = nearest(points, queries, m, n_threads=2)
    exact = cdist(queries, points)
    np.testing.assert_array_equal(rows, np.argsort(exact, axis=1)[:, :m])
    np.testing.assert_allclose(distances, np.sort(exact, axis=1)[:, :m], rtol=1e-13)
    assert rows.dtype == np.int64
    assert distances.dtype == np.float64


@pytest.mark.parametrize("d", [3, 40])
@pytest.mark.parametrize("m", [1, 2])
def test_precisions_may_differ(d, m, rng):
    """What float64 queries have beyond float32 is not lost."""
    points = rng.normal(size=(40, d)).astype(np.float32)
    queries = points[:10].astype(np.float64)
    queries[:, 0] += 1e-10
    distances, rows = nearest(points, queries, m)
    np.testing.assert_array_equal(rows[:, 0], np.arange(10))
    np.testing.assert_allclose(distances[:, 0], 1e-10, rtol=1e-5)


@pytest.mark.parametrize("d", [3, 40])
def test_gaps_below_the_rounding_of_a_product(d, rng):
    """Squared distances of 1e-18 vanish next to squared norms of 1 in a product of matrices."""
    base = rng.normal(size=(30, d))
    points = np.vstack([base, base])
    points[30:, 0] += 1e-9
    queries = base.copy()
    queries[:, 0] += 0.7e-9
    distances, rows = nearest(points, queries, 1)
    np.testing.assert_array_equal(rows[:, 0], 30 + np.arange(30))
    np.testing.assert_allclose(distances, 0.3e-9, rtol=1e-5)
    copies, rows = nearest(points, points, 1)
    np.testing.assert_array_equal(rows[:, 0], np.arange(60))
    assert not copies.any()


@pytest.mark.parametrize("d", [2, 30])
def test_any_within(d, rng):
    points, queries = rng.normal(size=(20, d)), rng.normal(size=(100, d))
    least = cdist(queries, points).min(axis=1)
    reach = float(np.median(least))
    np.testing.assert_array_equal(any_within(points, queries, reach), least <= reach)
    assert any_within(points, queries, 1e6).all()


@pytest.mark.parametrize("m", [1, 3])
def test_equally_distant_points_come_by_their_rows_in_high_dimension(m):
    points = np.zeros((6, 20))
    points[[3, 1, 4], [0, 1, 2]] = 1.0
    points[[0, 2, 5], 3] = 7.0
    distances, rows = nearest(points, np.zeros((2, 20)), m)
    np.testing.assert_array_equal(rows, 2 * [[1, 3, 4][:m]])
    assert (distances == 1).all()


@pytest.mark.parametrize("d", [2, 20])
def test_a_point_at_just_the_reach_is_within_it(d):
    points, query = np.zeros((1, d)), np.zeros((1, d))
    query[0, 0] = 2.0
    assert any_within(points, query, 2.0).all()
    assert not any_within(points, query, np.nextafter(2.0, 0)).any()
