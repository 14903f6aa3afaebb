"""Checkpoints in the hidden folder of a result."""

import time
from pathlib import Path

import numpy as np

from trigpoint._common.checkpoints import Checkpoints
from trigpoint._common.errors import DamagedFileError
from trigpoint._files.atomic import Staging
from trigpoint._files.tensors import read_tensors, write_tensors

# Seconds of a loop that may be lost.
_SECONDS = 30.0


class StagedCheckpoints(Checkpoints):
    """Checkpoints of a run, in the folder where its result is staged."""

    def __init__(self, staging: Staging) -> None:
        self._staging = staging
        self._last = time.monotonic()

    @property
    def is_on(self) -> bool:
        return True

    @property
    def due(self) -> bool:
        return time.monotonic() - self._last >= _SECONDS

    def read(self, stage: str) -> dict[str, np.ndarray]:
        try:
            return read_tensors(self._file(stage))[0]
        except (OSError, DamagedFileError):
            # Never written, or not to its end.
            return {}

    def write(self, stage: str, **arrays: np.ndarray) -> None:
        with self._staging.naming_errors():
            write_tensors(self._file(stage), arrays, {})
        self._staging.keep = True
        self._last = time.monotonic()

    def _file(self, stage: str) -> Path:
        return self._staging.folder / f"{stage}.safetensors"
