"""Small immutable records passed between the stages of a fit."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.sparse import csr_array


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Landmarks returned by a sampler, k points with d Euclidean coordinates."""

    points: np.ndarray  # Euclidean coordinates (k, d).
    indices: np.ndarray | None = None  # Row numbers (k,); None if landmarks are not rows.
    # Distance (k,) to the farthest neighbor used for the local covariance.
    radii: np.ndarray | None = None
    # Local covariances, full (k, d, d) or diagonal (k, d), before regularization.
    covariances: np.ndarray | None = None
    masses: np.ndarray | None = None  # Number of points represented (k,), if it was counted.
    neighborhoods: Any = None  # Neighborhoods found by the sampler; not saved.
    # Landmark (n,) of every row, if all distinct rows are landmarks; not saved.
    groups: np.ndarray | None = None
    notes: tuple[Warning, ...] = ()  # Warnings for the user.


@dataclass(frozen=True)
class LandmarkGraph:
    """Symmetric, connected neighborhood graph of the landmarks."""

    # Gaussian weights (k, k) with a unit diagonal, a sparse version of the kernel matrix.
    weights: csr_array
    lengths: csr_array  # Euclidean lengths of the same edges, without self-loops.
    bridges: np.ndarray  # Edges (b, 2) added to join connected components.
    # Gaussian bandwidth (k,) of each landmark; an edge uses the larger bandwidth of its endpoints.
    bandwidths: np.ndarray
    notes: tuple[Warning, ...] = ()  # Warnings for the user.


@dataclass(frozen=True)
class Spectrum:
    """Coordinates of the landmarks, and eigenvalues of the embedding."""

    coordinates: np.ndarray  # The embedding (k, l) of the landmarks.
    eigenvalues: np.ndarray  # Eigenvalues (l,) of the embedding's operator; empty for a map.
    notes: tuple[Warning, ...] = ()  # Warnings for the user.


@dataclass(frozen=True)
class ColumnKind:
    """Summary of a column of a table, over all rows."""

    name: str
    kind: str  # "number", "boolean", "date" (in days since 1970) or "category".
    center: float = 0.0  # Median, which replaces gaps.
    scale: float = 1.0  # Winsorized standard deviation.
    # Distinct values of a categorical column, whose rows hold positions in this tuple.
    levels: tuple[str, ...] = ()
    gaps: int = 0  # Number of missing values.


class Projection(NamedTuple):
    """Center (d,) and orthonormal directions (d, c), float64."""

    center: np.ndarray
    components: np.ndarray


class Extension(Protocol):
    """A pure function that embeds blocks of points, prepared from the fitted landmarks."""

    @property
    def n_components(self) -> int:
        """Number of coordinates, l."""

    @property
    def row_bytes(self) -> int:
        """Maximum bytes needed per point of a block."""

    def __call__(self, X: np.ndarray | csr_array) -> tuple[np.ndarray, np.ndarray]:
        """Return coordinates (b, l) of a block, and a mask of points far from all landmarks."""


@dataclass(frozen=True, eq=False)
class Fit:
    """Fitted state of an estimator, stored in its attribute `fitted_`.

    Saving, inspection and quality measures use this state. A `Model`, which extends the embedding
    to other points, is built from it.
    """

    landmarks: Landmarks
    spectrum: Spectrum
    dimension: float  # Local dimension of the points.
    graph: LandmarkGraph | None = None  # None for kernel PCA and maps.
    # Estimator-specific arrays by name, such as the geodesics of Isomap.
    extras: dict[str, np.ndarray] = field(default_factory=dict)
    extended_by: str = "auto"  # The extension in use, with "auto" resolved.
    decided: dict[str, str] = field(default_factory=dict)  # Other automatic parameters, resolved.
    # The following fields are set when the fit is complete or has been loaded from a file.
    # `parameters` are those used in the fit, since the estimator's may have changed since. `n_jobs`
    # and `verbose` are omitted because they do not affect the result.
    parameters: dict[str, Any] = field(default_factory=dict)
    # Coordinates (k, l) of the landmarks, from the spectrum or smoothed by the extension.
    landmark_coordinates: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    method: str = ""  # Name of the estimator's class.
    metric_kept: float = 1.0  # Share of neighbors that the map to Euclidean rows preserves.
    # Attributes of the class, documented in `Embedding`.
    title: str = ""
    equal_scales: bool = False
    unhelpful: frozenset[str] = frozenset()
