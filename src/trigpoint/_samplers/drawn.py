"""Landmarks drawn so far by Algorithm 2, and the weights that they leave to proposals."""

from dataclasses import replace
from typing import Any

import numpy as np

from trigpoint._neighbors.index import TREE_MAX_DIMENSION, Neighborhoods, NeighborIndex
from trigpoint._numerics.blocks import row_blocks
from trigpoint._numerics.threads import one_blas_thread, thread_map
from trigpoint._samplers.repelling import Repulsion

# Where a search has listed the neighbors of landmarks, up to this many row numbers are kept, for
# the weights of all points and for covariances. If there are more, they are searched again.
NEIGHBORS_KEPT = 2**24

# Proposals that are compared with the landmarks by one call, in low and in high dimension. In high
# dimension they are first compared with this many landmarks, and only those that may still be
# accepted with more.
_COMPARED, _COMPARED_BY_PRODUCTS = 4096, 512
_FIRST_COMPARED = 32

# Landmarks in a bucket of the tree.
_IN_BUCKET = 8


class DrawnLandmarks:
    """Landmarks drawn so far, and the weights of proposals given them."""

    def __init__(self, index: NeighborIndex, k: int, repulsion: Repulsion, n_threads: int) -> None:
        self._points = np.empty((k, index.points.shape[1]), dtype=index.points.dtype)
        self._squared_radii = np.empty(k)
        self._last_rows = np.empty(k, dtype=np.int64)
        self._count = 0
        # All neighborhoods, and the first ones for which weights have been asked already.
        self._found: list[Neighborhoods] = []
        self._n_asked = 0
        self._keeps_members = True
        self.repulsion = repulsion
        self._n_threads = n_threads
        # A tree over the first landmarks, and how far those in its nodes repel.
        self._tree: tuple[Any, np.ndarray] | None = None
        self._in_tree = 0

    def add(self, found: Neighborhoods) -> None:
        """Add landmarks and how far they repel."""
        part = slice(self._count, self._count + len(found))
        self._points[part] = found.points
        self._squared_radii[part] = found.squared_radii
        self._last_rows[part] = found.last_rows
        self._count = part.stop
        if self._keeps_members and self._count * found.size > NEIGHBORS_KEPT:
            self._keeps_members = False
            self._found = [replace(some, members=None) for some in self._found]
        members = found.members if self._keeps_members else None
        self._found.append(replace(found, members=members, bounds=None))

    def neighborhoods(self) -> Neighborhoods:
        """All landmarks; their neighbors are listed unless they are many."""
        return Neighborhoods.joined(self._found)

    def since_last_asked(self) -> Neighborhoods:
        """Landmarks added since the last call; their neighbors are listed unless they are many."""
        new = Neighborhoods.joined(self._found[self._n_asked :])
        self._n_asked = len(self._found)
        return new

    def log_weights(
        self, points: np.ndarray, rows: np.ndarray, thresholds: np.ndarray
    ) -> np.ndarray:
        """Logarithms of the weights of proposals: sums in the order of the landmarks.

        Sums that fall below their threshold may be incomplete: weights only shrink.
        """
        if not self._count or not len(points):
            return np.zeros(len(points))
        in_low_dimension = points.shape[1] <= TREE_MAX_DIMENSION
        if in_low_dimension:
            self._grow_tree()
        blocks = row_blocks(len(points), _COMPARED if in_low_dimension else _COMPARED_BY_PRODUCTS)

        def compare(part: slice) -> np.ndarray:
            if in_low_dimension:
                return self._compare_in_tree(points[part], rows[part])
            return self._compare(points[part], rows[part], thresholds[part])

        # Each product stays in the thread that computes it.
        with one_blas_thread():
            return np.concatenate(list(thread_map(compare, blocks, self._n_threads)))

    def _log_factors(self, squares: np.ndarray) -> np.ndarray:
        logs = self.repulsion(squares)
        logs[squares == 0] = -np.inf
        return logs

    def _grow_tree(self) -> None:
        """Rebuild the tree if too many landmarks are not in it yet."""
        from trigpoint._kernels.distances import largest_radii
        from trigpoint._neighbors.tree_building import build_tree

        if self._tree is None or self._count > 64 + 1.0625 * self._in_tree:
            tree = build_tree(self._points[: self._count], _IN_BUCKET)
            self._tree = tree, largest_radii(tree, self._squared_radii)
            self._in_tree = self._count

    def _compare_in_tree(self, points: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Weights from the landmarks around each point."""
        from trigpoint._kernels.distances import add_in_order, repelling_in_tree

        assert self._tree is not None
        squares, starts = repelling_in_tree(points, rows, *self._tree, *self._part(0, self._count))
        sums = np.zeros(len(points))
        add_in_order(sums, np.arange(len(points)), self._log_factors(squares), starts)
        return sums

    def _compare(self, points: np.ndarray, rows: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
        """Weights from one group of landmarks after another, while acceptance is possible."""
        from trigpoint._kernels.distances import add_in_order, repelling

        sums = np.zeros(len(points))
        waiting = np.arange(len(points))
        start, stop = 0, _FIRST_COMPARED
        while len(waiting) and start < self._count:
            part = self._part(start, stop)
            bounds = lower_bounds(points[waiting], part[0])
            squares, starts = repelling(points[waiting], rows[waiting], *part, bounds)
            add_in_order(sums, waiting, self._log_factors(squares), starts)
            waiting = waiting[sums[waiting] >= thresholds[waiting]]
            start, stop = stop, 2 * stop
        return sums

    def _part(self, start: int, stop: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Points, squared radii and last rows of some landmarks."""
        part = slice(start, min(stop, self._count))
        return self._points[part], self._squared_radii[part], self._last_rows[part]


def lower_bounds(points: np.ndarray, landmarks: np.ndarray) -> np.ndarray:
    """Lower bounds of squared distances, from a product around the first landmark."""
    left, right = points - landmarks[0], landmarks - landmarks[0]
    norms = np.add.outer(np.einsum("ij,ij->i", left, left), np.einsum("ij,ij->i", right, right))
    error = 2 * (points.shape[1] + 8) * np.finfo(points.dtype).eps
    return (1 - error) * norms - 2 * (left @ right.T)
