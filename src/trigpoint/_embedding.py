"""Base class of the estimators: fit on a pool of rows, transform any row."""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self, overload

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from trigpoint._common.checks import check_count
from trigpoint._common.errors import ParameterValueError
from trigpoint._common.progress import ProgressMixin
from trigpoint._common.records import Extension, Fit
from trigpoint._common.warn import warn_user
from trigpoint._extension.extensions import warn_of_far
from trigpoint._extension.smooth import SmoothExtension
from trigpoint._fitted import FittedMixin
from trigpoint._model import Model
from trigpoint._numerics.blocks import Run, reporter
from trigpoint._pool import DEFAULT_LANDMARKS, ROWS_PER_LANDMARK, Pool
from trigpoint._samplers.choice import draw_landmarks, pool_for
from trigpoint._samplers.sampler import too_much_of_sparse
from trigpoint._sources import Output, Source, check_output
from trigpoint._sources.opening import validated, weighted
from trigpoint._spaces import Space, space_for

# Parameters that affect how a fit is executed, but not its result.
HOW_IT_RUNS = ("n_jobs", "verbose")


class Embedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, FittedMixin, ProgressMixin, ABC):
    """Base class of the estimators.

    `fit` draws a pool of rows, selects landmarks from it, and embeds the landmarks. `transform`
    applies the resulting model to any rows, wherever they are stored.
    """

    n_components: int
    landmarks: Any
    extension: Any
    metric: Any
    random_state: Any
    n_jobs: int | None
    verbose: bool | Callable[[str, int, int], None]

    # Number of landmarks that ``landmarks=None`` draws, and pool rows per landmark.
    _default_landmarks = DEFAULT_LANDMARKS
    _rows_per_landmark = ROWS_PER_LANDMARK

    # What `extension` accepts.
    _extensions: tuple[str, ...] = ("auto", "smooth", "graph", "all")

    # Whether rows may be sparse.
    _takes_sparse = True

    # Properties for reports, verdicts and model files.
    # Name in reports, if it is not the name of the class; subclasses do not inherit it.
    _title: str
    _equal_scales = True  # Whether distances are meaningful, so that axes share one scale.
    _unhelpful: frozenset[str] = frozenset()  # Estimators and parameters not to recommend.
    _has_eigenvalues = True  # Whether each coordinate has an eigenvalue.

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Select landmarks from the rows of `X` and embed them.

        Parameters
        ----------
        X : array-like or sparse array of shape (n, d), file, Dask collection or tensor
            Anything that `trigpoint.open_source` accepts. Only a random sample of the rows is read
            into memory (at least 131,072 rows and 64 per landmark), and only these rows are
            checked. The same `random_state` selects the same landmarks from any kind of storage.
        y : array-like of shape (n,) or None, default=None
            Ignored, except that its length is checked; for compatibility with scikit-learn.
        sample_weight : array-like of shape (n,) or None, default=None
            Weights of the rows. A row of weight w counts like w copies of it. Rows of weight 0 do
            not affect the fit, but can be transformed.

        Returns
        -------
        self
        """
        self._fit(X, y, sample_weight)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> tuple[Source, np.ndarray | None]:
        """Fit, and return the source, and the landmark of each row (n,) if all are landmarks."""
        space = self._check_parameters()
        if issparse(X) and not self._takes_sparse:
            raise too_much_of_sparse(type(self).__name__, X, parameter="X", instead="")
        source = validated(self, X, reset=True, space=space)
        if source.columns.sparse and not self._takes_sparse:
            raise too_much_of_sparse(type(self).__name__, source, parameter="X", instead="")
        run = Run(self.random_state, self.n_jobs, self.verbose)
        space.report = run.report
        source = weighted(source.under(space), sample_weight, y)
        groups = self._fit_source(source, space, run)
        fit = self.fitted_
        for record in (fit.landmarks, fit.graph, fit.spectrum):
            for note in () if record is None else record.notes:
                warn_user(note)
        self.stage_seconds_ = run.seconds
        return source, groups

    def _fit_source(self, source: Source, space: Space, run: Run) -> np.ndarray | None:
        """Fit without warnings; return the landmark of each row (n,) if all are landmarks."""
        default, per_landmark = self._default_landmarks, self._rows_per_landmark
        wanted = self._wanted_landmarks(source, space)
        pool = pool_for(wanted, source, space, run.rng, default=default, per_landmark=per_landmark)
        # The callback is not part of the model.
        del space.report
        run.done("reading")
        pool = self._reduced(pool, run)
        landmarks = draw_landmarks(wanted, pool, run, default)
        run.done("landmarks")
        fit, extension = self._embed(pool, landmarks, run)
        self._set_fitted(fit, Model(source.columns, pool.space, extension))
        run.done("embedding")
        return landmarks.groups

    @overload
    def transform(self, X: np.ndarray, *, out: None = None, device: None = None) -> np.ndarray: ...

    @overload
    def transform(
        self, X: Any, *, out: str | os.PathLike[str] | Output | None = None, device: Any = None
    ) -> Any: ...

    def transform(
        self, X: Any, *, out: str | os.PathLike[str] | Output | None = None, device: Any = None
    ) -> Any:
        """Return the coordinates of the rows of `X`, which need not be the fitted rows.

        Parameters
        ----------
        X : array-like or sparse array of shape (n, d), file, Dask collection or tensor
            As for `fit`. Every row is checked. Column names must match those seen in `fit`; values
            are converted to the fitted data type and sparsity.
        out : path or None, default=None
            A ``.npy``, ``.csv`` or ``.parquet`` file to write the coordinates to, block by block.
            The file appears only when complete.
        device : torch.device, str or None, default=None
            PyTorch device to compute on. ``None`` uses the device of a tensor, and the CPU for
            anything else.

        Returns
        -------
        ndarray, tensor or Dask array of shape (n, n_components), or Path
            A tensor for a tensor, on its device; a lazy Dask array for a Dask collection; the path
            of the file if `out` is given.
        """
        check_is_fitted(self)
        if out is not None:
            check_output(out, X)
        source = self._opened(X)
        if out is not None:
            output = out if isinstance(out, Output) else Output(out)
            out = replace(output, names=tuple(self.get_feature_names_out()))
        result, n_far = source.map(
            self.model_,
            out=out,
            n_threads=self.model_.threads(self.n_jobs),
            report=reporter(self.verbose),
            device=device,
        )
        if n_far:
            warn_of_far(n_far, source.n)
        return result

    @overload
    def fit_transform(
        self, X: np.ndarray, y: Any = None, sample_weight: Any = None, *, out: None = None
    ) -> np.ndarray: ...

    @overload
    def fit_transform(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        out: str | os.PathLike[str] | Output | None = None,
    ) -> Any: ...

    def fit_transform(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        out: str | os.PathLike[str] | Output | None = None,
    ) -> Any:
        """Fit and return the coordinates of the same rows; see `fit` and `transform`."""
        if out is not None:
            check_output(out, X)
        source, groups = self._fit(X, y, sample_weight)
        found = None
        # Rows of weight 0 belong to no group.
        if groups is not None and len(groups) == source.n and out is None:
            # The landmark of a row is at distance 0, where `transform` returns its coordinates.
            found = source.returned(self.landmark_embedding_[groups])
        return self.transform(X, out=out) if found is None else found

    def _wanted_landmarks(self, source: Source, space: Space) -> Any:
        """Return which landmarks to draw, or `ALL`."""
        return self.landmarks

    def _check_parameters(self) -> Space:
        """Reject parameters that are invalid for any data; return the space to fit."""
        check_count("n_components", self.n_components)
        if not isinstance(self.extension, str) or self.extension not in self._extensions:
            names = ", ".join(map(repr, self._extensions))
            raise ParameterValueError(
                f"extension={self.extension!r} is not known: choose one of {names}", "extension"
            )
        return space_for(self.metric)

    def _reduced(self, pool: Pool, run: Run) -> Pool:
        """Return the pool, reduced to fewer columns if the estimator needs that."""
        return pool

    @abstractmethod
    def _embed(self, pool: Pool, landmarks: Any, run: Run) -> tuple[Fit, Extension]:
        """Embed the landmarks. Estimators differ only in this stage."""

    @abstractmethod
    def _extension(self, fit: Fit) -> Extension:
        """Prepare the extension of a fit to other points."""

    def _stored(self, fit: Fit) -> dict[str, np.ndarray]:
        """Return the `extras` of a fit that a model file stores."""
        return fit.extras

    def _check_restored(self, fit: Fit) -> None:
        """Check the `extras` of a fit that was read from a model file; see `model_arrays`."""

    def _set_fitted(self, fit: Fit, model: Model) -> None:
        """Set the fitted attributes."""
        coordinates = fit.spectrum.coordinates
        if isinstance(model.extension, SmoothExtension):
            coordinates, _ = model.extension(fit.landmarks.points)
        # Clone samplers and graphs, because users may change their parameters without refitting.
        parameters = {
            name: clone(value) if isinstance(value, BaseEstimator) else value
            for name, value in self.get_params(deep=False).items()
            if name not in HOW_IT_RUNS
        }
        landmarks = replace(fit.landmarks, neighborhoods=None, groups=None)
        self.fitted_ = replace(
            fit,
            landmarks=landmarks,
            parameters=parameters,
            landmark_coordinates=coordinates,
            method=type(self).__name__,
            metric_kept=model.space.preserved,
            title=vars(type(self)).get("_title", type(self).__name__),
            equal_scales=self._equal_scales,
            unhelpful=self._unhelpful,
        )
        self.model_ = model
        # The quality was measured on an earlier fit.
        if hasattr(self, "quality_"):
            del self.quality_
        self.landmark_indices_ = landmarks.indices
        self.landmarks_ = landmarks.points
        self.landmark_embedding_ = coordinates.astype(model.columns.dtype)
        self.dimension_ = fit.dimension

    @property
    def _n_features_out(self) -> int:
        return int(self.landmark_embedding_.shape[1])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.sparse = self._takes_sparse
        return tags
