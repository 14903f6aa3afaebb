"""Spectral embeddings of the landmarks."""

import logging
from contextlib import nullcontext

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csr_array, diags_array, eye_array
from scipy.sparse.linalg import LinearOperator, eigsh, splu
from scipy.spatial import cKDTree

from trigpoint._common.checks import check_dense
from trigpoint._common.errors import ParameterValueError, ParameterWarning
from trigpoint._common.records import Spectrum
from trigpoint._common.words import counted
from trigpoint._numerics.blocks import one_blas_thread

logger = logging.getLogger(__name__)

# Size up to which LAPACK on the dense matrix is faster than Lanczos on the sparse one.
_DENSE_MAX = 1000
# Fraction of all eigenvectors above which Lanczos keeps restarting, so that LAPACK is used as well.
_DENSE_SHARE = 0.04

# Dimension of the graph below which a sparse factorization is used; see `hop_dimension`.
_LU_MAX_DIMENSION = 3.0
_HOP_SEEDS = 16
# Shift, small enough to distinguish eigenvalues 1e-5 apart and large enough for an accurate
# factorization.
_SHIFT = 1e-6

# Number of leading eigenvectors to search for independent ones, per component.
_CANDIDATES_PER_COMPONENT = 15
# Minimum residual of an independent eigenvector, as predicted from earlier ones. On a Swiss roll,
# the residual is below 0.1 for redundant eigenvectors and above 0.9 for new directions.
INDEPENDENT = 0.5
_REGRESSION_POINTS = 1500
# Number of neighbors in the regression per coefficient.
_REGRESSION_NEIGHBORS = 6


# Magnitude below which a coordinate (nearly) vanishes in float32.
_VANISHED = 1e-30


class RedundantEigenvectorsWarning(ParameterWarning):
    """Warning that a coordinate is a function of earlier ones."""


def laplacian_eigenmaps(
    weights: csr_array, n_components: int, eigenvectors: str = "leading"
) -> Spectrum:
    """Compute Laplacian eigenmaps, the eigenvectors of ``(D - W) phi = lambda D phi``.

    `weights` (k, k) are the weights of a connected graph. After the constant eigenvector,
    `eigenvectors` selects the ``"leading"`` ones, or the first ``"independent"`` ones, which are
    not functions of earlier ones. Returns eigenvectors with ``phi^T D phi = 1``, and their
    eigenvalues lambda.

    References
    ----------
    M. Belkin and P. Niyogi, "Laplacian eigenmaps for dimensionality reduction and data
    representation", Neural Computation, 2003.
    """
    values, vectors, notes = _markov_eigenvectors(weights, n_components, eigenvectors)
    return Spectrum(vectors, 1 - values, notes)


def diffusion_maps(
    weights: csr_array,
    n_components: int,
    eigenvectors: str = "leading",
    *,
    alpha: float = 1.0,
    time: float = 1.0,
) -> Spectrum:
    """Compute diffusion maps, the eigenvectors of the density-normalized Markov matrix.

    `alpha` is the strength of the normalization by the sampling density, from 0 (none) to 1 (full).
    Returns the right eigenvectors, with mean square 1 under the stationary distribution, multiplied
    by ``mu^time``, and their eigenvalues mu.

    References
    ----------
    R. R. Coifman and S. Lafon, "Diffusion maps", Applied and Computational Harmonic Analysis, 2006.
    """
    scale = density_scale(weights, alpha)
    normalized = (diags_array(scale) @ weights @ diags_array(scale)).tocsr()
    values, vectors, notes = _markov_eigenvectors(normalized, n_components, eigenvectors)
    if time != int(time) and (values <= 0).any():
        raise ParameterValueError(
            f"time={time} needs positive eigenvalues, but some are not positive: choose a whole "
            "number or fewer components",
            "time",
        )
    notes += _vanishing(time, values)
    # Make coordinates independent of the sum of the degrees.
    vectors *= np.sqrt(normalized.sum())
    return Spectrum(vectors * values**time, values, notes)


def _vanishing(time: float, values: np.ndarray) -> tuple[Warning, ...]:
    """Reject a diffusion time at which all coordinates vanish; return a note if some do."""
    sizes = abs(values)
    vanished = sizes**time < _VANISHED
    if not vanished.any():
        return ()
    with np.errstate(divide="ignore"):
        longest = np.log(_VANISHED) / np.log(sizes)
    if vanished.all():
        raise ParameterValueError(
            f"time={time} makes all coordinates vanish: the largest eigenvalue is "
            f"{sizes.max():.6g}; choose time below {_rounded_down(longest.max())}",
            "time",
        )
    return (
        ParameterWarning(
            f"time={time} makes {int(vanished.sum())} of the {len(values)} coordinates vanish: "
            f"choose time below {_rounded_down(longest.min())} or fewer components"
        ),
    )


def _rounded_down(number: float) -> str:
    """Format a positive number with two digits, rounded down."""
    step = 10 ** (np.floor(np.log10(number)) - 1)
    return f"{np.floor(number / step) * step:.2g}"


def density_scale(weights: csr_array, alpha: float) -> np.ndarray:
    """Return the factors ``degree^-alpha`` by which diffusion maps normalize the landmarks."""
    return np.asarray(weights.sum(axis=1)).ravel() ** -alpha


def _markov_eigenvectors(
    weights: csr_array, n_components: int, eigenvectors: str
) -> tuple[np.ndarray, np.ndarray, tuple[Warning, ...]]:
    """Return the largest eigenpairs of ``D^-1 W``, with right eigenvectors, after the constant."""
    degrees = np.asarray(weights.sum(axis=1)).ravel()
    root = np.sqrt(degrees)
    symmetric = (diags_array(1 / root) @ weights @ diags_array(1 / root)).tocsr()
    count = n_components
    if eigenvectors == "independent":
        count = min(_CANDIDATES_PER_COMPONENT * n_components, weights.shape[0] - 1)
    values, vectors = _largest_eigenpairs(symmetric, count + 1)
    values, vectors = values[1:], _fix_signs(vectors[:, 1:] / root[:, None])
    if eigenvectors != "independent":
        return values, vectors, ()
    chosen, notes = independent_columns(vectors, n_components)
    return values[chosen], vectors[:, chosen], notes


def _largest_eigenpairs(matrix: csr_array, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the `count` largest eigenpairs of a symmetric matrix, in descending order."""
    k = matrix.shape[0]
    if k <= _DENSE_MAX or count >= _DENSE_SHARE * k:
        check_dense(
            "landmarks", k, f"landmarks with {count} eigenvectors", "fewer components or landmarks"
        )
        return _dense_eigenpairs(matrix.toarray(), count)
    # Use a fixed start that is far from the first eigenvector, which is known.
    start = np.random.default_rng(0).uniform(-1, 1, k)
    if hop_dimension(matrix) < _LU_MAX_DIMENSION:
        values, vectors = _shift_invert(matrix, count, start)
    else:
        width = min(k - 1, max(4 * count, 60))
        values, vectors = eigsh(matrix, k=count, which="LA", v0=start, ncv=width)
    order = np.argsort(values)[::-1]
    return values[order], vectors[:, order]


def _shift_invert(
    matrix: csr_array, count: int, start: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest eigenpairs, those near 1, by sparse factorization."""
    shift = 1 + _SHIFT
    shifted = shift * eye_array(matrix.shape[0]) - matrix
    # The matrix is positive definite, so skip pivoting and use an ordering for symmetric patterns.
    factor = splu(
        shifted.tocsc(),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
    inverse = LinearOperator(matrix.shape, matvec=lambda x: -factor.solve(x), dtype=np.float64)
    return eigsh(matrix, k=count, sigma=shift, OPinv=inverse, v0=start)


def hop_dimension(graph: csr_array) -> float:
    """Estimate the dimension of a graph from the growth of the number of nodes reached with hops.

    In low dimension, the eigenvalues of the graph cluster near 1, so Lanczos takes thousands of
    steps, but a factorization has little fill-in (100 s and 2 s for 50,000 nodes of a Swiss roll).
    In high dimension, the reverse is true. The two methods break even at about three dimensions. A
    graph that is crossed in four hops has no clustered eigenvalues, and its dimension counts as
    infinite.
    """
    k = graph.shape[0]
    links = graph.astype(bool).astype(np.float32)
    seeds = np.linspace(0, k - 1, _HOP_SEEDS).astype(np.int64)
    reached = np.zeros((k, _HOP_SEEDS), dtype=np.float32)
    reached[seeds, np.arange(_HOP_SEEDS)] = 1
    sizes = []
    for _ in range(4):
        reached = ((links @ reached + reached) > 0).astype(np.float32)
        sizes.append(float(np.median(reached.sum(axis=0))))
    return np.inf if sizes[3] > k / 2 else float(np.log2(sizes[3] / sizes[1]))


def _dense_eigenpairs(matrix: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    k = len(matrix)
    # A second thread slows down computations with small matrices.
    with one_blas_thread() if k <= _DENSE_MAX else nullcontext():
        values, vectors = eigh(matrix, subset_by_index=[k - count, k - 1])
        if len(values) < count:
            # With selection by index, LAPACK may miss some of many equal eigenvalues.
            values, vectors = eigh(matrix)
    return values[: -count - 1 : -1], vectors[:, : -count - 1 : -1]


def _fix_signs(vectors: np.ndarray) -> np.ndarray:
    """Flip the arbitrary signs of columns so that the largest entry of each is positive."""
    largest = np.take_along_axis(vectors, np.abs(vectors).argmax(axis=0)[None, :], axis=0)
    return vectors * np.where(largest < 0, -1.0, 1.0)


def independent_columns(
    vectors: np.ndarray, n_components: int
) -> tuple[np.ndarray, tuple[Warning, ...]]:
    """Choose the first columns that are not smooth functions of the ones chosen before.

    Eigenvectors (k, c), in the order of their eigenvalues, are predicted from the chosen ones by
    leave-one-out local linear regression, and chosen if the residual is large enough. On a long
    Swiss roll, the first several eigenvectors are all functions of arc length, and height appears
    only after them. Returns the chosen columns in ascending order, and a note if some of them are
    redundant.

    References
    ----------
    C. J. Dsilva, R. Talmon, R. R. Coifman and I. G. Kevrekidis, "Parsimonious representation of
    nonlinear dynamical systems through manifold learning", Applied and Computational Harmonic
    Analysis, 2018.
    """
    sample = vectors[:: -(-len(vectors) // _REGRESSION_POINTS)] / vectors.std(axis=0)
    chosen, passed_over = [0], {}
    for column in range(1, vectors.shape[1]):
        if len(chosen) == n_components:
            break
        residual = regression_residual(sample[:, chosen], sample[:, column])
        logger.debug("eigenvector %d: %.3f not explained by %s", column + 1, residual, chosen)
        if residual >= INDEPENDENT:
            chosen.append(column)
        else:
            passed_over[column] = residual
    missing = n_components - len(chosen)
    notes: tuple[Warning, ...] = ()
    if missing > 0:
        note = RedundantEigenvectorsWarning(
            f"only {len(chosen)} of the first {vectors.shape[1]} eigenvectors are independent, but "
            f"{n_components} were requested, and the least redundant of the others make up the "
            f"rest: choose n_components={len(chosen)} or eigenvectors='leading'"
        )
        notes = (note,)
        chosen += sorted(passed_over, key=lambda column: -passed_over[column])[:missing]
    return np.sort(np.array(chosen, dtype=np.int64)), notes


def redundant_columns(vectors: np.ndarray) -> list[int]:
    """Return columns that are smooth functions of earlier columns; see `independent_columns`."""
    sample = vectors[:: -(-len(vectors) // _REGRESSION_POINTS)] / vectors.std(axis=0)
    return [
        column
        for column in range(1, vectors.shape[1])
        if regression_residual(sample[:, :column], sample[:, column]) < INDEPENDENT
    ]


def regression_residual(inputs: np.ndarray, target: np.ndarray) -> float:
    """Return the RMS error of leave-one-out local linear regression on a standardized target.

    The regression uses a few nearest inputs, so that it can follow harmonics, which vary fastest
    where values of the first eigenvector are densest.
    """
    size = inputs.shape[1] + 1
    count = min(_REGRESSION_NEIGHBORS * size, len(inputs) - 1)
    # Leave out the landmark, which comes first or ties with the first.
    neighbors = np.asarray(cKDTree(inputs).query(inputs, count + 1)[1])[:, 1:]
    design = np.column_stack([np.ones(len(inputs)), inputs])
    near = design[neighbors]
    normal = near.transpose(0, 2, 1) @ near
    # Add a tiny ridge, in case neighbors coincide.
    ridge = 1e-9 * np.trace(normal, axis1=1, axis2=2)
    normal += ridge[:, None, None] * np.eye(size)
    moments = np.einsum("nqs,nq->ns", near, target[neighbors])
    coefficients = np.linalg.solve(normal, moments[:, :, None])[:, :, 0]
    predicted = np.einsum("ns,ns->n", design, coefficients)
    return float(np.sqrt(np.mean((predicted - target) ** 2)))


def classical_scaling(distances: np.ndarray, n_components: int) -> Spectrum:
    """Apply classical scaling to a matrix of distances; for geodesic distances, this is Isomap.

    Returns coordinates and the eigenvalues of the centered matrix ``-J distances^2 J / 2``.

    References
    ----------
    J. B. Tenenbaum, V. de Silva and J. C. Langford, "A global geometric framework for nonlinear
    dimensionality reduction", Science, 2000.
    """
    return _principal_coordinates(-(distances**2) / 2, n_components)


def kernel_pca(kernel: np.ndarray, n_components: int) -> Spectrum:
    """Return projections onto the principal components of a kernel, and its centered eigenvalues.

    References
    ----------
    B. Schoelkopf, A. Smola and K.-R. Mueller, "Nonlinear component analysis as a kernel eigenvalue
    problem", Neural Computation, 1998.
    """
    return _principal_coordinates(kernel, n_components)


def _principal_coordinates(similarity: np.ndarray, n_components: int) -> Spectrum:
    means = similarity.mean(axis=0)
    centered = similarity - means - means[:, None] + means.mean()
    values, vectors = _dense_eigenpairs(centered, n_components)
    rounding = len(similarity) * np.finfo(np.float64).eps * abs(values[0])
    if values[-1] <= rounding:
        usable = int((values > rounding).sum())
        are = "is" if usable == 1 else "are"
        remedy = f"choose n_components <= {usable}" if usable else "choose more landmarks"
        raise ParameterValueError(
            f"n_components={n_components} is too large: only {counted(usable, 'eigenvalue')} "
            f"{are} above rounding error; {remedy}",
            "n_components",
        )
    return Spectrum(_fix_signs(vectors) * np.sqrt(values), values)
