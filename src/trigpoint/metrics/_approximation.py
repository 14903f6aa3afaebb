"""Accuracy of kernel approximations from landmarks."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from trigpoint._common.checks import check_bool, check_count, check_dense, check_positive
from trigpoint._numerics.gaussian import gaussian_kernel
from trigpoint._numerics.residual.factor import nystrom_rows, unexplained_variances
from trigpoint.metrics._checks import as_landmarks, as_matrix


def nystrom_error(X: Any, landmarks: Any, bandwidth: float, *, relative: bool = False) -> float:
    """Trace-norm error of the Nystrom approximation of the Gaussian kernel (equation 1).

    The error is ``tr(K) - tr(K_XJ pinv(K_JJ) K_JX)``, where J are the landmarks. It is the sum of
    the squared distances of all points from the span of the landmarks, in the feature space of the
    kernel.

    Parameters
    ----------
    X : array-like of shape (n, d)
        The points.
    landmarks : array-like of int of shape (k,), or of shape (k, d)
        Rows of `X`, or landmark points that need not be rows, such as k-means centers. Duplicate
        landmarks have no effect.
    bandwidth : float
        Bandwidth sigma of ``exp(-|x - y|^2 / (2 sigma^2))``.
    relative : bool, default=False
        Whether to divide by ``tr(K) = n``, so that the error ranges from 0 (exact) to 1 (nothing
        explained).

    Returns
    -------
    error : float
        Nonnegative error; exactly 0 if every row is a landmark.

    See Also
    --------
    nystrom_factor : Factor of the approximation.
    optimal_error : Smallest error of any approximation of the same rank.

    Notes
    -----
    Computations are in float64, in blocks of 16 MiB of the kernel matrix. The pseudo-inverse comes
    from a Cholesky factorization of ``K_JJ`` with diagonal pivoting, truncated at a squared
    distance of 1e-15 from the span of the earlier landmarks (the kernel of a point with itself is
    1).
    Rounding errors of pivots are relative to 1, whereas those of eigenvalues would be relative to
    the largest eigenvalue. The result is accurate to about six digits for condition numbers of
    ``K_JJ`` up to 1e13. Beyond 1e15, float64 cannot represent the whole span of crowded landmarks;
    the remainder is dropped, and the error is larger than in exact arithmetic.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> round(nystrom_error(X, [1], bandwidth=1.0), 6)  # 2 (1 - exp(-1))
    1.264241
    >>> nystrom_error(X, [0, 1, 2], bandwidth=1.0)
    0.0
    """
    X = as_matrix("X", X)
    points, rows = as_landmarks(X, landmarks)
    bandwidth = check_positive("bandwidth", bandwidth)
    check_bool("relative", relative)
    error = 0.0
    for block, variances in unexplained_variances(X, points, bandwidth):
        if rows is not None:
            # Landmarks have zero error, except for rounding.
            variances[rows[(rows >= block.start) & (rows < block.stop)] - block.start] = 0
        error += float(variances.sum())
    return error / len(X) if relative else error


def nystrom_factor(X: Any, landmarks: Any, bandwidth: float) -> np.ndarray:
    """Factor F of the Nystrom approximation ``F F^T`` of the Gaussian kernel.

    The factor satisfies ``F F^T = K_XJ pinv(K_JJ) K_JX``, where J are the landmarks. Rows of F are
    coordinates of the points in the span of the landmarks, in the feature space of the kernel.
    Products with the approximation, ``F (F^T v)``, and its leading eigenvectors, from the small
    matrix ``F^T F``, do not need an n x n matrix.

    Parameters
    ----------
    X : array-like of shape (n, d)
        The points.
    landmarks : array-like of int of shape (k,), or of shape (k, d)
        Rows of `X`, or landmark points that need not be rows.
    bandwidth : float
        Bandwidth sigma of ``exp(-|x - y|^2 / (2 sigma^2))``.

    Returns
    -------
    F : float64 ndarray of shape (n, r)
        Factor, where r is the numerical rank of ``K_JJ``, which is less than k if landmarks
        coincide or nearly coincide.

    See Also
    --------
    nystrom_error : Error of the approximation, ``n - (F**2).sum()``, without storing F.

    Notes
    -----
    With the factorization described in `nystrom_error`, ``F = K_XB L^-T``, where B are r
    independent landmarks and ``K_BB = L L^T``.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> F = nystrom_factor(X, [1], bandwidth=1.0)
    >>> (F @ F.T).round(3)
    array([[0.368, 0.607, 0.368],
           [0.607, 1.   , 0.607],
           [0.368, 0.607, 0.368]])
    """
    X = as_matrix("X", X)
    points, _ = as_landmarks(X, landmarks)
    bandwidth = check_positive("bandwidth", bandwidth)
    return np.hstack([columns for _, columns in nystrom_rows(X, points, bandwidth)]).T


def optimal_error(
    X: Any, bandwidth: float, n_landmarks: int | Sequence[int], *, relative: bool = False
) -> Any:
    """Smallest trace-norm error of any rank-`n_landmarks` approximation of the Gaussian kernel.

    This is the sum of the remaining eigenvalues, and no choice of landmarks has a smaller error.
    The whole n x n kernel matrix and O(n^3) time are needed, so the function is meant for up to a
    few thousand points.

    Parameters
    ----------
    X : array-like of shape (n, d)
        The points.
    bandwidth : float
        Bandwidth sigma of ``exp(-|x - y|^2 / (2 sigma^2))``.
    n_landmarks : int or sequence of int
        Number of landmarks, from 0 to n. Several numbers cost no more than one.
    relative : bool, default=False
        Whether to divide by ``tr(K) = n``.

    Returns
    -------
    error : float, or ndarray with one float for each of `n_landmarks`
        Lower bound on the error.

    See Also
    --------
    nystrom_error : Error of given landmarks.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0]])  # eigenvalues 1 +- exp(-1/2)
    >>> optimal_error(X, 1.0, [0, 1, 2]).round(6)
    array([2.      , 0.393469, 0.      ])
    """
    X = as_matrix("X", X).astype(np.float64, copy=False)
    bandwidth = check_positive("bandwidth", bandwidth)
    check_bool("relative", relative)
    n = len(X)
    counts = [n_landmarks] if np.ndim(n_landmarks) == 0 else list(n_landmarks)  # type: ignore[arg-type]  # ndim tells
    for count in counts:
        check_count("n_landmarks", count, low=0, high=n, why=f"the data has {n} points")
    check_dense("X", n, "points", "a smaller sample of them")
    eigenvalues = np.linalg.eigvalsh(gaussian_kernel(X, bandwidth))
    smallest = np.concatenate([[0.0], np.cumsum(eigenvalues)])
    errors = np.maximum(smallest[n - np.array(counts, dtype=np.int64)], 0.0)
    if relative:
        errors /= n
    return float(errors[0]) if np.ndim(n_landmarks) == 0 else errors
