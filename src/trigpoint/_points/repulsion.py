"""How much a landmark repels the points around it."""

from typing import Any

import numpy as np

from trigpoint._common.errors import ParameterValueError
from trigpoint._numerics.kernels import resolve_repulsion


class Repulsion:
    """The logarithm of a repulsion function of squared distances, with its bandwidth.

    Parameters
    ----------
    repulsion : {"welsch", "sin2"} or callable
        As for `EfficientDPP`.
    bandwidth : float
    """

    def __init__(self, repulsion: Any, bandwidth: float) -> None:
        self.name = repulsion
        self.bandwidth = bandwidth
        self.precision = 1 / bandwidth**2
        self.is_compiled = isinstance(repulsion, str)
        self.is_sine = self.is_compiled and repulsion == "sin2"
        self._function = resolve_repulsion(repulsion)

    def __call__(self, squares: np.ndarray) -> np.ndarray:
        """Logarithms of the factors at some squared distances."""
        if self.is_compiled:
            from trigpoint._numerics.compiled.tree_search import log_factors

            return log_factors(squares, self.precision, self.is_sine)
        factors = self._function(np.sqrt(squares), self.bandwidth)
        if not ((factors >= 0) & (factors <= 1)).all():
            raise ParameterValueError(
                "repulsion",
                self.name,
                "{parameter=} returned values outside 0 to 1: weights may only shrink",
            )
        with np.errstate(divide="ignore"):
            return np.log(factors)
