"""The points of a tree between two distances, counted or listed, and sums that no order changes.

Points in several places are searched by counting, so that only numbers are passed on. The parts of
a tree that lie within the smaller distance are counted without looking at their points.
"""

import numpy as np

from trigpoint._numerics.compiled.distance import squared_distance
from trigpoint._numerics.compiled.jit import compiled, compiled_strictly
from trigpoint._numerics.compiled.tree import Tree, box_square

# Points whose differences are held at once.
_TOGETHER = 256


@compiled
def counts_within(tree: Tree, queries: np.ndarray, edges: np.ndarray, counts: np.ndarray) -> None:
    """Add to the (q, b + 1) `counts` the points up to each of the ascending (q, b + 1) `edges`.

    Squared distances up to the first edge are counted in the first place, and those between two
    edges, the upper included, in the place of the upper.
    """
    stack = np.empty(len(tree.starts) + 1, dtype=np.int64)
    for q in range(len(queries)):
        query = queries[q]
        lowest, highest = edges[q, 0], edges[q, -1]
        stack[0] = 0
        waiting = 1
        while waiting:
            waiting -= 1
            node = stack[waiting]
            if box_square(tree, node, query) > highest:
                continue
            if _farthest_square(tree, node, query) <= lowest:
                counts[q, 0] += tree.stops[node] - tree.starts[node]
                continue
            child = tree.children[node]
            if child:
                stack[waiting], stack[waiting + 1] = child, child + 1
                waiting += 2
                continue
            for i in range(tree.starts[node], tree.stops[node]):
                square = squared_distance(tree.points, i, query)
                if square <= highest:
                    counts[q, place_among(square, edges[q])] += 1


@compiled
def place_among(value: float, edges: np.ndarray) -> int:
    """Place of the first of some ascending, about equidistant edges that is not below a value."""
    last = len(edges) - 1
    if value <= edges[0]:
        return 0
    # A guess, which the edges themselves correct: rounding must not decide.
    place = int((value - edges[0]) / (edges[last] - edges[0]) * last) + 1
    place = min(max(place, 1), last)
    while edges[place] < value:
        place += 1
    while edges[place - 1] >= value:
        place -= 1
    return place


@compiled
def shell(
    tree: Tree,
    query: np.ndarray,
    lower: float,
    upper: float,
    squares: np.ndarray,
    places: np.ndarray,
) -> int:
    """List points whose squared distance is above `lower` and up to `upper`; return their number.

    As many are listed as there is room for.
    """
    stack = np.empty(len(tree.starts) + 1, dtype=np.int64)
    stack[0] = 0
    waiting, count = 1, 0
    while waiting:
        waiting -= 1
        node = stack[waiting]
        if box_square(tree, node, query) > upper or _farthest_square(tree, node, query) <= lower:
            continue
        child = tree.children[node]
        if child:
            stack[waiting], stack[waiting + 1] = child, child + 1
            waiting += 2
            continue
        for i in range(tree.starts[node], tree.stops[node]):
            square = squared_distance(tree.points, i, query)
            if lower < square <= upper:
                if count < len(squares):
                    squares[count], places[count] = square, i
                count += 1
    return count


@compiled
def _farthest_square(tree: Tree, node: int, query: np.ndarray) -> float:
    """Squared distance to the farthest corner of a node's box, never underestimated by rounding."""
    square = 0.0
    for c in range(len(query)):
        beyond = max(query[c] - tree.lower[node, c], tree.upper[node, c] - query[c])
        square += beyond * beyond
    return square * (1 + 1e-12)


@compiled_strictly
def exact_sums(
    points: np.ndarray,
    places: np.ndarray,
    query: np.ndarray,
    exponent: int,
    with_products: bool,
    sums: np.ndarray,
) -> None:
    """Add differences of some points from a query, and their products, to (v, 2) whole numbers.

    The first d are those of the differences; then come their squares or, `with_products`, the
    products of every two coordinates (a lower triangle, row by row). No difference is larger than
    ``2**exponent``. Each value is split into two whole numbers, one of ``2**-31`` of the largest
    possible value and one of ``2**-62``. Sums of whole numbers are exact, so they are the same in
    any order, and for points in any number of places.
    """
    d = points.shape[1]
    offsets, products = np.empty((d, _TOGETHER)), np.empty(_TOGETHER)
    for start in range(0, len(places), _TOGETHER):
        count = min(_TOGETHER, len(places) - start)
        for i in range(count):
            for c in range(d):
                value = np.float64(points[places[start + i], c])
                offsets[c, i] = value - np.float64(query[c])
        for c in range(d):
            for i in range(count):
                products[i] = offsets[c, i]
            _add_split(sums, c, products, count, exponent)
        place = d
        for c in range(d):
            first = 0 if with_products else c
            for b in range(first, c + 1):
                for i in range(count):
                    products[i] = offsets[b, i] * offsets[c, i]
                _add_split(sums, place, products, count, 2 * exponent)
                place += 1


@compiled_strictly
def _add_split(sums: np.ndarray, place: int, values: np.ndarray, count: int, exponent: int) -> None:
    """Add the first few values as multiples of one power of two, and what is left of another."""
    up, down, fine = 2.0 ** (31 - exponent), 2.0 ** (exponent - 31), 2.0 ** (62 - exponent)
    coarse_sum, fine_sum = np.int64(0), np.int64(0)
    for i in range(count):
        whole = np.rint(values[i] * up)
        coarse_sum += np.int64(whole)
        fine_sum += np.int64(np.rint((values[i] - whole * down) * fine))
    sums[place, 0] += coarse_sum
    sums[place, 1] += fine_sum
