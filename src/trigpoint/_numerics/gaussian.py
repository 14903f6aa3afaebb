"""Gaussian kernels, bandwidth rules, and the repulsion functions of Algorithm 2."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist, pdist

from trigpoint._common.checks import check_positive
from trigpoint._common.errors import ParameterValueError
from trigpoint._numerics.blocks import one_blas_thread, sample_points

Repulsion = Callable[[np.ndarray, float], np.ndarray]

# Function that maps two float64 arrays of points to the kernel matrix between their rows.
Kernel = Callable[[np.ndarray, np.ndarray], np.ndarray]

# Up to this many columns, distances are computed from differences, which is accurate and as fast as
# a matrix product. With more columns, products are used if all points are within this distance of
# the center, in bandwidths.
FEW_COLUMNS = 32
_NEAR = 10.0

_MEDIAN_SAMPLE = 1000

# Minimum sample size for measuring the spacing of landmarks, sample size per landmark, and number
# of measurements.
_SPACING_POINTS = 20_000
_SPACING_SHARE = 32
_SPACING_QUERIES = 128


def squared_distances(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return squared Euclidean distances between the rows of `A` and `B`, by a matrix product.

    The mean of `B` is subtracted from both, because far from the origin, the product would lose all
    significant digits to cancellation.
    """
    center = B.mean(axis=0, dtype=np.float64).astype(B.dtype)
    A, B = A - center, B - center
    norms = np.einsum("ij,ij->i", A, A)[:, None] + np.einsum("ij,ij->i", B, B)
    squares = norms - 2 * (A @ B.T)
    return np.maximum(squares, 0, out=squares)


def gaussian(squares: np.ndarray, bandwidth: float) -> np.ndarray:
    """Return the Gaussian kernel ``exp(-squares / (2 bandwidth^2))`` of squared distances."""
    # If the quotient overflows, the kernel is 0.
    with np.errstate(over="ignore"):
        return np.exp(squares / (-2.0 * bandwidth**2))


def gaussian_of(bandwidth: float) -> Kernel:
    """Return a function that computes the Gaussian kernel between two float64 arrays of points.

    Entries are accurate to about 1e-13, even for coincident points.
    """

    def kernel(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        products = A.shape[1] > FEW_COLUMNS and _within(_NEAR * bandwidth, A, B)
        squares = squared_distances(A, B) if products else cdist(A, B, metric="sqeuclidean")
        return gaussian(squares, bandwidth)

    return kernel


def _within(distance: float, A: np.ndarray, B: np.ndarray) -> bool:
    """Return whether all points lie within this distance of the mean of `B`."""
    center = B.mean(axis=0)
    squares = [np.einsum("ij,ij->i", X - center, X - center).max(initial=0) for X in (A, B)]
    return bool(max(squares) <= distance**2)


def gaussian_kernel(X: np.ndarray, bandwidth: float) -> np.ndarray:
    """Return the dense Gaussian kernel matrix of the rows of `X`, with a unit diagonal."""
    with one_blas_thread():
        K = gaussian(squared_distances(X, X), bandwidth)
    K = (K + K.T) / 2
    np.fill_diagonal(K, 1.0)
    return K


def median_bandwidth(X: np.ndarray, rng: np.random.Generator) -> float:
    """Return the median distance between up to 1,000 random points, the usual heuristic."""
    some = sample_points(X, _MEDIAN_SAMPLE, rng)
    distances = pdist(np.asarray(some, dtype=np.float64))
    distances = distances[distances > 0]
    if distances.size == 0:
        raise ParameterValueError(
            "bandwidth=None needs at least two distinct points for a median distance, but all "
            "sampled points are identical: pass bandwidth as a number",
            "bandwidth",
        )
    return float(np.median(distances))


def landmark_spacing(X: Any, k: int, rng: np.random.Generator, name: str = "bandwidth") -> float:
    """Return the radius of a ball that holds n / k points, the average number per landmark.

    The result is the median over balls around a few random points, in a sample large enough for a
    good estimate. If the median is zero because of duplicates, larger balls are measured.
    """
    from trigpoint._neighbors.index import neighbor_index

    X = sample_points(X, max(_SPACING_POINTS, _SPACING_SHARE * k), rng)
    n = X.shape[0]
    share = min(max(1, n // k), n - 1)
    index = neighbor_index(X, share + 1, _SPACING_QUERIES)
    queries = index.take(rng.choice(n, min(n, _SPACING_QUERIES), replace=False))
    while True:
        # Each query is its own nearest neighbor.
        radius = float(np.median(np.sqrt(index.search(queries, share + 1).squared_radii)))
        if radius > 0:
            return radius
        if share == n - 1:
            raise ParameterValueError(
                f"{name}=None needs distinct points to measure their spacing, but nearly all "
                f"points are identical: pass {name} as a number",
                name,
            )
        share = min(2 * share, n - 1)


def resolve_kernel_bandwidth(
    bandwidth: Any, X: Any, k: int, rng: np.random.Generator, name: str = "bandwidth"
) -> float:
    """Return the bandwidth of a kernel that `k` landmarks should approximate.

    ``None`` takes twice the spacing of `k` landmarks, which leaves a few percent of the trace
    unexplained and the kernel matrix of the landmarks far from singular. `name` is the name of the
    parameter in error messages.
    """
    if bandwidth is None:
        return 2.0 * landmark_spacing(X, k, rng, name)
    return check_positive(name, bandwidth)


def resolve_bandwidth(bandwidth: Any, X: np.ndarray, rng: np.random.Generator) -> float:
    """Return `bandwidth` as a positive number; ``None`` takes the median distance."""
    if bandwidth is None:
        return median_bandwidth(X, rng)
    return check_positive("bandwidth", bandwidth)


def welsch(distance: np.ndarray, bandwidth: float) -> np.ndarray:
    """Welsch function ``1 - exp(-distance^2 / (2 bandwidth^2))``, the function f of the paper."""
    return -np.expm1(-np.square(distance / bandwidth) / 2)


def sin2(distance: np.ndarray, bandwidth: float) -> np.ndarray:
    r"""Sine repulsion ``sin^2(distance / tau)`` with ``tau = sqrt(2) bandwidth``.

    With this tau, it agrees with the Welsch function to second order at distance 0. The argument is
    clipped at pi / 2, where the sine reaches 1, so that points farther away are not repelled again.
    """
    return np.square(np.sin(np.minimum(distance / (np.sqrt(2.0) * bandwidth), np.pi / 2)))


REPULSIONS: dict[str, Repulsion] = {"welsch": welsch, "sin2": sin2}
