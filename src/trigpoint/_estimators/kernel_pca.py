"""Kernel PCA: no graph, the whole kernel of the landmarks."""

from dataclasses import replace
from typing import Any

import numpy as np

from trigpoint._common.checks import check_positive
from trigpoint._common.errors import ParameterValueError
from trigpoint._common.records import EmbeddedLandmarks, Extension, Landmarks
from trigpoint._estimators.base import LandmarkEmbedding, check_pairs, plain_support
from trigpoint._estimators.run import Run
from trigpoint._extension.extensions import KernelExtension
from trigpoint._numerics.kernels import gaussian_kernel, median_bandwidth, resolve_bandwidth
from trigpoint._numerics.sparse import Points
from trigpoint._points.store import Store
from trigpoint._spectrum import kernel_pca

# Kernel values closer than this to 0 or 1 are only rounding error.
_NEGLIGIBLE = 1e-9


class KernelPCA(LandmarkEmbedding):
    """Gaussian kernel PCA of any number of points, from landmarks.

    Parameters
    ----------
    n_components, landmarks
        As for `LaplacianEigenmaps`.
    bandwidth : float or None, default=None
        Bandwidth of the kernel; ``None`` takes the median distance between landmarks.
    extension : "all" or int, default="all"
        Evaluate the kernel between a point and all landmarks, or only this many nearest ones (the
        others count as 0, which saves time when the bandwidth is small).
    metric, random_state, n_jobs, device, verbose, callback
        As for `LaplacianEigenmaps`.

    Attributes
    ----------
    fitted_, landmark_indices_, landmarks_, covariances_, landmark_embedding_, stage_seconds_
        As for `LaplacianEigenmaps`.
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of the centered kernel matrix of the landmarks.
    bandwidth_ : float

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
        extension: Any = "all",
        metric: str = "euclidean",
        random_state: Any = None,
        n_jobs: int | None = None,
        device: Any = None,
        verbose: bool = False,
        callback: Any = None,
    ) -> None:
        self.n_components = n_components
        self.landmarks = landmarks
        self.bandwidth = bandwidth
        self.extension = extension
        self.metric = metric
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.device = device
        self.verbose = verbose
        self.callback = callback

    _extensions = ("all",)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.bandwidth is not None:
            check_positive("bandwidth", self.bandwidth)

    def _covariance(self) -> str | None:
        return None

    def _embed(
        self, X: Points | Store, chosen: Landmarks, n_components: int, run: Run
    ) -> EmbeddedLandmarks:
        check_pairs(chosen.points)
        run.begin("kernel")
        points = chosen.points.astype(np.float64)
        bandwidth = resolve_bandwidth(self.bandwidth, points, run.rng)
        kernel = gaussian_kernel(points, bandwidth)
        off_diagonal = kernel[~np.eye(len(points), dtype=bool)]
        if off_diagonal.max() < _NEGLIGIBLE or off_diagonal.min() > 1 - _NEGLIGIBLE:
            side = "small" if off_diagonal.max() < _NEGLIGIBLE else "large"
            raise ParameterValueError(
                "bandwidth",
                bandwidth,
                "{parameter=} is too {side}: all landmarks have the same kernel with each other",
                "choose one near {typical:.3g}",
                side=side,
                typical=median_bandwidth(points, run.rng),
            )
        run.done("kernel")
        run.begin("spectrum")
        means = kernel.mean(axis=0)
        spectrum = kernel_pca(kernel, n_components)
        return EmbeddedLandmarks(
            "KernelPCA", chosen, spectrum, bandwidth=bandwidth, kernel_means=means
        )

    def _completed(self, embedded: EmbeddedLandmarks) -> EmbeddedLandmarks:
        if embedded.kernel_means is not None:
            return embedded
        assert embedded.bandwidth is not None
        points = embedded.landmarks.points
        check_pairs(points)
        kernel = gaussian_kernel(points.astype(np.float64), embedded.bandwidth)
        return replace(embedded, kernel_means=kernel.mean(axis=0))

    def _prepare(self, embedded: EmbeddedLandmarks) -> Extension:
        assert embedded.bandwidth is not None
        assert embedded.kernel_means is not None
        points = embedded.landmarks.points
        bandwidths = np.full(len(points), embedded.bandwidth)
        support = plain_support(embedded.extended_by, points, bandwidths)
        return KernelExtension.prepare(support, embedded.kernel_means, embedded.spectrum)

    def _set_fitted(self, embedded: EmbeddedLandmarks, dtype: np.dtype) -> None:
        super()._set_fitted(embedded, dtype)
        self.bandwidth_ = embedded.bandwidth
