"""Detection of likely shortcuts in a landmark graph when the manifold is unknown."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import triu

from trigpoint._common.records import LandmarkGraph, Landmarks
from trigpoint._geometry import (
    bhattacharyya,
    largest_variances,
    local_covariances,
    regularize,
)
from trigpoint._pool import Pool

ORDINARY, SHORTCUT, BRIDGE = 0, 1, 2

# An edge is suspected if its distance is more than this many times that of the median edge. On
# Swiss rolls with Euclidean graphs of 20 to 100 neighbors, this finds at least 90 % of shortcuts
# and no other edges. It flags no edges on a fish bowl, where, because of the varying density,
# distances alone would flag 10 % of the edges.
_FAR = 3.0

# Minimum number of points to estimate local covariances.
_FEWEST_POINTS = 10

# If the ends of the median edge share at least this many neighbors, sharing none is suspicious.
_TYPICALLY_SHARED = 3


@dataclass(frozen=True)
class JudgedEdges:
    """Edges of a landmark graph, each listed once, with their kinds."""

    ends: np.ndarray  # Pairs (e, 2) of landmarks, the lower one first, in ascending order.
    kinds: np.ndarray  # `ORDINARY`, `SHORTCUT` (suspected) or `BRIDGE` (e,), uint8.

    def count(self, kind: int) -> int:
        """Return the number of edges of one kind."""
        return int((self.kinds == kind).sum())


def with_covariances(landmarks: Landmarks, points: np.ndarray, n_threads: int) -> Landmarks:
    """Add local covariances to landmarks without them, if there are at least 10 points."""
    if landmarks.covariances is not None or len(points) < _FEWEST_POINTS:
        return landmarks
    radii, covariances = local_covariances(Pool(points), landmarks, "auto", n_threads)
    return replace(landmarks, radii=radii, covariances=covariances)


def judge_edges(graph: LandmarkGraph, landmarks: Landmarks) -> JudgedEdges:
    """Classify edges as bridges, suspected shortcuts, or ordinary.

    Bridges, which were added to join connected components, are known. Other edges are suspected of
    being shortcuts in two cases:

    - The Bhattacharyya distance is more than three times that of the median edge, even after
      dividing both by the distance expected along the widest direction, ``length^2 / 8`` over the
      largest variance. The distance of such an edge is not explained by its length: an edge across
      a gap leaves the directions in which the points around its ends vary. This criterion needs
      covariances, and finds little in a graph whose edges were chosen by the same distance.
    - The ends have no neighbors in common, in a graph where the ends of the median edge have at
      least three.

    No edge of a complete graph is suspected, since such graphs contain edges of any length by
    design.
    """
    left, right = triu(graph.lengths, 1).nonzero()
    order = np.lexsort((right, left))
    ends = np.column_stack([left[order], right[order]]).astype(np.int64)
    kinds = np.full(len(ends), ORDINARY, dtype=np.uint8)
    if is_complete(graph):
        return JudgedEdges(ends, kinds)
    kinds[_apart(graph, ends)] = SHORTCUT
    if landmarks.covariances is not None:
        lengths = np.asarray(graph.lengths[ends[:, 0], ends[:, 1]]).ravel()
        kinds[_far(landmarks.points, landmarks.covariances, ends, lengths)] = SHORTCUT
    kinds[_among(ends, np.sort(graph.bridges, axis=1), len(graph.bandwidths))] = BRIDGE
    return JudgedEdges(ends, kinds)


def is_complete(graph: LandmarkGraph) -> bool:
    """Return whether every landmark is linked to every other landmark."""
    k = len(graph.bandwidths)
    return k > 2 and graph.lengths.nnz == k * (k - 1)


def _far(
    points: np.ndarray, covariances: np.ndarray, ends: np.ndarray, lengths: np.ndarray
) -> np.ndarray:
    left, right = np.ascontiguousarray(ends.T)
    regular, _ = regularize(covariances)
    distances = bhattacharyya(points.astype(np.float64), regular, left, right)
    widest = largest_variances(regular)
    along = lengths**2 / (8 * (widest[left] + widest[right]) / 2)
    relative = distances / along
    return (distances > _FAR * np.median(distances)) & (relative > _FAR * np.median(relative))


def _apart(graph: LandmarkGraph, ends: np.ndarray) -> np.ndarray:
    links = graph.lengths.astype(bool).astype(np.float32)
    shared = np.zeros(len(ends))
    # Compute the square of the adjacency matrix at its edges only, in chunks.
    for start in range(0, len(ends), 2**14):
        part = ends[start : start + 2**14]
        both = links[part[:, 0]].multiply(links[part[:, 1]])
        shared[start : start + 2**14] = np.asarray(both.sum(axis=1)).ravel()
    typical = np.median(shared) if len(shared) else 0
    return (shared == 0) & (typical >= _TYPICALLY_SHARED)


def _among(ends: np.ndarray, others: np.ndarray, k: int) -> np.ndarray:
    return np.isin(ends @ [k, 1], others @ [k, 1])
