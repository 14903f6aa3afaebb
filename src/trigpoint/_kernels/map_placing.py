"""Coordinates of points in a map, one point at a time: the other points of a block play no part."""

import math

import numpy as np

from trigpoint._kernels.jit import compiled, compiled_strictly

# How far landmarks that are torn away pull a point, in units of the spacing of the map: enough for
# points with one landmark left not to fall onto it.
PULL = 0.25

# The squared distance of a place to the landmark that is nearest in space, times ``2 - 3 q``, is no
# more than that to another, with q the ratio of the two in space: one that is 1.7 times as far in
# space is not nearer in the map, and one that is less than 1.2 times as far may be anywhere.
# Otherwise, groups that interleave would take each other's points.
ORDER = 2.0, 3.0

# A point closer to a landmark than this share of the distance to the next one is drawn to it.
DRAWN = 0.5


@compiled_strictly
def project(
    X: np.ndarray,
    center: np.ndarray,
    components: np.ndarray,
    projected: np.ndarray,
    residuals: np.ndarray,
) -> None:
    """Fill `projected` (b, c) and `residuals` (b,), the lengths of what is left.

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

    `squares` have one column more, if there are more landmarks.
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
        # The landmark around which most of the others lie.
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
            # A slope says nothing about what is farther away.
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
    """Share of the way to landmark `own` on which no other is too near any more; see `ORDER`."""
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
        # Where the squared distances to both, one times the factor, are equal.
        half = factor * own_square - product
        root = np.sqrt(max(0.0, half * half - (factor - 1) * own_square * beyond))
        if half + root > 0:
            longest = max(longest, min(1.0, beyond / (half + root)))
    return longest


@compiled
def blended_planes(
    nearest: np.ndarray,
    squares: np.ndarray,
    X: np.ndarray,
    landmarks: np.ndarray,
    planes: np.ndarray,
    reach: np.ndarray,
    horizons: np.ndarray,
    result: np.ndarray,
    far: np.ndarray,
) -> None:
    """Fill `result` (b, l) with the planes of the nearest landmarks (b, count), by their shares.

    These are ``(1 - square / r^2)^2``, scaled, with `r` the distance to the last landmark, which
    has none. A plane (k, l, d + 1) has slopes and a value at its landmark (k, d), and is level
    beyond its reach (k,). A point is `far` (b,) if it is farther than the `horizons` (k,) from all
    that share.
    """
    d, parts = X.shape[1], max(nearest.shape[1] - 1, 1)
    place, shares = np.empty(d), np.empty(parts)
    for i in range(len(X)):
        total = 0.0
        for p in range(parts):
            shares[p] = _share(squares[i, p], squares[i, nearest.shape[1] - 1])
            total += shares[p]
        far[i] = True
        for c in range(planes.shape[1]):
            result[i, c] = 0.0
        for p in range(parts):
            # Where all are equally far, all count.
            share = shares[p] / total if total > 0 else 1.0 / parts
            landmark, square = nearest[i, p], squares[i, p]
            horizon, radius = horizons[landmark], reach[landmark]
            far[i] &= square > horizon * horizon
            step = radius / math.sqrt(square) if square > radius * radius else 1.0
            for a in range(d):
                place[a] = step * (X[i, a] - landmarks[landmark, a])
            for c in range(planes.shape[1]):
                value = planes[landmark, c, d]
                for a in range(d):
                    value += planes[landmark, c, a] * place[a]
                result[i, c] += share * value


@compiled_strictly
def _share(square: float, limit: float) -> float:
    """Share ``(1 - square / limit)^2`` of a landmark, 0 beyond the limit."""
    # Written so that it is 0, too, where both are.
    closeness = 1.0 - square / limit if square < limit else 0.0
    return closeness * closeness


@compiled_strictly
def nearest_by_path(
    starts: np.ndarray,
    columns: np.ndarray,
    lengths: np.ndarray,
    nearest: np.ndarray,
    counts: np.ndarray,
) -> None:
    """Find the landmarks nearest to each, itself first, by paths of one or two edges.

    Row i of `nearest` (k, width) gets `counts[i]` landmarks; its other entries stay as they are. A
    path follows only the shortest edges, as many as `nearest` has columns, of each landmark. Equal
    lengths are ordered by landmark.

    `starts`, `columns` and `lengths` are the CSR arrays of the edges, without loops.
    """
    k, width = nearest.shape
    linked = np.empty((k, width), dtype=np.int64)
    reach = np.empty((k, width))
    sizes = np.zeros(k, dtype=np.int64)
    for i in range(k):
        sizes[i] = _insert(linked[i], reach[i], 0, i, 0.0)
        for edge in range(starts[i], starts[i + 1]):
            sizes[i] = _insert(linked[i], reach[i], sizes[i], columns[edge], lengths[edge])
    shortest = np.full(k, np.inf)
    reached = np.empty(width * width, dtype=np.int64)
    paths = np.empty(width)
    for i in range(k):
        n_reached = 0
        for first in range(sizes[i]):
            middle = linked[i, first]
            for second in range(sizes[middle]):
                end = linked[middle, second]
                if shortest[end] == np.inf:
                    reached[n_reached] = end
                    n_reached += 1
                shortest[end] = min(shortest[end], reach[i, first] + reach[middle, second])
        counts[i] = 0
        for place in range(n_reached):
            end = reached[place]
            counts[i] = _insert(nearest[i], paths, counts[i], end, shortest[end])
            shortest[end] = np.inf


@compiled_strictly
def _insert(ends: np.ndarray, lengths: np.ndarray, size: int, end: int, length: float) -> int:
    """Insert a landmark into a list ordered by length, then by landmark; return its new size.

    A full list drops its last entry.
    """
    if size == len(ends):
        last = size - 1
        if length > lengths[last] or (length == lengths[last] and end > ends[last]):
            return size
        size = last
    place = size
    while place > 0 and (
        lengths[place - 1] > length or (lengths[place - 1] == length and ends[place - 1] > end)
    ):
        ends[place], lengths[place] = ends[place - 1], lengths[place - 1]
        place -= 1
    ends[place], lengths[place] = end, length
    return size + 1
