"""t-SNE layout of weighted landmarks: neighbors attract and all repel each other.

The mass of a landmark is the number of points it represents. With affinities ``P`` and masses ``m``
that sum to 1, and ``K_ij = 1 / (1 + |y_i - y_j|^2)``, the layout minimizes the divergence of
``Q_ij = m_i m_j K_ij / Z`` from P: that of all points, if the points of each landmark had the same
position. Without masses, diverse landmarks would spread sparse regions over most of the map.

References
----------
L. van der Maaten and G. Hinton, "Visualizing data using t-SNE", JMLR, 2008. L. van der Maaten,
"Accelerating t-SNE using tree-based algorithms", JMLR, 2014. A. C. Belkina and others, "Automated
optimized parameters for t-SNE", Nature Communications, 2019 (the step). D. Kobak and P. Berens,
"The art of using t-SNE for single-cell transcriptomics", Nature Communications, 2019 (the start).
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from scipy.sparse import csr_array

from trigpoint._numerics.blocks import Report, one_blas_thread, row_blocks, thread_map

if TYPE_CHECKING:
    from trigpoint._kernels.forces import MassTree

# Neighbors per unit of perplexity.
REACH = 2

# Phases of a layout: fraction of the steps at which a phase ends, minimum attraction relative to
# t-SNE, and step length. Strong attraction at the beginning lets landmarks of a group pass through
# others. With a step length of 1, and without repulsion and momentum, neighbors would meet in one
# step. Shorter steps at the end damp oscillations caused by momentum.
_PHASES = (
    (0.25, 4.0, 1.5),
    (0.5, 2.0, 1.5),
    (0.85, 0.0, 1.0),
    (0.95, 0.0, 0.5),
    (1.0, 0.0, 0.15),
)
# After this fraction of the steps, a map is enlarged if its root mean square radius is smaller than
# this, relative to the square root of the number of landmarks. Repulsion alone would take many more
# steps.
_ENLARGED_AFTER = 0.5
_ENLARGED_RADIUS = 0.5
# Attraction of each landmark to its initial position, which is enlarged with the map. It preserves
# large distances, which hardly affect the divergence, at the expense of few neighbors. Like other
# forces, it decreases with the number of landmarks: its maximum, and its value for one landmark.
_ANCHOR = 0.001, 10.0

# Number of averages over neighbors before the first step.
_SMOOTHED = 10

_MOMENTUM = 0.9
# No landmark moves farther than this in one step.
_LONGEST_STEP = 5.0
# Repulsion changes slowly, so it is only computed in every third step.
_EVERY = 3

# A node whose box subtends a smaller angle repels like a point at its center of mass.
_ANGLE = 0.7
# Bits of each coordinate in the tree.
_BITS = 20

# Initial root mean square radius, relative to the square root of the number of landmarks, and its
# upper limit. A radius that is too small loses the global arrangement. If it is too large,
# neighbors never meet.
START_RADIUS = 0.3
_LARGEST_RADIUS = 20.0
_FINISHED_RADIUS = 0.6
# Standard deviation of the initial noise, relative to the radius.
_JITTER = 1e-4
# Rows farther from the median row than this multiple of the 90 % quantile of distances are clipped
# to that distance when principal axes are computed, and start there.
_CLIPPED = 3.0

_ROWS = 512
# Parts per thread whose repulsion is computed at once; some take longer than others.
_PARTS = 4


def affinities(
    neighbors: np.ndarray,
    squares: np.ndarray,
    masses: np.ndarray,
    perplexity: float,
    n_threads: int = 1,
) -> csr_array:
    """Return symmetric affinities (k, k) between landmarks, with sum 1.

    `neighbors` (k, m) lists other landmarks near each landmark, `squares` (k, m) their squared
    distances, and `masses` (k,) the number of points that each landmark represents. The perplexity
    is the effective number of neighbors, capped at half of m: equal affinities would not separate
    any.
    """
    from trigpoint._kernels.forces import calibrate

    k, m = neighbors.shape
    perplexity = min(perplexity, max(1.0, m / REACH))
    shares = np.empty((k, m))

    def fill(part: slice) -> None:
        calibrate(squares[part], perplexity, shares[part])

    for _ in thread_map(fill, row_blocks(k, _ROWS), n_threads):
        pass
    shares *= (masses / masses.sum())[:, None]
    # The sum has up to twice as many entries; small numbers take half the memory.
    index = np.int32 if 2 * k * m < 2**31 else np.int64
    columns, starts = neighbors.ravel().astype(index), (m * np.arange(k + 1)).astype(index)
    directed = csr_array((shares.ravel() / 2, columns, starts), shape=(k, k))
    joint = csr_array(directed + directed.T)
    joint.sort_indices()
    return joint


def shared_affinities(k: int, blocks: Iterable[tuple[np.ndarray, np.ndarray]]) -> csr_array:
    """Return symmetric affinities between landmarks near the same points, with sum 1.

    Each point has shares ``(1 - (distance / r)^2)^2`` in its nearest landmarks, normalized, with r
    the distance to the next one, and links each pair of them by the product of their shares. The
    attraction between landmarks thus depends on all points that they represent. `blocks` of points
    yield their nearest landmarks and the squared distances, each (b, count + 1), nearest first.

    References
    ----------
    W. Liu, J. He and S.-F. Chang, "Large graph construction for scalable semi-supervised learning",
    ICML, 2010.
    """
    total = csr_array((k, k))
    for nearest_landmarks, squares in blocks:
        columns, reach = nearest_landmarks[:, :-1], squares[:, -1:]
        shares = np.square(1 - squares[:, :-1] / np.where(reach > 0, reach, 1.0))
        # Equally distant landmarks have equal shares.
        shares[shares.sum(axis=1) == 0] = 1.0
        shares /= shares.sum(axis=1, keepdims=True)
        b, count = columns.shape
        starts = count * np.arange(b + 1)
        divided = csr_array((shares.ravel(), columns.ravel(), starts), shape=(b, k))
        total = total + divided.T @ divided
    total.setdiag(0)
    total.eliminate_zeros()
    both = total + total.T
    joint = csr_array(both / both.sum())
    joint.sort_indices()
    return joint


class PrincipalAxes(NamedTuple):
    """Leading principal directions (d, l) of points, to project arrays and tensors.

    Points farther than `longest` from their median count as if they were at that distance, so that
    a few far points change neither the axes nor the scale. `mean` is relative to the median.
    """

    median: Any
    longest: float
    mean: Any
    directions: Any

    @classmethod
    def of(cls, points: np.ndarray, masses: np.ndarray, n_components: int) -> "PrincipalAxes":
        """Compute the directions of points (k, d); coordinates beyond d are 0."""
        median = np.median(points, axis=0).astype(np.float64)
        # The median of a constant column is exact, so its differences are 0.
        lengths = np.sqrt(np.square(points - median).sum(axis=1))
        longest = _CLIPPED * float(np.quantile(lengths, 0.9))
        around = _clipped(points, median, longest)
        with one_blas_thread():
            mean = np.average(around, axis=0, weights=masses)
            around -= mean
            covariance = around.T @ (masses[:, None] * around)
            leading = np.linalg.eigh(covariance)[1][:, ::-1][:, :n_components]
        # The sign of eigenvectors is arbitrary.
        largest = np.abs(leading).argmax(axis=0)
        directions = np.zeros((points.shape[1], n_components))
        directions[:, : leading.shape[1]] = leading * np.sign(
            leading[largest, np.arange(leading.shape[1])]
        )
        return cls(median, longest, mean, directions)

    def __call__(self, points: Any) -> Any:
        """Return float64 coordinates (b, l)."""
        return (_clipped(points, self.median, self.longest) - self.mean) @ self.directions


def _clipped(points: Any, median: Any, longest: float) -> Any:
    around = points - median
    if longest > 0:
        lengths = (around**2).sum(axis=1, keepdims=True) ** 0.5
        around *= longest / lengths.clip(longest)
    return around


def principal_start(
    points: np.ndarray,
    masses: np.ndarray,
    n_components: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Return principal coordinates, which are robust to a few distant points."""
    axes = PrincipalAxes.of(points, masses, n_components)
    with one_blas_thread():
        start = axes(points)
    return scaled_start(start, masses, rng)


def scaled_start(
    start: np.ndarray,
    masses: np.ndarray,
    rng: np.random.Generator,
    *,
    finished: bool = False,
) -> np.ndarray:
    """Center positions (k, l), scale them to the initial radius, and add a little noise.

    Without noise, positions could never leave a line or plane that contains all of them, and
    coincident landmarks would never separate. With `finished`, for positions in which neighbors
    have already met, the radius is that of a finished map.
    """
    around = start - np.average(start, axis=0, weights=masses)
    radius = np.sqrt(np.average(np.square(around).sum(axis=1), weights=masses))
    root = np.sqrt(len(start))
    wanted = _FINISHED_RADIUS * root if finished else min(START_RADIUS * root, _LARGEST_RADIUS)
    around *= wanted / radius if radius > 0 else 0.0
    return np.asarray(around + _JITTER * wanted * rng.normal(size=around.shape))


def layout(
    joint: csr_array,
    masses: np.ndarray,
    start: np.ndarray,
    *,
    n_threads: int = 1,
    **options: Any,
) -> np.ndarray:
    """Return positions (k, l) of landmarks from their affinities; threads do not affect the result.

    `joint` (k, k) holds the symmetric affinities, with sum 1, and `start` (k, l) initial positions
    with up to three coordinates. The options are those of `optimized`.
    """
    n_components = start.shape[1]
    padded = np.zeros((len(start), 3))
    padded[:, :n_components] = start
    forces = _HostForces(joint, masses, n_threads)
    points = optimized(forces, padded, **options)
    return np.array(points[:, :n_components])


class Forces(Protocol):
    """Forces between landmarks whose positions are an array or a tensor (k, l)."""

    # Masses (k,) with sum 1, and the sums (k,) of the attraction of each by its neighbors.
    masses: Any
    pulls: Any

    def mean(self, values: Any) -> Any:
        """Return the mean (l,) of values (k, l), weighted by the masses."""

    def attraction(self, points: Any, part: slice, decay: float = 1.0) -> Any:
        """Return the attraction (b, l) that neighbors exert on some landmarks.

        With a `decay` of 0, it is proportional to the distance, however large that is.
        """

    def repulsion(self, points: Any) -> Any:
        """Return the repulsion (k, l) that all other landmarks exert on each landmark."""

    def over_parts(self, function: Callable[[slice], None]) -> Iterator[None]:
        """Call a function for parts of the landmarks; results do not depend on the parts."""


def optimized(
    forces: Forces,
    start: Any,
    *,
    exaggeration: float = 1.0,
    n_iter: int = 300,
    smoothing: int = _SMOOTHED,
    report: Report | None = None,
) -> Any:
    """Return the final positions (k, l) of landmarks under the forces.

    The exaggeration is the attraction relative to t-SNE. `smoothing` is the number of averages over
    neighbors before the first of `n_iter` steps.
    """
    k = len(start)
    anchors = _smoothed(forces, start - forces.mean(start), smoothing)
    points, velocities = anchors + 0, 0 * anchors
    spread, anchor = float(forces.mean(anchors * anchors).sum()), min(_ANCHOR[0], _ANCHOR[1] / k)

    def accelerate(
        repulsion: Any, strength: float, scale: float, length: float, part: slice
    ) -> None:
        total = forces.attraction(points, part)
        # The learning rate of t-SNE for k points, divided by the exaggeration.
        total += repulsion[part] / strength
        total += anchor * (scale * anchors[part] - points[part])
        faster = _MOMENTUM * velocities[part] + length * total
        lengths = (faster**2).sum(axis=1, keepdims=True) ** 0.5
        velocities[part] = faster * (_LONGEST_STEP / lengths.clip(_LONGEST_STEP))

    for step in range(n_iter):
        early, length = next(phase[1:] for phase in _PHASES if step < phase[0] * n_iter)
        strength = max(exaggeration, early)
        if step == int(_ENLARGED_AFTER * n_iter):
            radius = np.sqrt(float(forces.mean(points * points).sum()))
            wanted = _ENLARGED_RADIUS * np.sqrt(k) / max(exaggeration, 1.0)
            points *= max(1.0, float(wanted / radius)) if radius > 0 else 1.0
            velocities[:] = 0.0
        if step % _EVERY == 0:
            repulsion = forces.repulsion(points)
            scale = float(forces.mean(points * anchors).sum()) / spread if spread > 0 else 0.0
        for _ in forces.over_parts(partial(accelerate, repulsion, strength, scale, length)):
            pass
        points += velocities
        points -= forces.mean(points)
        if report is not None:
            report("layout", step + 1, n_iter)
    return points


def _smoothed(forces: Forces, start: Any, times: int) -> Any:
    """Return positions (k, l) after averages over neighbors, with the variances of the start.

    Neighbors thus start together, and the map depends less on chance.
    """
    points = start
    # Landmarks without neighbors stay.
    pulls = forces.pulls + (forces.pulls == 0)

    def average(moved: Any, part: slice) -> None:
        steps = forces.attraction(points, part, decay=0.0)
        moved[part] = points[part] + steps / pulls[part, None]

    for _ in range(times):
        moved = 0 * points
        for _ in forces.over_parts(partial(average, moved)):
            pass
        points = moved - forces.mean(moved)
    variances, wanted = (forces.mean(found**2) for found in (points, start))
    return points * (wanted / (variances + (variances == 0))) ** 0.5


class _HostForces:
    """Attraction by all neighbors, and repulsion by a tree. Positions have three columns."""

    def __init__(self, joint: csr_array, masses: np.ndarray, n_threads: int) -> None:
        self.masses = masses / masses.sum()
        self._joint, self._n_threads = joint, n_threads
        self.pulls = joint.sum(axis=1) / self.masses
        self._weights = joint.data / np.repeat(self.masses, np.diff(joint.indptr))

    def mean(self, values: np.ndarray) -> np.ndarray:
        """Return the weighted mean (3,) of values (k, 3), the same with any number of threads."""
        return np.asarray(np.einsum("i,ij->j", self.masses, values))

    def attraction(self, points: np.ndarray, part: slice, decay: float = 1.0) -> np.ndarray:
        """Return the attraction (b, 3) of some landmarks by their neighbors."""
        from trigpoint._kernels.forces import attract

        joint, attraction = self._joint, np.empty((part.stop - part.start, 3))
        pairs = joint.indptr, joint.indices, self._weights
        attract(*pairs, points, decay, part.start, part.stop, attraction)
        return attraction

    def repulsion(self, points: np.ndarray) -> np.ndarray:
        """Return the repulsion (k, 3) of every landmark by all others."""
        return _repulsion(points, self.masses, self._n_threads)

    def over_parts(self, function: Callable[[slice], None]) -> Iterator[None]:
        """Call a function for parts of the landmarks, in threads."""
        parts = _parts(len(self.masses), self._n_threads, 1)
        return thread_map(function, parts, self._n_threads)


def _repulsion(points: np.ndarray, masses: np.ndarray, n_threads: int) -> np.ndarray:
    """Return the repulsion (k, 3) of every landmark by all others."""
    from trigpoint._kernels.forces import repel

    tree = mass_tree(points, masses, n_threads)
    pushes, sums, repulsion = np.empty_like(points), np.empty(len(points)), np.empty_like(points)

    def fill(part: slice) -> None:
        repel(tree, _ANGLE, part.start, part.stop, pushes, sums)
        repulsion[tree.order[part]] = pushes[part]

    for _ in thread_map(fill, _parts(len(points), n_threads, _PARTS), n_threads):
        pass
    repulsion /= np.add.reduce(tree.masses * sums)
    return repulsion


def _parts(k: int, n_threads: int, per_thread: int) -> Iterator[slice]:
    """Yield a few parts per thread, which do not affect the results."""
    from trigpoint._kernels.forces import TOGETHER

    rows = k if n_threads == 1 else max(_ROWS, -(-k // (per_thread * n_threads)))
    return row_blocks(k, -(-rows // TOGETHER) * TOGETHER)


def mass_tree(points: np.ndarray, masses: np.ndarray, n_threads: int = 1) -> "MassTree":
    """Build the tree over points (n, 3)."""
    from trigpoint._kernels.forces import MassTree, by_code, divide, morton_codes, summarize

    n = len(points)
    codes, inside, inner_masses = np.empty(n, np.int64), np.empty((n, 3)), np.empty(n)
    lowest, highest = (np.array([limit(c) for c in points.T]) for limit in (np.min, np.max))
    side, dimension = float((highest - lowest).max()), 3 if lowest[2] < highest[2] else 2

    def encode(part: slice) -> None:
        morton_codes(points[part], lowest, side, dimension, _BITS, codes[part])

    def gather(part: slice) -> None:
        inside[part], inner_masses[part] = points[order[part]], masses[order[part]]

    for _ in thread_map(encode, _parts(n, n_threads, 1), n_threads):
        pass
    order, codes = by_code(codes, dimension * _BITS)
    for _ in thread_map(gather, _parts(n, n_threads, 1), n_threads):
        pass
    starts, stops, past = (np.empty(2 * n, dtype=np.int64) for _ in range(3))
    count = divide(codes, starts, stops, past)
    nodes = starts[:count], stops[:count], past[:count]
    tree = MassTree(order, inside, inner_masses, *nodes, np.empty((count, 5)))
    summarize(tree)
    return tree
