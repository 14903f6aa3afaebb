"""Comparison of the neighborhoods of a sample in the data and in an embedding."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import eigsh
from scipy.spatial.distance import cdist

from trigpoint._numerics.blocks import block_rows, one_blas_thread, row_blocks, thread_map

NEAREST = 10
# Size of the wider neighborhoods, as a fraction of the points.
WIDE = 0.01

# Number of columns up to which distances from differences are as fast as from matrix products, and
# more accurate.
_FEW_COLUMNS = 32

# Squared distances below this, relative to the squared radius of the cloud, count as zero, because
# coordinates of duplicates differ by rounding.
_COINCIDE = 1e-12

# Number of rows to compute principal components from, as a minimum and per column.
_PCA_ROWS = 2_000
_PCA_ROWS_PER_COLUMN = 2

# Bytes of distances ranked at once.
_BLOCK_BYTES = 2**22


def compare_neighborhoods(
    X: np.ndarray, Y: np.ndarray, n_queries: int, n_threads: int = 1
) -> dict[str, Any]:
    """Compare the neighborhoods of the first `n_queries` points of a sample in `X` and `Y`.

    The points `X` (r, d) are in random order, because ties go to earlier points, and `Y` (r, l) are
    their coordinates in the embedding. The result has the names of the attributes of `Quality`.

    Notes
    -----
    The rank of a neighbor is the number of nearer points. Every neighbor in `Y` that is not a
    neighbor in `X` reduces trustworthiness by the excess of its rank in `X` over the size of the
    neighborhood; continuity swaps `X` and `Y`. Both are 1 if all neighbors are preserved, and about
    0.5 for a random embedding (Venna and Kaski, 2001). The local dimension is the maximum
    likelihood estimate of Levina and Bickel (2004), with the mean taken over inverses.
    """
    r = len(X)
    near = min(NEAREST, (r - 1) // 2)
    wide = max(near, round(WIDE * r))
    centered = X.astype(np.float64)
    centered -= centered.mean(axis=0)
    with one_blas_thread():
        components = principal_components(centered, Y.shape[1])
    spaces = [_squares_of(points) for points in (centered, Y.astype(np.float64), components)]
    # Squared distances from queries to all points, kept to find the queries nearest to each point.
    squares = np.empty((2, n_queries, r), dtype=np.float32)

    def compare(part: slice) -> np.ndarray:
        of_pca = spaces[2](part)
        for space, own in zip(spaces[:2], squares, strict=True):
            own[part] = space(part)
        return _figures(squares[0, part], squares[1, part], of_pca, near, wide)

    with one_blas_thread():
        parts = row_blocks(n_queries, block_rows(8 * r, _BLOCK_BYTES))
        figures = np.concatenate(list(thread_map(compare, parts, n_threads)))
    distortion = _distortion(squares, n_threads)
    kept, kept_wide, pca_kept, pca_kept_wide, intruders, missing, inverse = figures.T
    worst = near * (2 * r - 3 * near - 1) / 2
    inverse = inverse[np.isfinite(inverse)]
    return {
        "n_neighbors": near,
        "n_wide": wide,
        "neighbors_kept": float(kept.mean()),
        "neighbors_kept_wide": float(kept_wide.mean()),
        "pca_kept": float(pca_kept.mean()),
        "pca_kept_wide": float(pca_kept_wide.mean()),
        "trustworthiness": float(1 - intruders.mean() / worst),
        "continuity": float(1 - missing.mean() / worst),
        "dimension": float(1 / inverse.mean()) if inverse.sum() > 0 else float("nan"),
        "distortion": distortion,
    }


def principal_components(X: np.ndarray, n_components: int) -> np.ndarray:
    """Project centered points onto their leading principal axes, at most all of them."""
    r, d = X.shape
    if n_components >= d:
        return X
    some = X[: max(_PCA_ROWS, _PCA_ROWS_PER_COLUMN * d)] if d <= r else X[:_PCA_ROWS]
    if d <= len(some):
        return X @ _leading_eigenvectors(some.T @ some, n_components)[1]
    # With fewer rows than columns, the axes are linear combinations of the rows.
    values, vectors = _leading_eigenvectors(some @ some.T, min(n_components, len(some) - 1))
    usable = values > len(some) * np.finfo(np.float64).eps * values.max()
    return X @ (some.T @ (vectors[:, usable] / np.sqrt(values[usable])))


def _leading_eigenvectors(matrix: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    size = len(matrix)
    if count > size // 8:
        return eigh(matrix, subset_by_index=[size - count, size - 1])
    return eigsh(matrix, count, which="LA", v0=np.ones(size))


def _squares_of(points: np.ndarray) -> Callable[[slice], np.ndarray]:
    """Return a function that computes squared distances (b, r) from a slice of points to all.

    The distance from a point to itself is infinite, so that no point is its own neighbor.
    """
    centered = points - points.mean(axis=0)
    norms = np.einsum("ij,ij->i", centered, centered)
    # Dividing by the median norm keeps squares within the range of float32.
    unit = float(np.median(norms)) or 1.0

    def squares(part: slice) -> np.ndarray:
        if points.shape[1] <= _FEW_COLUMNS:
            found = cdist(points[part], points, "sqeuclidean")
        else:
            found = norms[part, None] + norms - 2 * (centered[part] @ centered.T)
        found /= unit
        found[found <= _COINCIDE] = 0
        own = np.arange(part.start, part.stop)
        found[own - part.start, own] = np.inf
        return found.astype(np.float32)

    return squares


def _figures(
    in_x: np.ndarray, in_y: np.ndarray, in_pca: np.ndarray, near: int, wide: int
) -> np.ndarray:
    """Compute the measures (b, 7) of some queries from their squared distances (b, r)."""
    most = max(near, wide)
    of_x, of_y, of_pca = (ranked_neighbors(squares, most) for squares in (in_x, in_y, in_pca))
    shares = [
        shared(of_x[:, :m], other[:, :m], in_x.shape[1]).mean(axis=1)
        for other in (of_y, of_pca)
        for m in (near, wide)
    ]
    intruders = _excess(of_y[:, :near], of_x[:, :near], in_x)
    missing = _excess(of_x[:, :near], of_y[:, :near], in_y)
    distances = np.take_along_axis(in_x, of_x[:, :near], axis=1)
    return np.column_stack([*shares, intruders, missing, _inverse_dimension(distances)])


def ranked_neighbors(squares: np.ndarray, m: int) -> np.ndarray:
    """Return the columns (b, m) of the smallest entries of each row; ties go to lower columns."""
    farthest = np.partition(squares, m - 1, axis=1)[:, m - 1 : m]
    near = squares <= farthest
    # Ties for the last rank go to lower columns.
    for q in np.flatnonzero(np.count_nonzero(near, axis=1) > m):
        near[q] = False
        near[q, np.argsort(squares[q], kind="stable")[:m]] = True
    found = near.nonzero()[1].reshape(len(squares), m)
    order = np.take_along_axis(squares, found, axis=1).argsort(axis=1, kind="stable")
    return np.take_along_axis(found, order, axis=1)


def shared(some: np.ndarray, others: np.ndarray, width: int) -> np.ndarray:
    """Return a mask of the entries of `others` (b, m) that occur in the same row of `some`.

    All entries are below `width`.
    """
    marked = np.zeros((len(some), width), dtype=bool)
    np.put_along_axis(marked, some, True, axis=1)
    return np.take_along_axis(marked, others, axis=1)


def _excess(claimed: np.ndarray, true: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """Sum the excess of the ranks of claimed neighbors over the neighborhood size."""
    m = true.shape[1]
    total = np.zeros(len(true))
    for q, place in np.argwhere(~shared(true, claimed, squares.shape[1])):
        nearer = np.count_nonzero(squares[q] < squares[q, claimed[q, place]])
        total[q] += max(0, nearer + 1 - m)
    return total


def _inverse_dimension(squares: np.ndarray) -> np.ndarray:
    """Estimate the inverse local dimension (b,) from ascending squares; NaN if the first is 0."""
    squares = np.where(squares[:, :1] > 0, squares, np.nan).astype(np.float64)
    # Halve, because these are logarithms of ratios of squared distances.
    return np.asarray(np.log(squares[:, -1:] / squares[:, :-1]).mean(axis=1) / 2)


def _distortion(squares: np.ndarray, n_threads: int) -> np.ndarray:
    """Return the fraction of its nearest queries that each point loses, from squares (2, q, r)."""
    n_queries, r = squares.shape[1:]
    m = min(NEAREST, n_queries - 1)
    lost = np.empty(r, dtype=np.float32)

    def lose(part: slice) -> None:
        of_x, of_y = (
            ranked_neighbors(np.ascontiguousarray(space[:, part].T), m) for space in squares
        )
        lost[part] = 1 - shared(of_x, of_y, n_queries).mean(axis=1)

    for _ in thread_map(lose, row_blocks(r, block_rows(8 * n_queries, _BLOCK_BYTES)), n_threads):
        pass
    return lost
