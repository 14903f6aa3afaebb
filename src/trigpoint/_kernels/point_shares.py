"""Comparison of the neighborhoods of points among landmarks, in the data and in an embedding."""

import numpy as np

from trigpoint._kernels.jit import compiled


@compiled
def point_shares(
    X: np.ndarray,
    Y: np.ndarray,
    landmarks: np.ndarray,
    positions: np.ndarray,
    nearest: np.ndarray,
    lists: np.ndarray,
    far: np.ndarray,
    m: int,
    tolerance: float,
    shares: np.ndarray,
) -> None:
    """Fill `shares` (b, 3) with the preserved, torn and false shares of each point's neighbors.

    `nearest` (2, b) are the landmarks nearest to the points `X` among `landmarks`, and to their
    coordinates `Y` among `positions`. The `m` neighbors of a point are searched among the landmarks
    that `lists` (2, k, s) holds for these two. `far` (2, k) are the squared distances from
    landmarks beyond which others are far. Squared distances that differ by less than the factor
    `tolerance` are equal. A landmark is not its own neighbor.
    """
    found = np.empty(m, dtype=np.int64)
    squares = np.empty(m)
    for i in range(len(X)):
        in_x, in_y = nearest[0, i], nearest[1, i]
        own = in_x if _square(X[i], landmarks[in_x]) == 0 else -1
        count = _closest(X[i], landmarks, lists[0, in_x], own, found, squares)
        radius = squares[count - 1] * tolerance
        torn = 0
        for j in range(count):
            torn += _square(Y[i], positions[found[j]]) > far[1, in_y] * tolerance
        shares[i, 1] = torn / count
        count = _closest(Y[i], positions, lists[1, in_y], own, found, squares)
        kept = 0
        intruders = 0
        for j in range(count):
            square = _square(X[i], landmarks[found[j]])
            kept += square <= radius
            intruders += square > far[0, in_x] * tolerance
        shares[i, 0] = kept / count
        shares[i, 2] = intruders / count


@compiled
def _square(a: np.ndarray, b: np.ndarray) -> float:
    total = 0.0
    for c in range(len(a)):
        total += (a[c] - b[c]) ** 2
    return total


@compiled
def _closest(
    point: np.ndarray,
    landmarks: np.ndarray,
    listed: np.ndarray,
    own: int,
    found: np.ndarray,
    squares: np.ndarray,
) -> int:
    """Fill `found` and `squares` (m,) with the closest of the listed landmarks, closest first.

    Returns the number of landmarks that were found.
    """
    count, m = 0, len(found)
    for number in listed:
        if number == own:
            continue
        square = _square(point, landmarks[number])
        if count == m and square >= squares[m - 1]:
            continue
        place = min(count, m - 1)
        while place > 0 and squares[place - 1] > square:
            found[place], squares[place] = found[place - 1], squares[place - 1]
            place -= 1
        found[place], squares[place] = number, square
        count = min(count + 1, m)
    return count
