"""Saving, quality and reports of fitted estimators."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, overload

import numpy as np
from sklearn.utils.validation import check_is_fitted

from trigpoint._common.checks import as_generator, check_path
from trigpoint._common.records import Fit
from trigpoint._model import Model
from trigpoint._numerics.blocks import reporter, thread_count
from trigpoint._sources import Source
from trigpoint._sources.opening import validated, weighted
from trigpoint.metrics._assess import assess
from trigpoint.metrics._pointwise import Judge, Judged, PointQuality, Recalled
from trigpoint.metrics._quality import Quality

if TYPE_CHECKING:
    from trigpoint._report import InlinePage, ReportOptions, Subject


class FittedMixin:
    """Methods of fitted estimators other than `transform`."""

    fitted_: Fit
    model_: Model
    stage_seconds_: dict[str, float]
    n_jobs: int | None
    verbose: bool | Callable[[str, int, int], None]

    def _opened(self, X: Any) -> Source:
        """Open rows to transform with the fitted model."""
        source = validated(self, X, reset=False, space=self.model_.space)
        return source.matching(self.model_.columns)

    def save(self: Any, path: str | os.PathLike[str]) -> None:
        """Save the fitted estimator to a file that `trigpoint.load` can read.

        Parameters
        ----------
        path : path
            Usually with the extension ``.trig``. An existing file is replaced atomically, once the
            new one is complete.

        Notes
        -----
        The file holds the landmarks, their graph and coordinates, and the parameters; its size does
        not depend on the number of fitted rows. It uses the safetensors layout and no pickle: only
        numbers and text are loaded. Full local covariances are stored only for up to 16 columns.
        Parameters that cannot be serialized are replaced by their result (a custom sampler by the
        rows it chose) or dropped (a random generator). `n_jobs`, `verbose` and the timings of `fit`
        are not stored, so the same fit gives the same file.
        """
        from trigpoint._estimators.saving import save_model

        check_is_fitted(self)
        save_model(self, path)

    @overload
    def report(
        self, path: str | os.PathLike[str], X: Any = None, **options: Unpack["ReportOptions"]
    ) -> Path: ...

    @overload
    def report(
        self, path: None = None, X: Any = None, **options: Unpack["ReportOptions"]
    ) -> "InlinePage": ...

    def report(
        self,
        path: str | os.PathLike[str] | None = None,
        X: Any = None,
        *,
        color: Any = None,
        text: Any = None,
        images: Any = None,
        title: str | None = None,
        sample: int | None = None,
        coordinates: Any = None,
        force: bool = True,
    ) -> "Path | InlinePage":
        """Write an interactive page about the embedding, in one HTML file that opens offline.

        Parameters
        ----------
        path : path or None, default=None
            The file to write. If omitted, as in ``emb.report(X=X)``, a notebook displays the page
            below the cell.
        X : array-like of shape (n, d), file, or Dask collection; or None, default=None
            The rows to show; if omitted, only the landmarks are shown. The index of a DataFrame
            names the rows.
        color : array-like of shape (n,), dict or DataFrame; or None, default=None
            Numbers, labels or dates to color the points by; pass several in a dict or DataFrame.
        text : array-like of shape (n,), dict or DataFrame; or None, default=None
            Texts of the points, such as words, titles or ids, by which they can be found; pass
            several in a dict or DataFrame. The first one is written on the map.
        images : tuple of int, or array-like of shape (n,); or None, default=None
            The shape of the images that the rows contain, such as ``(28, 28)``; or paths or URLs of
            images, which the page loads only on request.
        title : str or None, default=None
            Title of the page. ``None`` names the method and the number of points.
        sample : int or None, default=None
            Maximum number of points on the page, drawn at random. ``None`` shows up to 100,000
            points, or up to 1,000,000 if they have texts.
        coordinates : array-like of shape (n, l), file, or None, default=None
            Result of `transform` for `X`, or the file that it wrote, to avoid computing it again.
        force : bool, default=True
            Whether to replace an existing file.

        Returns
        -------
        Path or InlinePage
            The file that was written, or the page.
        """
        from trigpoint._report import row_names, write_report

        check_is_fitted(self)
        if path is not None:
            remedy = "name the file to write; points follow it, as in report('page.html', X)"
            check_path(path, remedy)
        source = None
        if X is not None:
            source = self._opened(X)
        return write_report(
            self._subject(),
            path,
            source,
            color=color,
            text=text,
            ids=row_names(X),
            images=images,
            title=title,
            sample=sample,
            coordinates=coordinates,
            force=force,
        )

    def quality(
        self,
        X: Any,
        *,
        advise: bool = True,
        sample_weight: Any = None,
        random_state: Any = 0,
    ) -> Quality:
        """Measure the quality of the embedding, and recommend the most promising improvement.

        Parameters
        ----------
        X : array-like of shape (n, d), file, or Dask collection
            The fitted rows, or similar ones. The neighborhoods of 500 rows among all rows are
            compared, which takes up to three times as long as `transform`, and less time than that
            for a map of which all rows are landmarks.
        advise : bool, default=True
            Whether to look for a change that improves the embedding, which takes a few seconds:
            each candidate is fitted to 3,000 of the rows.
        sample_weight : array-like of shape (n,) or None, default=None
            Weight of each row in the shares; rows of weight 0 do not count.
        random_state : None, int, RandomState or Generator, default=0
            Seed of the sample.

        Returns
        -------
        Quality
            Also available as the attribute `quality_`, until the next fit.
        """
        check_is_fitted(self)
        source = weighted(self._opened(X), sample_weight)
        self.quality_ = self._judged(source, advise, as_generator(random_state))
        return self.quality_

    def _judged(
        self: Any,
        source: Source,
        advised: bool,
        rng: np.random.Generator | None = None,
        edges: Any = None,
    ) -> Quality:
        """Measure the quality on the rows of a source; see `quality`."""
        from trigpoint._estimators.advice import advise

        found = assess(
            self.fitted_,
            self.model_,
            source,
            rng=np.random.default_rng(0) if rng is None else rng,
            n_threads=self.model_.threads(self.n_jobs),
            edges=edges,
            report=reporter(self.verbose),
        )
        return replace(found, advice=advise(self, found, source)) if advised else found

    def point_quality(self, X: Any) -> PointQuality:
        """Measure how well the embedding preserves the neighborhood of each row.

        Parameters
        ----------
        X : array-like of shape (n, d), file, or Dask collection
            The fitted rows, or new ones.

        Returns
        -------
        PointQuality
            The arrays `preserved`, `torn` and `false_neighbors`, with one share for each row.

        Examples
        --------
        The arrays can serve as the colors of a plot.

        >>> import numpy as np
        >>> import trigpoint as tp
        >>> angles = np.linspace(0, 2 * np.pi, 3000, endpoint=False)
        >>> circle = np.column_stack([np.cos(angles), np.sin(angles)])
        >>> line = tp.LandmarkMap(1, landmarks=500).fit(circle)
        >>> found = line.point_quality(circle)
        >>> bool(found.torn.max() > 0.4)
        True
        """
        check_is_fitted(self)
        source, n_threads = self._opened(X), self.model_.threads(self.n_jobs)
        judge = Judge(self.fitted_, self.model_.extension, n_threads)
        judged = Judged(self.model_, judge, Recalled(self.model_.extension))
        shares = source.map(judged, n_threads=n_threads)[0]
        return PointQuality(*np.asarray(shares, dtype=np.float32).T)

    def _shown(self) -> Fit:
        """Return the fit as reports show it."""
        return self.fitted_

    def _subject(self) -> "Subject":
        """Return the subject of a report."""
        from trigpoint._report import Subject

        return Subject(
            self._shown(),
            self.model_,
            seconds=dict(self.stage_seconds_),
            n_threads=thread_count(self.n_jobs),
            progress=reporter(self.verbose),
            measure=lambda source, edges: self._judged(source, True, edges=edges),
            judge=lambda: Judge(self.fitted_, self.model_.extension, thread_count(self.n_jobs)),
        )
