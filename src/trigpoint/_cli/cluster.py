"""``--dask``: read and embed the points of a file on a Dask cluster."""

import argparse
import logging
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from trigpoint._cli.results import CommandError, say
from trigpoint._numerics.blocks import block_rows, row_blocks
from trigpoint._report.sample import dense
from trigpoint._sources import Source, open_source
from trigpoint._sources.choosing import split_place
from trigpoint._sources.problems import require
from trigpoint._sources.text import text_suffix

_PARTITION_BYTES = 64 * 2**20

# Seconds to wait for the scheduler, and for its first worker.
_SECONDS, _SECONDS_TO_START = 10, 30


@contextmanager
def on_cluster(options: argparse.Namespace, source: Source) -> Iterator[Source]:
    """Connect to the cluster given by ``--dask``; yield points that its workers read."""
    if options.dask is None:
        yield source
        return
    distributed = require("distributed", "--dask")
    lazy = open_source(_lazy(source, options))
    address = options.dask
    say(options, f"waiting for the Dask cluster, up to {_SECONDS_TO_START} s")
    with ExitStack() as stack:
        if isinstance(address, int):
            # Listen on localhost only, because the scheduler has no authentication.
            address = stack.enter_context(
                distributed.LocalCluster(
                    n_workers=address,
                    threads_per_worker=1,
                    host="127.0.0.1",
                    # The dashboard's HTTP server starts even with the dashboard disabled.
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
                f"no Dask cluster with workers found at {address}: start one with "
                f"`dask scheduler` and `dask worker`, or use --dask local:4 ({error})"
            ) from error
        yield lazy


def _lazy(source: Source, options: argparse.Namespace) -> Any:
    """Return the points as a Dask array whose partitions are read by the workers."""
    import dask
    import dask.array

    file, key = split_place(options.input)
    if source.path is None or text_suffix(source.path) or source.columns.sparse:
        raise CommandError(
            f"{options.input} cannot be read in parts by several processes: convert it to .zarr, "
            ".npy or .parquet first, or leave out --dask"
        )
    # Workers may run in another folder, so they need an absolute path.
    columns = source.columns.names or (options.columns and list(map(int, options.columns)))
    place = str(Path(file).absolute()), key, columns
    row_bytes = source.columns.count * source.dtype.itemsize
    parts = [
        dask.array.from_delayed(
            dask.delayed(_read)(*place, part.start, part.stop),
            (part.stop - part.start, source.columns.count),
            dtype=source.dtype,
        )
        for part in row_blocks(source.n, block_rows(row_bytes, _PARTITION_BYTES))
    ]
    return dask.array.concatenate(parts)


def _read(
    path: str, key: str | None, columns: Sequence[str | int] | None, start: int, stop: int
) -> np.ndarray:
    """Read consecutive rows, on a worker."""
    source = open_source(path, key=key, columns=columns)
    return dense(source.take(np.arange(start, stop)))
