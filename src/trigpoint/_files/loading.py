"""One array of all points, for algorithms that need random access: in memory or on disk."""

import logging
import math
import shutil
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np

from trigpoint._common.checks import check_positive
from trigpoint._common.memory import physical_memory
from trigpoint._files.source import PointSource
from trigpoint._numerics.blocks import block_rows

Progress = Callable[[int, int], None]

logger = logging.getLogger(__name__)


def load(
    source: PointSource, *, memory_limit: float | None = None, progress: Progress | None = None
) -> np.ndarray:
    """Return all points of `source` as one C-contiguous array.

    An existing array or memory map is returned as is. Otherwise the points are read once: into
    memory if they fit, else into a temporary file that is memory-mapped. That file has no name and
    disappears with the array or the process.

    Parameters
    ----------
    source : PointSource
        From `trigpoint._files.read_points`.
    memory_limit : float or None
        Most bytes of memory to use; ``None`` uses up to a quarter of the machine's.
    progress : callable or None
        Called as ``progress(rows_done, rows_total)`` after every block.

    Returns
    -------
    X : ndarray of shape (n, d)
        Has the dtype of `source`; a read-only memory map if it is on disk.

    Raises
    ------
    ValueError
        If a value that is read is missing or infinite. An existing array is not checked.
    OSError
        If the points fit neither in memory nor on disk.

    Examples
    --------
    >>> import numpy as np
    >>> from trigpoint._files import load, read_points
    >>> load(read_points(np.arange(4).reshape(2, 2)), memory_limit=0)
    memmap([[0., 1.],
            [2., 3.]])
    """
    limit = _limit(memory_limit)
    there = source.array()
    if there is not None:
        logger.info("%s: %d bytes used in place", source.name, there.nbytes)
        return there
    needed = math.prod(source.shape) * source.dtype.itemsize
    if needed <= limit:
        logger.info("%s: %d bytes read into memory", source.name, needed)
        return _in_memory(source, progress)
    _check_disk(source.name, needed, limit)
    logger.info(
        "%s: %d bytes, more than %.0f, read into a temporary file in %s",
        source.name,
        needed,
        limit,
        tempfile.gettempdir(),
    )
    return _on_disk(source, progress)


def _limit(memory_limit: Any) -> float:
    if memory_limit is None:
        return physical_memory() / 4
    if memory_limit == math.inf:
        return math.inf
    return check_positive("memory_limit", memory_limit, zero=True)


def _in_memory(source: PointSource, progress: Progress | None) -> np.ndarray:
    X = np.empty(source.shape, dtype=source.dtype)

    def keep(block: np.ndarray, start: int) -> None:
        X[start : start + len(block)] = block

    _walk(source, keep, progress)
    return X


def _on_disk(source: PointSource, progress: Progress | None) -> np.ndarray:
    with tempfile.TemporaryFile(prefix="trigpoint-") as file:

        def keep(block: np.ndarray, start: int) -> None:
            del start
            try:
                file.write(block.data)
                file.flush()
            except OSError as error:
                problem = f"{error.strerror}: set TMPDIR to a folder with room"
                raise OSError(error.errno, problem, tempfile.gettempdir()) from error

        _walk(source, keep, progress)
        # The map keeps the contents after the file is closed.
        return np.memmap(file, dtype=source.dtype, mode="r", shape=source.shape)


def _walk(
    source: PointSource, keep: Callable[[np.ndarray, int], Any], progress: Progress | None
) -> None:
    n_rows, n_columns = source.shape
    done = 0
    for block in source.blocks(block_rows(n_columns * source.dtype.itemsize)):
        keep(block, done)
        done += len(block)
        # Released before the next block is read.
        del block
        if progress is not None:
            progress(done, n_rows)


def _check_disk(name: str, needed: int, limit: float) -> None:
    folder = tempfile.gettempdir()
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise OSError(
            f"{name} needs {needed / 1e9:.3g} GB, more than the {limit / 1e9:.3g} GB of memory "
            f"allowed and the {free / 1e9:.3g} GB free in {folder}: set TMPDIR to a folder with "
            "room, or read fewer columns"
        )
