"""Graph that links all pairs of landmarks."""

import numpy as np
from scipy.sparse import csr_array, get_index_dtype
from scipy.spatial.distance import cdist

from trigpoint._common.checks import check_dense, check_share
from trigpoint._common.records import LandmarkGraph, Landmarks
from trigpoint._graphs.graph import Graph, common_factor
from trigpoint._numerics.blocks import block_rows, one_blas_thread, row_blocks
from trigpoint._numerics.gaussian import FEW_COLUMNS, squared_distances

# Mean weight over all pairs with automatic bandwidths, and maximum number of pairs from which
# bandwidths are computed.
_MEAN_WEIGHT = 0.4
_PAIRS = 2**20


class CompleteGraph(Graph):
    """Link every landmark to every other one, with a wide kernel.

    With many components, as for features that replace the columns of the data, this graph preserves
    more of the data than any nearest-neighbor graph. In 2-D embeddings, it preserves less.

    Parameters
    ----------
    bandwidth : float or None, default=None
        Gaussian bandwidth of the weights. ``None`` gives each landmark its own bandwidth,
        proportional to its median distance to the others.
    mean_weight : float, default=0.4
        Mean weight of an edge if `bandwidth` is ``None``, between 0 and 1. Larger values widen the
        kernel and make the eigenvalues decay faster.

    Notes
    -----
    Memory grows with the square of the number of landmarks, to 200 MB for 4,000 landmarks.
    """

    def __init__(
        self, *, bandwidth: float | None = None, mean_weight: float = _MEAN_WEIGHT
    ) -> None:
        self.bandwidth = bandwidth
        self.mean_weight = mean_weight

    def check_parameters(self) -> None:
        super().check_parameters()
        check_share("mean_weight", self.mean_weight)

    def build(self, landmarks: Landmarks, n_threads: int = 1) -> LandmarkGraph:
        del n_threads
        self.check_parameters()
        return self.linked(landmarks)

    def linked(self, landmarks: Landmarks) -> LandmarkGraph:
        """Build the graph like `build`, without checking parameters."""
        k = len(landmarks.points)
        check_dense("landmarks", k, "landmarks in a complete graph", "fewer landmarks, or KNNGraph")
        lengths = distances_between(landmarks.points)
        if self.bandwidth is not None:
            return complete_graph(lengths, np.full(k, float(self.bandwidth)))
        # Bandwidths are proportional to each landmark's median distance. An evenly spaced subset of
        # the pairs is enough to find the common factor.
        reach = np.median(lengths, axis=1)
        relative = (lengths / np.maximum(reach[:, None], reach)).ravel()[:: -(-k * k // _PAIRS)]
        factor = common_factor(relative[relative > 0], float(self.mean_weight))
        return complete_graph(lengths, reach * factor)


def distances_between(points: np.ndarray) -> np.ndarray:
    """Return distances (k, k) between all points, exactly symmetric."""
    points = np.asarray(points, dtype=np.float64)
    if points.shape[1] <= FEW_COLUMNS:
        return cdist(points, points)
    # The rounding of products depends on the number of threads.
    with one_blas_thread():
        squares = squared_distances(points, points)
    distances = np.sqrt((squares + squares.T) / 2)
    np.fill_diagonal(distances, 0.0)
    return distances


def complete_graph(lengths: np.ndarray, bandwidths: np.ndarray) -> LandmarkGraph:
    """Link all pairs of landmarks, with weights from the larger bandwidth of each pair."""
    k, tiny = len(lengths), np.finfo(np.float64).tiny
    # Lengths and weights are at least `tiny`, since landmarks are distinct and all are linked.
    weights, others = np.empty((k, k)), np.empty((k, k - 1))
    # Work in blocks, since full temporaries would take five times the memory of the graph.
    for part in row_blocks(k, block_rows(8 * k)):
        larger = np.maximum(bandwidths[part, None], bandwidths)
        weights[part] = np.maximum(np.exp((lengths[part] / larger) ** 2 / -2), tiny)
        off_diagonal = np.arange(k) != np.arange(part.start, part.stop)[:, None]
        others[part] = np.maximum(lengths[part], tiny)[off_diagonal].reshape(len(larger), k - 1)
    np.fill_diagonal(weights, 1.0)
    # Build the arrays from indices, since SciPy's search for zeros takes 20 times as long.
    everyone = np.arange(k, dtype=get_index_dtype(maxval=k * k))
    starts = np.arange(k + 1, dtype=everyone.dtype)
    columns = np.tile(everyone[:-1], (k, 1))
    columns += columns >= everyone[:, None]
    return LandmarkGraph(
        csr_array((weights.ravel(), np.tile(everyone, k), k * starts), shape=(k, k)),
        csr_array((others.ravel(), columns.ravel(), (k - 1) * starts), shape=(k, k)),
        np.empty((0, 2), dtype=np.int64),
        bandwidths,
    )
