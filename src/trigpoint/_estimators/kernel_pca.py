"""Kernel PCA of the landmarks, without a graph."""

from collections.abc import Callable
from typing import Any

import numpy as np

from trigpoint._common.checks import check_count, check_positive
from trigpoint._common.errors import ParameterValueError
from trigpoint._common.records import Extension, Fit, Landmarks
from trigpoint._embedding import Embedding
from trigpoint._estimators.isomap import check_pairs
from trigpoint._estimators.model_arrays import check_division, require
from trigpoint._extension.weighted import AllLandmarks, KernelExtension
from trigpoint._geometry import local_dimension
from trigpoint._model import Model
from trigpoint._numerics.blocks import Run
from trigpoint._numerics.gaussian import (
    gaussian_kernel,
    median_bandwidth,
    resolve_bandwidth,
)
from trigpoint._pool import Pool
from trigpoint._spaces import Space
from trigpoint._spectrum import kernel_pca

# Kernel values that differ from 0 or 1 by less than this count as rounding error.
_NEGLIGIBLE = 1e-9


class KernelPCA(Embedding):
    """Gaussian kernel PCA for any number of points, computed on a few landmarks.

    Parameters
    ----------
    n_components, landmarks
        As for `LaplacianEigenmaps`.
    bandwidth : float or None, default=None
        Bandwidth of the kernel; ``None`` takes the median distance between landmarks.
    metric, random_state, n_jobs, verbose
        As for `LaplacianEigenmaps`.

    Attributes
    ----------
    fitted_, model_, landmark_indices_, landmarks_, landmark_embedding_
        As for `LaplacianEigenmaps`.
    dimension_, stage_seconds_
        As for `LaplacianEigenmaps`.
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of the centered kernel matrix of the landmarks.
    bandwidth_ : float
        Bandwidth of the kernel.

    References
    ----------
    B. Schoelkopf, A. Smola and K.-R. Mueller, "Nonlinear component analysis as a kernel eigenvalue
    problem", Neural Computation, 1998.

    Examples
    --------
    >>> import trigpoint as tp
    >>> X, _ = tp.datasets.make_fish_bowl(3000, random_state=0)
    >>> tp.KernelPCA(n_components=3, landmarks=200, random_state=0).fit_transform(X).shape
    (3000, 3)
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        landmarks: Any = None,
        bandwidth: float | None = None,
        metric: Any = "euclidean",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool | Callable[[str, int, int], None] = False,
    ) -> None:
        self.n_components = n_components
        self.landmarks = landmarks
        self.bandwidth = bandwidth
        self.metric = metric
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # There is a single extension.
    extension = "all"
    _extensions = ("all",)
    _title = "Kernel PCA"
    _unhelpful = frozenset({"KernelPCA"})

    def _check_parameters(self) -> Space:
        if self.bandwidth is not None:
            check_positive("bandwidth", self.bandwidth)
        return super()._check_parameters()

    def _embed(self, pool: Pool, landmarks: Landmarks, run: Run) -> tuple[Fit, Extension]:
        points = landmarks.points.astype(np.float64)
        why = f"there are {len(points):,} landmarks"
        n_components = check_count("n_components", self.n_components, high=len(points) - 1, why=why)
        check_pairs(points)
        bandwidth = resolve_bandwidth(self.bandwidth, points, run.rng)
        kernel = gaussian_kernel(points, bandwidth)
        off_diagonal = kernel[~np.eye(len(points), dtype=bool)]
        if off_diagonal.max() < _NEGLIGIBLE or off_diagonal.min() > 1 - _NEGLIGIBLE:
            side = "small" if off_diagonal.max() < _NEGLIGIBLE else "large"
            typical = median_bandwidth(points, run.rng)
            raise ParameterValueError(
                f"bandwidth={bandwidth} is too {side}: the kernel has the same value between all "
                f"landmarks; choose one near {typical:.3g}",
                "bandwidth",
            )
        fit = Fit(
            landmarks,
            kernel_pca(kernel, n_components),
            local_dimension(pool.distinct, len(points)),
            extras={"bandwidth": np.array([bandwidth]), "means": kernel.mean(axis=0)},
            extended_by=self.extension,
            decided={"bandwidth": f"{bandwidth:.4g}"},
        )
        return fit, self._extension(fit)

    def _extension(self, fit: Fit) -> Extension:
        points = fit.landmarks.points
        bandwidths = np.full(len(points), fit.extras["bandwidth"])
        support = AllLandmarks.prepare(points, bandwidths)
        return KernelExtension.prepare(support, fit.extras["means"], fit.spectrum)

    def _check_restored(self, fit: Fit) -> None:
        bandwidth, means = fit.extras["bandwidth"], fit.extras["means"]
        require(bandwidth.shape == (1,) and bandwidth[0] > 0, "bandwidth")
        require(means.shape == (len(fit.landmarks.points),), "means")
        check_division(fit.spectrum)

    def _set_fitted(self, fit: Fit, model: Model) -> None:
        super()._set_fitted(fit, model)
        self.eigenvalues_ = fit.spectrum.eigenvalues
        self.bandwidth_ = float(fit.extras["bandwidth"][0])
