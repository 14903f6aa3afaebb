"""Coordinates of points in a map, computed for each point independently of others in its block."""

import numpy as np

from trigpoint._kernels.jit import compiled_strictly

# Pull of landmarks outside a point's group, in units of the spacing of the map. It is just large
# enough that points with a single remaining landmark do not coincide with it.
PULL = 0.25

# Constraint on distances in the map: the squared distance of a point to its nearest landmark, times
# ``2 - 3 q``, is at most the squared distance to another, where q is the ratio of the squared
# distances in the data. A landmark 1.7 times as far in the data is therefore not nearer in the map,
# whereas one less than 1.2 times as far may be anywhere. Without the constraint, interleaved groups
# would attract each other's points.
ORDER = 2.0, 3.0

# A point is drawn to its nearest landmark if the distance is less than this fraction of the
# distance to the next one.
DRAWN = 0.5


@compiled_strictly
def project(
    X: np.ndarray,
    center: np.ndarray,
    components: np.ndarray,
    projected: np.ndarray,
    residuals: np.ndarray,
) -> None:
    """Fill `projected` (b, c), and `residuals` (b,) with the distances from the projections.

    `components` (d, c) are orthonormal columns.
    """
    for i in range(len(X)):
        square = 0.0
        for c in range(components.shape[1]):
            projected[i, c] = 0.0
        for j in range(components.shape[0]):
            value = np.float64(X[i, j]) - center[j]
            square += value * value
            for c in range(components.shape[1]):
                projected[i, c] += value * components[j, c]
        for c in range(components.shape[1]):
            square -= projected[i, c] * projected[i, c]
        residuals[i] = np.sqrt(max(square, 0.0))


@compiled_strictly
def place(
    X: np.ndarray,
    landmarks: np.ndarray,
    nearest: np.ndarray,
    squares: np.ndarray,
    count: int,
    positions: np.ndarray,
    spacings: np.ndarray,
    reach: float,
    slopes: np.ndarray,
    offsets: np.ndarray,
    placed: np.ndarray,
) -> None:
    """Fill `placed` (b, l) from the `count` nearest landmarks; see `MapExtension`.

    `squares` has an additional column if there are more than `count` landmarks.
    """
    n_components = positions.shape[1]
    shares, crowds = np.empty(count), np.empty((count, count))
    step, kept = np.empty(n_components), np.empty(count)
    for i in range(len(nearest)):
        first = nearest[i, 0]
        if squares[i, 0] == 0:
            for c in range(n_components):
                placed[i, c] = positions[first, c]
            continue
        limit = squares[i, squares.shape[1] - 1]
        if squares.shape[1] == count:
            limit *= 2
        total = 0.0
        for j in range(count):
            shares[j] = _share(squares[i, j], limit)
            total += shares[j]
        if total == 0:
            for j in range(count):
                shares[j] = 1.0
        # Find the landmark with the most weight around it in the map.
        middle, most = 0, -1.0
        for a in range(count):
            spacing = spacings[nearest[i, a]]
            crowd = 0.0
            for b in range(count):
                square = 0.0
                for c in range(n_components):
                    difference = positions[nearest[i, a], c] - positions[nearest[i, b], c]
                    square += difference * difference
                crowds[a, b] = square / (spacing * spacing)
                crowd += shares[b] / (1 + crowds[a, b] / (reach * reach))
            if crowd > most:
                middle, most = a, crowd
        total, own = 0.0, count
        for c in range(n_components):
            placed[i, c] = 0.0
        for j in range(count):
            kept[j] = _share(crowds[middle, j], reach * reach)
            weight = kept[j] * shares[j]
            if weight == 0:
                continue
            own = min(own, j)
            total += weight
            landmark = nearest[i, j]
            for c in range(n_components):
                step[c] = 0.0
            for a in range(X.shape[1]):
                difference = X[i, a] - landmarks[landmark, a]
                for c in range(n_components):
                    step[c] += slopes[landmark, a, c] * difference
            # Limit the step, since slopes are not valid beyond the spacing.
            longest = spacings[landmark] * spacings[landmark]
            square = 0.0
            for c in range(n_components):
                square += step[c] * step[c]
            shorter = np.sqrt(longest / square) if square > longest else 1.0
            for c in range(n_components):
                placed[i, c] += weight * (positions[landmark, c] + shorter * step[c])
        if total == 0:
            for c in range(n_components):
                placed[i, c] = positions[nearest[i, middle], c]
        else:
            for c in range(n_components):
                placed[i, c] /= total
        total = 0.0
        for c in range(n_components):
            step[c] = 0.0
        for j in range(count):
            total += shares[j]
            weight = (1 - kept[j]) * shares[j]
            square = 0.0
            for c in range(n_components):
                difference = positions[nearest[i, j], c] - placed[i, c]
                square += difference * difference
            if weight > 0 and square > 0:
                weight /= np.sqrt(square)
                for c in range(n_components):
                    step[c] += weight * (positions[nearest[i, j], c] - placed[i, c])
        for c in range(n_components):
            placed[i, c] += PULL * spacings[nearest[i, middle]] * step[c] / total
        if own < count:
            way = _way(placed[i], positions, nearest[i, :count], squares[i], own)
            for c in range(n_components):
                placed[i, c] += way * (positions[nearest[i, own], c] - placed[i, c])
        if squares.shape[1] > 1 and squares[i, 1] > 0:
            drawn = _share(squares[i, 0], DRAWN * DRAWN * squares[i, 1])
            for c in range(n_components):
                placed[i, c] += drawn * offsets[first, c]


@compiled_strictly
def _way(
    place: np.ndarray, positions: np.ndarray, nearest: np.ndarray, squares: np.ndarray, own: int
) -> float:
    """Return the smallest fraction of the way to `own` that satisfies the constraint of `ORDER`."""
    own_square = 0.0
    for c in range(len(place)):
        step = positions[nearest[own], c] - place[c]
        own_square += step * step
    longest = 0.0
    for j in range(own + 1, len(nearest)):
        square = 0.0
        for c in range(len(place)):
            step = positions[nearest[j], c] - place[c]
            square += step * step
        factor = ORDER[0] - ORDER[1] * (squares[own] / squares[j])
        beyond = factor * own_square - square
        if beyond <= 0:
            continue
        product = 0.0
        for c in range(len(place)):
            step = positions[nearest[j], c] - place[c]
            product += step * (positions[nearest[own], c] - place[c])
        # Solve for the step at which the squared distances are equal, one of them times the factor.
        half = factor * own_square - product
        root = np.sqrt(max(0.0, half * half - (factor - 1) * own_square * beyond))
        if half + root > 0:
            longest = max(longest, min(1.0, beyond / (half + root)))
    return longest


@compiled_strictly
def _share(square: float, limit: float) -> float:
    """Return the share ``(1 - square / limit)^2`` of a landmark, 0 beyond the limit."""
    # The comparison gives 0 if both are 0, too.
    closeness = 1.0 - square / limit if square < limit else 0.0
    return closeness * closeness
