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

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from trigpoint._neighbors.nearest import nearest
from trigpoint._numerics.blocks import Report, one_blas_thread, row_blocks, thread_map

if TYPE_CHECKING:
    from trigpoint._kernels.forces import MassTree

# Neighbors per unit of perplexity.
_REACH = 3

# Attraction is this many times stronger in the early steps, so that landmarks of a group can pass
# through others.
_EARLY = 12.0
EARLY_SHARE = 0.25

_MOMENTUM = 0.8
# No landmark moves farther than this in one step.
_LONGEST_STEP = 5.0

# A node whose box subtends a smaller angle repels like a point at its center of mass.
_ANGLE = 0.7
# Bits of each coordinate in the tree.
_BITS = 20

# Standard deviation of the first coordinate at the start.
_START = 1e-4
# Standard deviation of noise at the start, relative to the above.
_JITTER = 0.01

_ROWS = 512


def affinities(
    points: np.ndarray,
    masses: np.ndarray,
    perplexity: float,
    n_threads: int = 1,
    inside: np.ndarray | None = None,
) -> csr_array:
    """Return symmetric affinities between landmarks, with sum 1.

    Parameters
    ----------
    points : ndarray of shape (k, d)
    masses : float64 ndarray of shape (k,)
        Number of points that each landmark represents.
    perplexity : float
        Effective number of neighbors per landmark, capped at a third of the other landmarks: equal
        affinities would not separate any.
    n_threads : int, default=1
    inside : ndarray of shape (k, c) or None
        Projected points in which to search for neighbors. Distances to neighbors are still those of
        `points`: the dropped columns add to all distances, which makes groups less distinct.
    """
    from trigpoint._kernels.distances import squares_to
    from trigpoint._kernels.forces import calibrate

    k = len(points)
    m = min(k - 1, int(_REACH * perplexity))
    perplexity = min(perplexity, max(1.0, m / _REACH))
    searched = points if inside is None else inside
    distances, rows = nearest(searched, searched, m + 1, n_threads)
    # Each landmark is its own neighbor, at any position among ties.
    own = rows == np.arange(k)[:, None]
    own[~own.any(axis=1), -1] = True
    columns, squares = rows[~own].reshape(k, m), np.square(distances[~own].reshape(k, m))
    shares = np.empty((k, m))

    def fill(part: slice) -> None:
        if inside is not None:
            for i in range(part.start, part.stop):
                squares[i] = squares_to(points, columns[i], points[i])
        calibrate(squares[part], perplexity, shares[part])

    for _ in thread_map(fill, row_blocks(k, _ROWS), n_threads):
        pass
    shares *= (masses / masses.sum())[:, None]
    starts = m * np.arange(k + 1)
    directed = csr_array((shares.ravel(), columns.ravel(), starts), shape=(k, k))
    joint = csr_array((directed + directed.T) / 2)
    joint.sort_indices()
    return joint


def shared_affinities(k: int, blocks: Iterable[tuple[np.ndarray, np.ndarray]]) -> csr_array:
    """Return symmetric affinities between landmarks near the same points, with sum 1.

    Each point has shares ``(1 - (distance / r)^2)^2`` in its nearest landmarks, normalized, with r
    the distance to the next one, and links each pair of them by the product of their shares. The
    attraction between landmarks thus depends on all points that they represent.

    Parameters
    ----------
    k : int
        Number of landmarks.
    blocks : iterable of (nearest, squares)
        The nearest landmarks of blocks of points and their squared distances, each of shape
        (b, count + 1), nearest first.

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


def principal_start(
    points: np.ndarray, masses: np.ndarray, n_components: int, rng: np.random.Generator
) -> np.ndarray:
    """Return small principal coordinates, so that the global shape forms before details."""
    points = points.astype(np.float64)
    with one_blas_thread():
        around = points - np.average(points, axis=0, weights=masses)
        # The mean of a constant is rounded: for 1e100, by more than all other columns vary.
        around[:, (points == points[0]).all(axis=0)] = 0.0
        covariance = around.T @ (masses[:, None] * around)
        directions = np.linalg.eigh(covariance)[1][:, ::-1][:, :n_components]
        # The sign of eigenvectors is arbitrary.
        largest = np.abs(directions).argmax(axis=0)
        directions = directions * np.sign(directions[largest, np.arange(directions.shape[1])])
        start = np.zeros((len(points), n_components))
        start[:, : directions.shape[1]] = around @ directions
    start *= _START / start[:, 0].std()
    # Noise, since forces never leave a line or plane that contains the start.
    return start + _JITTER * _START * rng.normal(size=start.shape)


def layout(
    joint: csr_array,
    masses: np.ndarray,
    start: np.ndarray,
    *,
    exaggeration: float = 1.0,
    n_iter: int = 500,
    early: float = EARLY_SHARE,
    n_threads: int = 1,
    report: Report | None = None,
    stage: str = "layout",
) -> np.ndarray:
    """Lay out landmarks by their affinities.

    Parameters
    ----------
    joint : csr_array of shape (k, k)
        Symmetric, with sum 1.
    masses : float64 ndarray of shape (k,)
    start : float64 ndarray of shape (k, l)
        Initial positions, with up to three coordinates.
    exaggeration : float, default=1.0
        Attraction relative to t-SNE.
    n_iter : int, default=500
        Number of steps.
    early : float, default=0.25
        Share of the steps with strong attraction.
    n_threads : int, default=1
        The result is the same for any number.
    report : callable or None
    stage : str, default="layout"
        Name of the stage in progress reports.

    Returns
    -------
    float64 ndarray of shape (k, l)
    """
    masses = masses / masses.sum()
    k, n_components = start.shape
    points = np.zeros((k, 3))
    points[:, :n_components] = start
    pulls = joint.data / np.repeat(masses, np.diff(joint.indptr))
    velocities = np.zeros_like(points)
    for step in range(n_iter):
        strength = max(exaggeration, _EARLY if step < early * n_iter else 0.0)
        attraction, repulsion = _forces(points, joint, pulls, masses, n_threads)
        # The step of t-SNE for k points, divided by the exaggeration.
        forces = attraction + repulsion / strength
        velocities = _MOMENTUM * velocities + forces
        lengths = np.sqrt(np.square(velocities).sum(axis=1, keepdims=True))
        velocities *= _LONGEST_STEP / np.maximum(lengths, _LONGEST_STEP)
        points += velocities
        points -= masses @ points
        if report is not None:
            report(stage, step + 1, n_iter)
    return points[:, :n_components].copy()


def _forces(
    points: np.ndarray,
    joint: csr_array,
    pulls: np.ndarray,
    masses: np.ndarray,
    n_threads: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return attraction and repulsion of every landmark, each of shape (k, 3)."""
    from trigpoint._kernels.forces import TOGETHER, attract, repel

    tree = mass_tree(points, masses)
    inside, inner_masses = points[tree.order], masses[tree.order]
    attraction, pushes = np.empty_like(points), np.empty_like(points)
    sums = np.empty(len(points))

    def fill(part: slice) -> None:
        repel(tree, inside, inner_masses, part.start, part.stop, _ANGLE, pushes, sums)
        attract(joint.indptr, joint.indices, pulls, points, part.start, part.stop, attraction)

    # A few parts per thread: the result does not depend on them, but each costs a call.
    k = len(points)
    rows = k if n_threads == 1 else max(_ROWS, -(-k // (4 * n_threads)))
    parts = row_blocks(k, -(-rows // TOGETHER) * TOGETHER)
    for _ in thread_map(fill, parts, n_threads):
        pass
    repulsion = np.empty_like(points)
    repulsion[tree.order] = pushes / np.add.reduce(inner_masses * sums)
    return attraction, repulsion


def mass_tree(points: np.ndarray, masses: np.ndarray) -> "MassTree":
    """Build the tree over points (n, 3)."""
    from trigpoint._kernels.forces import MassTree, divide, morton_codes, summarize

    n = len(points)
    codes = np.empty(n, dtype=np.int64)
    morton_codes(points, codes, _BITS)
    order = np.argsort(codes, kind="stable")
    starts, stops, past = (np.empty(2 * n, dtype=np.int64) for _ in range(3))
    count = divide(codes[order], starts, stops, past)
    tree = MassTree(
        order,
        starts[:count],
        stops[:count],
        past[:count],
        np.empty((count, 5)),
    )
    summarize(tree, points[order], masses[order])
    return tree
