"""Weighted sums over the landmarks that speak for a point, for a block of points."""

import math

import numpy as np

from trigpoint._numerics.compiled.jit import compiled


@compiled
def shepard_shares(distances: np.ndarray, shares: np.ndarray) -> None:
    """Fill the (b, parts) `shares` of each point's nearest landmarks; each row sums to 1.

    They are ``((r - distance) / distance)^2``, scaled, with `r` the distance to the next landmark,
    if `distances` has a further column for one: D. Shepard (1968) as modified by R. Franke and
    G. Nielson (1980).
    """
    parts = shares.shape[1]
    for i in range(len(shares)):
        first = distances[i, 0]
        total = 0.0
        for p in range(parts):
            # Relative to the first distance, so that a point on a landmark is no special case.
            closeness = first / distances[i, p] if distances[i, p] > first else 1.0
            if distances.shape[1] > parts:
                beyond = distances[i, parts]
                closeness *= (beyond - distances[i, p]) / beyond if beyond > 0 else 1.0
            shares[i, p] = closeness * closeness
            total += shares[i, p]
        for p in range(parts):
            # Where all are equally far, all count.
            shares[i, p] = shares[i, p] / total if total > 0 else 1.0 / parts


@compiled
def graph_squares(
    X: np.ndarray, nearest: np.ndarray, coordinates: np.ndarray, squares: np.ndarray
) -> None:
    """Fill the (b, parts, width) `squares` with distances to the rows of the nearest landmarks.

    `coordinates` (k, d, width) are those of the landmarks in each one's row: one coordinate of all
    of them is contiguous, so that many distances are computed at once.
    """
    for i in range(len(X)):
        for p in range(nearest.shape[1]):
            own = nearest[i, p]
            for j in range(squares.shape[2]):
                squares[i, p, j] = 0.0
            for c in range(X.shape[1]):
                value = np.float64(X[i, c])
                for j in range(squares.shape[2]):
                    difference = value - coordinates[own, c, j]
                    squares[i, p, j] += difference * difference


@compiled
def graph_exponents(
    squares: np.ndarray,
    nearest: np.ndarray,
    shares: np.ndarray,
    half_precisions: np.ndarray,
    log_factors: np.ndarray,
) -> None:
    """Turn `squares` of `graph_squares` into logarithms of weights."""
    parts, width = squares.shape[1:]
    for i in range(len(squares)):
        for p in range(parts):
            own = nearest[i, p]
            log_share = math.log(shares[i, p]) if shares[i, p] > 0 else -np.inf
            for j in range(width):
                squares[i, p, j] = (
                    log_share + log_factors[own, j] - squares[i, p, j] * half_precisions[own, j]
                )


@compiled
def shift_largest_to_zero(exponents: np.ndarray, far: float) -> int:
    """Shift the (parts, width) exponents of each point so that the largest is 0.

    Where all are infinitely small, the first place stands alone, the nearest landmark's. Returns
    the number of points whose largest was below `far`.
    """
    parts, width = exponents.shape[1:]
    n_far = 0
    for i in range(len(exponents)):
        most = -np.inf
        for p in range(parts):
            for j in range(width):
                most = max(most, exponents[i, p, j])
        n_far += most < far
        if most == -np.inf:
            exponents[i, 0, 0] = most = 0.0
        for p in range(parts):
            for j in range(width):
                exponents[i, p, j] -= most
    return n_far


@compiled
def weighted_sums(
    weights: np.ndarray,
    nearest: np.ndarray,
    columns: np.ndarray,
    values: np.ndarray,
    result: np.ndarray,
) -> None:
    """Fill `result` (b, l) with the sums of the landmarks' `values` (k, l) by weight.

    Place (p, j) of a point's (parts, width) `weights` belongs to landmark
    ``columns[nearest[p], j]``.
    """
    parts, width = weights.shape[1:]
    for i in range(len(weights)):
        result[i] = 0.0
        for p in range(parts):
            own = nearest[i, p]
            for j in range(width):
                weight = weights[i, p, j]
                column = columns[own, j]
                for c in range(values.shape[1]):
                    result[i, c] += weight * values[column, c]


@compiled
def squares_from_products(
    products: np.ndarray, norms: np.ndarray, landmark_norms: np.ndarray
) -> None:
    """Turn inner products (b, k) of points and landmarks into squared distances."""
    for i in range(len(products)):
        for j in range(products.shape[1]):
            square = norms[i] + landmark_norms[j] - 2 * products[i, j]
            products[i, j] = max(square, 0)


@compiled
def dense_exponents(squares: np.ndarray, own: np.ndarray, bandwidths: np.ndarray) -> None:
    """Turn the (b, k) `squares` to all landmarks into logarithms of kernels.

    `own` (b,) and `bandwidths` (k,) are those of points and landmarks; a pair takes the larger.
    """
    for i in range(len(squares)):
        for j in range(squares.shape[1]):
            bandwidth = max(own[i], bandwidths[j])
            squares[i, j] *= -0.5 / (bandwidth * bandwidth)


@compiled
def nearest_columns(squares: np.ndarray, nearest: np.ndarray, distances: np.ndarray) -> None:
    """Fill `nearest` and `distances` (b, count) with the smallest of each row, in order."""
    last = nearest.shape[1] - 1
    for i in range(len(squares)):
        distances[i] = np.inf
        for j in range(squares.shape[1]):
            square = squares[i, j]
            if square < distances[i, last]:
                place = last
                while place > 0 and distances[i, place - 1] > square:
                    distances[i, place] = distances[i, place - 1]
                    nearest[i, place] = nearest[i, place - 1]
                    place -= 1
                distances[i, place] = square
                nearest[i, place] = j
        for place in range(last + 1):
            distances[i, place] = math.sqrt(distances[i, place])


@compiled
def shortest_paths(
    lengths: np.ndarray, columns: np.ndarray, geodesics: np.ndarray, paths: np.ndarray
) -> None:
    """Fill `paths` (b, k) with the shortest to all landmarks.

    They start with one of the (b, width) `lengths` to the landmark in `columns`; infinite lengths
    start none. Where none starts, they are 0.
    """
    k = len(geodesics)
    for i in range(len(lengths)):
        started = False
        for j in range(lengths.shape[1]):
            length = lengths[i, j]
            if length == np.inf:
                continue
            through = geodesics[columns[i, j]]
            if started:
                for c in range(k):
                    paths[i, c] = min(paths[i, c], through[c] + length)
            else:
                for c in range(k):
                    paths[i, c] = through[c] + length
                started = True
        if not started:
            paths[i] = 0.0
