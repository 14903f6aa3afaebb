"""Compiled loops called by themselves, against plain versions of what they say they do.

Here are the cases that the library seldom meets: rounding at its worst, ties, the last place of a
list, points so far away that every weight underflows.
"""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from trigpoint._kernels.candidates import sift
from trigpoint._kernels.distances import (
    add_in_order,
    largest_radii,
    repelling,
    repelling_in_tree,
)
from trigpoint._kernels.landmark_sums import (
    GraphRows,
    _exponentiate,
    _longest,
    _relative_weights,
    dense_weights,
    graph_sums,
    nearest_columns,
    nearest_sums,
    shortest_paths,
)
from trigpoint._kernels.tree_search import largest, select
from trigpoint._neighbors.products import settle
from trigpoint._neighbors.tree import build_tree

FAR = -40.0


# Selection ------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["random", "rising", "falling", "ties"])
@pytest.mark.parametrize(("count", "m"), [(1, 1), (2, 1), (7, 7), (50, 1), (50, 20), (50, 49)])
def test_the_smallest_come_first(order, count, m, rng):
    values = rng.integers(4, size=60) / 4 if order == "ties" else rng.normal(size=60)
    if order in ("rising", "falling"):
        values = np.sort(values)[:: 1 if order == "rising" else -1].copy()
    rows, places = rng.permutation(60), rng.permutation(60)
    smallest = np.lexsort((rows[places[:count]], values[:count]))[:m]
    found, found_places = values.copy(), places.copy()
    select(found, found_places, rows, count, m)
    assert sorted(found_places[:m]) == sorted(places[smallest])
    assert sorted(found[:m]) == sorted(values[smallest])
    # Nothing is lost, and what is beyond the count stays where it is.
    assert sorted(found_places[:count]) == sorted(places[:count])
    np.testing.assert_array_equal(found[count:], values[count:])
    assert largest(found, m) == values[smallest].max()


# Neighbors from products ----------------------------------------------------------------------


def test_every_point_that_may_be_within_the_cut_is_found(rng):
    """More than there is room for at first, since the cuts differ."""
    points, queries = rng.normal(size=(40, 5)), rng.normal(size=(12, 5))
    norms, query_norms = (points**2).sum(axis=1), (queries**2).sum(axis=1)
    rounding, cuts = 0.01, np.linspace(0, 40, 12)
    squares, places, starts = sift(queries @ points.T, norms, query_norms, rounding, cuts)
    exact = cdist(queries, points, "sqeuclidean")
    both = query_norms[:, None] + norms
    assert starts[0] == 0
    assert starts[-1] == len(squares) > 4 * 40
    for q in range(12):
        expected = np.flatnonzero(exact[q] - rounding * both[q] <= cuts[q])
        part = slice(starts[q], starts[q + 1])
        np.testing.assert_array_equal(places[part], expected)
        np.testing.assert_allclose(squares[part], exact[q, expected], atol=1e-12)


@pytest.mark.parametrize("share", [0.0, 1e-3, 0.02, 0.2])
@pytest.mark.parametrize("m", [1, 2, 13, 30, 39])
def test_rounding_within_its_bound_changes_no_neighbor(share, m, rng):
    """Squared distances off by anything up to the bound, on a grid with many ties."""
    for _ in range(20):
        points = rng.integers(3, size=(40, 3)) / 2
        query = points[0].copy()
        norms, query_norm = (points**2).sum(axis=1), float(query @ query)
        exact = ((points - query) ** 2).sum(axis=1)
        off = share * (query_norm + norms) * rng.uniform(-1, 1, size=40)
        squares, places = exact + off, np.arange(40)
        reached = settle(
            exact.take,
            norms,
            query_norm,
            share,
            np.inf,
            squares,
            places,
            m,
        )
        nearest = np.lexsort((np.arange(40), exact))[:m]
        assert sorted(places[:m]) == sorted(nearest)
        assert reached == (exact[nearest[-1]], nearest[-1])


def test_neighbors_that_may_be_missing_are_reported(rng):
    points = rng.normal(size=(30, 3))
    norms, query_norm = (points**2).sum(axis=1), float(points[0] @ points[0])
    exact = ((points - points[0]) ** 2).sum(axis=1)
    bound = exact + 0.1 * (query_norm + norms)
    cut = np.sort(bound)[9]
    for m, missing in ((10, False), (11, True)):
        squares, places = exact.copy(), np.arange(30)
        found = settle(exact.take, norms, query_norm, 0.1, cut, squares, places, m)
        assert (found == (-1, -1)) == missing


# Repulsion ------------------------------------------------------------------------------------


@pytest.mark.parametrize("in_tree", [0, 1, 40, 50])
def test_landmarks_that_repel_a_point_come_in_their_order(in_tree, rng):
    """On a grid, so that points lie at exactly the radius, and at landmarks."""
    landmarks = rng.integers(4, size=(50, 2)).astype(np.float64)
    points, rows = rng.integers(4, size=(90, 2)).astype(np.float64), rng.permutation(90)
    squared_radii = rng.choice([0.0, 1.0, 2.0, 9.0], size=50)
    last_rows = rng.integers(90, size=50)
    squares = cdist(points, landmarks, "sqeuclidean").round()
    repelled = (squares < squared_radii) | (
        (squares == squared_radii) & ((rows[:, None] <= last_rows) | (squares == 0))
    )
    if in_tree:
        tree = build_tree(landmarks[:in_tree], 4)
        reach = largest_radii(tree, squared_radii)
        for node in range(len(reach)):
            inside = tree.rows[tree.starts[node] : tree.stops[node]]
            assert reach[node] == squared_radii[inside].max()
        found, starts = repelling_in_tree(
            points, rows, tree, reach, landmarks, squared_radii, last_rows
        )
    else:
        # Lower bounds may be the distances themselves.
        found, starts = repelling(points, rows, landmarks, squared_radii, last_rows, squares)
    # More than there is room for at first.
    assert len(found) > 8 * 90 + 64
    np.testing.assert_array_equal(starts, np.cumsum([0, *repelled.sum(axis=1)]))
    np.testing.assert_array_equal(found, squares[repelled])


def test_values_are_added_to_their_sums():
    sums = np.arange(4.0)
    add_in_order(sums, np.array([2, 0]), np.array([1.0, 10.0, 100.0]), np.array([0, 2, 3]))
    np.testing.assert_array_equal(sums, [100, 1, 13, 3])


# Sums over landmarks --------------------------------------------------------------------------


def test_exponentials_are_right_to_the_last_digits():
    x = -np.concatenate([np.linspace(0, 2, 1001), np.linspace(2, 700, 4000)])
    bits = np.zeros(len(x) + 1, dtype=np.int64)
    result = np.full(len(x) + 1, 5.0)
    _exponentiate(x, result, len(x), bits, bits.view(np.float64))
    np.testing.assert_allclose(result[:-1], np.exp(x), rtol=1e-13)
    np.testing.assert_allclose(result[:-1][x > -20], np.exp(x[x > -20]), rtol=1e-15)
    assert result[-1] == 5
    # Below, weights are as small as they get.
    _exponentiate(np.array([-1e6]), result, 1, bits, bits.view(np.float64))
    np.testing.assert_allclose(result[0], np.exp(-700), rtol=1e-13)


@pytest.mark.parametrize("shift", [0.0, -30.0, -60.0, -1e5])
def test_weights_are_relative_where_all_nearly_vanish(shift, rng):
    exponents, amounts = shift - rng.uniform(0, 20, size=6), rng.uniform(0.1, 1, size=6)
    amounts[[2, 5]] = 0.0, 3.0
    weights = np.full(7, 9.0)
    with np.errstate(divide="ignore"):
        logarithms = np.log(amounts) + exponents
    found = _relative_weights(exponents, amounts, 6, FAR, weights)
    if logarithms.max() >= FAR:
        assert found == 0
        assert (weights == 9).all()
    else:
        np.testing.assert_allclose(found, logarithms.max(), rtol=1e-14)
        np.testing.assert_allclose(weights[:6], np.exp(logarithms - logarithms.max()), rtol=1e-9)
        assert weights[6] == 9


def test_infinitely_far_the_first_weight_stands_alone():
    weights = np.full(4, 9.0)
    assert _relative_weights(np.full(4, -np.inf), np.ones(4), 4, FAR, weights) == -np.inf
    np.testing.assert_array_equal(weights, [1, 0, 0, 0])


def test_nearest_columns_come_in_order(rng):
    to_all = rng.integers(9, size=(50, 12)) / 2
    for count in (1, 4, 12):
        nearest, squares = np.empty((50, count), dtype=np.int64), np.empty((50, count))
        nearest_columns(to_all, nearest, squares)
        expected = np.argsort(to_all, axis=1, kind="stable")[:, :count]
        np.testing.assert_array_equal(nearest, expected)
        np.testing.assert_array_equal(squares, np.take_along_axis(to_all, expected, axis=1))


# Points at these distances: near, where weights nearly vanish, and where they all underflow.
DISTANCES = np.array([0.0, 1.0, 8.0, 12.0, 1e3, 1e200])


@pytest.fixture(name="scene")
def points_and_landmarks(rng):
    """Landmarks around the origin, and points ever farther from it."""
    landmarks = rng.normal(size=(9, 2))
    with np.errstate(over="ignore"):
        to_all = cdist(DISTANCES[:, None] * [[0.6, 0.8]], landmarks, "sqeuclidean")
    return landmarks, DISTANCES[:, None] * [[0.6, 0.8]], to_all


def weighted(logarithms, alone):
    """Weights and shift, given the logarithms of the weights, and which stands alone if none."""
    largest = logarithms.max()
    if largest == -np.inf:
        return (np.arange(len(logarithms)) == alone).astype(float), largest
    shift = largest if largest < FAR else 0.0
    return np.exp(logarithms - shift), shift


def test_sums_of_the_nearest_by_definition(scene, rng):
    _, _, to_all = scene
    nearest = np.argsort(to_all, axis=1, kind="stable")[:, :4]
    squares = np.take_along_axis(to_all, nearest, axis=1)
    values, bandwidths = rng.normal(size=(3, 9)), rng.uniform(0.5, 2, size=9)
    shares = rng.dirichlet(np.ones(3), size=len(to_all))
    own = np.einsum("ij,ij->i", shares, bandwidths[nearest[:, :3]])
    widest = np.maximum(own[:, None], bandwidths[nearest])
    with np.errstate(over="ignore"):
        exponents = squares / widest**2 / -2
    sums, shifts = np.full((len(to_all), 3), 9.0), np.full(len(to_all), 9.0)
    nearest_sums(nearest, squares, shares, bandwidths, values, FAR, sums, shifts)
    for i in range(len(to_all)):
        weights, shift = weighted(exponents[i], 0)
        np.testing.assert_allclose(sums[i], values[:, nearest[i]] @ weights, rtol=1e-9)
        np.testing.assert_allclose(shifts[i], shift, rtol=1e-12)


def test_weights_of_all_by_definition(scene, rng):
    _, _, to_all = scene
    bandwidths = rng.uniform(0.5, 2, size=9)
    nearest, shares = rng.integers(9, size=(len(to_all), 3)), rng.dirichlet(np.ones(3), len(to_all))
    own = np.einsum("ij,ij->i", shares, bandwidths[nearest])
    found, shifts = to_all.copy(), np.full(len(to_all), 9.0)
    dense_weights(found, nearest, shares, bandwidths, FAR, shifts)
    with np.errstate(over="ignore"):
        logarithms = -to_all / (2 * np.maximum(own[:, None], bandwidths) ** 2)
    for i in range(len(to_all)):
        weights, shift = weighted(logarithms[i], 0)
        np.testing.assert_allclose(found[i], weights, rtol=1e-9, atol=1e-300)
        np.testing.assert_allclose(shifts[i], shift, rtol=1e-12)


@pytest.mark.parametrize("of_all", [False, True])
def test_sums_along_the_graph_by_definition(scene, of_all, rng):
    landmarks, X, to_all = scene
    sizes = np.array([3, 1, 4, 2, 2, 3, 1, 2, 5])
    starts = np.concatenate([[0], np.cumsum(sizes)])
    columns, measured = rng.integers(9, size=(2, starts[-1])).astype(np.uint32)
    precisions, factors = rng.uniform(0.2, 1, size=(2, starts[-1]))
    rows = GraphRows(starts, columns, measured, precisions, factors)
    nearest = np.argsort(to_all, axis=1, kind="stable")[:, :3]
    shares = rng.dirichlet(np.ones(3), size=len(X))
    shares[1] = 1, 0, 0
    values = rng.normal(size=(3, 9))
    sums, shifts = np.full((len(X), 3), 9.0), np.full(len(X), 9.0)
    if of_all:
        nothing = np.empty((0, 0))
        graph_sums(rows, nearest, shares, nothing, landmarks, to_all, values, FAR, sums, shifts)
    else:
        nothing = np.empty((0, 0))
        graph_sums(rows, nearest, shares, X, landmarks, nothing, values, FAR, sums, shifts)
    for i in range(len(X)):
        edges = np.concatenate([np.arange(starts[j], starts[j + 1]) for j in nearest[i]])
        amounts = np.repeat(shares[i], sizes[nearest[i]]) * factors[edges]
        with np.errstate(over="ignore", divide="ignore"):
            logarithms = np.log(amounts) - to_all[i, measured[edges]] * precisions[edges]
        weights, shift = weighted(logarithms, 0)
        np.testing.assert_allclose(sums[i], values[:, columns[edges]] @ weights, rtol=1e-9)
        np.testing.assert_allclose(shifts[i], shift, rtol=1e-12)


@pytest.mark.parametrize("sizes", [[5, 1, 2], [1, 5, 2], [1, 2, 5]])
def test_the_longest_row_is_found_wherever_it_is(sizes):
    assert _longest(np.cumsum([0, *sizes])) == 5


def test_shortest_paths_start_anywhere(rng):
    geodesics = rng.uniform(1, 2, size=(6, 6))
    columns = np.array([[4, 0, 2], [1, 5, 3], [3, 3, 3]])
    lengths = np.array([[0.5, np.inf, 0.1], [np.inf, 2.0, 0.3], [np.inf] * 3])
    paths = np.full((3, 6), 9.0)
    shortest_paths(lengths, columns, geodesics, paths)
    for i in range(2):
        np.testing.assert_array_equal(
            paths[i], (geodesics[columns[i]] + lengths[i, :, None]).min(axis=0)
        )
    assert (paths[2] == 0).all()
