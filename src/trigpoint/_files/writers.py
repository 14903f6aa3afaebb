"""Writing points block by block: a file appears when it is complete, or not at all."""

import contextlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike

from trigpoint._common.checks import check_count, refuse_nul
from trigpoint._common.errors import ParameterValueError
from trigpoint._files.atomic import Staging, check_place
from trigpoint._files.sinks import SINKS, Sink, ZarrSink
from trigpoint._files.source import PointSource


def open_writer(
    path: str | os.PathLike[str],
    n_rows: int,
    n_columns: int,
    dtype: DTypeLike = np.float64,
    names: Sequence[str] | None = None,
    *,
    replace: bool = True,
) -> "PointWriter":
    """Prepare to write points; all checks are done here, before any work.

    Parameters
    ----------
    path : path
        A ``.npy``, ``.csv``, ``.parquet`` or ``.pq`` file, or a ``.zarr`` folder. An existing
        file or Zarr array is replaced once the new one is complete.
    n_rows, n_columns : int
        Shape of the points to come.
    dtype : dtype
        float32 or float64.
    names : sequence of str or None
        Names of the columns, kept in all formats except ``.npy``. ``None`` names them x0, x1 and
        so on.
    replace : bool, default=True
        Whether to replace what exists when the points are complete.

    Returns
    -------
    writer : PointWriter
        For use in a ``with`` statement.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from trigpoint._files import open_writer
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open_writer(f"{folder}/Y.npy", 3, 2, np.float32) as writer:
    ...         writer.write(np.zeros((2, 2)))
    ...         writer.write(np.ones((1, 2)))
    ...     print(np.load(f"{folder}/Y.npy").sum())
    2.0
    """
    shape = check_count("n_rows", n_rows), check_count("n_columns", n_columns)
    dtype = np.dtype(dtype)
    if dtype not in (np.float32, np.float64):
        raise ParameterValueError(
            "dtype", dtype.name, "{parameter=} cannot be written", "choose float32 or float64"
        )
    labels = [f"x{number}" for number in range(n_columns)] if names is None else list(names)
    if len(labels) != n_columns or len(set(labels)) != n_columns:
        raise ParameterValueError(
            "names",
            labels,
            "{parameter=} is not {count} different names",
            "give one for each column",
            count=n_columns,
        )
    sink = sink_for(path)
    return PointWriter(Staging(path, replace=replace), sink, shape, dtype, labels)


class PointWriter:
    """Context manager that accepts points in blocks of rows; created by `open_writer`.

    Rows go to a hidden folder beside the target. At the end of the ``with`` statement they are put
    in place if all were written and nothing was raised; otherwise they are removed.

    Parameters
    ----------
    staging : Staging
        Where the file belongs.
    sink : type of Sink
        How they are stored.
    shape : (int, int)
        Rows and columns to come.
    dtype : dtype
        Type to store.
    names : sequence of str
        Names of the columns.

    Attributes
    ----------
    rows_written : int
        How many there are so far.
    tally : int
        Sum of the numbers passed to `write`.
    """

    def __init__(
        self,
        staging: Staging,
        sink: type[Sink],
        shape: tuple[int, int],
        dtype: np.dtype,
        names: Sequence[str],
    ) -> None:
        self._staging = staging
        self.path, self.shape, self.dtype = staging.target, shape, dtype
        self.names = list(names)
        self.rows_written = self.tally = 0
        self._sink_type = sink
        self._sink: Sink | None = None

    def __enter__(self) -> Self:
        if self._sink is not None:
            raise RuntimeError(f"{self.path} is already being written: open another writer")
        self.rows_written = self.tally = 0
        staging = self._staging.__enter__()
        try:
            with staging.naming_errors():
                self._sink = self._sink_type(staging.new, self.shape, self.dtype, self.names)
        except BaseException:
            staging.__exit__()
            raise
        return self

    @property
    def sink(self) -> Sink | None:
        """Where rows go, inside the with statement."""
        return self._sink

    def write(self, block: np.ndarray, tally: int = 0) -> None:
        """Append the rows of `block`; `tally` is a number to add up along with them."""
        if self._sink is None:
            raise RuntimeError("write() only works inside the writer's with statement")
        n_rows, n_columns = self.shape
        if block.ndim != 2 or block.shape[1] != n_columns:
            raise ValueError(
                f"a block of shape {block.shape} was written to {self.path}: give rows of "
                f"{n_columns} columns"
            )
        if self.rows_written + len(block) > n_rows:
            raise ValueError(
                f"{self.rows_written + len(block)} rows were written to {self.path}, which was "
                f"opened for {n_rows}"
            )
        with self._staging.naming_errors():
            self._sink.write(np.ascontiguousarray(block, dtype=self.dtype))
        self.rows_written += len(block)
        self.tally += tally

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        sink, self._sink = self._sink, None
        assert sink is not None
        try:
            if kind is not None:
                # The caller should see the original error.
                with contextlib.suppress(Exception):
                    sink.close()
                return
            with self._staging.naming_errors():
                sink.close()
                self._refuse_missing_rows()
                self._put_in_place()
        finally:
            self._staging.__exit__()

    def _put_in_place(self) -> None:
        # What appeared meanwhile may be something else.
        sink_for(self.path)
        self._staging.commit()

    def _refuse_missing_rows(self) -> None:
        if self.rows_written != self.shape[0]:
            raise ValueError(
                f"{self.rows_written} rows were written to {self.path}, which was opened for "
                f"{self.shape[0]}: nothing is kept"
            )


def refuse_same_file(source: PointSource, path: str | os.PathLike[str]) -> None:
    """Reject writing to the file or folder that `source` reads from."""
    if source.path is None:
        return
    if Path(os.path.realpath(path)).is_relative_to(os.path.realpath(source.path)):
        raise ParameterValueError(
            "out",
            os.fspath(path),
            "{name} is being read",
            "write to a file other than {path}",
            name=source.name,
            path=path,
        )


def sink_for(out: str | os.PathLike[str]) -> type[Sink]:
    """How points are stored at a path, which is refused if nothing should be written there."""
    name = os.fspath(out)
    refuse_nul("out", name, "write to another name")
    path = Path(os.path.realpath(out))
    fitting = [sink for ends, sink in SINKS.items() if path.name.lower().endswith(ends)]
    if not fitting:
        known = ", ".join(suffix for suffixes in SINKS for suffix in suffixes)
        raise ParameterValueError(
            "out",
            name,
            "{name} has an unknown suffix",
            "points can be written to {known}",
            name=name,
            known=known,
        )
    sink = fitting[0]
    check_place(path, name)
    if sink is ZarrSink and path.exists() and not _may_replace_folder(path):
        raise FileExistsError(
            f"{name} exists and is not a Zarr array: remove it, or write to another name"
        )
    if sink is not ZarrSink and path.is_dir():
        raise IsADirectoryError(f"{name} is a folder: write to another name")
    sink.require(f"writing {name}")
    return sink


def _may_replace_folder(path: Path) -> bool:
    """Whether a folder is empty or a Zarr array, so that replacing it loses nothing else."""
    if not path.is_dir():
        return False
    try:
        described: Any = json.loads((path / "zarr.json").read_text())
        return bool(described["node_type"] == "array")
    except (OSError, ValueError, KeyError, TypeError):
        return (path / ".zarray").is_file() or not any(path.iterdir())
