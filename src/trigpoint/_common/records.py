"""The small frozen records passed between the stages."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from scipy.sparse import csr_array


@dataclass(frozen=True)
class LowRankCovariances:
    """Local covariances that have a few directions each, and one variance for the rest of space.

    The covariance of landmark ``i`` is ``rest[i]`` in every direction, except that it is
    ``variances[i, a]`` along ``directions[i, a]``: probabilistic PCA of its neighbors. That takes
    ``k r d`` numbers, where full matrices take ``k d^2``.

    Attributes
    ----------
    directions : ndarray of shape (k, r, d)
        Orthogonal directions of length 1. Where the neighbors leave fewer than r directions with
        any variance, the others are zero.
    variances : float64 ndarray of shape (k, r)
        Variances along them, descending.
    rest : float64 ndarray of shape (k,)
        Mean variance in the directions orthogonal to them.

    References
    ----------
    M. E. Tipping and C. M. Bishop, "Probabilistic principal component analysis", Journal of the
    Royal Statistical Society B, 1999.
    """

    directions: np.ndarray
    variances: np.ndarray
    rest: np.ndarray

    def __len__(self) -> int:
        return len(self.rest)

    def __getitem__(self, rows: Any) -> Self:
        """Those of some landmarks: a slice, a mask or an array of their numbers."""
        return type(self)(self.directions[rows], self.variances[rows], self.rest[rows])

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Concatenate several, of the same rank."""
        return cls(
            np.concatenate([part.directions for part in parts]),
            np.concatenate([part.variances for part in parts]),
            np.concatenate([part.rest for part in parts]),
        )

    @property
    def rank(self) -> int:
        """Number of directions of each landmark, r."""
        return self.directions.shape[1]

    @property
    def n_features(self) -> int:
        """Number of dimensions of space, d."""
        return self.directions.shape[2]

    @property
    def mean_variance(self) -> np.ndarray:
        """Mean (k,) of the variances in all directions."""
        total = self.variances.sum(axis=1) + (self.n_features - self.rank) * self.rest
        return np.asarray(total / self.n_features)

    def leading(self, rank: int) -> Self:
        """Keep fewer directions; what the others explain goes to the rest."""
        if rank == self.rank:
            return self
        n_rest = self.n_features - self.rank
        dropped = self.variances[:, rank:].sum(axis=1)
        rest = (dropped + n_rest * self.rest) / (self.n_features - rank)
        return type(self)(
            np.ascontiguousarray(self.directions[:, :rank]), self.variances[:, :rank], rest
        )

    def full(self, i: int) -> np.ndarray:
        """Covariance (d, d) of landmark `i`."""
        return self[i : i + 1].among(np.arange(self.n_features))[0]

    def among(self, columns: np.ndarray) -> np.ndarray:
        """Covariances (k, c, c) of some of the columns."""
        directions = self.directions[:, :, columns].astype(np.float64)
        spreads = self.variances - self.rest[:, None]
        matrices = np.einsum("kr,kra,krb->kab", spreads, directions, directions)
        matrices = (matrices + matrices.transpose(0, 2, 1)) / 2
        return np.asarray(matrices + self.rest[:, None, None] * np.eye(len(columns)))


# Of the landmarks: (k, d, d), their diagonals (k, d), or of low rank.
Covariances = np.ndarray | LowRankCovariances


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

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays that are saved, by name."""
        names = ("points", "indices", "radii", "covariances", "masses")
        values = {name: getattr(self, name) for name in names}
        return {name: value for name, value in values.items() if value is not None}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> Self:
        """Return the landmarks that have these `arrays`."""
        return cls(**arrays)


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

    def __call__(self, X: np.ndarray | csr_array) -> tuple[np.ndarray, int]:
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
    projection : Projection or None
        Center and principal directions in which a map measures distances.
    extended_by : str or int
        The `extension` in use: the estimator's parameter, with ``"auto"`` decided.
    decided : dict
        What other parameters stand for that were left open, if it was tried out.
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
    projection: Projection | None = None
    extended_by: str | int = "auto"
    decided: dict[str, str] = field(default_factory=dict)


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
    landmark_coordinates : ndarray of shape (k, l)
        Coordinates of the landmarks: those of the spectrum, or what a smooth extension makes of
        them.
    """

    parameters: dict[str, Any]
    extension: Extension
    landmark_coordinates: np.ndarray
