"""Center and scale of a column that outliers hardly change."""

import numpy as np

# Quantiles whose distance determines the scale, and their distance in a standard normal
# distribution.
_OUTER, _APART = (0.05, 0.95), 3.2897


def center_and_scale(values: np.ndarray) -> tuple[float, float]:
    """Return the median and a robust standard deviation; NaN is ignored.

    If nine of ten values are equal, the scale is the root mean square distance from the median, and
    it is 1 if all values are equal.
    """
    known = values[~np.isnan(values)].astype(np.float64)
    if not len(known):
        return 0.0, 1.0
    center = float(np.median(known))
    # Halve values, so that very large ranges do not overflow.
    low, high = np.quantile(known / 2, _OUTER)
    scale = 2 * float(high - low) / _APART
    if scale <= 0:
        largest = float(np.abs(known - center).max())
        scale = largest * float(np.sqrt(np.mean(((known - center) / (largest or 1.0)) ** 2)))
    return center, scale if np.finfo(np.float64).tiny < scale < np.inf else 1.0
