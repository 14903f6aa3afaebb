"""Dask arrays and DataFrames.

`take` computes one task for each partition that has wanted rows, `map` is lazy. Both leave moving,
repeating and placing of work to Dask, and no scheduler in particular is needed.
"""

import pickle
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from trigpoint._common.checks import refuse_masked
from trigpoint._common.device import resolve_device
from trigpoint._common.errors import ParameterTypeError, ParameterValueError, ParameterWarning
from trigpoint._common.progress import Report
from trigpoint._common.warn import warn_user
from trigpoint._neighbors.sparse import Points
from trigpoint._numerics.blocks import block_rows, row_blocks
from trigpoint._numerics.threads import one_blas_thread
from trigpoint._sources.array import chosen_columns
from trigpoint._sources.base import Columns, Source, applied, checked
from trigpoint._sources.choosing import (
    check_shape,
    choose_columns,
    point_dtype,
    refuse_key,
)
from trigpoint._sources.frames import from_pandas
from trigpoint._sources.problems import is_from
from trigpoint._sources.writers import Output, open_output

# A model of more bytes goes to distributed workers directly, so that the graph stays small.
_MODEL_IN_GRAPH = 4 * 2**20

_TO_ARRAYS = "convert it, as with X.map_blocks(lambda block: block.toarray())"

# Bytes of the partitions that are computed together where their results are used in order.
_BYTES_TOGETHER = 2**28


class UnknownChunksWarning(ParameterWarning):
    """The rows of a Dask collection had to be counted, which reads all of it."""


@dataclass(frozen=True)
class _Partition:
    """What a task must know of its partition to check it.

    Attributes
    ----------
    number : int
    first : int
        Its first row.
    n : int
        Its declared number of rows.
    columns : Columns
    """

    number: int
    first: int
    n: int
    columns: Columns

    def rows(self, block: Any, places: np.ndarray | None = None) -> Any:
        """Rows of a partition, all or some; whether their values can be used is still to check."""
        name = f"partition {self.number} of X, which begins at row {self.first},"
        shape = np.shape(block) if not hasattr(block, "shape") else block.shape
        if shape != (self.n, self.columns.count):
            raise ParameterValueError(
                f"{name} has shape {shape}, but {(self.n, self.columns.count)} was announced: let "
                "partitions have the sizes that they declare, or use X.compute_chunk_sizes()",
                "X",
            )
        if issparse(block) or not hasattr(block, "__array__"):
            raise ParameterTypeError(f"{name} is a {type(block).__name__}: {_TO_ARRAYS}", "X")
        refuse_masked(block, name)
        values = np.asarray(block)
        point_dtype(values.dtype, name)
        return values if places is None else values[places]

    def checked(self, block: Any) -> Points:
        """All rows of a partition, checked."""
        return checked(self.rows(block), self.columns, "X", self.first)


class DaskSource(Source):
    """Points in the partitions of a Dask array.

    Parameters
    ----------
    array : dask.array.Array of shape (n, d)
        In one chunk along the columns.
    columns : Columns
    """

    def __init__(self, array: Any, columns: Columns) -> None:
        sizes = array.chunks[0]
        known = not np.isnan(sizes).any()
        super().__init__("X", columns, int(sum(sizes)) if known else None)
        self._array, self._known = array, list(map(int, sizes)) if known else None
        if known:
            check_shape((self.n, columns.count), "X")

    @property
    def _sizes(self) -> list[int]:
        """Rows of each partition, counted if they are not known."""
        if self._known is None:
            self._known = self._counted_sizes()
        return self._known

    def _counted_sizes(self) -> list[int]:
        import dask

        warn_user(
            UnknownChunksWarning(
                "the chunks of X have unknown sizes: their rows are counted in an extra pass; "
                "use X.compute_chunk_sizes() or X.to_dask_array(lengths=True)"
            )
        )
        count = dask.delayed(len)
        return list(dask.compute(*map(count, self._array.to_delayed().ravel())))

    def _counted(self) -> int:
        n = sum(self._sizes)
        check_shape((n, self.columns.count), "X")
        return n

    @property
    def _partitions(self) -> list[_Partition]:
        firsts = np.cumsum([0, *self._sizes[:-1]]).tolist()
        return [
            _Partition(number, first, size, self.columns)
            for number, (first, size) in enumerate(zip(firsts, self._sizes, strict=True))
        ]

    def _taken(self, rows: np.ndarray | None) -> np.ndarray:
        import dask

        blocks, tasks, places = self._array.to_delayed().ravel(), [], None
        for part in self._partitions:
            if rows is not None:
                places = rows[slice(*np.searchsorted(rows, (part.first, part.first + part.n)))]
                places = places - part.first
            if part.n if places is None else len(places):
                # Only these rows travel.
                tasks.append(dask.delayed(part.rows)(blocks[part.number], places))
        found = dask.compute(*tasks)
        return np.concatenate([np.empty((0, self.columns.count), self.dtype), *found])

    def _pieces(self, rows: np.ndarray | None) -> Iterator[tuple[int, np.ndarray]]:
        import dask

        blocks = self._array.to_delayed().ravel()
        parts = [part for part in self._partitions if part.n]
        tasks = [dask.delayed(part.rows)(blocks[part.number]) for part in parts]
        row_bytes = self.columns.count * self.dtype.itemsize
        for part, values in zip(parts, self._computed(tasks, row_bytes), strict=True):
            yield part.first, values

    def _computed(self, tasks: Sequence[Any], row_bytes: int) -> Iterator[np.ndarray]:
        """Results of tasks of one partition each, in order; a few are computed together."""
        import dask

        at_once = block_rows(row_bytes * max(self._sizes), _BYTES_TOGETHER)
        for some in row_blocks(len(tasks), at_once):
            yield from dask.compute(*tasks[some])

    def map(
        self,
        model: Any,
        *,
        out: Any = None,
        n_threads: int = 1,
        report: Report | None = None,
        device: Any = None,
    ) -> tuple[Any, int]:
        """Coordinates of all rows as a lazy Dask array, or written to a file.

        The number of far points is not known, and given as 0.
        """
        if resolve_device(device) is not None:
            raise ParameterValueError(
                f"{device=} is not possible, because Dask's workers compute the coordinates of "
                "its collections: leave device None",
                "device",
            )
        lazy = self._array.map_blocks(
            _coordinates,
            job=_shared((model, self._partitions)),
            dtype=model.columns.dtype,
            chunks=(tuple(self._sizes), (model.n_components,)),
            meta=np.empty((0, model.n_components), dtype=model.columns.dtype),
            name=f"trigpoint-coordinates-{uuid.uuid4().hex}",
        )
        if out is None:
            return lazy, 0
        output = out if isinstance(out, Output) else Output(out)
        shape, done = (self.n, model.n_components), 0
        with open_output(output, shape, model.columns.dtype) as writer:
            row_bytes = shape[1] * np.dtype(model.columns.dtype).itemsize
            for coordinates in self._computed(lazy.to_delayed().ravel(), row_bytes):
                writer.write(coordinates)
                done += len(coordinates)
                if report is not None:
                    report("points", done, self.n)
        return writer.path, 0


def _coordinates(
    block: Any, *, job: tuple[Any, list[_Partition]], block_id: tuple[int, int]
) -> np.ndarray:
    """Coordinates of one partition; Dask runs as many at once as it has threads."""
    model, part = job[0], job[1][block_id[0]]
    points = part.checked(block)
    found = np.empty((part.n, model.n_components), dtype=model.columns.dtype)
    with one_blas_thread():
        for rows in row_blocks(part.n, model.step):
            found[rows], _ = applied(model, points[rows], part.first + rows.start)
    return found


def _shared(job: Any) -> Any:
    """One key of the graph for all blocks, whose value is a model, or is on the workers."""
    import dask

    if len(pickle.dumps(job, protocol=5)) > _MODEL_IN_GRAPH:
        try:
            from distributed import get_client

            client = get_client()
        except (ImportError, ValueError):
            pass
        else:
            # On every worker, so that it outlives any of them.
            return dask.delayed(client.scatter(job, broadcast=True, hash=False))
    return dask.delayed(job, name=f"trigpoint-model-{uuid.uuid4().hex}", traverse=False)


def from_object(X: Any, key: str | None, columns: Any) -> DaskSource:
    """Points in a Dask array or DataFrame; only its metadata is looked at."""
    refuse_key(key, "X")
    if is_from(X, "dask", "DataFrame"):
        # What pandas makes of a partition tells names, types and columns without numbers.
        described = from_pandas(X._meta_nonempty, columns, "X").columns
        labels = list(map(str, X.columns))
        chosen = choose_columns(columns, len(labels), labels, "X")
        X = X if chosen is None else X[[X.columns[number] for number in chosen]]
        meta = np.empty((0, described.count), dtype=described.dtype)
        array = X.map_partitions(
            _numbers, described.dtype, meta=X._meta.astype(described.dtype)
        ).to_dask_array(meta=meta)
        return DaskSource(array, described)
    if not is_from(X, "dask", "Array"):
        kind = type(X).__name__
        raise ParameterTypeError(
            f"X is a Dask {kind}: pass a Dask array of shape (n, d), or a DataFrame", "X"
        )
    if X.ndim != 2 or np.isnan(X.shape[1]):
        raise ParameterValueError(
            f"X has shape {X.shape}. Expected 2D array: pass a Dask array of shape (n, d)", "X"
        )
    if not isinstance(X._meta, np.ndarray):
        raise ParameterTypeError(
            f"X has chunks of type {type(X._meta).__name__}: {_TO_ARRAYS}", "X"
        )
    dtype = point_dtype(X.dtype, "X")
    chosen = choose_columns(columns, X.shape[1], None, "X")
    described = chosen_columns(chosen, None, int(X.shape[1]), dtype)
    X = X if chosen is None else X[:, chosen]
    return DaskSource(X if X.numblocks[1] == 1 else X.rechunk({1: -1}), described)


def _numbers(frame: Any, dtype: np.dtype) -> Any:
    """A partition of a DataFrame, all of one type; missing values become NaN."""
    values = frame.to_numpy(dtype=dtype, na_value=np.nan)
    return type(frame)(values, index=frame.index, columns=frame.columns)
