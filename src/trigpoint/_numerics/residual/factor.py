"""The Nystrom approximation of a Gaussian kernel: what landmarks leave unexplained of it."""

from collections.abc import Iterator

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf
from scipy.spatial.distance import cdist

from trigpoint._numerics.blocks import BLOCK_BYTES, block_rows, row_blocks
from trigpoint._numerics.kernels import gaussian, squared_distances

# A landmark is left out when its squared distance, in the feature space of the kernel, from the
# span of the others falls below this. A few rounding errors of 1: any smaller distance is noise.
_SPAN_CUTOFF = 1e-15


def unexplained_variances(
    X: np.ndarray, landmarks: np.ndarray, bandwidth: float, block_bytes: int = BLOCK_BYTES
) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield blocks of rows of `X`, and the variance of each point given the landmark points.

    That is its squared distance, in the feature space of the kernel, from the span of the
    landmarks: its part of the trace error. All in float64, by a Cholesky factorisation with
    diagonal pivoting, which takes landmarks that others make redundant.
    """
    basis, factor = _independent(landmarks.astype(np.float64, copy=False), bandwidth)
    for block in row_blocks(len(X), block_rows(8 * len(basis), block_bytes)):
        x = X[block].astype(np.float64, copy=False)
        kernel = gaussian(squared_distances(x, basis), bandwidth)
        # Not the inverse of the factor: with pivoting, the solution loses fewer digits than its
        # condition number suggests.
        explained = solve_triangular(
            factor, kernel.T, trans="T", overwrite_b=True, check_finite=False
        )
        yield block, np.maximum(1.0 - np.einsum("ij,ij->j", explained, explained), 0.0)


def _independent(points: np.ndarray, bandwidth: float) -> tuple[np.ndarray, np.ndarray]:
    """Independent ones of the landmarks, and the upper Cholesky factor of their kernel."""
    # Distances by differences: the smallest pivots are what is left after nearly all digits of
    # the kernel have cancelled.
    kernel = gaussian(cdist(points, points, "sqeuclidean"), bandwidth)
    factor, order, rank, _ = dpstrf(kernel, tol=_SPAN_CUTOFF)
    return points[order[:rank] - 1], np.asfortranarray(factor[:rank, :rank])
