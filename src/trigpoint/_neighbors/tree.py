"""Exact nearest neighbors by a k-d tree, for low dimension."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from trigpoint._kernels.jit import compiled
from trigpoint._kernels.tree_search import (
    MANY_COPIES,
    Tree,
    ball,
    neighborhoods,
    reaches,
    spreads,
)
from trigpoint._neighbors.index import Neighborhoods, NeighborIndex
from trigpoint._numerics.blocks import block_rows, row_blocks, thread_map

# Size in bytes of the neighbors found by one call of a compiled loop.
_QUERY_BYTES = 4 * 2**20

# Number of neighbors up to which one thread is as fast as several.
_FEW_NEIGHBORS = 2**16

# Number of points up to which splitting takes less time than starting threads.
_SPLIT_BY_ONE = 2**17

# The top of a tree is split until leaves hold 1 / `_PARTS` of the points, or to this depth.
_PARTS = 64
_TOP_LEVELS = 24
_TOP_ROOM = 1 + 2 * _TOP_LEVELS * _PARTS


class TreeIndex(NeighborIndex):
    """A k-d tree, for low dimension.

    The index stores a copy of the points in the order of its buckets. With a bucket size of a
    sixteenth of the number of neighbors, few points other than neighbors are read.
    """

    name = "tree"
    together = 256

    def __init__(self, points: np.ndarray, n_threads: int = 1, *, bucket: int = 8) -> None:
        self.points, self._n_threads = np.ascontiguousarray(points), n_threads
        self.tree = build_tree(self.points, bucket, n_threads)

    def _blocks(self, n_queries: int, m: int) -> tuple[Iterator[slice], int]:
        """Return blocks of queries, and the number of threads worth starting for them."""
        # Blocks are small, so that interrupts take effect immediately.
        size, n_threads = block_rows(16 * m, _QUERY_BYTES), self._n_threads
        # Starting threads takes longer than finding a few small neighborhoods.
        if n_threads == 1 or n_queries * m <= _FEW_NEIGHBORS:
            return row_blocks(n_queries, size), 1
        return row_blocks(n_queries, min(size, -(-n_queries // (4 * n_threads)))), n_threads

    def search(self, queries: np.ndarray, m: int) -> Neighborhoods:
        self.n_searches += len(queries)
        queries = np.ascontiguousarray(queries, dtype=self.points.dtype)
        squared_radii = np.empty(len(queries))
        last_rows = np.empty(len(queries), dtype=np.int64)

        def find(part: slice) -> None:
            doubles = queries[part].astype(np.float64)
            reaches(self.tree, doubles, m, squared_radii[part], last_rows[part])

        blocks, n_threads = self._blocks(len(queries), m)
        for _ in thread_map(find, blocks, n_threads):
            pass
        return Neighborhoods(queries, m, squared_radii, last_rows)

    def query(self, queries: np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray]:
        self.n_searches += len(queries)
        queries = np.ascontiguousarray(queries, dtype=self.points.dtype)
        squares = np.empty((len(queries), m))
        rows = np.empty(squares.shape, dtype=np.int64)

        def find(part: slice) -> None:
            doubles = queries[part].astype(np.float64)
            neighborhoods(self.tree, doubles, squares[part], rows[part])
            found = self.tree.rows[rows[part]]
            order = np.lexsort((found, squares[part]))
            rows[part] = np.take_along_axis(found, order, axis=1)
            squares[part] = np.take_along_axis(squares[part], order, axis=1)

        blocks, n_threads = self._blocks(len(queries), m)
        for _ in thread_map(find, blocks, n_threads):
            pass
        return np.sqrt(squares, out=squares), rows

    def members(self, found: Neighborhoods) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        queries = found.points.astype(np.float64)

        def gather(q: int) -> tuple[np.ndarray, np.ndarray]:
            radius, last = found.squared_radii[q], found.last_rows[q]
            places, squares = ball(self.tree, queries[q], radius, last, found.size)
            return self.tree.rows[places].astype(np.int64, copy=False), squares

        _, n_threads = self._blocks(len(queries), found.size)
        return thread_map(gather, range(len(queries)), n_threads)

    def covariances(self, found: Neighborhoods, mode: str) -> np.ndarray:
        """Return covariances of the neighbors, which are read from contiguous memory."""
        queries = found.points.astype(np.float64)
        k, d = queries.shape
        result = np.empty((k, d, d) if mode == "full" else (k, d))

        def measure(part: slice) -> None:
            radii, lasts = found.squared_radii[part], found.last_rows[part]
            spreads(self.tree, queries[part], radii, lasts, found.size, result[part])

        blocks, n_threads = self._blocks(k, found.size)
        for _ in thread_map(measure, blocks, n_threads):
            pass
        return result


class Nodes(NamedTuple):
    """Nodes of a tree, as in `Tree`."""

    starts: np.ndarray
    stops: np.ndarray
    children: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


def build_tree(points: np.ndarray, bucket: int, n_threads: int = 1) -> Tree:
    """Build a tree over `points` with at most `bucket` points per bucket, except for duplicates.

    The top is split level by level, and the parts below it in parallel. The extent of the top does
    not depend on the number of threads, so neither does the tree.
    """
    n, d = points.shape
    tree_points = np.array(points, order="C")
    rows = np.arange(n, dtype=np.int32 if n < 2**31 else np.int64)
    if n < _SPLIT_BY_ONE:
        return Tree(tree_points, rows, *_split_part(tree_points, rows, bucket, 0, n))
    starts, stops, children = np.zeros((3, _TOP_ROOM), dtype=np.int64)
    top = Nodes(starts, stops, children, *np.empty((2, _TOP_ROOM, d)))
    top.stops[0] = n
    _bound(tree_points, top, n_threads)
    used = _split_top(tree_points, rows, max(bucket, n // _PARTS), top, n_threads)
    leaves = [node for node in range(used) if not top.children[node]]

    def split_leaf(leaf: int) -> Nodes:
        return _split_part(tree_points, rows, bucket, top.starts[leaf], top.stops[leaf])

    parts = thread_map(split_leaf, leaves, n_threads)
    return Tree(tree_points, rows, *_joined(top, used, leaves, list(parts)))


def _bound(points: np.ndarray, nodes: Nodes, n_threads: int) -> None:
    """Compute the bounding box of the first node, which holds all points."""
    blocks = list(row_blocks(len(points), _SPLIT_BY_ONE))
    boxes = list(thread_map(lambda part: box(points[part]), blocks, n_threads))
    nodes.lower[0] = np.min([lower for lower, _ in boxes], axis=0)
    nodes.upper[0] = np.max([upper for _, upper in boxes], axis=0)


def _split_top(points: np.ndarray, rows: np.ndarray, part: int, top: Nodes, n_threads: int) -> int:
    """Split nodes with more than `part` points, level by level; return the number of nodes."""
    used, level = 1, [0]
    for _ in range(_TOP_LEVELS):
        large = [node for node in level if splittable(top, node, part)]
        if not large:
            break
        pairs = list(zip(large, range(used, used + 2 * len(large), 2), strict=True))
        for _ in thread_map(lambda pair: split(points, rows, top, *pair), pairs, n_threads):
            pass
        level = list(range(used, used + 2 * len(large)))
        used += len(level)
    return used


def _split_part(points: np.ndarray, rows: np.ndarray, bucket: int, start: int, stop: int) -> Nodes:
    """Return a node with the points from `start` to `stop`, and all nodes below it."""
    room = 64 + 8 * ((stop - start) // bucket)
    while True:
        starts, stops, children = np.zeros((3, room), dtype=np.int64)
        nodes = Nodes(starts, stops, children, *np.empty((2, room, points.shape[1])))
        nodes.starts[0], nodes.stops[0] = start, stop
        used = split_all(points, rows, bucket, nodes)
        if used >= 0:
            # Copy, to release unused memory.
            nodes = Nodes(*(values[:used].copy() for values in nodes))
            # If many points coincide, a search reads only those with the lowest rows.
            coincide = (nodes.lower == nodes.upper).all(axis=1)
            for node in np.flatnonzero(coincide & (nodes.stops - nodes.starts > MANY_COPIES)):
                rows[nodes.starts[node] : nodes.stops[node]].sort()
            return nodes
        # Unevenly distributed points leave many buckets nearly empty.
        room *= 4


def _joined(top: Nodes, used: int, leaves: list[int], parts: list[Nodes]) -> Nodes:
    """Concatenate the nodes of the top and all parts, without the root of a part (a top leaf)."""
    first = used
    for leaf, part in zip(leaves, parts, strict=True):
        shift = first - 1
        part.children[part.children > 0] += shift
        top.children[leaf] = part.children[0]
        first += len(part.starts) - 1
    return Nodes(
        *(
            np.concatenate([of_top[:used], *(values[1:] for values in of_parts)])
            for of_top, *of_parts in zip(top, *parts, strict=True)
        )
    )


@compiled
def box(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest and largest coordinates of the points."""
    d = points.shape[1]
    lower, upper = np.empty(d), np.empty(d)
    for c in range(d):
        lower[c], upper[c] = np.inf, -np.inf
    for i in range(len(points)):
        for c in range(d):
            lower[c] = min(lower[c], points[i, c])
            upper[c] = max(upper[c], points[i, c])
    return lower, upper


@compiled
def split_all(points: np.ndarray, rows: np.ndarray, bucket: int, nodes: Nodes) -> int:
    """Split a node down to buckets; return the number of nodes, or -1 if room runs out."""
    lower, upper = box(points[nodes.starts[0] : nodes.stops[0]])
    for c in range(points.shape[1]):
        nodes.lower[0, c], nodes.upper[0, c] = lower[c], upper[c]
    low, high = np.empty((2, points.shape[1])), np.empty((2, points.shape[1]))
    used, node = int(np.int64(1)), int(np.int64(0))
    # Children are appended, so that the loop reaches every node.
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
    """Return whether a node holds more points than a bucket, and not all of them coincide."""
    if nodes.stops[node] - nodes.starts[node] <= bucket:
        return False
    longest = 0.0
    for c in range(nodes.lower.shape[1]):
        longest = max(longest, nodes.upper[node, c] - nodes.lower[node, c])
    return bool(longest > 0)


@compiled
def split(points: np.ndarray, rows: np.ndarray, nodes: Nodes, node: int, left: int) -> None:
    """Halve the box of a node along its longest side into the nodes `left` and ``left + 1``."""
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
    """Implement `split`, with workspace (2, d) for the two boxes.

    Each caller has its own workspace, since threads that write to adjacent nodes would slow each
    other down.
    """
    d = points.shape[1]
    for side in range(2):
        for c in range(d):
            low[side, c], high[side, c] = np.inf, -np.inf
    lower, upper = nodes.lower, nodes.upper
    axis = 0
    for c in range(1, d):
        if upper[node, c] - lower[node, c] > upper[node, axis] - lower[node, axis]:
            axis = c
    # Must be strictly above the lower end, even if rounding gives the lower end.
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
    for c in range(d):
        lower[left, c], lower[right, c] = low[0, c], low[1, c]
        upper[left, c], upper[right, c] = high[0, c], high[1, c]
    nodes.children[node] = left
    nodes.starts[left], nodes.stops[left] = nodes.starts[node], i
    nodes.starts[right], nodes.stops[right] = i, nodes.stops[node]
