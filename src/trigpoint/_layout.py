"""A map of the landmarks: coordinates in which neighbors attract and all repel each other.

The layout is that of t-SNE for landmarks with masses, the numbers of points they stand for. With
``K_ij = 1 / (1 + |y_i - y_j|^2)``, affinities ``P`` and masses ``m`` that sum to 1, it minimizes
the divergence of ``Q_ij = m_i m_j K_ij / Z`` from P: what it would be for all points, if those of a
landmark were in one place. Without the masses, diverse landmarks would spread sparse regions over
most of the map.

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

# Attraction is this many times stronger in the first part of the steps, so that what belongs
# together can pass through the rest.
_EARLY = 12.0
EARLY_SHARE = 0.25

_MOMENTUM = 0.8
# No landmark moves farther than this in one step.
_LONGEST_STEP = 5.0

# A node whose box is seen under a smaller angle repels as one point at its center.
_ANGLE = 0.7
# Bits of each coordinate in the tree.
_BITS = 20

# Standard deviation of the first coordinate at the start.
_START = 1e-4
# And of noise, relative to it.
_JITTER = 0.01

_ROWS = 512


def affinities(
    points: np.ndarray,
    masses: np.ndarray,
    perplexity: float,
    n_threads: int = 1,
    inside: np.ndarray | None = None,
) -> csr_array:
    """Symmetric affinities between landmarks, which sum to 1.

    Parameters
    ----------
    points : ndarray of shape (k, d)
    masses : float64 ndarray of shape (k,)
        How many points each landmark stands for.
    perplexity : float
        Effective number of neighbors of each, but at most a third of the others: if all counted
        alike, nothing would keep them apart.
    n_threads : int, default=1
    inside : ndarray of shape (k, c) or None
        The points in fewer columns, to search neighbors in. Distances to them are still those of
        `points`: what the columns left out add to all of them makes groups less distinct.
    """
    from trigpoint._kernels.distances import squares_to
    from trigpoint._kernels.forces import calibrate

    k = len(points)
    m = min(k - 1, int(_REACH * perplexity))
    perplexity = min(perplexity, max(1.0, m / _REACH))
    searched = points if inside is None else inside
    distances, rows = nearest(searched, searched, m + 1, n_threads)
    # Each is its own neighbor, wherever among equally distant ones.
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
    """Symmetric affinities between landmarks near the same points, which sum to 1.

    Each point divides itself among its nearest landmarks by ``(1 - (distance / r)^2)^2``, with r
    the distance to the next one, and ties each pair of them by the product of their shares. So
    landmarks attract each other by the points that they stand for, and all points have a say.

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
        # Where all are equally far, all count.
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
    """Principal coordinates, small, so that the large shape is right before details unfold."""
    points = points.astype(np.float64)
    with one_blas_thread():
        around = points - np.average(points, axis=0, weights=masses)
        # The mean of a constant is rounded: of 1e100, by more than all other columns vary.
        around[:, (points == points[0]).all(axis=0)] = 0.0
        covariance = around.T @ (masses[:, None] * around)
        directions = np.linalg.eigh(covariance)[1][:, ::-1][:, :n_components]
        # Eigenvectors come with any sign.
        largest = np.abs(directions).argmax(axis=0)
        directions = directions * np.sign(directions[largest, np.arange(directions.shape[1])])
        start = np.zeros((len(points), n_components))
        start[:, : directions.shape[1]] = around @ directions
    start *= _START / start[:, 0].std()
    # Forces never leave a line or plane that they start in.
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
        Where they start, with up to three coordinates.
    exaggeration : float, default=1.0
        How many times stronger attraction is than in t-SNE.
    n_iter : int, default=500
        Number of steps.
    early : float, default=0.25
        Share of the steps with strong attraction.
    n_threads : int, default=1
        The result is the same for any number.
    report : callable or None
    stage : str, default="layout"
        What progress is reported as.

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
        # The step of t-SNE for k points, over the exaggeration.
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
    """Attraction and repulsion of every landmark, each of shape (k, 3)."""
    from trigpoint._kernels.forces import TOGETHER, attract, repel

    tree = mass_tree(points, masses)
    inside, inner_masses = points[tree.order], masses[tree.order]
    attraction, pushes = np.empty_like(points), np.empty_like(points)
    sums = np.empty(len(points))

    def fill(part: slice) -> None:
        repel(tree, inside, inner_masses, part.start, part.stop, _ANGLE, pushes, sums)
        attract(joint.indptr, joint.indices, pulls, points, part.start, part.stop, attraction)

    # A few parts for each thread: they change nothing, and each costs a call.
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
