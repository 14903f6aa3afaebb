"""Attraction and repulsion between the landmarks of a map.

The forces on a landmark are summed in an order that does not depend on which other landmarks are
computed, so results are the same for any division among threads. Coordinates have three columns,
the last of which is 0 in two dimensions.
"""

import math
from typing import NamedTuple

import numpy as np

from trigpoint._kernels.jit import compiled_strictly

# Maximum number of points in a leaf, whose forces are summed one by one.
_LEAF = 4

# Bits of a digit by which codes are sorted, and number of digits.
_DIGIT_BITS = 10
_DIGITS = 2**_DIGIT_BITS

# Number of points that traverse the tree together, and size of their interaction buffer.
TOGETHER = 16
_FOUND = 512


class MassTree(NamedTuple):
    """A binary tree over points in Morton order, with nodes in depth-first order.

    A traversal proceeds to the next node, or skips all nodes below the current one.
    """

    order: np.ndarray  # The points (n,); those of a node are contiguous.
    points: np.ndarray  # Their positions (n, 3) and masses (n,), in that order.
    masses: np.ndarray
    starts: np.ndarray  # Range of each node's points in that order: first, and past the last.
    stops: np.ndarray
    past: np.ndarray  # The next node that is not below the given one.
    # Center of mass, mass, and squared longest side of the box around the points: (nodes, 5).
    values: np.ndarray


@compiled_strictly
def morton_codes(
    points: np.ndarray, low: np.ndarray, side: float, dimension: int, bits: int, codes: np.ndarray
) -> None:
    """Interleave the bits of the coordinates, in a cube with the corner `low` and a given side."""
    cells = np.int64(1) << np.int64(bits)
    scale = cells / side if side > 0 else 0.0
    for i in range(len(points)):
        code = np.int64(0)
        for c in range(dimension):
            cell = min(np.int64((points[i, c] - low[c]) * scale), cells - 1)
            for bit in range(bits):
                code |= ((cell >> bit) & 1) << (bit * dimension + c)
        codes[i] = code


@compiled_strictly
def by_code(codes: np.ndarray, bits: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the stable order of codes with this many bits, and the codes in it: a radix sort."""
    n = len(codes)
    order, codes = np.arange(n), codes.copy()
    next_order, next_codes = np.empty_like(order), np.empty_like(codes)
    ends = np.empty(_DIGITS, dtype=np.int64)
    shift = 0
    while shift < bits:
        for digit in range(_DIGITS):
            ends[digit] = 0
        for i in range(n):
            ends[(codes[i] >> shift) % _DIGITS] += 1
        total = 0
        for digit in range(_DIGITS):
            ends[digit], total = total, total + ends[digit]
        for i in range(n):
            digit = (codes[i] >> shift) % _DIGITS
            next_order[ends[digit]], next_codes[ends[digit]] = order[i], codes[i]
            ends[digit] += 1
        order, next_order = next_order, order
        codes, next_codes = next_codes, codes
        shift += _DIGIT_BITS
    return order, codes


@compiled_strictly
def divide(codes: np.ndarray, starts: np.ndarray, stops: np.ndarray, past: np.ndarray) -> int:
    """Divide sorted codes at their highest differing bit, down to leaves; count the nodes."""
    n_nodes = 0
    # Stack of nodes to divide: start and stop of each.
    waiting = np.empty((130 + _LEAF, 2), dtype=np.int64)
    waiting[0, 0], waiting[0, 1] = 0, len(codes)
    depth = 1
    while depth > 0:
        depth -= 1
        start, stop = waiting[depth, 0], waiting[depth, 1]
        starts[n_nodes], stops[n_nodes] = start, stop
        n_nodes += 1
        differing = codes[start] ^ codes[stop - 1]
        if stop - start <= _LEAF or differing == 0:
            continue
        bit = np.int64(1)
        while differing > 1:
            differing >>= 1
            bit <<= 1
        low, high = start, stop - 1
        while high - low > 1:
            middle = (low + high) // 2
            if codes[middle] & bit:
                high = middle
            else:
                low = middle
        waiting[depth, 0], waiting[depth, 1] = high, stop
        waiting[depth + 1, 0], waiting[depth + 1, 1] = start, high
        depth += 2
    # The nodes below a node follow it, and their points are among its points.
    for node in range(n_nodes - 1, -1, -1):
        following = node + 1
        while following < n_nodes and starts[following] < stops[node]:
            following = past[following]
        past[node] = following
    return n_nodes


@compiled_strictly
def summarize(tree: MassTree) -> None:
    """Fill the values of the nodes."""
    n_nodes, points, masses = len(tree.starts), tree.points, tree.masses
    lower, upper = np.empty((n_nodes, 3)), np.empty((n_nodes, 3))
    values = tree.values
    for node in range(n_nodes - 1, -1, -1):
        for c in range(3):
            lower[node, c], upper[node, c] = np.inf, -np.inf
        for c in range(4):
            values[node, c] = 0.0
        if tree.past[node] == node + 1:
            for i in range(tree.starts[node], tree.stops[node]):
                values[node, 3] += masses[i]
                for c in range(3):
                    values[node, c] += masses[i] * points[i, c]
                    lower[node, c] = min(lower[node, c], points[i, c])
                    upper[node, c] = max(upper[node, c], points[i, c])
        else:
            child = node + 1
            while child < tree.past[node]:
                values[node, 3] += values[child, 3]
                for c in range(3):
                    values[node, c] += values[child, 3] * values[child, c]
                    lower[node, c] = min(lower[node, c], lower[child, c])
                    upper[node, c] = max(upper[node, c], upper[child, c])
                child = tree.past[child]
        side = 0.0
        for c in range(3):
            values[node, c] /= values[node, 3]
            side = max(side, upper[node, c] - lower[node, c])
        values[node, 4] = side * side


@compiled_strictly
def repel(
    tree: MassTree, angle: float, start: int, stop: int, forces: np.ndarray, sums: np.ndarray
) -> None:
    """Approximate the repulsion of points `start` to `stop` by all others, using a tree.

    Distant nodes act as points.

    Fills `forces` with ``sum_j m_j (y_i - y_j) / (1 + |y_i - y_j|^2)^2`` and `sums` with ``sum_j
    m_j / (1 + |y_i - y_j|^2)``. Points and masses are in the order of the tree.

    From `start` on, a multiple of `TOGETHER`, groups of that size traverse the tree; a node
    replaces its points if it is small enough as seen from the nearest point of the group's box
    (J. E. Barnes, "A modified tree code: don't laugh; it runs", J. Computational Physics, 1990).
    """
    starts, stops, past, values = tree.starts, tree.stops, tree.past, tree.values
    points, masses, n_nodes = tree.points, tree.masses, len(starts)
    limit = 1 / (angle * angle)
    found = np.empty((_FOUND, 4))
    low, high = np.empty(3), np.empty(3)
    places, pushes = np.empty((3, TOGETHER)), np.empty((4, TOGETHER))
    for first in range(start, stop, TOGETHER):
        last = min(first + TOGETHER, stop)
        for c in range(3):
            low[c], high[c] = np.inf, -np.inf
        for lane in range(TOGETHER):
            i = min(first + lane, last - 1)
            for c in range(3):
                places[c, lane] = points[i, c]
                low[c], high[c] = min(low[c], points[i, c]), max(high[c], points[i, c])
                pushes[c, lane] = 0.0
            # Subtract each point itself, which will be among those that repel it.
            pushes[3, lane] = -masses[i]
        node, count = 0, int(np.int64(0))
        while node < n_nodes:
            square = 0.0
            for c in range(3):
                center = values[node, c]
                apart = max(max(low[c] - center, center - high[c]), 0.0)
                square += apart * apart
            # A node that contains points of the group is always opened.
            if values[node, 4] * limit < square and (last <= starts[node] or first >= stops[node]):
                for c in range(4):
                    found[count, c] = values[node, c]
                count += 1
                node = past[node]
            else:
                if past[node] == node + 1:
                    for j in range(starts[node], stops[node]):
                        if count == _FOUND:
                            _push(found, count, places, pushes)
                            count = 0
                        for c in range(3):
                            found[count, c] = points[j, c]
                        found[count, 3] = masses[j]
                        count += 1
                node += 1
            if count == _FOUND:
                _push(found, count, places, pushes)
                count = 0
        _push(found, count, places, pushes)
        for lane in range(last - first):
            for c in range(3):
                forces[first + lane, c] = pushes[c, lane]
            sums[first + lane] = pushes[3, lane]


@compiled_strictly
def _push(found: np.ndarray, count: int, places: np.ndarray, pushes: np.ndarray) -> None:
    """Add the effect of `count` masses (x, y, z, m) on points at `places` (3, TOGETHER)."""
    xs, ys, zs = places[0], places[1], places[2]
    forces_x, forces_y, forces_z, totals = pushes[0], pushes[1], pushes[2], pushes[3]
    for place in range(count):
        x, y, z, mass = found[place, 0], found[place, 1], found[place, 2], found[place, 3]
        # Vectorized, since each lane has its own sum.
        for lane in range(TOGETHER):
            dx, dy, dz = xs[lane] - x, ys[lane] - y, zs[lane] - z
            kernel = 1 / (1 + dx * dx + dy * dy + dz * dz)
            share = mass * kernel
            totals[lane] += share
            share *= kernel
            forces_x[lane] += share * dx
            forces_y[lane] += share * dy
            forces_z[lane] += share * dz


@compiled_strictly
def attract(
    indptr: np.ndarray,
    columns: np.ndarray,
    weights: np.ndarray,
    points: np.ndarray,
    decay: float,
    start: int,
    stop: int,
    forces: np.ndarray,
) -> None:
    """Fill `forces` with the attraction of the rows from `start` to `stop`.

    It is ``sum_j w_ij (y_j - y_i) / (1 + decay |y_j - y_i|^2)``.
    """
    for i in range(start, stop):
        x, y, z = points[i, 0], points[i, 1], points[i, 2]
        force_x = force_y = force_z = 0.0
        for place in range(indptr[i], indptr[i + 1]):
            j = columns[place]
            dx, dy, dz = points[j, 0] - x, points[j, 1] - y, points[j, 2] - z
            pull = weights[place] / (1 + decay * (dx * dx + dy * dy + dz * dz))
            force_x += pull * dx
            force_y += pull * dy
            force_z += pull * dz
        row = i - start
        forces[row, 0], forces[row, 1], forces[row, 2] = force_x, force_y, force_z


@compiled_strictly
def calibrate(squares: np.ndarray, perplexity: float, shares: np.ndarray) -> None:
    """Turn each row of squared distances into Gaussian shares with the given perplexity.

    The logarithm of the perplexity is accurate to 1e-9. If more neighbors than that tie for
    nearest, only these get shares.
    """
    n, m = squares.shape
    target = math.log(perplexity)
    for i in range(n):
        nearest = np.inf
        for j in range(m):
            nearest = min(nearest, squares[i, j])
        n_nearest, spread = 0, 0.0
        for j in range(m):
            n_nearest += squares[i, j] == nearest
            spread += squares[i, j] - nearest
        spread /= m
        if n_nearest >= perplexity:
            for j in range(m):
                shares[i, j] = 1 / n_nearest if squares[i, j] == nearest else 0.0
            continue
        low, high, precision = 0.0, np.inf, 1 / spread
        while low < precision < high:
            total = mean = 0.0
            for j in range(m):
                excess = squares[i, j] - nearest
                share = math.exp(-precision * excess)
                total += share
                mean += share * excess
            entropy = math.log(total) + precision * mean / total
            if abs(entropy - target) < 1e-9:
                break
            if entropy > target:
                low = precision
                precision = 2 * precision if high == np.inf else (low + high) / 2
            else:
                high = precision
                precision = (low + high) / 2
        total = 0.0
        for j in range(m):
            shares[i, j] = math.exp(-precision * (squares[i, j] - nearest))
            total += shares[i, j]
        for j in range(m):
            shares[i, j] /= total
