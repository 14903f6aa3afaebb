"""Principal directions of neighborhoods, without a matrix of d x d in high dimension."""

import numpy as np

from trigpoint._common.records import LowRankCovariances

# Most directions that are kept; how many of them the data needs is decided later. With the point
# itself they are eight rows to multiply, and a Bhattacharyya distance in 784-D takes twice as long
# as that of diagonals. With 16 it takes ten times as long, and no data we tried was better for it.
MAX_RANK = 7

# In high dimension, directions come from at most this many of the neighbors: eigenvectors of as
# many take .3 ms, and of 256 take 9 ms. Graphs of digits and of CT patches were equally good with
# 64, 128 and 512.
SAMPLED = 64


def sampled(rows: np.ndarray) -> np.ndarray:
    """At most 64 of a neighborhood's rows, ascending.

    Those whose scrambled bits are lowest: as good as random, but the same wherever the points are
    stored. Neighborhoods share their samples where they overlap, so that their differences are not
    those between samples.
    """
    rows = np.sort(rows)
    if len(rows) <= SAMPLED:
        return rows
    keys = _scrambled(rows)
    return rows[np.sort(np.argpartition(keys, SAMPLED - 1)[:SAMPLED])]


def _scrambled(rows: np.ndarray) -> np.ndarray:
    """Scattered, different numbers for different rows: SplitMix64's bijection of 64 bits."""
    bits = rows.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(bits ^ (bits >> np.uint64(31)))


def principal_directions(points: np.ndarray, origin: np.ndarray) -> LowRankCovariances:
    """Probabilistic PCA of some points, measured from `origin`, which is near them.

    Eigenvectors are those of the smaller of two matrices: products of coordinates, or of points.
    """
    offsets = points.astype(np.float64) - origin
    offsets -= offsets.mean(axis=0)
    m, d = offsets.shape
    if d <= m:
        return of_matrices((offsets.T @ offsets / m)[None], m, points.dtype)
    rank = _most_directions(m, d)
    values, vectors = np.linalg.eigh(offsets @ offsets.T / m)
    values, vectors = np.maximum(values[::-1], 0), vectors[:, ::-1]
    directions = vectors[:, :rank].T @ offsets
    lengths = np.sqrt(np.einsum("ij,ij->i", directions, directions))
    # What is left of a direction without variance is rounding error.
    kept = lengths > np.sqrt(m * np.finfo(np.float64).eps * values[0] * m)
    directions = np.where(kept[:, None], directions, 0) / np.where(kept, lengths, 1)[:, None]
    variances = np.where(kept, values[:rank], 0)
    rest = max(values.sum() - variances.sum(), 0.0) / max(d - rank, 1)
    return LowRankCovariances(
        directions.astype(points.dtype)[None], variances[None], np.array([rest])
    )


def of_matrices(covariances: np.ndarray, m: int, dtype: np.dtype) -> LowRankCovariances:
    """Closest covariances of low rank to full ones (q, d, d), each of `m` points."""
    d = covariances.shape[1]
    rank = _most_directions(m, d)
    values, vectors = np.linalg.eigh(covariances)
    values, vectors = np.maximum(values[:, ::-1], 0), vectors[:, :, ::-1]
    directions = np.ascontiguousarray(vectors[:, :, :rank].transpose(0, 2, 1), dtype=dtype)
    # If these are all the directions there are, nothing depends on the variance of the rest.
    rest = values[:, rank:].mean(axis=1) if rank < d else values[:, -1].copy()
    return LowRankCovariances(directions, values[:, :rank].copy(), rest)


def _most_directions(m: int, d: int) -> int:
    return max(1, min(MAX_RANK, d, m - 1))
