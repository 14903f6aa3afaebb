"""Number of landmarks needed to keep the trace error within a tolerance."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone

from trigpoint._common.errors import ParameterValueError
from trigpoint._numerics.blocks import distinct_rows, sample_points
from trigpoint._numerics.gaussian import resolve_kernel_bandwidth
from trigpoint._numerics.residual.factor import unexplained_variances
from trigpoint._pool import Pool
from trigpoint._samplers.sampler import Sampler

# Number of landmarks that the default bandwidth is chosen for.
_TYPICAL_LANDMARKS = 400

# Maximum number of points to draw landmarks from, and to measure the error at, during the search.
_DRAWN_FROM = 200_000
_MEASURED = 4000

# Largest number of landmarks to try, and relative precision of the result.
_LAST = 4000
_CLOSE = 0.05


class ErrorEstimate:
    """Estimate the error of a sampler for any number of landmarks.

    Landmarks are drawn from `points`, which is the pool or a sample of it; `bandwidth` is the
    kernel bandwidth.
    """

    def __init__(
        self, pool: Pool, sampler: Sampler, bandwidth: Any, rng: np.random.Generator
    ) -> None:
        X = pool.points
        typical = min(_TYPICAL_LANDMARKS, X.shape[0])
        self.bandwidth = resolve_kernel_bandwidth(bandwidth, X, typical, rng, "kernel_bandwidth")
        self._seed = int(rng.integers(2**63))
        self._measured = sample_points(X, _MEASURED, rng)
        self.points = sample_points(X, _DRAWN_FROM, rng)
        self._n = pool.counted
        self._sampler = clone(sampler).set_params(kernel_bandwidth=self.bandwidth)

    def __call__(self, count: int) -> float:
        """Return the relative trace error with `count` landmarks."""
        # The same random stream for every count, so that errors differ less by chance.
        self._sampler.set_params(n_landmarks=count, random_state=np.random.default_rng(self._seed))
        # Each count gets its own pool: an index built for one landmark is slow for a thousand.
        chosen = self._sampler.select(Pool(self.points, self._n))
        blocks = unexplained_variances(self._measured, chosen.points, self.bandwidth)
        return float(np.concatenate([variances for _, variances in blocks]).mean())


def count_landmarks(
    pool: Pool,
    sampler: Sampler,
    bandwidth: Any,
    tolerance: float,
    rng: np.random.Generator,
) -> tuple[int, float]:
    """Find the fewest landmarks, within 5 %, that keep the error within the tolerance.

    Returns the number of landmarks and the bandwidth of the kernel whose error was measured.
    """
    measure = ErrorEstimate(pool, sampler, bandwidth, rng)
    last = min(_LAST, len(measure.points))
    if (distinct := distinct_rows(measure.points, last)) is not None:
        last = len(distinct)
    most = 1
    while (error := measure(most)) > tolerance:
        if most == last:
            raise ParameterValueError(
                f"tolerance={tolerance} is not reached with {last} landmarks, whose relative "
                f"trace error is {error:.2g} for a kernel of bandwidth {measure.bandwidth:.3g}: "
                "increase tolerance, as in EfficientDPP('auto', tolerance=0.1), increase "
                "kernel_bandwidth or set n_landmarks to a number",
                "tolerance",
            )
        most = min(2 * most, last)
    return _fewest(lambda count: measure(count) <= tolerance, most), measure.bandwidth


def _fewest(enough: Callable[[int], bool], most: int) -> int:
    """Find the smallest sufficient number, within 5 %; `most` suffices and half of it does not."""
    least = most // 2
    while most - least > max(1, _CLOSE * most):
        middle = round(np.sqrt(max(least, 1) * most))
        middle = min(max(middle, least + 1), most - 1)
        if enough(middle):
            most = middle
        else:
            least = middle
    return most
