"""Assigning the partitions of a Dask collection to workers, which keep them for a fit."""

from typing import Any

import numpy as np

from trigpoint._common.checks import check_magnitude
from trigpoint._common.errors import ParameterValueError
from trigpoint._common.progress import Report
from trigpoint._common.words import counted
from trigpoint._points.dask.cluster import (
    Cluster,
    current_client,
    wait_for_a_worker,
    waited_for,
)
from trigpoint._points.dask.collections import Partitions, checked_points
from trigpoint._points.dask.layout import Layout
from trigpoint._points.dask.shards import Shard
from trigpoint._points.dask.store import DaskStore


def stored_partitions(
    partitions: Partitions, scaled: bool, device: str | None, report: Report
) -> DaskStore:
    """Read the partitions, on the workers, and leave them there.

    Rows are scaled to unit length if `scaled`. `device` is the GPU of each worker.
    """
    import dask

    client = current_client("fitting a Dask collection")
    blocks = partitions.array.to_delayed().ravel()
    settings = partitions.dtype, partitions.feature_names, scaled, partitions.n_features
    checked, sharded = dask.delayed(checked_points), dask.delayed(Shard)
    placed, first_rows = _placed(client, partitions), partitions.first_rows()
    shards = []
    for address, parts in placed.items():
        own = [checked(blocks[part], part, *settings, first_rows[part]) for part in parts]
        # Others may take over if the worker is lost.
        shards += client.compute(
            [sharded(own, device)], workers=[address], allow_other_workers=True, optimize_graph=True
        )
    cluster = Cluster(client, shards)
    report("reading", 0, partitions.n_partitions)
    for done in waited_for(client, shards):
        report("reading", partitions.n_partitions * done // len(shards), partitions.n_partitions)
    described = cluster.ask_all("describe")
    return _stored(cluster, list(placed.values()), described, partitions, device, report)


def _stored(
    cluster: Cluster,
    placed: list[np.ndarray],
    described: list[dict[str, np.ndarray]],
    partitions: Partitions,
    device: str | None,
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
    return DaskStore(cluster.only(used), layout, lower, upper, partitions.dtype, device)


def _placed(client: Any, partitions: Partitions) -> dict[str, np.ndarray]:
    """Partitions for each worker: those it holds already, or an equal share of the rows."""
    from distributed import futures_of

    threads: dict[str, int] = client.nthreads()
    if not threads:
        wait_for_a_worker(client)
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
