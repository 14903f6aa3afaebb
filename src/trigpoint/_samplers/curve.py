"""Trace error as a function of the number of landmarks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from trigpoint._common.checks import as_generator, check_count, check_positive
from trigpoint._common.errors import ParameterTypeError, ParameterValueError, short
from trigpoint._common.words import counted, html_table
from trigpoint._numerics.blocks import reporter
from trigpoint._samplers.count import ErrorEstimate, distinct_points
from trigpoint._samplers.efficient import EfficientDPP
from trigpoint._samplers.sampler import Sampler, too_much_of_sparse
from trigpoint._sources.opening import validated
from trigpoint._spaces import Euclidean

# Range and count of the numbers of landmarks to try if none are given.
_FIRST = 10
_LAST = 2000
_NUMBERS = 8


@dataclass(frozen=True)
class LandmarkCurve:
    """Relative trace error as a function of the number of landmarks.

    Attributes
    ----------
    n_landmarks : int64 ndarray of shape (g,)
        Numbers of landmarks, in ascending order.
    errors : ndarray of shape (g,)
        Relative trace error of the Nystrom approximation with each number of landmarks.
    standard_errors : ndarray of shape (g,)
        Standard errors from measuring at a sample of the points; 0 if the errors were measured at
        all points.
    bandwidth : float
        Bandwidth of the kernel.
    """

    n_landmarks: np.ndarray
    errors: np.ndarray
    standard_errors: np.ndarray
    bandwidth: float

    def _repr_html_(self) -> str:
        errors = zip(self.n_landmarks, self.errors, self.standard_errors, strict=True)
        rows = {
            f"{k:,} landmarks": f"{error:.2%}" + (f" ± {spread:.2%}" if spread else "")
            for k, error, spread in errors
        }
        return html_table(f"relative trace error, bandwidth {self.bandwidth:.3g}", rows)

    def needed(self, tolerance: float) -> int:
        """Return the fewest landmarks that keep the error within `tolerance`, by interpolation.

        Interpolation is linear in the logarithms. Errors below a tenth of the tolerance count as a
        tenth, because it is unknown where between two numbers of landmarks the curve drops so low.
        """
        tolerance = check_positive("tolerance", tolerance)
        within = np.flatnonzero(self.errors <= tolerance)
        if not len(within):
            raise ParameterValueError(
                f"tolerance={tolerance} is not reached with "
                f"{counted(int(self.n_landmarks[-1]), 'landmark')}, whose error is "
                f"{self.errors[-1]:.2g}: measure the curve with more landmarks",
                "tolerance",
            )
        last = within[0]
        if last == 0:
            return int(self.n_landmarks[0])
        ends = slice(last - 1, last + 1)
        errors = np.maximum(self.errors[ends], tolerance / 10)
        logs = np.log(errors), np.log(self.n_landmarks[ends])
        # `np.interp` needs ascending values.
        between = np.interp(np.log(tolerance), logs[0][::-1], logs[1][::-1])
        return int(np.ceil(np.exp(between) * (1 - 1e-12)))


def landmark_curve(
    X: Any,
    n_landmarks: Sequence[int] | None = None,
    *,
    sampler: Sampler | None = None,
    bandwidth: float | None = None,
    random_state: Any = None,
    verbose: bool | Callable[[str, int, int], None] = False,
) -> LandmarkCurve:
    """Measure the trace error as a function of the number of landmarks.

    Parameters
    ----------
    X : array-like of shape (n, d), or anything that `open_source` accepts
        The points. If there are more than about 131,072, landmarks are drawn from a random sample
        of that size. The error is measured at a random sample of up to 4,000 points.
    n_landmarks : sequence of int or None, default=None
        Numbers of landmarks to try. ``None`` takes eight values from 10 to 2,000, but at most half
        the number of points and the number of distinct points.
    sampler : sampler or None, default=None
        Sampler that draws the landmarks; ``None`` takes an `EfficientDPP`. Its `n_landmarks` and
        `random_state` are ignored, and a `kernel_bandwidth` of ``None`` is set to `bandwidth`.
    bandwidth : float or None, default=None
        Bandwidth of the Gaussian kernel whose approximation is measured. ``None`` takes twice the
        radius of a ball that holds a 400th of the points.
    random_state : None, int, RandomState or Generator, default=None
        Seed.
    verbose : bool or callable, default=False
        As for the estimators.

    Returns
    -------
    LandmarkCurve

    Examples
    --------
    >>> import trigpoint as tp
    >>> X, _ = tp.datasets.make_swiss_roll(5000, random_state=0)
    >>> curve = tp.landmark_curve(X, [50, 200, 800], random_state=0)
    >>> 200 < curve.needed(0.01) < 800
    True
    """
    if sampler is None:
        sampler = EfficientDPP()
    if not isinstance(sampler, Sampler) or "n_landmarks" not in sampler.get_params():
        raise ParameterTypeError(
            f"sampler={short(sampler)} does not take a number of landmarks: pass a sampler of "
            "this library that has n_landmarks",
            "sampler",
        )
    report = reporter(verbose)
    source, rng = validated(clone(sampler), X, reset=True), as_generator(random_state)
    if source.columns.sparse:
        raise too_much_of_sparse("landmark_curve", source)
    planned = clone(sampler).set_params(n_landmarks=_largest(n_landmarks, source.n))
    pool = planned.pool_from(source, Euclidean(), rng)
    counts = _grid(n_landmarks, pool.points)
    measure = ErrorEstimate(pool, sampler, bandwidth, rng)
    measured = []
    for done, count in enumerate(counts):
        measured.append(measure(count))
        report("landmark curve", done + 1, len(counts))
    errors, standard_errors = np.transpose(measured)
    return LandmarkCurve(np.array(counts), errors, standard_errors, measure.bandwidth)


def _largest(n_landmarks: Any, n_points: int) -> int:
    """Return the largest number of landmarks to try."""
    if n_landmarks is None:
        return min(_LAST, n_points)
    if np.ndim(n_landmarks) != 1:
        raise ParameterTypeError(
            f"n_landmarks={short(n_landmarks)} is not understood: pass a list of numbers",
            "n_landmarks",
        )
    if not len(n_landmarks):
        raise ParameterValueError("n_landmarks is empty: pass at least one number", "n_landmarks")
    why = f"the data has {n_points} points"
    return max(check_count("n_landmarks", count, high=n_points, why=why) for count in n_landmarks)


def _grid(n_landmarks: Any, X: np.ndarray) -> list[int]:
    if n_landmarks is not None:
        return sorted({int(count) for count in n_landmarks})
    last = distinct_points(X, max(1, min(_LAST, len(X) // 2)))
    first = min(_FIRST, last)
    return np.unique(np.geomspace(first, last, _NUMBERS).round().astype(int)).tolist()
