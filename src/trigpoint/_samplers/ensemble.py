"""L-ensembles: kernel matrices, spectra, and the projection step shared by exact samplers."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.lapack import dpstrf

from trigpoint._common.checks import check_choice, check_count, check_dense
from trigpoint._common.errors import ParameterValueError
from trigpoint._numerics.blocks import block_rows, one_blas_thread, row_blocks
from trigpoint._numerics.gaussian import gaussian_kernel, resolve_bandwidth
from trigpoint._numerics.geodesic import geodesic_kernel


@dataclass(frozen=True)
class Ensemble:
    """Spectrum of a positive semidefinite matrix L, without eigenvalues at rounding level."""

    eigenvalues: np.ndarray  # Positive eigenvalues (r,) of L, ascending; r is its numerical rank.
    basis: np.ndarray  # Eigenvectors (n, r) of L, or (q, r) of its dual ``factor.T @ factor``.
    # Matrix (n, q) with ``L = factor @ factor.T``, if known.
    factor: np.ndarray | None = None

    def eigenvectors(self, chosen: np.ndarray) -> np.ndarray:
        """Return an orthonormal basis (n, m) of the span of the `chosen` eigenvectors of L."""
        if self.factor is None:
            return self.basis[:, chosen]
        # If u is an eigenvector of the dual, factor @ u is an eigenvector of L with norm
        # sqrt(eigenvalue). The QR factorization normalizes it, and restores the orthogonality that
        # eigenvectors of small eigenvalues lose to rounding.
        return np.linalg.qr(self.factor @ self.basis[:, chosen])[0]


def make_ensemble(
    X: np.ndarray,
    *,
    kernel: Any,
    bandwidth: Any,
    n_neighbors: Any,
    rng: np.random.Generator,
    weights: np.ndarray | None = None,
    copies: np.ndarray | None = None,
) -> Ensemble:
    """Return the L-ensemble of the points.

    L is the kernel matrix. For ``"linear"``, it is ``X @ X.T`` without centering, and is formed
    only if n < d. With weights (n,), L_ij is multiplied by ``sqrt(w_i w_j)``; the automatic
    bandwidth is that of the `copies` of the points.
    """
    root = None if weights is None else np.sqrt(weights)[:, None]
    check_choice("kernel", kernel, ("gaussian", "geodesic", "linear"))
    check_count("n_neighbors", n_neighbors)
    if kernel != "linear":
        check_dense("X", len(X), "points", "EfficientDPP, which forms no kernel matrix")
    # Eigenvectors of equal eigenvalues depend on rounding, and hence on the number of threads. Use
    # one thread to make the draw reproducible.
    with one_blas_thread():
        if kernel == "linear":
            X = np.asarray(X, dtype=np.float64)
            X = X if root is None else root * X
            check_dense("X", min(X.shape), "points or columns", "a smaller sample of them")
            return decompose(X @ X.T) if X.shape[0] < X.shape[1] else decompose_dual(X)
        # A different memory order would round sums differently and change the draw.
        X = np.ascontiguousarray(X, dtype=np.float64)
        sigma = resolve_bandwidth(bandwidth, X if copies is None else copies, rng)
        if kernel == "geodesic":
            L = geodesic_kernel(X, sigma, n_neighbors)
            return decompose(L if root is None else root * L * root.T)
        factor = cholesky_factor(gaussian_kernel(X, sigma))
        return decompose_dual(factor if root is None else root * factor)


def decompose(L: np.ndarray) -> Ensemble:
    """Return the spectrum of a symmetric matrix, which is overwritten.

    Eigenvalues that are negative or at rounding level count as zero, which replaces L by the
    nearest positive semidefinite matrix in the Frobenius norm.
    """
    # The transpose is the same matrix, in the memory layout that LAPACK can overwrite in place.
    eigenvalues, basis = eigh(L.T, overwrite_a=True, check_finite=False, driver="evd")
    rounding = len(L) * np.finfo(np.float64).eps * abs(eigenvalues).max()
    kept = eigenvalues > rounding
    return Ensemble(eigenvalues[kept], basis[:, kept])


def decompose_dual(factor: np.ndarray) -> Ensemble:
    """Return the spectrum of ``factor @ factor.T``, computed from its dual ``factor.T @ factor``.

    The dual representation [1]_ has the same positive eigenvalues and is the smaller matrix when
    `factor` has fewer columns than rows.

    References
    ----------
    .. [1] A. Kulesza, B. Taskar, "Structured determinantal point processes", NIPS 2010.
    """
    n_rows, n_columns = factor.shape
    dual = np.zeros((n_columns, n_columns))
    for block in row_blocks(n_rows, max(n_columns, block_rows(8 * n_columns))):
        dual += factor[block].T @ factor[block]
    spectrum = decompose(dual)
    return Ensemble(spectrum.eigenvalues, spectrum.basis, factor)


def cholesky_factor(K: np.ndarray) -> np.ndarray:
    """Return F of shape (n, r) with ``F @ F.T = K`` up to rounding; `K` is overwritten.

    Pivoting stops when only rounding error is left. The numerical rank of a Gaussian kernel is
    often low, in which case its dual is a small matrix.
    """
    factor, pivots, rank, _ = dpstrf(K.T, lower=1, overwrite_a=1)
    F = np.empty((len(K), rank))
    F[pivots - 1] = np.tril(factor[:, :rank])
    return F


def check_rank(n_landmarks: int, rank: int, kernel: str) -> None:
    """Reject more landmarks than the rank of the kernel, since larger sets have determinant 0."""
    if n_landmarks > rank:
        remedy = ", a smaller bandwidth or more distinct points"
        if kernel == "linear":
            remedy = " (the rank of the linear kernel is at most the number of columns)"
        raise ParameterValueError(
            f"n_landmarks={n_landmarks} is above the numerical rank {rank} of the {kernel} "
            "kernel, so every set of that size has determinant zero: choose n_landmarks <= "
            f"{rank}{remedy}",
            "n_landmarks",
        )


def draw_projection(V: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw as many rows as `V` has columns, with the second loop of Algorithm 1.

    The columns of `V` (n, m) are the chosen eigenvectors, which are orthonormal. Returns distinct
    rows (m,) in the order they were drawn; a set J has probability ``det(V_J)^2``.

    Projecting every row B_j onto the orthogonal complement of a chosen row with direction e lowers
    ``|B_j|^2`` by ``(e . B_j)^2``. Only norms and directions are updated, not the rows, so a step
    costs O(n m).
    """
    rows, m = np.ascontiguousarray(V), V.shape[1]
    norms = np.einsum("ij,ij->i", rows, rows)
    directions, indices = np.empty((m, m)), np.empty(m, dtype=np.int64)
    for step in range(m):
        cumulated = np.cumsum(norms)
        # The first sum strictly above a number from [0, total) is never at a row of norm 0.
        i = int(np.searchsorted(cumulated, rng.random() * cumulated[-1], side="right"))
        past, direction = directions[:step], rows[i]
        # Orthogonalize twice, since once is not enough if little of the row remains.
        for _ in range(2):
            direction = direction - (past @ direction) @ past
        directions[step] = direction / np.sqrt(direction @ direction)
        norms -= np.square(rows @ directions[step])
        np.maximum(norms, 0, out=norms)
        # Zero up to rounding; make it exactly zero so that no point is drawn twice.
        norms[i] = 0
        indices[step] = i
    return indices
