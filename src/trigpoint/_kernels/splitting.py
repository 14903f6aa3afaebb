"""Halving the boxes of a k-d tree; `_neighbors.tree` builds one, and `tree_search` searches it."""

from typing import NamedTuple

import numpy as np

from trigpoint._kernels.jit import compiled


class Nodes(NamedTuple):
    """Nodes of a tree, as in `Tree`."""

    starts: np.ndarray
    stops: np.ndarray
    children: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


@compiled
def box(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Smallest and largest coordinates."""
    d = points.shape[1]
    lower, upper = np.full(d, np.inf), np.full(d, -np.inf)
    for i in range(len(points)):
        for c in range(d):
            lower[c] = min(lower[c], points[i, c])
            upper[c] = max(upper[c], points[i, c])
    return lower, upper


@compiled
def split_all(points: np.ndarray, rows: np.ndarray, bucket: int, nodes: Nodes) -> int:
    """Split down to buckets; return the number of nodes, or -1 if there is no room for them."""
    low, high = np.empty((2, points.shape[1])), np.empty((2, points.shape[1]))
    used = 1
    node = 0
    # Children are appended, so that walking through the nodes reaches every one.
    while node < used:
        if splittable(nodes, node, bucket):
            if used + 2 > len(nodes.starts):
                return -1
            _halve(points, rows, nodes, node, used, low, high)
            used += 2
        node += 1
    return used


@compiled
def splittable(nodes: Nodes, node: int, bucket: int) -> bool:
    """Whether a node holds more points than a bucket, and not all of them in one place."""
    if nodes.stops[node] - nodes.starts[node] <= bucket:
        return False
    longest = 0.0
    for c in range(nodes.lower.shape[1]):
        longest = max(longest, nodes.upper[node, c] - nodes.lower[node, c])
    return bool(longest > 0)


@compiled
def split(points: np.ndarray, rows: np.ndarray, nodes: Nodes, node: int, left: int) -> None:
    """Halve the box of a node at its longest side, into the nodes `left` and ``left + 1``."""
    low, high = np.empty((2, points.shape[1])), np.empty((2, points.shape[1]))
    _halve(points, rows, nodes, node, left, low, high)


@compiled
def _halve(
    points: np.ndarray,
    rows: np.ndarray,
    nodes: Nodes,
    node: int,
    left: int,
    low: np.ndarray,
    high: np.ndarray,
) -> None:
    """Do what `split` does, with room (2, d) for the two boxes.

    The room is the caller's own: threads that write to adjacent nodes would wait for each other.
    """
    d = points.shape[1]
    low[:] = np.inf
    high[:] = -np.inf
    lower, upper = nodes.lower, nodes.upper
    axis = 0
    for c in range(1, d):
        if upper[node, c] - lower[node, c] > upper[node, axis] - lower[node, axis]:
            axis = c
    # Strictly above the lower end even where rounding would give it back.
    middle = lower[node, axis] + (upper[node, axis] - lower[node, axis]) / 2
    if middle <= lower[node, axis]:
        middle = upper[node, axis]
    i, j = nodes.starts[node], nodes.stops[node] - 1
    while i <= j:
        if points[i, axis] < middle:
            for c in range(d):
                value = points[i, c]
                low[0, c] = min(low[0, c], value)
                high[0, c] = max(high[0, c], value)
            i += 1
        else:
            for c in range(d):
                value = points[i, c]
                low[1, c] = min(low[1, c], value)
                high[1, c] = max(high[1, c], value)
                points[i, c] = points[j, c]
                points[j, c] = value
            rows[i], rows[j] = rows[j], rows[i]
            j -= 1
    right = left + 1
    lower[left], lower[right] = low[0], low[1]
    upper[left], upper[right] = high[0], high[1]
    nodes.children[node] = left
    nodes.starts[left], nodes.stops[left] = nodes.starts[node], i
    nodes.starts[right], nodes.stops[right] = i, nodes.stops[node]
