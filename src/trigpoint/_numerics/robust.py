"""Robust center and scale of a column."""

import numpy as np

# Quantiles to which values are clipped.
_ENDS = (0.05, 0.95)


def center_and_scale(values: np.ndarray) -> tuple[float, float]:
    """Return the median and the winsorized standard deviation of finite values.

    If more than nine of ten values are equal, the scale is the root mean square distance from the
    median, and it is 1 if all values are equal.
    """
    known = values[np.isfinite(values)].astype(np.float64)
    if not len(known):
        return 0.0, 1.0
    center = float(np.median(known))
    # Halve the values and divide by the largest distance, so that squares do not overflow.
    away = known / 2 - center / 2
    inner = np.clip(away, *np.quantile(away, _ENDS))
    for some, middle in ((inner, inner.mean()), (away, 0.0)):
        largest = float(np.abs(some).max()) or 1.0
        scale = 2 * largest * float(np.sqrt(np.mean(((some - middle) / largest) ** 2)))
        if np.finfo(np.float64).tiny < scale < np.inf:
            return center, scale
    return center, 1.0
