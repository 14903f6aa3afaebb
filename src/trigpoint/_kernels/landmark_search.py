"""The landmarks nearest to each point of a block, exactly, and what a point takes from them.

Most points are close to a landmark, and their nearest landmarks are then among those nearest to
that one, which are listed beforehand. A point descends a k-d tree to some landmark `a`, reads its
list, and moves on to a closer one if necessary. The triangle inequality tells whether a landmark
that is not listed could still be nearer: each of them is at least ``reach(a) - |x - a|`` away, with
`reach(a)` the distance from `a` to the first that is not listed. Only if one could be is the tree
searched.

Distances are rounded as written, so that boxes bound them without exception; ties go to the lower
landmarks.
"""

import math
from typing import NamedTuple

import numpy as np

from trigpoint._kernels.jit import compiled, compiled_strictly

# A sum of two rounded distances falls short of the true one by less than this share.
_ROUNDING = 1e-12

# Where nothing has been found yet: above every landmark.
_NONE = 2**62

# Points that descend the tree together.
_TOGETHER = 16


class LandmarkIndex(NamedTuple):
    """Landmarks in the order of a k-d tree, and the nearest others of each.

    The nodes of the tree are numbered as in a heap: node 1 is the root, nodes 2i and 2i + 1 are the
    halves of node i, and the last `leaves` nodes are the leaves.

    Attributes
    ----------
    landmarks : int64 ndarray of shape (k,)
        The landmarks, those of a node side by side: everything below is in this order.
    coordinates : float64 ndarray of shape (d, k)
        One coordinate of all landmarks is contiguous, so that many distances are computed at once.
    starts : int64 ndarray of shape (leaves + 1,)
        Where each leaf starts.
    axes : int64 ndarray of shape (leaves,)
        The axis along which a node is divided.
    splits : float64 ndarray of shape (leaves,)
        And where; points at or above it belong to the second half.
    lower, upper : float64 ndarray of shape (2 * leaves, d)
        The smallest box around a node.
    buckets : int
        Number of nodes, those of one level, that a search does not divide any further.
    lists : uint32 ndarray of shape (k, m)
        The nearest landmarks of each, itself included, by their places in this order. A list is
        sorted by landmark, so that ties go to the lower ones.
    by_distance : uint8 ndarray of shape (k, m)
        Places in each list, from the nearest landmark to the farthest.
    reach : float64 ndarray of shape (k,)
        Distance from each to the nearest that is not in its list; infinite if all are.
    """

    landmarks: np.ndarray
    coordinates: np.ndarray
    starts: np.ndarray
    axes: np.ndarray
    splits: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    buckets: int
    lists: np.ndarray
    by_distance: np.ndarray
    reach: np.ndarray


@compiled_strictly
def read_lists(
    index: LandmarkIndex,
    X: np.ndarray,
    landmarks: np.ndarray,
    squares: np.ndarray,
    settled: np.ndarray,
) -> None:
    """Fill `landmarks` and `squares` (b, count) with the nearest of the lists of landmarks nearby.

    `settled` (b,) tells for which points they are the nearest of all.
    """
    d, leaves = X.shape[1], len(index.axes)
    ids, coordinates, lists = index.landmarks, index.coordinates, index.lists
    m, count = lists.shape[1], landmarks.shape[1]
    listed, kept, values = np.empty(m), np.empty(m, dtype=np.int64), np.empty(m)
    ranks, order = np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int64)
    nodes = np.empty(_TOGETHER, dtype=np.int64)
    for i in range(len(X)):
        if i % _TOGETHER == 0:
            _descend(index, X, i, nodes)
        near = index.starts[nodes[i % _TOGETHER] - leaves]
        while True:
            to_near = 0.0
            for j in range(m):
                listed[j] = 0.0
            for c in range(d):
                value = X[i, c]
                own = value - coordinates[c, near]
                to_near += own * own
                for j in range(m):
                    difference = value - coordinates[c, np.uint64(lists[near, j])]
                    listed[j] += difference * difference
            # Those nearest to the landmark bound the distance of the last one wanted.
            bound = 0.0
            for place in range(count):
                bound = max(bound, listed[index.by_distance[near, place]])
            # Those within it are noted without branches, which could not be predicted.
            n_kept = 0
            for j in range(m):
                kept[n_kept] = j
                n_kept += listed[j] <= bound
            for j in range(n_kept):
                values[j] = listed[kept[j]]
            _rank(values[:n_kept], ranks)
            for j in range(n_kept):
                order[ranks[j]] = j
            last = values[order[count - 1]]
            beyond = (math.sqrt(to_near) + math.sqrt(last)) * (1 + _ROUNDING)
            settled[i] = beyond < index.reach[near]
            # Closer at every step, so that this ends.
            if settled[i] or not values[order[0]] < to_near:
                break
            near = np.int64(lists[near, kept[order[0]]])
        for place in range(count):
            j = order[place]
            landmarks[i, place] = ids[np.uint64(lists[near, kept[j]])]
            squares[i, place] = values[j]


@compiled_strictly
def _descend(index: LandmarkIndex, X: np.ndarray, first: int, nodes: np.ndarray) -> None:
    """Fill `nodes` with the leaves of the next points, which wait for memory at the same time."""
    leaves, axes, splits = len(index.axes), index.axes, index.splits
    n = min(len(nodes), len(X) - first)
    for p in range(n):
        nodes[p] = 1
    level = 1
    while level < leaves:
        for p in range(n):
            node = nodes[p]
            nodes[p] = 2 * node + (X[first + p, axes[node]] >= splits[node])
        level *= 2


@compiled_strictly
def _rank(values: np.ndarray, ranks: np.ndarray) -> None:
    """Count for each value how many are less, or equal and before it; without branches."""
    for b in range(len(values)):
        value, greater = values[b], np.int64(0)
        for a in range(b):
            is_less = np.int64(value < values[a])
            ranks[a] += is_less
            greater += is_less
        ranks[b] = b - greater


@compiled_strictly
def search_tree(
    index: LandmarkIndex,
    X: np.ndarray,
    rows: np.ndarray,
    landmarks: np.ndarray,
    squares: np.ndarray,
) -> None:
    """Fill `landmarks` and `squares` (b, count) with the nearest of all, at the given rows.

    What `squares` hold beforehand are distances to as many landmarks, or infinite.
    """
    d, leaves, buckets = X.shape[1], len(index.axes), index.buckets
    ids, coordinates, starts = index.landmarks, index.coordinates, index.starts
    axes, splits, lower, upper = index.axes, index.splits, index.lower, index.upper
    last, width = landmarks.shape[1] - 1, leaves // buckets
    most = 0
    for bucket in range(buckets):
        most = max(most, starts[(bucket + 1) * width] - starts[bucket * width])
    inside, kept = np.empty(most), np.empty(most, dtype=np.int64)
    # A way down leaves one node behind at each level.
    waiting = np.empty(64, dtype=np.int64)
    found, to_found = np.empty(last + 1, dtype=np.int64), np.empty(last + 1)
    for i in rows:
        bound = squares[i, last]
        _clear(found, to_found)
        waiting[0] = 1
        n_waiting = 1
        while n_waiting > 0:
            n_waiting -= 1
            node = waiting[n_waiting]
            to_box = 0.0
            for c in range(d):
                outside = max(max(lower[node, c] - X[i, c], X[i, c] - upper[node, c]), 0.0)
                to_box += outside * outside
            # Even a box at just that distance may hold a lower landmark.
            if to_box > bound:
                continue
            while node < buckets:
                second = X[i, axes[node]] >= splits[node]
                waiting[n_waiting] = 2 * node + (not second)
                n_waiting += 1
                node = 2 * node + second
            start = starts[(node - buckets) * width]
            size = starts[(node - buckets + 1) * width] - start
            for j in range(size):
                inside[j] = 0.0
            for c in range(d):
                value = X[i, c]
                for j in range(size):
                    difference = value - coordinates[c, np.uint64(start + j)]
                    inside[j] += difference * difference
            n_kept = 0
            for j in range(size):
                kept[n_kept] = j
                n_kept += inside[j] <= bound
            for place in range(n_kept):
                _insert(inside[kept[place]], ids[start + kept[place]], found, to_found)
            bound = min(bound, to_found[last])
        for place in range(last + 1):
            landmarks[i, place], squares[i, place] = found[place], to_found[place]


@compiled_strictly
def _clear(found: np.ndarray, squares: np.ndarray) -> None:
    """Start with nothing found, which is farther than any landmark."""
    for place in range(len(found)):
        found[place] = _NONE
        squares[place] = np.inf


@compiled_strictly
def _insert(square: float, landmark: int, found: np.ndarray, squares: np.ndarray) -> int:
    """Put a landmark where it belongs among those found; return its place, or their number."""
    count = len(found)
    place = count
    while place > 0 and (
        square < squares[place - 1]
        or (square == squares[place - 1] and landmark < found[place - 1])
    ):
        place -= 1
        if place + 1 < count:
            squares[place + 1], found[place + 1] = squares[place], found[place]
    if place < count:
        squares[place], found[place] = square, landmark
    return place


@compiled_strictly
def nearest_by_path(
    starts: np.ndarray,
    columns: np.ndarray,
    lengths: np.ndarray,
    nearest: np.ndarray,
    counts: np.ndarray,
) -> None:
    """Find the landmarks nearest to each, itself first, by paths of one or two edges.

    Row i of `nearest` (k, width) gets `counts[i]` landmarks and is filled up with i. A path follows
    only the shortest edges of each landmark, as many as `nearest` has columns. Equal lengths are
    ordered by landmark.

    `starts`, `columns` and `lengths` are the CSR arrays of the edges, without loops.
    """
    k, width = nearest.shape
    linked, reach = np.empty((k, width), dtype=np.int64), np.empty((k, width))
    sizes = np.empty(k, dtype=np.int64)
    for i in range(k):
        _clear(linked[i], reach[i])
        _insert(0.0, i, linked[i], reach[i])
        for edge in range(starts[i], starts[i + 1]):
            _insert(lengths[edge], columns[edge], linked[i], reach[i])
        sizes[i] = min(1 + starts[i + 1] - starts[i], width)
    shortest = np.full(k, np.inf)
    reached = np.empty(width * width, dtype=np.int64)
    paths = np.empty(width)
    for i in range(k):
        n_reached = 0
        for first in range(sizes[i]):
            middle = linked[i, first]
            for second in range(sizes[middle]):
                end = linked[middle, second]
                if shortest[end] == np.inf:
                    reached[n_reached] = end
                    n_reached += 1
                shortest[end] = min(shortest[end], reach[i, first] + reach[middle, second])
        _clear(nearest[i], paths)
        for place in range(n_reached):
            end = reached[place]
            _insert(shortest[end], end, nearest[i], paths)
            shortest[end] = np.inf
        counts[i] = min(n_reached, width)
        nearest[i, counts[i] :] = i


@compiled
def blended_planes(
    nearest: np.ndarray,
    squares: np.ndarray,
    X: np.ndarray,
    landmarks: np.ndarray,
    planes: np.ndarray,
    reach: np.ndarray,
    horizons: np.ndarray,
    result: np.ndarray,
    far: np.ndarray,
) -> None:
    """Fill `result` (b, l) with the planes of the nearest landmarks (b, count), by their shares.

    These are ``(1 - square / r^2)^2``, scaled, with `r` the distance to the last landmark, which
    has none. A plane (k, l, d + 1) has slopes and a value at its landmark (k, d), and is level
    beyond its reach (k,). A point is `far` (b,) if it is farther than the `horizons` (k,) from all
    that share.
    """
    d, parts = X.shape[1], max(nearest.shape[1] - 1, 1)
    place, shares = np.empty(d), np.empty(parts)
    for i in range(len(X)):
        total = 0.0
        for p in range(parts):
            shares[p] = _share(squares[i, p], squares[i, nearest.shape[1] - 1])
            total += shares[p]
        far[i] = True
        for c in range(planes.shape[1]):
            result[i, c] = 0.0
        for p in range(parts):
            # Where all are equally far, all count.
            share = shares[p] / total if total > 0 else 1.0 / parts
            landmark, square = nearest[i, p], squares[i, p]
            horizon, radius = horizons[landmark], reach[landmark]
            far[i] &= square > horizon * horizon
            step = radius / math.sqrt(square) if square > radius * radius else 1.0
            for a in range(d):
                place[a] = step * (X[i, a] - landmarks[landmark, a])
            for c in range(planes.shape[1]):
                value = planes[landmark, c, d]
                for a in range(d):
                    value += planes[landmark, c, a] * place[a]
                result[i, c] += share * value


@compiled_strictly
def _share(square: float, limit: float) -> float:
    """Share ``(1 - square / limit)^2`` of a landmark, 0 beyond the limit."""
    # As in `map_placing`.
    # Written so that it is 0, too, where both are.
    closeness = 1.0 - square / limit if square < limit else 0.0
    return closeness * closeness
