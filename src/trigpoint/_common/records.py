"""The small frozen records passed between the stages."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.sparse import csr_array


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Landmarks as returned by a sampler.

    Attributes
    ----------
    points : ndarray of shape (k, d)
        Euclidean coordinates of the landmarks.
    indices : int64 ndarray of shape (k,) or None
        Their row numbers; ``None`` when the landmarks are not rows of the data.
    radii : ndarray of shape (k,) or None
        Distance from each landmark to the farthest neighbor used for its covariance.
    covariances : ndarray of shape (k, d, d) or (k, d), or None
        Local covariances, full or diagonal, before regularization.
    masses : float64 ndarray of shape (k,) or None
        Number of points that each landmark represents, where that was counted.
    neighborhoods : Neighborhoods or None
        What the sampler found around each landmark; not saved.
    notes : tuple of Warning
        Warnings for the user.
    """

    points: np.ndarray
    indices: np.ndarray | None = None
    radii: np.ndarray | None = None
    covariances: np.ndarray | None = None
    masses: np.ndarray | None = None
    neighborhoods: Any = None
    notes: tuple[Warning, ...] = ()


@dataclass(frozen=True)
class LandmarkGraph:
    """The symmetric, connected neighborhood graph of the landmarks.

    Attributes
    ----------
    weights : csr_array of shape (k, k)
        Gaussian weights with a unit diagonal; a sparse version of the landmarks' kernel matrix.
    lengths : csr_array of shape (k, k)
        Euclidean lengths of the same edges, without self-loops.
    bridges : int64 ndarray of shape (b, 2)
        Edges that were added to join separate components.
    bandwidths : ndarray of shape (k,)
        Gaussian bandwidth of each landmark; an edge uses the larger of the two at its ends.
    notes : tuple of Warning
        Warnings for the user.
    """

    weights: csr_array
    lengths: csr_array
    bridges: np.ndarray
    bandwidths: np.ndarray
    notes: tuple[Warning, ...] = ()

    def ordinary_lengths(self) -> csr_array:
        """Return the lengths of the edges that are not bridges."""
        k, edges = len(self.bandwidths), self.lengths.tocoo()
        bridges = np.concatenate([self.bridges, self.bridges[:, ::-1]])
        kept = ~np.isin(
            edges.row.astype(np.int64) * k + edges.col, bridges[:, 0] * k + bridges[:, 1]
        )
        ends = edges.row[kept], edges.col[kept]
        return csr_array((edges.data[kept], ends), shape=(k, k))


@dataclass(frozen=True)
class Spectrum:
    """Coordinates of the landmarks and their eigenvalues.

    Attributes
    ----------
    coordinates : ndarray of shape (k, l)
        The embedding of the landmarks.
    eigenvalues : ndarray of shape (l,)
        Eigenvalues of the operator whose eigenvectors the coordinates are; none for a map.
    notes : tuple of Warning
        Warnings for the user.
    """

    coordinates: np.ndarray
    eigenvalues: np.ndarray
    notes: tuple[Warning, ...] = ()


class Projection(NamedTuple):
    """Center (d,) and orthonormal directions (d, c), float64."""

    center: np.ndarray
    components: np.ndarray


class Extension(Protocol):
    """A pure function of a block of points, prepared from the fitted landmarks."""

    @property
    def n_components(self) -> int:
        """Number of coordinates, l."""

    @property
    def row_bytes(self) -> int:
        """Maximum bytes needed per point of a block."""

    def __call__(self, X: np.ndarray | csr_array) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates (b, l) of a block of points, and which are far from every landmark."""


@dataclass(frozen=True, eq=False)
class Fit:
    """Everything that an estimator fitted; its attribute `fitted_`.

    It holds what is saved, inspected and judged. A `Model` with the extension to other points is
    built from it.

    Attributes
    ----------
    method : {"LaplacianEigenmaps", "DiffusionMaps", "Isomap", "KernelPCA", "LandmarkMap"}
    landmarks : Landmarks
    spectrum : Spectrum
    dimension : float
        Local dimension of the points.
    graph : LandmarkGraph or None
        ``None`` for kernel PCA and maps.
    bandwidth : float or None
        Bandwidth of the kernel of kernel PCA.
    kernel_means : ndarray of shape (k,) or None
        Mean of the kernel at each landmark, for kernel PCA.
    geodesics : ndarray of shape (k, k) or None
        Path lengths over the graph, for Isomap.
    projection : Projection or None
        Principal components in which a map measures distances.
    extended_by : str or int
        The `extension` in use: the estimator's parameter, with ``"auto"`` resolved.
    decided : dict
        What other automatic parameters were resolved to.
    parameters : dict
        Parameters of the fit, which may have been changed on the estimator since; without `n_jobs`
        and `verbose`, which do not affect the result.
    landmark_coordinates : ndarray of shape (k, l)
        Coordinates of the landmarks: those of the spectrum, or as smoothed by the extension.
    """

    method: str
    landmarks: Landmarks
    spectrum: Spectrum
    dimension: float
    graph: LandmarkGraph | None = None
    bandwidth: float | None = None
    kernel_means: np.ndarray | None = None
    geodesics: np.ndarray | None = None
    projection: Projection | None = None
    extended_by: str | int = "auto"
    decided: dict[str, str] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)
    landmark_coordinates: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
