"""Where the layout of a map starts."""

from typing import Any

import numpy as np

from trigpoint._common.errors import ParameterValueError
from trigpoint._common.records import Landmarks
from trigpoint._estimators.eigenmaps import LaplacianEigenmaps
from trigpoint._estimators.graph_embedding import GraphEmbedding
from trigpoint._estimators.isomap import FarRowError, Isomap
from trigpoint._extension.extensions import extend
from trigpoint._layout import principal_start, scaled_start
from trigpoint._numerics.blocks import Run
from trigpoint._pool import Pool
from trigpoint._samplers.choice import draw_landmarks
from trigpoint.metrics._agreement import agreement, neighbor_ranks, reference_distances

INITS = ("auto", "pca", "spectral")

# Up to this local dimension, and from this many landmarks on, principal components are compared
# with Isomap, which unrolls surfaces: the layout would tear them apart for good. Isomap has to
# preserve neighborhoods of a sample better by this much. Of nine surfaces and image sets, those
# that are rolled up differ by 0.5, and the others by at most 0.06.
_SURFACE_DIMENSION = 3.0
_FEWEST_OF_SURFACE = 50
_JUDGED = 500
_NEIGHBORS = 10
_UNROLLED = 0.1

# Number of landmarks that other estimators are fitted to.
_LANDMARKS = 500


def map_start(
    init: Any, landmarks: Landmarks, dimension: float, n_components: int, run: Run
) -> np.ndarray:
    """Return positions (k, l) of the landmarks from which the layout starts.

    Parameters
    ----------
    init : {"auto", "pca", "spectral"} or ndarray of shape (n, l)
        As for `LandmarkMap`, checked.
    landmarks : Landmarks
        With masses, and points in the space where distances are measured.
    dimension : float
        Local dimension of the points.
    n_components : int
    run : Run
    """
    points, masses = landmarks.points, landmarks.masses
    assert masses is not None
    if not isinstance(init, str):
        if landmarks.indices is None:
            raise ParameterValueError(
                "init has coordinates of the rows of X, and the landmarks are not rows: pass row "
                "numbers as landmarks, or choose init='auto'",
                "init",
            )
        given = np.asarray(init, dtype=np.float64)
        return scaled_start(given[landmarks.indices], masses, run.rng)
    if init == "spectral":
        start = _embedded(LaplacianEigenmaps(n_components), points, run)
        return scaled_start(start, masses, run.rng)
    plain = principal_start(points, masses, n_components, run.rng)
    is_surface = n_components - 0.5 < dimension <= _SURFACE_DIMENSION
    is_surface &= n_components < points.shape[1] and len(points) >= _FEWEST_OF_SURFACE
    if init == "pca" or not is_surface:
        return plain
    try:
        unrolled = _embedded(Isomap(n_components), points, run)
    except FarRowError:
        # Shortest paths have no digits left for other rows than the one far away.
        return plain
    some = np.sort(run.rng.choice(len(points), min(_JUDGED, len(points)), replace=False))
    neighbors = min(_NEIGHBORS, len(some) - 1)
    ranks = neighbor_ranks(reference_distances(points[some], neighbors))
    if agreement(ranks, unrolled[some]) < agreement(ranks, plain[some]) + _UNROLLED:
        return plain
    return scaled_start(unrolled, masses, run.rng, finished=True)


def _embedded(estimator: GraphEmbedding, points: np.ndarray, run: Run) -> np.ndarray:
    """Return coordinates (k, l) of points by another estimator, fitted to some of them."""
    pool = Pool(points.astype(np.float64))
    # The layout separates connected components that the estimator has to join, so its warnings are
    # dropped with its run.
    own = Run(int(run.rng.integers(2**31)), run.n_threads, False)
    landmarks = draw_landmarks(min(_LANDMARKS, len(points)), pool, own)
    _, extension = estimator._embed(pool, landmarks, own)
    positions, _ = extend(extension, pool.points, run.n_threads)
    return positions
