"""Selection of a diverse subset of rows."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from trigpoint._common.errors import ParameterError
from trigpoint._common.warn import warn_user
from trigpoint._numerics.blocks import Run
from trigpoint._samplers.choice import draw_landmarks, pool_for
from trigpoint._sources.opening import opened, weighted
from trigpoint._spaces import space_for


@dataclass(frozen=True)
class Selection:
    """A subset of points, returned by `select`."""

    # Row numbers (k,) of the selected points, in the order in which they were drawn; None if the
    # sampler chose points that are not rows, such as cluster centers.
    indices: np.ndarray | None
    # The selected rows (k, d) as they are in the data. Points that are not rows are given in the
    # space in which distances are measured.
    points: np.ndarray
    n_points: int  # Number of rows in the data.

    def __len__(self) -> int:
        return len(self.points)


def select(
    X: Any,
    sampler: Any = None,
    *,
    metric: Any = "euclidean",
    sample_weight: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    callback: Any = None,
) -> Selection:
    """Select a diverse subset of rows.

    Parameters
    ----------
    X : array-like, sparse array, table, path or anything else that `open_source` accepts
        The data. If it has very many rows, the subset is drawn from a random sample of them.
    sampler : None, int, "auto", sampler or row numbers, default=None
        Number of points to draw with `EfficientDPP`, or any sampler; see the parameter `landmarks`
        of the estimators. ``None`` draws 1,000 points, or takes all distinct rows if there are no
        more than 1,000.
    metric : str or object, default="euclidean"
        Distance metric, as in the estimators.
    sample_weight : array-like of shape (n,) or None, default=None
        Weights of the rows. A row of weight w counts like w copies of it, but is selected at most
        once; rows of weight 0 are never selected.
    random_state : None, int, RandomState or Generator, default=None
        Seed.
    n_jobs : int or None, default=None
        Number of threads; ``None`` for all cores. It does not affect the result.
    callback : callable or None, default=None
        Called as ``callback(stage, done, total)`` to report progress. An exception raised by the
        callback stops the selection.

    Returns
    -------
    Selection

    Examples
    --------
    >>> import trigpoint as tp
    >>> X, _ = tp.datasets.make_swiss_roll(5000, random_state=0)
    >>> subset = tp.select(X, 50, random_state=0)
    >>> subset.points.shape
    (50, 3)
    >>> bool((X[subset.indices] == subset.points).all())
    True
    """
    run, space = Run(random_state, n_jobs, callback or False), space_for(metric)
    space.report = run.report
    source = opened(X, space)
    source = weighted(source, sample_weight)
    try:
        pool = pool_for(sampler, source, space, run.rng)
        chosen = draw_landmarks(sampler, pool, run, fewest=1)
    except ParameterError as error:
        if error.parameter != "landmarks":
            raise
        # `select` calls this parameter `sampler`.
        message = re.sub(r"(^|choose )landmarks\b", r"\1sampler", str(error))
        raise type(error)(message, "sampler") from None
    for note in chosen.notes:
        warn_user(note)
    points = chosen.points
    if chosen.indices is not None and metric != "euclidean":
        order = np.argsort(chosen.indices)
        rows = source.take(chosen.indices[order])
        points = np.empty(rows.shape, dtype=rows.dtype)
        points[order] = rows if isinstance(rows, np.ndarray) else rows.toarray()
    return Selection(chosen.indices, points, source.n)
