"""``--dask``: points of a file that the workers of a Dask cluster read."""

import argparse
import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from trigpoint._cli.results import CommandError, say
from trigpoint._sources import Source, open_source
from trigpoint._sources.choosing import split_place
from trigpoint._sources.problems import require

_PARTITION_BYTES = 64 * 2**20

# Time to wait for a scheduler, and for its first worker.
_SECONDS, _SECONDS_TO_START = 10, 30


@contextmanager
def on_cluster(options: argparse.Namespace, source: Source) -> Iterator[Source]:
    """Connect to the cluster that the options name, and give it the points to read."""
    if options.dask is None:
        yield source
        return
    distributed = require("distributed", "--dask")
    lazy = open_source(_lazy(source, options))
    address = options.dask
    say(options, f"waiting for the Dask cluster, up to {_SECONDS_TO_START} s")
    with ExitStack() as stack:
        if isinstance(address, int):
            # Nothing listens to other machines: the scheduler asks nobody for a password.
            address = stack.enter_context(
                distributed.LocalCluster(
                    n_workers=address,
                    threads_per_worker=1,
                    host="127.0.0.1",
                    # The server behind the dashboard starts even without one.
                    dashboard_address="127.0.0.1:0",
                    worker_dashboard_address="127.0.0.1:0",
                    scheduler_kwargs={"dashboard": False},
                    silence_logs=logging.ERROR,
                )
            )
        try:
            client = stack.enter_context(distributed.Client(address, timeout=_SECONDS))
            client.wait_for_workers(1, timeout=_SECONDS_TO_START)
        except (OSError, ValueError, TimeoutError) as error:
            raise CommandError(
                f"there is no Dask cluster with workers at {address}: start one with "
                f"`dask scheduler` and `dask worker`, or use --dask local:4 ({error})"
            ) from error
        yield lazy


def _lazy(source: Source, options: argparse.Namespace) -> Any:
    """The points as a Dask array, whose partitions the workers read."""
    import dask
    import dask.array

    # A worker may be in another folder.
    file, key = split_place(options.input)
    path = str(Path(file).absolute())
    if file.lower().endswith(".zarr"):
        return dask.array.from_zarr(path, component=key)[:, _numbers(options)]
    if file.lower().endswith(".npy"):
        stored = np.load(path, mmap_mode="r")
        rows = max(1, _PARTITION_BYTES // max(1, stored[:1].nbytes))
        chunks = (rows, stored.shape[1])
        chunks = dask.array.core.normalize_chunks(chunks, stored.shape, dtype=stored.dtype)
        whole = dask.array.map_blocks(_npy_rows, path, chunks=chunks, dtype=stored.dtype)
        return whole[:, _numbers(options)]
    if file.lower().endswith((".parquet", ".pq")) and Path(file).is_file():
        names = list(source.columns.names or ())
        groups = require("pyarrow.parquet", "--dask").ParquetFile(path).metadata
        read = dask.delayed(_row_group)
        parts = [
            dask.array.from_delayed(
                read(path, group, names, source.dtype),
                (groups.row_group(group).num_rows, len(names)),
                dtype=source.dtype,
            )
            for group in range(groups.num_row_groups)
        ]
        return dask.array.concatenate(parts)
    raise CommandError(
        f"{options.input} cannot be read by several processes: convert it to .zarr, .npy or "
        ".parquet first, or leave out --dask"
    )


def _numbers(options: argparse.Namespace) -> Any:
    """The columns of an array, which have no names."""
    return slice(None) if options.columns is None else list(map(int, options.columns))


def _npy_rows(path: str, block_info: Any = None) -> np.ndarray:
    (start, stop), _ = block_info[None]["array-location"]
    return np.array(np.load(path, mmap_mode="r")[start:stop])


def _row_group(path: str, group: int, names: list[str], dtype: np.dtype) -> np.ndarray:
    from pyarrow.parquet import ParquetFile

    table = ParquetFile(path).read_row_group(group, columns=names)
    return np.column_stack([table.column(name).to_numpy() for name in names]).astype(dtype)
