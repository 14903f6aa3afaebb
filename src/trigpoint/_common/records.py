"""The small frozen records passed between the stages."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.sparse import csr_array


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Landmarks as returned by a sampler; k of them, in d columns."""

    points: np.ndarray  # Euclidean coordinates (k, d).
    indices: np.ndarray | None = None  # Their row numbers; None if they are not rows of the data.
    # Distance (k,) from each to the farthest neighbor used for its covariance.
    radii: np.ndarray | None = None
    # Local covariances, full (k, d, d) or diagonal (k, d), before regularization.
    covariances: np.ndarray | None = None
    masses: np.ndarray | None = None  # Points that each represents (k,), where that was counted.
    neighborhoods: Any = None  # What the sampler found around each; not saved.
    notes: tuple[Warning, ...] = ()  # Warnings for the user.


@dataclass(frozen=True)
class LandmarkGraph:
    """The symmetric, connected neighborhood graph of the landmarks."""

    # Gaussian weights (k, k) with a unit diagonal; a sparse version of the kernel matrix.
    weights: csr_array
    lengths: csr_array  # Euclidean lengths of the same edges, without self-loops.
    bridges: np.ndarray  # Edges (b, 2) that were added to join separate components.
    # Gaussian bandwidth (k,) of each landmark; an edge uses the larger of the two at its ends.
    bandwidths: np.ndarray
    notes: tuple[Warning, ...] = ()  # Warnings for the user.


@dataclass(frozen=True)
class Spectrum:
    """Coordinates of the landmarks and their eigenvalues."""

    coordinates: np.ndarray  # The embedding (k, l) of the landmarks.
    eigenvalues: np.ndarray  # Of the operator whose eigenvectors these are (l,); none for a map.
    notes: tuple[Warning, ...] = ()  # Warnings for the user.


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
    """

    landmarks: Landmarks
    spectrum: Spectrum
    dimension: float  # Local dimension of the points.
    graph: LandmarkGraph | None = None  # None for kernel PCA and maps.
    # Arrays that only this estimator has, by name, such as the geodesics of Isomap.
    extras: dict[str, np.ndarray] = field(default_factory=dict)
    extended_by: str | int = "auto"  # The extension in use, with "auto" resolved.
    decided: dict[str, str] = field(default_factory=dict)  # Other automatic parameters, resolved.
    # What follows is filled in when the fit is complete, or loaded from a file.
    # Parameters of the fit, which may have been changed on the estimator since; without `n_jobs`
    # and `verbose`, which do not affect the result.
    parameters: dict[str, Any] = field(default_factory=dict)
    # Coordinates (k, l) of the landmarks: those of the spectrum, or as smoothed by the extension.
    landmark_coordinates: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    method: str = ""  # The name of the estimator's class.
    # Attributes of that class; `Embedding` explains them.
    title: str = ""
    equal_scales: bool = False
    unhelpful: frozenset[str] = frozenset()
