"""``--dask``: points of a file in partitions, on a Dask cluster that is running or started here."""

import argparse
import logging
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from trigpoint._command.common import CommandError, count_argument, say
from trigpoint._common.words import counted
from trigpoint._files import PointSource, read_points
from trigpoint._files.arrays import SlicedSource
from trigpoint._files.arrow import ArrowSource, parquet_row_groups, read_row_group
from trigpoint._sources.problems import require
from trigpoint._numerics.blocks import row_blocks

# Bytes of a partition, and partitions for each thread so that all have work to the end.
_PARTITION_BYTES = 64 * 2**20
_PARTITIONS_PER_THREAD = 4

# Time to wait for a scheduler, and for its first worker.
_SECONDS = 10
_SECONDS_TO_START = 30


def add_dask(parser: argparse.ArgumentParser) -> None:
    """Add the option."""
    parser.add_argument(
        "--dask",
        type=_place,
        metavar="ADDRESS|local:N",
        help="share the work among the workers of a Dask cluster: the address of its scheduler, or "
        "local:N for N processes on this machine; reads .zarr, .npy, .h5 and .parquet (default: "
        "threads of one process)",
    )


def _place(text: str) -> int | str:
    kind, _, count = text.partition(":")
    if kind != "local":
        return text
    return count_argument(count)


@contextmanager
def points_on_cluster(options: argparse.Namespace, points: PointSource) -> Iterator[Any]:
    """Points as a Dask collection while a client is connected; unchanged without --dask."""
    place: Any = options.dask
    if place is None:
        yield points
        return
    distributed = require("distributed", "--dask")
    local = isinstance(place, int)
    what = f"starting {counted(place, 'worker')}" if local else f"connecting to {place}"
    say(options, f"{what}, up to {_SECONDS_TO_START if local else _SECONDS} s")
    if not options.log:
        # Its own handlers are silenced below, and not the one of this command.
        logging.getLogger("distributed").setLevel(logging.ERROR)
    with ExitStack() as stack:
        if local:
            place = stack.enter_context(
                distributed.LocalCluster(
                    n_workers=place,
                    threads_per_worker=1,
                    dashboard_address=":0",
                    silence_logs=logging.ERROR,
                )
            )
        try:
            client = stack.enter_context(distributed.Client(place, timeout=_SECONDS))
        except (OSError, ValueError) as error:
            raise CommandError(
                f"there is no Dask scheduler at {place}: start one with `dask scheduler`, or use "
                f"--dask local:4 ({error})"
            ) from error
        try:
            client.wait_for_workers(1, timeout=_SECONDS_TO_START)
        except TimeoutError as error:
            raise CommandError(
                f"the Dask scheduler at {place} has no workers: start some with `dask worker`"
            ) from error
        yield partitioned(points, sum(client.nthreads().values()))


def partitioned(points: PointSource, n_threads: int) -> Any:
    """Dask array of the points in a file, whose rows are read by the workers."""
    import dask
    import dask.array

    sizes, parts = _parts(points, n_threads)
    d = points.shape[1]
    blocks = [
        dask.array.from_delayed(part, (size, d), meta=np.empty((0, d), dtype=points.dtype))
        for size, part in zip(sizes, parts, strict=True)
    ]
    return dask.array.concatenate(blocks)


def _parts(points: PointSource, n_threads: int) -> tuple[list[int], list[Any]]:
    """Numbers of rows, and tasks that read as many."""
    import dask

    if isinstance(points, SlicedSource) and points.n_stored is None and points.path is not None:
        # A worker may be in another folder.
        key = points.name.removeprefix(str(points.path))
        place = os.path.abspath(points.path) + key, points.columns
        bounds = _bounds(points, n_threads)
        read = dask.delayed(read_rows)
        return [stop - start for start, stop in bounds], [read(*place, *some) for some in bounds]
    if isinstance(points, ArrowSource) and points.path is not None:
        groups = parquet_row_groups(points.path.absolute(), points.name)
        read = dask.delayed(read_row_group)
        names, dtype = points.feature_names, points.dtype
        tasks = [read(file, group, names, dtype) for file, group, _ in groups]
        return [rows for *_, rows in groups], tasks
    raise CommandError(
        f"{points.name} cannot be read in parts by several processes: convert it to .zarr, .npy or "
        ".parquet first, or leave out --dask"
    )


def _bounds(points: SlicedSource, n_threads: int) -> list[tuple[int, int]]:
    """First and last rows of partitions, of whole chunks of the file so that none is read twice."""
    n, d = points.shape
    most = max(1, _PARTITION_BYTES // (d * points.dtype.itemsize))
    rows = max(1, min(most, -(-n // (_PARTITIONS_PER_THREAD * n_threads))))
    rows = max(1, rows // points.chunk_rows) * points.chunk_rows
    return [(part.start, part.stop) for part in row_blocks(n, rows)]


def read_rows(place: str, columns: list[int] | None, start: int, stop: int) -> np.ndarray:
    """Some rows of a file."""
    source = read_points(place, columns=columns)
    assert isinstance(source, SlicedSource)
    return source.rows(start, stop)
