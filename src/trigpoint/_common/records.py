"""The small frozen records passed between the stages."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.sparse import csr_array


@dataclass(frozen=True)
class Landmarks:
    """Landmarks as returned by a sampler.

    Attributes
    ----------
    points : ndarray of shape (k, d)
        The landmark coordinates.
    indices : int64 ndarray of shape (k,) or None
        Their rows among the points; ``None`` when the landmarks are not rows of the data.
    radii : ndarray of shape (k,) or None
        Distance from each landmark to the farthest neighbor used for its covariance.
    covariances : ndarray of shape (k, d, d), (k, d) or None
        Local covariances, full or diagonal, before regularization.
    """

    points: np.ndarray
    indices: np.ndarray | None = None
    radii: np.ndarray | None = None
    covariances: np.ndarray | None = None


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
    """

    weights: csr_array
    lengths: csr_array
    bridges: np.ndarray
    bandwidths: np.ndarray


@dataclass(frozen=True)
class Spectrum:
    """Coordinates of the landmarks and their eigenvalues.

    Attributes
    ----------
    coordinates : ndarray of shape (k, l)
        The embedding of the landmarks.
    eigenvalues : ndarray of shape (l,)
        Eigenvalues of the operator whose eigenvectors the coordinates are; none for a map.
    """

    coordinates: np.ndarray
    eigenvalues: np.ndarray


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

    def __call__(self, X: np.ndarray) -> tuple[np.ndarray, int]:
        """Coordinates (b, l) of a block of points, and how many are far from every landmark."""


@dataclass(frozen=True)
class EmbeddedLandmarks:
    """Landmarks with their coordinates, and the data to extend them to other points.

    Attributes
    ----------
    method : {"LaplacianEigenmaps", "DiffusionMaps", "Isomap", "KernelPCA", "LandmarkMap"}
    landmarks : Landmarks
    spectrum : Spectrum
    graph : LandmarkGraph or None
        ``None`` for kernel PCA, which uses the kernel of all landmarks.
    bandwidth : float or None
        Bandwidth of that kernel.
    geodesics : ndarray of shape (k, k) or None
        Path lengths over the graph, for Isomap.
    kernel_means : ndarray of shape (k,) or None
        Means of the kernel's columns, for kernel PCA.
    anchor_values : ndarray of shape (k, l) or None
        For a graph of shared points, what their shares are multiplied by.
    dimension : float or None
        Local dimension of the points.
    masses : ndarray of shape (k,) or None
        How many points each landmark stands for, for a map.
    projection : Projection or None
        Center and principal directions in which a map measures distances.
    """

    method: str
    landmarks: Landmarks
    spectrum: Spectrum
    graph: LandmarkGraph | None = None
    bandwidth: float | None = None
    geodesics: np.ndarray | None = None
    kernel_means: np.ndarray | None = None
    anchor_values: np.ndarray | None = None
    dimension: float | None = None
    masses: np.ndarray | None = None
    projection: Projection | None = None


@dataclass(frozen=True, kw_only=True)
class FittedEmbedding(EmbeddedLandmarks):
    """Everything that an estimator fitted; its attribute `fitted_`.

    Attributes
    ----------
    parameters : dict
        Parameters of the fit, which may have been changed since; without ``n_jobs``, ``verbose``
        and ``callback``, which do not affect the result.
    extension : Extension
        From the landmarks to other points.
    """

    parameters: dict[str, Any]
    extension: Extension
