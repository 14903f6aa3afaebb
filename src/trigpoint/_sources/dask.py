"""Dask arrays and DataFrames.

`take` computes one task per partition that contains requested rows; `map` is lazy. Scheduling, data
movement and retries are left to Dask, and any scheduler works.
"""

import pickle
import uuid
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import issparse

from trigpoint._common.checks import refuse_masked
from trigpoint._common.device import resolve_device
from trigpoint._common.errors import ParameterTypeError, ParameterValueError, ParameterWarning
from trigpoint._common.warn import warn_user
from trigpoint._numerics.blocks import block_rows, one_blas_thread, row_blocks
from trigpoint._sources.base import Source
from trigpoint._sources.choosing import choose_columns, refuse_key
from trigpoint._sources.frames import from_pandas
from trigpoint._sources.problems import is_from
from trigpoint._sources.values import Columns, applied, check_shape, checked, described, point_dtype

# Models of more bytes are sent to distributed workers in parts of this size, because Dask warns
# about large graphs.
_MODEL_IN_GRAPH = 4 * 2**20

_TO_ARRAYS = "convert it, as with X.map_blocks(lambda block: block.toarray())"

_TO_PARQUET = "write X to Parquet and choose metric='table'"

# Bytes of partitions that are computed together when results are consumed in order.
_BYTES_TOGETHER = 2**28


class UnknownChunksWarning(ParameterWarning):
    """Warning that counting the rows of a Dask collection required a full pass over it."""


@dataclass(frozen=True)
class _Partition:
    """Position and declared size of a partition."""

    number: int
    first: int  # Number of its first row.
    n: int  # Its declared number of rows.
    columns: Columns

    def rows(self, block: Any, places: np.ndarray | None = None) -> Any:
        """Return the given rows of a partition, or all if None, with values unchecked."""
        name = f"partition {self.number} of X, which begins at row {self.first},"
        declared = self.n, self.columns.count
        if np.shape(block) != declared:
            raise ParameterValueError(
                f"{name} has shape {np.shape(block)}, but {declared} was declared: correct the "
                "declared chunk sizes, or use X.compute_chunk_sizes()",
                "X",
            )
        if issparse(block) or not hasattr(block, "__array__"):
            raise ParameterTypeError(f"{name} is a {type(block).__name__}: {_TO_ARRAYS}", "X")
        refuse_masked(block, name)
        values = np.asarray(block)
        point_dtype(values.dtype, name)
        return values if places is None else values[places]


class DaskSource(Source):
    """Points in a Dask array with a single chunk along the columns."""

    takes_bits = False

    def __init__(self, array: Any, columns: Columns) -> None:
        super().__init__("X", columns)
        self._array, sizes = array, array.chunks[0]
        if not np.isnan(sizes).any():
            self._sizes = list(map(int, sizes))
            self.n = self._counted()

    @cached_property
    def _sizes(self) -> list[int]:
        """Number of rows of each partition, counted if unknown."""
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
        return check_shape((sum(self._sizes), self.columns.count), "X")[0]

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
                # Only the requested rows leave the worker.
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
        """Yield the results of tasks, one per partition, in order; compute several at a time."""
        import dask

        at_once = block_rows(row_bytes * max(self._sizes), _BYTES_TOGETHER)
        for some in row_blocks(len(tasks), at_once):
            yield from dask.compute(*tasks[some])

    def map(
        self, model: Any, *, out: Any = None, device: Any = None, **options: Any
    ) -> tuple[Any, int]:
        """Return the coordinates of all rows as a lazy Dask array, or write them to a file.

        The number of far points is unknown and returned as 0.
        """
        if resolve_device(device) is not None:
            raise ParameterValueError(
                "device cannot be used with a Dask collection, whose workers compute the "
                "coordinates: leave device None",
                "device",
            )
        if out is None:
            return self._lazy(model), 0
        return super().map(model, out=out, **options)

    def _lazy(self, model: Any) -> Any:
        return self._array.map_blocks(
            _coordinates,
            job=_shared((model, self._partitions)),
            dtype=model.columns.dtype,
            chunks=(tuple(self._sizes), (model.n_components,)),
            meta=np.empty((0, model.n_components), dtype=model.columns.dtype),
            name=f"trigpoint-coordinates-{uuid.uuid4().hex}",
        )

    def _mapped(
        self, model: Any, n_threads: int
    ) -> Generator[tuple[int, np.ndarray, int], None, None]:
        blocks = self._lazy(model).to_delayed().ravel()
        row_bytes = model.n_components * np.dtype(model.columns.dtype).itemsize
        for part, found in zip(self._partitions, self._computed(blocks, row_bytes), strict=True):
            yield part.first, found, 0


def _coordinates(
    block: Any, *, job: tuple[Any, list[_Partition]], block_id: tuple[int, int]
) -> np.ndarray:
    """Compute the coordinates of one partition on one thread; Dask runs partitions in parallel."""
    model, part = job[0], job[1][block_id[0]]
    points = checked(part.rows(block), part.columns, "X", part.first)
    found = np.empty((part.n, model.n_components), dtype=model.columns.dtype)
    with one_blas_thread():
        for rows in row_blocks(part.n, model.step):
            found[rows], _ = applied(model, points[rows], part.first + rows.start)
    return found


def _shared(job: Any) -> Any:
    """Share a model between the tasks of a graph.

    A large model is split into parts, each the result of a task, which Dask recomputes if it loses
    the worker that holds it. Scattered data would be lost.
    """
    import dask

    name, stored = f"trigpoint-model-{uuid.uuid4().hex}", pickle.dumps(job, protocol=5)
    if len(stored) > _MODEL_IN_GRAPH:
        try:
            from distributed import get_client

            client = get_client()
        except (ImportError, ValueError):
            pass
        else:
            parts = [
                client.submit(bytes, stored[part], pure=False)
                for part in row_blocks(len(stored), _MODEL_IN_GRAPH)
            ]
            return dask.delayed(_joined)(parts, dask_key_name=name)
    return dask.delayed(job, name=name, traverse=False)


def _joined(parts: Sequence[bytes]) -> Any:
    """Restore a model from its parts."""
    return pickle.loads(b"".join(parts))


def from_object(X: Any, key: str | None, columns: Any) -> DaskSource:
    """Open a Dask array or DataFrame; only its metadata is used."""
    refuse_key(key, "X")
    if is_from(X, "dask", "DataFrame"):
        # An example partition reveals column names, types and non-numeric columns.
        found = from_pandas(X._meta_nonempty, columns, "X", _TO_PARQUET).columns
        if columns is not None:
            labels = list(map(str, X.columns))
            X = X[[X.columns[j] for j in choose_columns(columns, len(labels), labels, "X")]]
        meta = np.empty((0, found.count), dtype=found.dtype)
        numbers = X.map_partitions(_numbers, found.dtype, meta=X._meta.astype(found.dtype))
        return DaskSource(numbers.to_dask_array(meta=meta), found)
    remedy = "pass a Dask array of shape (n, d), or a DataFrame"
    if not is_from(X, "dask", "Array"):
        raise ParameterTypeError(f"X is a Dask {type(X).__name__}: {remedy}", "X")
    if X.ndim != 2 or np.isnan(X.shape[1]):
        raise ParameterValueError(f"X has shape {X.shape}. Expected 2D array: {remedy}", "X")
    if not isinstance(X._meta, np.ndarray):
        chunk = type(X._meta).__name__
        raise ParameterTypeError(f"X has chunks of type {chunk}: {_TO_ARRAYS}", "X")
    # Check one row, because the number of rows may be unknown.
    _, chosen, found = described((1, X.shape[1]), X.dtype, "X", columns)
    X = X if chosen is None else X[:, chosen]
    return DaskSource(X if X.numblocks[1] == 1 else X.rechunk({1: -1}), found)


def _numbers(frame: Any, dtype: np.dtype) -> Any:
    """Convert a partition of a DataFrame to one type; missing values become NaN."""
    values = frame.to_numpy(dtype=dtype, na_value=np.nan)
    return type(frame)(values, index=frame.index, columns=frame.columns)
