"""Upper bounds of weights, which spare the loop of Algorithm 2 most proposals."""

from typing import Any

import numpy as np

from trigpoint._landmarks.repelling import _SUM_ROUNDING as SUM_ROUNDING
from trigpoint._landmarks.repelling import Repulsion
from trigpoint._numerics.neighbors import Neighborhoods


class TorchScreen:
    """Upper bounds of the weights of all points, kept on the device."""

    def __init__(self, n_points: int, device: Any, repulsion: Repulsion) -> None:
        import torch

        self._torch = torch
        self._log_bounds = torch.zeros(n_points, dtype=torch.float64, device=device)
        self._repulsion = repulsion

    def repel(self, landmarks: Neighborhoods) -> None:
        """Lower the bounds of landmarks' neighbors."""
        assert landmarks.members is not None
        assert landmarks.bounds is not None
        if not len(landmarks):
            return
        rows, bounds = (
            self._torch.cat(list(each)) for each in (landmarks.members, landmarks.bounds)
        )
        # In any order: the comparison in `passes` allows for rounding.
        self._log_bounds.index_add_(0, rows, self._log_factors(bounds))

    def _log_factors(self, squares: Any) -> Any:
        """The same as `Repulsion`, except for the last digits."""
        half = squares * (self._repulsion.precision / 2)
        if self._repulsion.is_sine:
            return 2 * half.sqrt().clamp(max=np.pi / 2).sin().log()
        return (-(-half).expm1()).log()

    def passes(self, rows: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
        """Whether the logarithm of each row's weight may reach its threshold."""
        asked = self._torch.as_tensor(rows, device=self._log_bounds.device)
        bounds = self._log_bounds[asked].cpu().numpy()
        return np.asarray(thresholds <= bounds + SUM_ROUNDING)
