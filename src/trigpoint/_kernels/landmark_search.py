"""Exact search for the landmarks nearest to each point of a block, and blending of their planes.

Most points are close to a landmark, so that their nearest landmarks are in its precomputed list of
neighbors. A point descends a k-d tree to some landmark `a`, reads its list, and moves on to a
closer landmark if there is one. Landmarks that are not listed are at least ``reach(a) - |x - a|``
away, where `reach(a)` is the distance from `a` to the nearest unlisted landmark. The tree is
searched only if this bound does not rule them out.

Sums are strictly ordered, so that boxes always bound distances. Ties go to lower landmarks.
"""

import math
from typing import NamedTuple

import numpy as np

from trigpoint._kernels.jit import compiled, compiled_strictly

# Relative error bound of the sum of two rounded distances.
_ROUNDING = 1e-12

# Mark of an empty slot, above every landmark.
_NONE = 2**62

# Number of points that descend the tree together.
_TOGETHER = 16


class LandmarkIndex(NamedTuple):
    """Landmarks in the order of a k-d tree, with lists of their nearest landmarks.

    The nodes of the tree are numbered as in a heap: node 1 is the root, nodes 2i and 2i + 1 are the
    halves of node i, and the last `leaves` nodes are the leaves.
    """

    # Landmarks (k,), contiguous for each node. All other arrays over landmarks are in this order.
    landmarks: np.ndarray
    # Coordinates (d, k), contiguous along landmarks, so that many distances are computed at once.
    coordinates: np.ndarray
    starts: np.ndarray  # Start (leaves + 1,) of each leaf.
    axes: np.ndarray  # Axis (leaves,) along which a node is divided.
    # Coordinate (leaves,) at which a node is divided; the second half is at or above it.
    splits: np.ndarray
    lower: np.ndarray  # Smallest box around a node (2 * leaves, d).
    upper: np.ndarray
    buckets: int  # Number of nodes on the level below which a search does not descend.
    # Nearest landmarks (k, m) of each landmark, including itself, as positions in this order, in
    # uint32. Lists are sorted by landmark, so that ties go to lower landmarks.
    lists: np.ndarray
    by_distance: np.ndarray  # Positions (k, m) in each list, sorted by distance, in uint8.
    reach: np.ndarray  # Distance (k,) to the nearest unlisted landmark; infinite if all are listed.


@compiled_strictly
def read_lists(
    index: LandmarkIndex,
    X: np.ndarray,
    landmarks: np.ndarray,
    squares: np.ndarray,
    settled: np.ndarray,
) -> None:
    """Fill `landmarks` and `squares` (b, count) with the nearest in the lists of nearby landmarks.

    `settled` (b,) is true for points for which the result is the nearest of all landmarks.
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
            # The landmarks nearest to this one give a bound on the distance of the last neighbor.
            bound = 0.0
            for place in range(count):
                bound = max(bound, listed[index.by_distance[near, place]])
            # Collect landmarks within the bound without unpredictable branches.
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
            # Continue only if the next landmark is closer, so that the loop ends.
            if settled[i] or not values[order[0]] < to_near:
                break
            near = np.int64(lists[near, kept[order[0]]])
        for place in range(count):
            j = order[place]
            landmarks[i, place] = ids[np.uint64(lists[near, kept[j]])]
            squares[i, place] = values[j]


@compiled_strictly
def _descend(index: LandmarkIndex, X: np.ndarray, first: int, nodes: np.ndarray) -> None:
    """Fill `nodes` with the leaves of the next points at once, so that memory latencies overlap."""
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
    """Count, without branches, the values that are less than each value, or equal and earlier."""
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
    """Fill the given rows of `landmarks` and `squares` (b, count) with the nearest landmarks.

    On entry, `squares` holds squared distances to any `count` landmarks, or infinity.
    """
    d, leaves, buckets = X.shape[1], len(index.axes), index.buckets
    ids, coordinates, starts = index.landmarks, index.coordinates, index.starts
    axes, splits, lower, upper = index.axes, index.splits, index.lower, index.upper
    last, width = landmarks.shape[1] - 1, leaves // buckets
    most = 0
    for bucket in range(buckets):
        most = max(most, starts[(bucket + 1) * width] - starts[bucket * width])
    inside, kept = np.empty(most), np.empty(most, dtype=np.int64)
    # A descent leaves one node behind at each level.
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
            # Even a box at exactly the bound may hold a lower landmark.
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
    """Reset the found neighbors to empty slots, farther than any landmark."""
    for place in range(len(found)):
        found[place] = _NONE
        squares[place] = np.inf


@compiled_strictly
def _insert(square: float, landmark: int, found: np.ndarray, squares: np.ndarray) -> int:
    """Insert a landmark into the sorted neighbors; return its position, or the end if too far."""
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
    """For each landmark, find the landmarks nearest by paths of one or two edges, including itself.

    Row i of `nearest` (k, width) receives `counts[i]` landmarks and is padded with i. Paths follow
    only the `width` shortest edges of each landmark. Equal lengths are ordered by landmark.

    `starts`, `columns` and `lengths` are the CSR arrays of the edges, without self-loops.
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
    """Fill `result` (b, l) by blending the planes of the nearest landmarks (b, count).

    Shares are ``(1 - square / r^2)^2``, normalized, where `r` is the distance to the last landmark,
    whose share is 0. Each of the `planes` (k, l, d + 1) has slopes and a value at its landmark
    (k, d), and is level beyond its `reach` (k,). A point is `far` (b,) if it is farther than the
    `horizons` (k,) from all landmarks with a positive share.
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
            # Equally distant landmarks have equal shares.
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
    """Return the share ``(1 - square / limit)^2`` of a landmark, 0 beyond the limit."""
    # As in `map_placing`.
    # The comparison gives 0 if both are 0, too.
    closeness = 1.0 - square / limit if square < limit else 0.0
    return closeness * closeness
