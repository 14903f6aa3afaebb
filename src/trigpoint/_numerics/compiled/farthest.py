"""Farthest point traversal over a tree: boxes that a new landmark cannot serve are skipped."""

from typing import Any, NamedTuple

import numpy as np

from trigpoint._numerics.compiled.distance import squares_to
from trigpoint._numerics.compiled.jit import compiled
from trigpoint._numerics.compiled.tree import Tree, box_square

# An error s of a distance r adds at most this share to its square, and a multiple of s^2 alone:
# ``(r + s)^2 <= (1 + share) r^2 + (1 + 1 / share) s^2``.
_SHARE = 1e-6


class Cover(NamedTuple):
    """Points in a tree, and how far they are from the landmarks so far.

    Attributes
    ----------
    tree : Tree
        The tree of the points, or of their images in fewer dimensions, where no two are farther
        apart than the points themselves.
    points : ndarray of shape (n, d)
        The points by row.
    projected : bool
        Whether the tree is one of images.
    margin : float
        What rounding may add to the squared distance of two images, beyond a small share of it.
    squares : float64 ndarray of shape (n,)
        Squared distance of each place in the tree to its nearest landmark.
    farthest : float64 ndarray of shape (nodes,)
        The largest of those in each node.
    places : int64 ndarray of shape (nodes,)
        The place it belongs to; of several the one with the lowest row.
    """

    tree: Tree
    points: np.ndarray
    projected: bool
    margin: float
    squares: np.ndarray
    farthest: np.ndarray
    places: np.ndarray


def uncovered(tree: Tree, points: np.ndarray, rounding: float | None) -> Cover:
    """Cover without landmarks yet.

    `rounding` bounds the error of distances between images; with ``None`` the tree is one of the
    points themselves.
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
    """List where points may lie that are nearer to a new landmark, at `image`, than to all others.

    Fills `nodes` with the nodes that have children, parents first, and `buckets` with the others;
    returns how many of each there are.
    """
    tree = cover.tree
    nodes[0] = 0
    listed, waiting, n_buckets = 0, 1, 0
    # Waiting nodes are kept behind the listed ones, in the same array.
    while listed < waiting:
        node = nodes[listed]
        child = tree.children[node]
        if child:
            listed += 1
            for side in range(child, child + 2):
                if box_square(tree, side, image) < _bound(cover.farthest[side], cover.margin):
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
    """Let a new landmark serve those points of some buckets that it is nearest to."""
    tree = cover.tree
    for bucket in buckets:
        start, stop = tree.starts[bucket], tree.stops[bucket]
        if cover.projected:
            _serve_by_images(cover, landmark, image, start, stop)
        else:
            for i in range(start, stop):
                square = _square(tree.points, np.uint64(i), image)
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
    """Compute the distances of those points of a bucket whose images do not rule it out.

    Summed in the order of the coordinates: sparse points, whose zeros are left out, get the same.
    """
    tree = cover.tree
    near = np.empty(stop - start, dtype=np.int64)
    count = 0
    for i in range(start, stop):
        if _square(tree.points, np.uint64(i), image) < _bound(cover.squares[i], cover.margin):
            near[count] = i
            count += 1
    squares = squares_to(cover.points, tree.rows[near[:count]], landmark)
    for j in range(count):
        cover.squares[near[j]] = min(cover.squares[near[j]], squares[j])


@compiled
def gather(cover: Cover, nodes: np.ndarray) -> None:
    """Update what is farthest in `nodes`, listed parents first, from their children."""
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
    """Squared distance of images, at most, of points that are no farther apart than `square`."""
    return (1 + _SHARE) * square + margin


@compiled
def _square(points: np.ndarray, i: Any, landmark: np.ndarray) -> float:
    """Squared distance by differences: copies get exactly 0.

    A loop of one operation without a sign to its indices becomes vector code.
    """
    square = 0.0
    for c in range(points.shape[1]):
        place = np.uint64(c)
        difference = np.float64(points[i, place]) - landmark[place]
        square += difference * difference
    return square
