"""Nearest neighbors by a k-d tree, for low dimension."""

from collections.abc import Iterator

import numpy as np

from trigpoint._kernels.candidates import covariance, variances
from trigpoint._kernels.splitting import Nodes, box, split, split_all, splittable
from trigpoint._kernels.tree_search import Tree, ball, neighborhoods, reaches
from trigpoint._neighbors.index import Neighborhoods, NeighborIndex
from trigpoint._numerics.blocks import block_rows, row_blocks, thread_map

# Neighbors found by one call of a compiled loop.
_QUERY_BYTES = 4 * 2**20

# This many neighbors are found by one thread as fast as by several.
_FEW_NEIGHBORS = 2**16

# Fewer points are split by one thread in less time than it takes to start others.
_SPLIT_BY_ONE = 2**17

# The top of a tree is split until its leaves hold this share of the points, or is this deep.
_PARTS = 64
_TOP_LEVELS = 24
_TOP_ROOM = 1 + 2 * _TOP_LEVELS * _PARTS


class TreeIndex(NeighborIndex):
    """A k-d tree, for low dimension.

    It keeps a copy of the points in the order of its buckets. Buckets of a sixteenth of the
    neighbors asked for leave little to read beyond the neighbors themselves.

    Attributes
    ----------
    tree : Tree
    """

    name = "tree"
    together = 256

    def __init__(self, points: np.ndarray, n_threads: int = 1, *, bucket: int = 8) -> None:
        self.points, self._n_threads = np.ascontiguousarray(points), n_threads
        self.tree = build_tree(self.points, bucket, n_threads)

    def _blocks(self, n_queries: int, m: int) -> tuple[Iterator[slice], int]:
        """Blocks of queries, and how many threads are worth starting for them."""
        # Small enough that an interrupt takes effect at once.
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
        def gather(q: int) -> tuple[np.ndarray, np.ndarray]:
            places, squares = self._inside(found, q)
            return self.tree.rows[places].astype(np.int64, copy=False), squares

        _, n_threads = self._blocks(len(found.points), found.size)
        return thread_map(gather, range(len(found.points)), n_threads)

    def covariances(self, found: Neighborhoods, mode: str) -> np.ndarray:
        """Covariances of the neighbors, read where they lie side by side."""
        measure = covariance if mode == "full" else variances

        def of(q: int) -> np.ndarray:
            return measure(self.tree.points, self._inside(found, q)[0], found.points[q])

        _, n_threads = self._blocks(len(found.points), found.size)
        return np.array(list(thread_map(of, range(len(found.points)), n_threads)))

    def _inside(self, found: Neighborhoods, q: int) -> tuple[np.ndarray, np.ndarray]:
        """Places in the tree and squared distances of the neighbors of one query."""
        squares, places = np.empty(found.size), np.empty(found.size, dtype=np.int64)
        stack = np.empty(len(self.tree.starts) + 1, dtype=np.int64)
        query = found.points[q].astype(np.float64)
        radius, last = found.squared_radii[q], found.last_rows[q]
        count = ball(self.tree, query, radius, last, squares, places, stack)
        assert count == found.size, "radii of other points"
        return places, squares


def build_tree(points: np.ndarray, bucket: int, n_threads: int = 1) -> Tree:
    """Tree over `points` whose buckets hold at most `bucket` points, copies of one aside.

    The top is split level by level, and the parts below it side by side. Where the top ends
    depends on the number of points alone, so the tree is the same for any number of threads.
    """
    n, d = points.shape
    tree_points = np.array(points, order="C")
    rows = np.arange(n, dtype=np.int32 if n < 2**31 else np.int64)
    is_small = n < _SPLIT_BY_ONE
    top = _empty_nodes(1 if is_small else _TOP_ROOM, d)
    top.stops[0] = n
    if is_small:
        top.lower[0], top.upper[0] = box(tree_points)
        return Tree(tree_points, rows, *_split_part(tree_points, rows, bucket, top, 0))
    _bound(tree_points, top, n_threads)
    used = _split_top(tree_points, rows, max(bucket, n // _PARTS), top, n_threads)
    leaves = [node for node in range(used) if not top.children[node]]

    def split_leaf(leaf: int) -> Nodes:
        return _split_part(tree_points, rows, bucket, top, leaf)

    parts = thread_map(split_leaf, leaves, n_threads)
    return Tree(tree_points, rows, *_joined(top, used, leaves, list(parts)))


def _empty_nodes(room: int, d: int) -> Nodes:
    starts, stops, children = (np.zeros(room, dtype=np.int64) for _ in range(3))
    return Nodes(starts, stops, children, np.empty((room, d)), np.empty((room, d)))


def _bound(points: np.ndarray, nodes: Nodes, n_threads: int) -> None:
    """Measure the box around all points, that of the first node."""
    blocks = list(row_blocks(len(points), _SPLIT_BY_ONE))
    boxes = list(thread_map(lambda part: box(points[part]), blocks, n_threads))
    nodes.lower[0] = np.min([lower for lower, _ in boxes], axis=0)
    nodes.upper[0] = np.max([upper for _, upper in boxes], axis=0)


def _split_top(points: np.ndarray, rows: np.ndarray, part: int, top: Nodes, n_threads: int) -> int:
    """Split nodes of more than `part` points, a level at a time; return the number of nodes."""
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


def _split_part(points: np.ndarray, rows: np.ndarray, bucket: int, top: Nodes, leaf: int) -> Nodes:
    """Nodes below a leaf of the top, which is the first of them."""
    room = 64 + 8 * ((top.stops[leaf] - top.starts[leaf]) // bucket)
    while True:
        nodes = _empty_nodes(room, points.shape[1])
        for own, of_top in zip(nodes, top, strict=True):
            own[0] = of_top[leaf]
        used = split_all(points, rows, bucket, nodes)
        if used >= 0:
            # Copies, which give back the room that was not used.
            return Nodes(*(values[:used].copy() for values in nodes))
        # Points that lie very unevenly leave many buckets nearly empty.
        room *= 4


def _joined(top: Nodes, used: int, leaves: list[int], parts: list[Nodes]) -> Nodes:
    """The nodes of the top, and after them those of each part but its first, which is a leaf."""
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
