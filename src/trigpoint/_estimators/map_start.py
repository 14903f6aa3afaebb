"""Initial positions for the layout of a map."""

from typing import Any

import numpy as np

from trigpoint._common.device import to_device
from trigpoint._common.errors import ParameterValueError
from trigpoint._common.records import Extension, Landmarks
from trigpoint._estimators.eigenmaps import LaplacianEigenmaps
from trigpoint._estimators.graph_embedding import GraphEmbedding
from trigpoint._estimators.isomap import FarRowError, Isomap
from trigpoint._extension.extensions import extend
from trigpoint._layout import PrincipalAxes, principal_start, scaled_start
from trigpoint._numerics.blocks import Run, block_rows, row_blocks, sample_points
from trigpoint._pool import LEAST_ROWS, Pool
from trigpoint._samplers.choice import draw_landmarks
from trigpoint.metrics._agreement import agreement, neighbor_ranks, reference_distances

INITS = ("auto", "pca", "spectral")

# Principal components fold rolled-up surfaces, and the layout would then tear them permanently.
# Isomap, which unrolls surfaces, is therefore tried up to this local dimension if there are at
# least this many landmarks.
_SURFACE_DIMENSION = 3.0
_FEWEST_OF_SURFACE = 50
# Size of the sample in which the neighborhoods of both are compared.
_JUDGED = 500
_NEIGHBORS = 10
# Minimum advantage of Isomap. Among nine surfaces and image sets, its advantage is 0.5 if the
# surface is rolled up, and otherwise at most 0.06.
_UNROLLED = 0.1

# Number of points on a device from which principal axes are computed.
_SAMPLE = 20_000

# Number of landmarks that other estimators are fitted to.
_LANDMARKS = 500


def map_start(
    init: Any,
    landmarks: Landmarks,
    dimension: float,
    n_components: int,
    run: Run,
    there: Any = None,
) -> np.ndarray:
    """Return positions (k, l) of the landmarks from which the layout starts.

    `init` is the validated parameter of `LandmarkMap`. Landmarks need masses and points in the
    space where distances are measured, whose local dimension is `dimension`. If `there` is a tensor
    (k, d) with the same points, they are projected on its device, onto the axes of a sample.
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

    def everywhere(extension: Extension) -> np.ndarray:
        """Return coordinates of all landmarks."""
        if there is None:
            return extend(extension, points.astype(np.float64), run.n_threads)[0]
        from trigpoint._extension.torch import on_device

        return np.asarray(on_device(extension, there.device)(there)[0].cpu().numpy())

    if init == "spectral":
        found = everywhere(_fitted(LaplacianEigenmaps(n_components), points, run))
        return scaled_start(found, masses, run.rng)
    if there is None:
        plain = principal_start(points, masses, n_components, run.rng)
    else:
        some = np.sort(run.rng.choice(len(points), min(_SAMPLE, len(points)), replace=False))
        axes = PrincipalAxes.of(points[some], masses[some], n_components)
        plain = scaled_start(_projected(axes, there), masses, run.rng)
    is_surface = n_components - 0.5 < dimension <= _SURFACE_DIMENSION
    is_surface &= n_components < points.shape[1] and len(points) >= _FEWEST_OF_SURFACE
    if init == "pca" or not is_surface:
        return plain
    try:
        extension = _fitted(Isomap(n_components), points, run)
    except FarRowError:
        # A single distant row swamps the precision of the shortest paths.
        return plain
    some = np.sort(run.rng.choice(len(points), min(_JUDGED, len(points)), replace=False))
    judged = points[some]
    unrolled, _ = extend(extension, judged.astype(np.float64), run.n_threads)
    neighbors = min(_NEIGHBORS, len(some) - 1)
    ranks = neighbor_ranks(reference_distances(judged, neighbors))
    if agreement(ranks, unrolled) < agreement(ranks, plain[some]) + _UNROLLED:
        return plain
    return scaled_start(everywhere(extension), masses, run.rng, finished=True)


def _fitted(estimator: GraphEmbedding, points: np.ndarray, run: Run) -> Extension:
    """Return the extension of another estimator, fitted to some of the points."""
    pool = Pool(sample_points(points, LEAST_ROWS, run.rng).astype(np.float64))
    # The layout separates connected components that the estimator has to join, so its warnings are
    # dropped with its run.
    own = Run(int(run.rng.integers(2**31)), run.n_threads, False)
    landmarks = draw_landmarks(min(_LANDMARKS, len(points)), pool, own)
    _, extension = estimator._embed(pool, landmarks, own)
    return extension


def _projected(axes: PrincipalAxes, there: Any) -> np.ndarray:
    """Project points on a device in blocks, and copy their coordinates to the host."""
    longest = axes.longest
    median, mean, directions = (
        to_device(array, there.device) for array in (axes.median, axes.mean, axes.directions)
    )
    axes = PrincipalAxes(median, longest, mean, directions)
    parts = row_blocks(len(there), block_rows(32 * there.shape[1], 2**30))
    return np.concatenate([axes(there[part]).cpu().numpy() for part in parts])
