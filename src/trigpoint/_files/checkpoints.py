"""What a long fit has done so far, kept in the hidden folder of its result."""

import time
from pathlib import Path

import numpy as np

from trigpoint._common.errors import DamagedFileError
from trigpoint._files.atomic import Staging
from trigpoint._files.tensors import read_tensors, write_tensors

# Seconds of a loop that may be lost.
_SECONDS = 30.0


class Checkpoints:
    """Arrays by stage; the next run reads what this one has written.

    Parameters
    ----------
    staging : Staging or None, default=None
        Where they are kept; nothing is, without it.
    """

    def __init__(self, staging: Staging | None = None) -> None:
        self._staging = staging
        self._last = time.monotonic()

    @property
    def is_on(self) -> bool:
        """Whether anything is kept."""
        return self._staging is not None

    @property
    def due(self) -> bool:
        """Whether a loop should write where it is."""
        return self.is_on and time.monotonic() - self._last >= _SECONDS

    def read(self, stage: str) -> dict[str, np.ndarray]:
        """What an earlier run has kept of a stage; empty if nothing."""
        if self._staging is None:
            return {}
        try:
            return read_tensors(_file(self._staging, stage))[0]
        except (OSError, DamagedFileError):
            return {}

    def write(self, stage: str, **arrays: np.ndarray) -> None:
        """Keep arrays, on the disk when this returns, instead of earlier ones of the stage."""
        if self._staging is None:
            return
        with self._staging.naming_errors():
            write_tensors(_file(self._staging, stage), arrays, {})
        self._staging.keep = True
        self._last = time.monotonic()


def _file(staging: Staging, stage: str) -> Path:
    return staging.folder / f"{stage}.safetensors"
