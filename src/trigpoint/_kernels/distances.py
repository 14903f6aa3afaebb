"""Canonical squared distances, and tree traversals that compare them with a radius.

Every decision about neighbors and every repulsion by a landmark uses these distances. They are
computed from differences in float64, summed in the order of the coordinates, and strictly compiled,
so that all callers get the same bits.
"""

from typing import Any, NamedTuple

import numpy as np

from trigpoint._kernels.jit import compiled, compiled_strictly
from trigpoint._kernels.tree_search import Tree

# An error s in a distance r increases its square by at most this fraction plus a multiple of s^2:
# ``(r + s)^2 <= (1 + share) r^2 + (1 + 1 / share) s^2``.
_SHARE = 1e-6


@compiled_strictly
def _squared_distance(points: np.ndarray, i: int, query: np.ndarray) -> float:
    """Return the squared distance from point `i` to a query."""
    square = 0.0
    for c in range(points.shape[1]):
        difference = np.float64(points[i, c]) - np.float64(query[c])
        square += difference * difference
    return square


@compiled_strictly
def squares_to(points: np.ndarray, places: np.ndarray, query: np.ndarray) -> np.ndarray:
    """Return squared distances from the points at some positions to a query.

    Four sums are computed at a time, each in its own order, so that additions do not wait for each
    other.
    """
    squares = np.empty(len(places))
    whole = len(places) - len(places) % 4
    for i in range(0, whole, 4):
        a, b, c, d = places[i], places[i + 1], places[i + 2], places[i + 3]
        sum_a = sum_b = sum_c = sum_d = 0.0
        for column in range(points.shape[1]):
            value = np.float64(query[column])
            to_a = np.float64(points[a, column]) - value
            to_b = np.float64(points[b, column]) - value
            to_c = np.float64(points[c, column]) - value
            to_d = np.float64(points[d, column]) - value
            sum_a += to_a * to_a
            sum_b += to_b * to_b
            sum_c += to_c * to_c
            sum_d += to_d * to_d
        squares[i], squares[i + 1], squares[i + 2], squares[i + 3] = sum_a, sum_b, sum_c, sum_d
    for i in range(whole, len(places)):
        squares[i] = _squared_distance(points, places[i], query)
    return squares


@compiled
def _box_square(tree: Tree, node: int, query: np.ndarray) -> float:
    """Return the squared distance from a query to a node's box, not overestimated by rounding."""
    square = 0.0
    for c in range(len(query)):
        beyond = max(max(tree.lower[node, c] - query[c], query[c] - tree.upper[node, c]), 0.0)
        square += beyond * beyond
    return square * (1 - 1e-12)


@compiled_strictly
def _repels(square: float, squared_radius: float, row: int, last_row: int) -> bool:
    """Return whether a landmark repels a point, which is a neighbor or a duplicate of it.

    Duplicates are repelled even if they outnumber the neighbors.
    """
    if square == squared_radius:
        return row <= last_row or square == 0
    return square < squared_radius


@compiled_strictly
def repelling(
    points: np.ndarray,
    rows: np.ndarray,
    landmarks: np.ndarray,
    squared_radii: np.ndarray,
    last_rows: np.ndarray,
    bounds: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return squared distances from each point to the landmarks that repel it, in their order.

    The `rows` (p,) of the points (p, d) break ties. `squared_radii` and `last_rows` (k,) are the
    extents of the neighborhoods of the landmarks (k, d). `bounds` (p, k) are lower bounds on
    squared distances; distances whose bounds exceed the radius are not computed. Also returns the
    starts (p + 1,) of each point's distances.
    """
    starts = np.zeros(len(points) + 1, dtype=np.int64)
    squares = np.empty(8 * len(points) + 64)
    near = np.empty(len(landmarks), dtype=np.int64)
    found = int(np.int64(0))
    for p in range(len(points)):
        count = 0
        for k in range(len(landmarks)):
            if bounds[p, k] <= squared_radii[k]:
                near[count] = k
                count += 1
        near_squares = squares_to(landmarks, near[:count], points[p])
        while found + count > len(squares):
            squares = _longer(squares, found)
        for i in range(count):
            k = near[i]
            if _repels(near_squares[i], squared_radii[k], rows[p], last_rows[k]):
                squares[found] = near_squares[i]
                found += 1
        starts[p + 1] = found
    return squares[:found], starts


@compiled_strictly
def largest_radii(tree: Tree, squared_radii: np.ndarray) -> np.ndarray:
    """Return the largest squared radius of the landmarks in each node of a tree."""
    reach = np.zeros(len(tree.starts))
    # Go backward, since children come after their parents.
    for node in range(len(reach) - 1, -1, -1):
        child = tree.children[node]
        if child:
            reach[node] = max(reach[child], reach[child + 1])
            continue
        for i in range(tree.starts[node], tree.stops[node]):
            reach[node] = max(reach[node], squared_radii[tree.rows[i]])
    return reach


@compiled_strictly
def repelling_in_tree(
    points: np.ndarray,
    rows: np.ndarray,
    tree: Tree,
    reach: np.ndarray,
    landmarks: np.ndarray,
    squared_radii: np.ndarray,
    last_rows: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Equivalent of `repelling` with a tree over the first landmarks and a scan of the others.

    `reach` is the result of `largest_radii`.
    """
    starts = np.zeros(len(points) + 1, dtype=np.int64)
    squares = np.empty(8 * len(points) + 64)
    near, near_squares = np.empty(len(landmarks), dtype=np.int64), np.empty(len(landmarks))
    stack = np.empty(len(tree.starts) + 1, dtype=np.int64)
    found = int(np.int64(0))
    for p in range(len(points)):
        query = points[p].astype(np.float64)
        stack[0] = 0
        waiting, count = 1, 0
        while waiting:
            waiting -= 1
            node = stack[waiting]
            if _box_square(tree, node, query) > reach[node]:
                continue
            child = tree.children[node]
            if child:
                stack[waiting], stack[waiting + 1] = child, child + 1
                waiting += 2
                continue
            for i in range(tree.starts[node], tree.stops[node]):
                k = tree.rows[i]
                square = _squared_distance(tree.points, i, query)
                if _repels(square, squared_radii[k], rows[p], last_rows[k]):
                    near[count], near_squares[count] = k, square
                    count += 1
        order = np.argsort(near[:count])
        for k in range(len(tree.points), len(landmarks)):
            square = _squared_distance(landmarks, k, query)
            if _repels(square, squared_radii[k], rows[p], last_rows[k]):
                near_squares[count] = square
                count += 1
        while found + count > len(squares):
            squares = _longer(squares, found)
        for i in range(count):
            squares[found] = near_squares[order[i] if i < len(order) else i]
            found += 1
        starts[p + 1] = found
    return squares[:found], starts


@compiled_strictly
def add_in_order(
    sums: np.ndarray, places: np.ndarray, values: np.ndarray, starts: np.ndarray
) -> None:
    """Add a run of values to each of several sums, in order."""
    for p in range(len(places)):
        for i in range(starts[p], starts[p + 1]):
            sums[places[p]] += values[i]


@compiled
def _longer(values: np.ndarray, count: int) -> np.ndarray:
    """Return a copy of the first `count` values, with room for twice as many as before."""
    result = np.empty(2 * len(values))
    for i in range(count):
        result[i] = values[i]
    return result


class Cover(NamedTuple):
    """Points in a tree, with their distances to the landmarks so far."""

    # Tree of the points, or of their images under a projection that never increases distances.
    tree: Tree
    points: np.ndarray  # The points (n, d) by row.
    projected: bool  # Whether the tree holds images.
    # Maximum rounding error of the squared distance of two images, apart from a small relative
    # error.
    margin: float
    # Squared distance (n,) of each position in the tree to its nearest landmark.
    squares: np.ndarray
    farthest: np.ndarray  # Largest of these squared distances in each node (nodes,).
    # Position (nodes,) of the farthest point; among ties, the one with the lowest row.
    places: np.ndarray


def uncovered(tree: Tree, points: np.ndarray, rounding: float | None) -> Cover:
    """Return a cover without landmarks.

    `rounding` bounds the error of distances between images; ``None`` means that the tree holds the
    points.
    """
    n_nodes = len(tree.starts)
    return Cover(
        tree,
        points,
        rounding is not None,
        (1 + 1 / _SHARE) * (rounding or 0.0) ** 2,
        np.full(len(points), np.inf),
        np.full(n_nodes, np.inf),
        np.zeros(n_nodes, dtype=np.int64),
    )


@compiled
def reached(
    cover: Cover, image: np.ndarray, nodes: np.ndarray, buckets: np.ndarray
) -> tuple[int, int]:
    """List nodes that may hold points nearer to a new landmark at `image` than to all others.

    Fills `nodes` with inner nodes, parents first, and `buckets` with leaves. Returns both counts.
    """
    tree = cover.tree
    nodes[0] = 0
    listed, waiting, n_buckets = 0, 1, 0
    # Waiting nodes are stored behind the listed ones, in the same array.
    while listed < waiting:
        node = nodes[listed]
        child = tree.children[node]
        if child:
            listed += 1
            for side in range(child, child + 2):
                if _box_square(tree, side, image) < _bound(cover.farthest[side], cover.margin):
                    nodes[waiting] = side
                    waiting += 1
        else:
            buckets[n_buckets] = node
            n_buckets += 1
            waiting -= 1
            nodes[listed] = nodes[waiting]
    return listed, n_buckets


@compiled
def approach(cover: Cover, landmark: np.ndarray, image: np.ndarray, buckets: np.ndarray) -> None:
    """Update the points in some buckets whose nearest landmark is the new one."""
    tree = cover.tree
    for bucket in buckets:
        start, stop = tree.starts[bucket], tree.stops[bucket]
        if cover.projected:
            _serve_by_images(cover, landmark, image, start, stop)
        else:
            for i in range(start, stop):
                square = _square_to(tree.points, np.uint64(i), image)
                cover.squares[i] = min(cover.squares[i], square)
        farthest, place = -1.0, start
        for i in range(start, stop):
            nearest = cover.squares[i]
            if nearest > farthest or (nearest == farthest and tree.rows[i] < tree.rows[place]):
                farthest, place = nearest, i
        cover.farthest[bucket], cover.places[bucket] = farthest, place


@compiled
def _serve_by_images(
    cover: Cover, landmark: np.ndarray, image: np.ndarray, start: int, stop: int
) -> None:
    """Compute distances for the points of a bucket whose images do not rule out the landmark.

    Terms are summed in the order of the coordinates, so that sparse points get the same sums.
    """
    tree = cover.tree
    near = np.empty(stop - start, dtype=np.int64)
    count = 0
    for i in range(start, stop):
        if _square_to(tree.points, np.uint64(i), image) < _bound(cover.squares[i], cover.margin):
            near[count] = i
            count += 1
    squares = squares_to(cover.points, tree.rows[near[:count]], landmark)
    for j in range(count):
        cover.squares[near[j]] = min(cover.squares[near[j]], squares[j])


@compiled
def gather(cover: Cover, nodes: np.ndarray) -> None:
    """Update the farthest points of `nodes`, in which parents come first, from their children."""
    farthest, places, rows = cover.farthest, cover.places, cover.tree.rows
    for node in nodes[::-1]:
        child = cover.tree.children[node]
        other = child + 1
        if farthest[other] > farthest[child] or (
            farthest[other] == farthest[child] and rows[places[other]] < rows[places[child]]
        ):
            child = other
        farthest[node], places[node] = farthest[child], places[child]


@compiled
def _bound(square: float, margin: float) -> float:
    """Bound the squared distance of images whose points are at most `square` apart."""
    return (1 + _SHARE) * square + margin


@compiled
def _square_to(points: np.ndarray, i: Any, landmark: np.ndarray) -> float:
    """Return the squared distance from differences, which is exactly 0 for duplicates.

    Simple loops with unsigned indices are vectorized.
    """
    square = 0.0
    for c in range(points.shape[1]):
        place = np.uint64(c)
        difference = np.float64(points[i, place]) - landmark[place]
        square += difference * difference
    return square
