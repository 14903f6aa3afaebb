"""Dask arrays and DataFrames as users pass them: validated, and given to the workers.

What can be told from their description is refused before anything is computed.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from trigpoint._common.checks import check_magnitude, refuse_non_finite
from trigpoint._common.errors import ParameterTypeError, ParameterValueError, ParameterWarning
from trigpoint._common.progress import Report
from trigpoint._common.words import counted
from trigpoint._points.dask.cluster import Cluster, current_client
from trigpoint._points.dask.layout import Layout
from trigpoint._points.dask.shards import Shard
from trigpoint._points.dask.store import DaskStore
from trigpoint._points.unit_rows import unit_rows

_NAMES_SHOWN = 5


class UnknownChunksWarning(ParameterWarning):
    """The rows of a Dask collection had to be counted, which reads all of it."""


def is_dask(X: Any) -> bool:
    """Whether `X` is a Dask collection; known without importing Dask."""
    return type(X).__module__.partition(".")[0] == "dask" and hasattr(X, "dask")


class Partitions:
    """A validated Dask array, or a DataFrame as one.

    Attributes
    ----------
    array : dask.array.Array
        The points, in partitions of rows.
    name : str
        The key that the collection has in Dask.
    n_features : int
    dtype : dtype
        float32 or float64.
    feature_names : list of str or None
    sizes : list of int or None
        Numbers of rows, if they are known.
    """

    def __init__(self, X: Any, name: str = "X") -> None:
        if hasattr(X, "columns") and hasattr(X, "to_dask_array"):
            self.name, names = str(X._name), list(X.columns)
            _refuse_columns(X, name)
            self.dtype = _float_type([np.dtype(getattr(t, "numpy_dtype", t)) for t in X.dtypes])
            self.feature_names = (
                names if names and all(isinstance(label, str) for label in names) else None
            )
            self.array = X.map_partitions(
                _frame_values, self.dtype, meta=X._meta.iloc[:0]
            ).to_dask_array(meta=np.empty((0, len(names)), dtype=self.dtype))
            self._is_frame = True
        else:
            _refuse_array(X, name)
            self.name, self.array = str(X.name), X
            self.dtype, self.feature_names = _float_type([X.dtype]), None
            self._is_frame = False
        self.n_features = int(self.array.shape[1])
        rows = self.array.chunks[0]
        self.sizes = None if np.isnan(rows).any() else [int(size) for size in rows]

    @property
    def n_partitions(self) -> int:
        """Number of partitions."""
        return int(self.array.numblocks[0])


def _frame_values(frame: Any, dtype: np.dtype) -> Any:
    """A partition of a DataFrame, all of one type; missing values become NaN."""
    return type(frame)(
        frame.to_numpy(dtype=dtype, na_value=np.nan), index=frame.index, columns=frame.columns
    )


def _float_type(dtypes: Sequence[np.dtype]) -> np.dtype:
    """float32 if everything is, else float64."""
    return np.dtype(np.float32 if all(t == np.float32 for t in dtypes) else np.float64)


def _refuse_columns(X: Any, name: str) -> None:
    kinds = {
        label: getattr(dtype, "kind", "O") for label, dtype in zip(X.columns, X.dtypes, strict=True)
    }
    refused = [str(label) for label, kind in kinds.items() if kind not in "biuf"]
    if refused:
        raise ParameterTypeError(
            name,
            refused,
            "{parameter} has columns that are not numbers: {names}",
            "leave them out, as with X[[...]], or convert them with X.astype(float)",
            names=", ".join(map(repr, refused[:_NAMES_SHOWN])),
        )


def _refuse_array(X: Any, name: str) -> None:
    if not hasattr(X, "chunks") or not hasattr(X, "numblocks"):
        raise ParameterTypeError(
            name,
            type(X).__name__,
            "{parameter} is a Dask {kind}",
            "pass a Dask array of shape (n, d), or a Dask DataFrame",
            kind=type(X).__name__,
        )
    if X.ndim != 2:
        raise ParameterValueError(
            name,
            X.shape,
            "{parameter} must have rows and columns, and has shape {shape}",
            "pass a Dask array of shape (n, d)",
            shape=X.shape,
        )
    if not isinstance(X._meta, np.ndarray):
        raise ParameterTypeError(
            name,
            type(X._meta).__name__,
            "{parameter} has chunks of type {kind}",
            "convert them to NumPy arrays: X.map_blocks(lambda block: block.toarray())",
            kind=type(X._meta).__name__,
        )
    if X.dtype.kind not in "biuf":
        raise ParameterTypeError(
            name,
            X.dtype,
            "{parameter} has values of type {dtype}, not numbers",
            "convert them: {parameter}.astype('float64')",
            dtype=X.dtype,
        )
    if X.numblocks[1] > 1 or np.isnan(X.shape[1]):
        raise ParameterValueError(
            name,
            X.chunks[1],
            "{parameter} is divided along its columns, into {count}; a point must be in one chunk",
            "use {parameter}.rechunk({{1: -1}})",
            count=counted(X.numblocks[1], "part"),
        )


def checked_points(
    block: Any,
    partition: int,
    dtype: np.dtype,
    names: Sequence[str] | None,
    scaled: bool,
    n_features: int,
) -> np.ndarray:
    """Points of a partition as they are used; values that cannot be are refused."""
    points = np.ascontiguousarray(block, dtype=dtype)
    if points.ndim != 2 or points.shape[1] != n_features:
        raise ParameterValueError(
            "X",
            points.shape,
            "partition {partition} of {parameter} has shape {shape}, and {n_features} columns were "
            "announced",
            "let every partition have the same columns",
            partition=partition,
            shape=points.shape,
            n_features=n_features,
        )
    where = f"partition {partition} of X (rows are counted within it)"
    if len(points):
        refuse_non_finite(points, where, names)
    return unit_rows(points, where) if scaled and len(points) else points


def stored_partitions(partitions: Partitions, scaled: bool, report: Report) -> DaskStore:
    """Read the partitions, on the workers, and leave them there.

    Rows are scaled to unit length if `scaled`.
    """
    import dask

    client = current_client("fitting a Dask collection")
    blocks = partitions.array.to_delayed().ravel()
    settings = partitions.dtype, partitions.feature_names, scaled, partitions.n_features
    checked, sharded = dask.delayed(checked_points), dask.delayed(Shard)
    placed = _placed(client, partitions)
    futures = []
    for address, parts in placed.items():
        own = [checked(blocks[part], part, *settings) for part in parts]
        # Others may take over if the worker is lost.
        futures += client.compute(
            [sharded(own)], workers=[address], allow_other_workers=True, optimize_graph=True
        )
    cluster = Cluster(client, futures)
    report("reading", 0, partitions.n_partitions)
    described = cluster.ask_all("describe")
    return _stored(cluster, list(placed.values()), described, partitions, report)


def _stored(
    cluster: Cluster,
    placed: list[np.ndarray],
    described: list[dict[str, np.ndarray]],
    partitions: Partitions,
    report: Report,
) -> DaskStore:
    report("reading", partitions.n_partitions, partitions.n_partitions)
    sizes = np.zeros(partitions.n_partitions, dtype=np.int64)
    for parts, some in zip(placed, described, strict=True):
        sizes[parts] = some["sizes"]
    partitions.sizes = sizes.tolist()
    if sizes.sum() < 2:
        raise ParameterValueError(
            "X",
            int(sizes.sum()),
            "{parameter} has {found}",
            "pass at least two",
            found=counted(int(sizes.sum()), "point"),
        )
    # Questions go to shards that have points.
    used = [s for s, some in enumerate(described) if some["sizes"].sum()]
    lower = np.min([described[s]["lower"] for s in used], axis=0)
    upper = np.max([described[s]["upper"] for s in used], axis=0)
    check_magnitude(np.array([lower, upper], dtype=partitions.dtype))
    layout = Layout(sizes, [placed[s] for s in used])
    return DaskStore(cluster.only(used), layout, lower, upper, partitions.dtype)


def _placed(client: Any, partitions: Partitions) -> dict[str, np.ndarray]:
    """Partitions for each worker: those it holds already, or an equal share of the rows."""
    from distributed import futures_of

    threads: dict[str, int] = client.nthreads()
    if not threads:
        client.wait_for_workers(1, timeout=60)
        threads = client.nthreads()
    n = partitions.n_partitions
    held = client.who_has(futures_of(partitions.array))
    owners: list[str | None] = [None] * n
    if held:
        keys = [keys[0] for keys in partitions.array.__dask_keys__()]
        holders = {str(key): workers for key, workers in held.items()}
        for part, key in enumerate(keys):
            found = [w for w in holders.get(str(key), ()) if w in threads]
            owners[part] = found[0] if found else None
    if None in owners:
        sizes = np.asarray(partitions.sizes if partitions.sizes is not None else np.ones(n))
        middles = (np.cumsum(sizes) - sizes / 2) / max(sizes.sum(), 1)
        ends = np.cumsum(list(threads.values())) / sum(threads.values())
        shares = np.minimum(np.searchsorted(ends, middles, side="right"), len(ends) - 1)
        names = list(threads)
        owners = [owners[part] or names[shares[part]] for part in range(n)]
    placed = {name: np.flatnonzero([o == name for o in owners]) for name in threads}
    return {name: parts for name, parts in placed.items() if len(parts)}
