"""What a long loop has done so far, so that a run can resume after a kill."""

import numpy as np


class Checkpoints:
    """Arrays by stage, which the next run reads; this base keeps nothing."""

    @property
    def is_on(self) -> bool:
        """Whether anything is kept."""
        return False

    @property
    def due(self) -> bool:
        """Whether a loop should write where it is."""
        return False

    def read(self, stage: str) -> dict[str, np.ndarray]:
        """What an earlier run has kept of a stage; empty if nothing."""
        return {}

    def write(self, stage: str, **arrays: np.ndarray) -> None:
        """Keep arrays, on the disk when this returns, instead of earlier ones of the stage."""


NOTHING_KEPT = Checkpoints()
