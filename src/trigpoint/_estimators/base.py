"""What the estimators share: the order of the stages, and parameter checks."""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import fields, replace
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, overload

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from trigpoint._common.checkpoints import NOTHING_KEPT, Checkpoints
from trigpoint._common.checks import (
    as_generator,
    check_choice,
    check_count,
    check_magnitude,
    check_path,
    refuse_non_finite,
)
from trigpoint._common.errors import ParameterValueError
from trigpoint._common.memory import check_dense
from trigpoint._common.progress import ProgressMixin, reporter
from trigpoint._common.records import (
    EmbeddedLandmarks,
    Extension,
    FittedEmbedding,
    Landmarks,
)
from trigpoint._common.words import counted
from trigpoint._estimators.run import Run
from trigpoint._extension.extensions import extend, extended_blocks, warn_of_far
from trigpoint._extension.smooth import SmoothExtension
from trigpoint._extension.support import AllLandmarks, NearestLandmarks
from trigpoint._files.frames import labeled_as
from trigpoint._files.optional import is_from
from trigpoint._landmarks.base import too_much_of_sparse
from trigpoint._numerics.dimension import local_dimension
from trigpoint._numerics.sparse import Points
from trigpoint._numerics.threads import thread_count
from trigpoint._points.dask.recognition import is_dask
from trigpoint._points.inputs import (
    blocks_as_stored,
    device_for,
    points_to_fit,
    points_to_transform,
    remember_traffic,
)
from trigpoint._points.scaling import METRICS
from trigpoint._points.store import Store
from trigpoint._points.torch.device import device_memory, device_of, is_tensor
from trigpoint._points.torch.dlpack import as_tensor, like
from trigpoint.metrics._quality import LEAST_SAMPLE, Quality, assess, sample_size

if TYPE_CHECKING:
    from trigpoint._report import InlinePage, Subject

# Parameters that affect how a fit runs, not its result.
HOW_IT_RUNS = ("n_jobs", "device", "verbose", "callback")


class LandmarkEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ProgressMixin, ABC):
    """Base of the estimators: embed the landmarks first, then blocks of points."""

    n_components: int
    landmarks: Any
    extension: Any
    metric: str
    random_state: Any
    n_jobs: int | None

    # Strings that `extension` accepts besides a number.
    _extensions: tuple[str, ...] = ("auto", "smooth", "graph", "all")

    # Whether `fit` also takes points in a sparse array.
    takes_sparse = True

    # The stage that ends with the fit.
    _last_stage = "spectrum"

    def _check_parameters(self) -> None:
        """Reject parameters that are wrong for any data, before any work is done."""
        check_count("n_components", self.n_components)
        check_choice("metric", self.metric, METRICS)
        if isinstance(self.extension, Integral) and not isinstance(self.extension, bool):
            check_count("extension", self.extension)
        elif not isinstance(self.extension, str) or self.extension not in self._extensions:
            raise ParameterValueError(
                "extension",
                self.extension,
                "{parameter=} is not known",
                "choose one of {choices}, or a whole number",
                choices=", ".join(map(repr, self._extensions)),
            )

    @abstractmethod
    def _covariance(self) -> str | None:
        """Kind of local covariances that landmarks need, if any."""

    @abstractmethod
    def _embed(
        self, X: Points | Store, chosen: Landmarks, n_components: int, run: Run
    ) -> EmbeddedLandmarks:
        """Embed the landmarks of `X`; the last stage has begun when this returns."""

    def _extended_by(self, embedded: EmbeddedLandmarks, n_points: int | None) -> str | int:
        """Choose the extension for landmarks drawn from `n_points` points.

        The number is None for a model file that does not say which extension it was fitted with.
        """
        return self.extension if isinstance(self.extension, str) else int(self.extension)

    def _completed(self, embedded: EmbeddedLandmarks) -> EmbeddedLandmarks:
        """Recompute what a model file leaves out."""
        return embedded

    @abstractmethod
    def _prepare(self, embedded: EmbeddedLandmarks) -> Extension:
        """Prepare the extension to other points, from the completed record alone."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose landmarks among the rows of `X` and embed them.

        Parameters
        ----------
        X : array-like or sparse array of shape (n, d), file, or Dask array or DataFrame
            The points, float32 or float64; other numbers become float64, float16 float32. A path or
            object that `trigpoint.read_points` accepts is read into memory if it needs at most a
            quarter of it, otherwise into a temporary file. A ``.npy`` file is memory-mapped. SciPy
            sparse arrays, also in files, stay sparse from 16 columns on. The partitions of a Dask
            collection stay on the workers, and lead to the same landmarks.
        y : ignored
            Present for compatibility with scikit-learn.

        Returns
        -------
        self
        """
        return self._fit(X, NOTHING_KEPT)

    def _fit(self, X: Any, kept: Checkpoints) -> Self:
        """Fit, or continue a fit that was interrupted from what it has kept."""
        self._check_parameters()
        self._check_storage(X)
        with device_memory(device_for(self, X)):
            return self._fit_stages(X, kept)

    def _fit_stages(self, X: Any, kept: Checkpoints) -> Self:
        run = Run(self.random_state, self.n_jobs, reporter(self.verbose, self.callback), kept)
        points = points_to_fit(self, X, run.report)
        # How the points of a file are stored is known only now.
        self._check_storage(points)
        run.device = device_of(points)
        run.done("reading")
        chosen = self._choose(points, run)
        k = len(chosen.points)
        n_components = check_count(
            "n_components",
            self.n_components,
            high=k - 1,
            why=f"there are {counted(k, 'landmark')}",
        )
        run.dimension = local_dimension(points, k)
        run.done("landmarks")
        embedded = self._embed(points, chosen, n_components, run)
        embedded = replace(embedded, dimension=run.dimension)
        extended_by = self._extended_by(embedded, points.shape[0])
        self._set_fitted(replace(embedded, extended_by=extended_by), points.dtype)
        run.done(self._last_stage)
        self.stage_seconds_ = run.seconds
        self.device_ = str(getattr(points, "device", "cpu"))
        remember_traffic(self, points)
        return self

    def _check_storage(self, X: Any) -> None:
        """Refuse points that are stored in a way that this estimator cannot use."""
        if issparse(X) and not self.takes_sparse:
            raise too_much_of_sparse(type(self).__name__, X, parameter="X", instead=())

    def _choose(self, X: Points | Store, run: Run) -> Landmarks:
        """Choose the landmarks."""
        covariance = self._covariance()
        return run.choose(self.landmarks, X, metric=self.metric, covariance=covariance)

    def _set_fitted(self, embedded: EmbeddedLandmarks, dtype: np.dtype) -> None:
        """Set the fitted attributes from landmarks embedded among points of type `dtype`."""
        embedded = self._completed(embedded)
        # Cloned: parameters of samplers and graphs may also change without a new fit.
        parameters = {
            name: clone(value) if isinstance(value, BaseEstimator) else value
            for name, value in self.get_params(deep=False).items()
            if name not in HOW_IT_RUNS
        }
        extension, coordinates = self._prepare(embedded), embedded.spectrum.coordinates
        if isinstance(extension, SmoothExtension):
            coordinates, _ = extension(embedded.landmarks.points)
        fitted = FittedEmbedding(
            **{field.name: getattr(embedded, field.name) for field in fields(embedded)},
            parameters=parameters,
            extension=extension,
            landmark_coordinates=coordinates,
        )
        self.fitted_ = fitted
        # Measured on an earlier fit.
        if hasattr(self, "quality_"):
            del self.quality_
        self.landmark_indices_ = fitted.landmarks.indices
        self.landmarks_ = fitted.landmarks.points
        self.covariances_ = fitted.landmarks.covariances
        self.landmark_embedding_ = fitted.landmark_coordinates.astype(dtype)
        self.eigenvalues_ = fitted.spectrum.eigenvalues
        self.dimension_ = fitted.dimension

    def transform(self, X: Any, *, out: str | os.PathLike[str] | None = None) -> Any:
        """Return the coordinates of the rows of `X`, which need not be the fitted points.

        Parameters
        ----------
        X : array-like or sparse array of shape (n, d), file, or Dask array or DataFrame
            The points. A file is read block by block.
        out : path or None, default=None
            A ``.npy``, ``.csv``, ``.zarr`` or ``.parquet`` file to write the coordinates to, block
            by block. It appears only when complete. With ten million points or more from a file, an
            interrupted call can be repeated, and resumes after the last block.

        Returns
        -------
        ndarray or tensor of shape (n, n_components)
            In the precision of `X`. A tensor, or another library's array on a GPU, gives one of the
            same kind on the same device; an xarray DataArray gives one with the labels of its rows.
            With `out`, the path of the file is returned instead. A Dask collection gives a lazy
            Dask array; with `out`, a Zarr folder is written by the workers, which must be able to
            reach it, and other files are written here.
        """
        check_is_fitted(self)
        if out is not None:
            from trigpoint._estimators.output import Output, check_out, write_coordinates

            check_out(self, X, out)
            return write_coordinates(self, X, Output(out))
        if is_dask(X):
            from trigpoint._estimators.partitioned import coordinates_of_partitions

            return coordinates_of_partitions(self, X)
        device, tensor = device_for(self, X), as_tensor(X)
        if is_tensor(tensor):
            from trigpoint._estimators.on_device import coordinates_of_tensor

            coordinates = coordinates_of_tensor(self, tensor, device)
            return coordinates if tensor is X else like(X, coordinates)
        source = points_to_transform(self, X)
        points = blocks_as_stored(source, reporter(self.verbose, self.callback))
        result = np.empty((source.shape[0], self._n_features_out), dtype=source.dtype)
        done = n_far = 0
        for coordinates, count in self._extended(points, device):
            result[done : done + len(coordinates)] = coordinates
            done, n_far = done + len(coordinates), n_far + int(np.sum(count))
        warn_of_far(n_far, done)
        return labeled_as(X, result) if is_from(X, "xarray", "DataArray") else result

    def _extended(self, blocks: Iterator[Points], device: Any) -> Iterator[tuple[np.ndarray, int]]:
        """Yield the coordinates of blocks of points, and how many are far from all landmarks."""
        if device is None:
            return extended_blocks(self.fitted_.extension, blocks, thread_count(self.n_jobs))
        from trigpoint._estimators.on_device import blocks_by_device

        return blocks_by_device(self.fitted_.extension, blocks, device)

    def fit_transform(
        self, X: Any, y: Any = None, *, out: str | os.PathLike[str] | None = None
    ) -> Any:
        """Fit and return the coordinates of the same rows; see `fit` and `transform`."""
        if out is None:
            return self.fit(X, y).transform(X)
        from trigpoint._estimators.output import Output, check_out, fit_and_write

        check_out(self, X, out)
        return fit_and_write(self, X, Output(out))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the fitted estimator to a file that `trigpoint.load` can read.

        Parameters
        ----------
        path : path
            Usually with the extension ``.trig``. An existing file is replaced atomically, once the
            new one is complete.

        Notes
        -----
        The file holds the landmarks, their graph and coordinates, and the parameters; its size does
        not depend on the number of fitted points. It uses the safetensors layout and no pickle:
        only numbers are loaded. Covariances of the landmarks are kept if they are small: diagonal
        and low-rank ones always, full ones up to 16 dimensions. Parameters that cannot be
        serialized are replaced by their result (a custom sampler by the rows it chose) or dropped
        (a random generator). `n_jobs`, `verbose`, `callback` and the timings of `fit` are not kept,
        so that the same run gives the same file.
        """
        from trigpoint._estimators.saving import save_model

        check_is_fitted(self)
        save_model(self, path)

    @overload
    def report(
        self, path: str | os.PathLike[str], X: Any = None, *, color: Any = None, **options: Any
    ) -> Path: ...

    @overload
    def report(
        self, path: None = None, X: Any = None, *, color: Any = None, **options: Any
    ) -> "InlinePage": ...

    def report(
        self,
        path: str | os.PathLike[str] | None = None,
        X: Any = None,
        *,
        color: Any = None,
        **options: Any,
    ) -> "Path | InlinePage":
        """Write an interactive page about the embedding, in one HTML file that opens offline.

        Parameters
        ----------
        path : path or None, default=None
            The file to write. Without one, as in ``emb.report(X=X)``, a notebook shows the page
            below the cell.
        X : array-like of shape (n, d), file, or Dask array or DataFrame; or None, default=None
            The points to show, read block by block; if omitted, only the landmarks are shown. Dask
            partitions are fetched one after the other.
        color : array-like of shape (n,), dict or DataFrame; or None, default=None
            Numbers, labels or dates to color the points by; pass several in a dict or DataFrame.
        **options
            Further options of `trigpoint._report.write_report`: ``images`` and ``text`` to show of
            the points, ``title``, ``sample``, ``neighborhoods``, ``curve``, ``force``.

        Returns
        -------
        Path or InlinePage
            The file that was written, or the page.
        """
        from trigpoint._report import write_report

        check_is_fitted(self)
        if path is not None:
            check_path(
                path,
                "name the file to write; points follow it, as in report('page.html', X), or are "
                "named, as in report(X=X)",
            )
        source = None if X is None else points_to_transform(self, X)
        return write_report(self._subject(), path, source, color=color, **options)

    def quality(self, X: Any, *, sample: int | None = None, random_state: Any = 0) -> Quality:
        """Measure how good the embedding is, and say what would most likely make it better.

        Parameters
        ----------
        X : array-like of shape (n, d), file, or Dask array or DataFrame
            The points that were fitted, or others like them. A file is read once. From Dask
            partitions, only the sample is fetched.
        sample : int or None, default=None
            Number of points, drawn at random, among which neighborhoods are compared; ``None``
            takes a tenth of the points, but at least 2,000 and at most 10,000; above 15 columns it
            takes 10,000. That takes less time than the fit.
        random_state : None, int, RandomState or Generator, default=0
            Seed of the sample.

        Returns
        -------
        Quality
            Also kept as the attribute `quality_`, until the next fit.
        """
        check_is_fitted(self)
        if sample is not None:
            sample = check_count("sample", sample, low=LEAST_SAMPLE)
        source = points_to_transform(self, X)
        n, d = source.shape
        size = sample_size(n, d, source.dtype.itemsize) if sample is None else min(n, sample)
        rows = as_generator(random_state).choice(n, size, replace=False)
        points = source.take(rows)
        refuse_non_finite(points, source.name, source.feature_names)
        check_magnitude(points, source.name, may_be_tiny=True)
        n_threads = thread_count(self.n_jobs)
        coordinates, n_far = extend(self.fitted_.extension, points, n_threads)
        warn_of_far(int(np.sum(n_far)), size)
        self.quality_ = assess(self.fitted_, points, coordinates, rows, n, n_threads)
        return self.quality_

    def _subject(self) -> "Subject":
        """What a report is about."""
        from trigpoint._report import Subject

        names = getattr(self, "feature_names_in_", None)
        return Subject(
            self.fitted_,
            feature_names=None if names is None else [str(name) for name in names],
            seconds=dict(self.stage_seconds_),
            compile_seconds=0.0,
            n_threads=thread_count(self.n_jobs),
            progress=reporter(self.verbose, self.callback),
            scales=getattr(self, "column_scales_", None),
        )

    @property
    def _n_features_out(self) -> int:
        return int(self.landmark_embedding_.shape[1])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.sparse = self.takes_sparse
        return tags


def check_pairs(landmarks: np.ndarray) -> None:
    """Reject landmarks whose pairwise matrix would not fit in memory, before computing it."""
    check_dense("landmarks", len(landmarks), "landmarks", "fewer landmarks, or LaplacianEigenmaps")


def plain_support(
    extension: Any, landmarks: np.ndarray, bandwidths: np.ndarray
) -> AllLandmarks | NearestLandmarks:
    """All landmarks, or the given number of nearest ones."""
    if isinstance(extension, Integral):
        k = len(landmarks)
        count = check_count("extension", extension, high=k, why=f"there are {k} landmarks")
        return NearestLandmarks.prepare(landmarks, bandwidths, count)
    return AllLandmarks.prepare(landmarks, bandwidths)
