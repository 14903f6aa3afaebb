"""Dask: from Zarr to Zarr with several processes, beside threads; and what more workers would do.

The costs of a round, of a task and of each point are measured here, and tables compute from them
what more points and more workers cost.
"""

import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import trigpoint as tp
from experiments.framework.cells import TARGET_COLUMNS, Cell, number, percent, size, target
from experiments.framework.experiment import Experiment, Row, Settings
from experiments.framework.measuring import measure, memory_field
from experiments.framework.page import Page

K = 2500
CHUNK = 1_000_000
LIMIT = 3600  # seconds; nothing is compared with a limit here
WORKERS = (4, 2, 1)
SPEED_UP, OVERHEAD, CLIENT_SHARE = 3.0, 1.3, 0.1

# A billion points: rows made at once, workers, and cells along a side of the density picture.
MADE_AT_ONCE = 4_000_000
PICTURE = 512

# What the tables of larger runs are for, and the network that they assume.
POINTS, MANY_WORKERS = (10**9, 10**10), (10, 100, 1000)
BYTES_PER_SECOND = 1e9
ROWS_PER_TASK = 4_000_000


def cases(settings: Settings) -> Iterator[Row]:
    """Processes, threads on as many cores, and a billion points that no file holds."""
    n = 2_000_000 if settings.quick else 100_000_000
    for workers in WORKERS[1:] if settings.quick else WORKERS:
        yield {"how": "processes", "n": n, "cores": workers, "limit": LIMIT}
    yield {"how": "threads", "n": n, "cores": 2 if settings.quick else 4, "limit": LIMIT}
    many = 2 if settings.quick else 16
    made = 4_000_000 if settings.quick else 10**9
    yield {"how": "made", "n": made, "cores": many, "limit": LIMIT}


def run(case: Row, settings: Settings) -> Row:
    """One embedding, with files in a temporary folder (TMPDIR)."""
    if case["how"] == "made":
        return _billion(case)
    with tempfile.TemporaryDirectory() as folder:
        points, few = Path(folder, "points.zarr"), Path(folder, "few.zarr")
        with _cluster(min(os.cpu_count() or 1, 16)):
            _write(points, case["n"])
            _write(few, min(case["n"], 250_000))
        measured = _processes if case["how"] == "processes" else _threads
        return measured(case, points, few, Path(folder, "embedding.zarr"))


@contextmanager
def _cluster(workers: int) -> Iterator[Any]:
    """Workers of one thread each, and a client of one thread, so that its time can be told."""
    from distributed import Client, LocalCluster

    # Zarr would start threads of its own in every worker.
    alone = {"ZARR_THREADING__MAX_WORKERS": "1", "ZARR_ASYNC__CONCURRENCY": "1"}
    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=":0", env=alone
        ) as cluster,
        Client(cluster) as client,
        threadpool_limits(1),
    ):
        yield client


def _made(first: int, rows: int) -> np.ndarray:
    return tp.datasets.make_swiss_roll(rows, dtype=np.float32, random_state=first)[0]


def made_points(n: int, rows: int) -> Any:
    """Dask array of a Swiss roll that is made chunk by chunk, where it is needed."""
    import dask
    import dask.array as da

    made, meta = dask.delayed(_made), np.empty((0, 3), dtype=np.float32)
    starts = range(0, n, rows)
    sizes = [min(rows, n - start) for start in starts]
    blocks = [
        da.from_delayed(made(start, count), (count, 3), meta=meta)
        for start, count in zip(starts, sizes, strict=True)
    ]
    return da.concatenate(blocks)


def _write(path: Path, n: int) -> None:
    import dask.array as da
    import zarr

    rows = min(CHUNK, n)
    stored = zarr.create_array(str(path), shape=(n, 3), chunks=(rows, 3), dtype=np.float32)
    da.store(made_points(n, rows), stored, lock=False)


def estimator(k: int = K, n_jobs: int = 1) -> tp.LaplacianEigenmaps:
    """The pipeline that is measured."""
    return tp.LaplacianEigenmaps(landmarks=k, random_state=0, n_jobs=n_jobs)


def _processes(case: Row, points: Path, few: Path, out: Path) -> Row:
    import dask.array as da

    with _cluster(case["cores"]) as client:
        X, some = da.from_zarr(str(points)), da.from_zarr(str(few))
        estimator(200).fit(some).transform(some, out=out.with_name("few_embedded.zarr"))
        emb = estimator()
        base = max(client.run(memory_field, "VmRSS").values())
        row = _timed(emb, lambda: emb.fit(X), lambda: emb.transform(X, out=out))
        peak = max(client.run(memory_field, "VmHWM").values())
        row |= {"traffic": emb.traffic_, "worker_base": base, "worker_peak": peak}
        row |= _overheads(client)
    return row


def _threads(case: Row, points: Path, few: Path, out: Path) -> Row:
    emb = estimator(200, case["cores"])
    emb.fit(few).transform(few, out=out.with_name("few_embedded.zarr"))
    emb = estimator(n_jobs=case["cores"])
    return _timed(emb, lambda: emb.fit(points), lambda: emb.transform(points, out=out))


def _timed(emb: tp.LaplacianEigenmaps, fit: Any, transform: Any) -> Row:
    """Seconds of both, of the stages and of this process, and its memory."""
    seconds = {}

    def both() -> None:
        used, start = time.process_time(), time.perf_counter()
        fit()
        seconds["fit"] = time.perf_counter() - start
        transform()
        seconds["transform"] = time.perf_counter() - start - seconds["fit"]
        seconds["here"] = time.process_time() - used

    _, cost = measure(both)
    rows = np.asarray(emb.landmark_indices_)
    # The same sum means the same landmarks in the same order, up to chance.
    check = int((rows * np.arange(1, len(rows) + 1) % 1_000_003).sum())
    return {**cost, **seconds, "stages": emb.stage_seconds_, "landmarks": check}


def _overheads(client: Any) -> Row:
    """Seconds of a round of one task for each worker, and of a task when there are many."""
    workers = len(client.nthreads())
    few, many, repeats = list(range(workers)), list(range(2000)), 20
    start = time.perf_counter()
    for _ in range(repeats):
        client.gather(client.map(_nothing, few, pure=False))
    per_round = (time.perf_counter() - start) / repeats
    start = time.perf_counter()
    client.gather(client.map(_nothing, many, pure=False))
    return {"per_round": per_round, "per_task": (time.perf_counter() - start) / len(many)}


def _nothing(number: int) -> int:
    return number


def _billion(case: Row) -> Row:
    """Points made where they are needed, and coordinates reduced to a picture of their density."""
    import dask

    X = made_points(case["n"], min(MADE_AT_ONCE, case["n"] // (4 * case["cores"])))
    picture: dict[str, np.ndarray] = {}
    with _cluster(case["cores"]) as client, tempfile.TemporaryDirectory() as folder:
        some = made_points(250_000, 125_000)
        estimator(200).fit_transform(some).sum().compute()
        emb = estimator()

        def reduce() -> None:
            low = emb.landmark_embedding_.min(axis=0)
            high = emb.landmark_embedding_.max(axis=0)
            blocks = emb.transform(X).to_delayed().ravel()
            parts = [dask.delayed(_density)(block, low, high) for block in blocks]
            while len(parts) > 1:
                parts = [dask.delayed(sum)(parts[i : i + 16]) for i in range(0, len(parts), 16)]
            picture["density"] = parts[0].compute()
            np.save(Path(folder, "density.npy"), picture["density"])

        row = _timed(emb, lambda: emb.fit(X), reduce)
        peaks = client.run(memory_field, "VmHWM").values()
    inside = int(picture["density"].sum())
    return row | {
        "traffic": emb.traffic_,
        "worker_peak": max(peaks),
        "workers_peak": sum(peaks),
        "inside": inside,
    }


def _density(block: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    edges = [np.linspace(a, b, PICTURE + 1) for a, b in zip(low, high, strict=True)]
    return np.histogram2d(*block.T, bins=edges)[0]


# Larger runs --------------------------------------------------------------------------------------


def predicted(n: int, workers: int, measured: Row) -> dict[str, float]:
    """Seconds of each part of a run, from a measured one with few workers.

    What is computed at the points grows with points per worker; a round costs a fixed time and a
    task for each worker; bytes go to and from one client; and every chunk is a task of the
    scheduler.
    """
    share = n / measured["n"] * measured["cores"] / workers
    rounds = sum(counts["rounds"] for counts in measured["traffic"].values())
    at_points = max(_waited(measured) - rounds * measured["per_round"], 0.0)
    tasks = 2 * n / ROWS_PER_TASK
    return {
        "reading, index and landmarks, at the points": share * at_points,
        "rounds": rounds
        * (measured["per_round"] + (workers - measured["cores"]) * measured["per_task"]),
        "bytes": network(n, workers, measured) / BYTES_PER_SECOND,
        "client: decisions, graph and spectrum": _decided(measured),
        "coordinates, at the points": share * measured["transform"],
        "scheduler: a task for each chunk": tasks * measured["per_task"],
    }


def _waited(row: Row) -> float:
    """Seconds of a fit that the client waited for workers, which read and answer questions."""
    questions = dict(row["traffic"])
    questions.pop("describe")  # asked while reading
    return float(row["stages"]["reading"] + sum(each["seconds"] for each in questions.values()))


def _decided(row: Row) -> float:
    """Seconds of a fit that workers waited for the client."""
    return float(sum(row["stages"].values()) - _waited(row))


def memory(n: int, workers: int, measured: Row) -> float:
    """Bytes of a worker: those before it has any points, and those for its points."""
    share = n / measured["n"] * measured["cores"] / workers
    base: float = measured["worker_base"]
    return base + share * (measured["worker_peak"] - base)


def network(n: int, workers: int, measured: Row) -> float:
    """Bytes to and from the client: edges are chosen so that counts grow with the square root."""
    growth = np.sqrt(n / measured["n"] * workers / measured["cores"])
    total = 0.0
    for question, counts in measured["traffic"].items():
        moved = counts["bytes_sent"] + counts["bytes_received"]
        every = workers / measured["cores"]
        total += moved * (growth if question in ("counts", "listed") else every)
    return float(total)


def show(rows: Sequence[Row], settings: Settings, page: Page) -> None:
    """Seconds, targets, and larger runs computed from them."""
    for row in rows:
        if reason := row.get("error"):
            page.text(f"{row['how']}, {row['cores']} cores, n = {row['n']:,}: failed, {reason}.")
    good = [row for row in rows if "error" not in row]
    files = [row for row in good if row["how"] != "made"]
    if files:
        _show_files(files, page)
    processes = [row for row in files if row["how"] == "processes"]
    if processes:
        most = max(processes, key=lambda row: row["cores"])
        made = [row for row in good if row["how"] == "made"]
        _show_traffic(most, page)
        _show_larger(most, made, page)


def _show_files(rows: Sequence[Row], page: Page) -> None:
    page.text(
        f"""A Swiss roll of {rows[0]["n"]:,} x 3 in float32, from a Zarr folder in chunks of
        {CHUNK:,} rows to another: `LaplacianEigenmaps(landmarks={K})` with `fit` and
        `transform(out=...)`, in processes of one thread each (`LocalCluster`), or in as many
        threads of one process. Client and scheduler are one process of one thread here. Their share
        is the time in which workers wait for the client, and for a task each from the scheduler."""
    )
    lines = []
    for row in rows:
        stages = [number(row["stages"].get(name, 0)) for name in ("reading", "landmarks")]
        rest = sum(row["stages"].values()) - sum(cell.value for cell in stages)
        peak = size(row["worker_peak"]) if "worker_peak" in row else size(row["peak"])
        cells = [number(row["seconds"]), *stages, number(rest), number(row["transform"]), peak]
        one = {"processes": "process", "threads": "thread"}
        how = one[row["how"]] if row["cores"] == 1 else row["how"]
        lines.append([f"{row['cores']} {how}", *cells])
    heads = ["cores", "seconds", "reading", "landmarks", "graph and spectrum", "coordinates"]
    page.table([*heads, "memory of a process"], lines)
    by = {(row["how"], row["cores"]): row for row in rows}
    targets = []
    if ("processes", 4) in by and ("processes", 1) in by:
        ratio = by["processes", 1]["seconds"] / by["processes", 4]["seconds"]
        what = "four processes, times as fast as one"
        targets.append(target(what, number(ratio), SPEED_UP, at_least=True))
    for cores in (4, 2, 1):
        if {("processes", cores), ("threads", cores)} <= by.keys():
            ratio = by["processes", cores]["seconds"] / by["threads", cores]["seconds"]
            what = f"{cores} processes, time relative to {cores} threads"
            targets.append(target(what, number(ratio), OVERHEAD))
    for (how, cores), row in by.items():
        if how == "processes":
            tasks = 2 * row["n"] / CHUNK + sum(each["tasks"] for each in row["traffic"].values())
            ratio = (_decided(row) + tasks * row["per_task"]) / row["seconds"]
            share = Cell(percent(ratio).text, ratio)
            what = f"scheduler and client, share of the time with {cores}"
            targets.append(target(what, share, CLIENT_SHARE))
    page.table(TARGET_COLUMNS, targets)
    used = ", ".join(
        f"{number(row['here']).text} s with {cores}"
        for (how, cores), row in by.items()
        if how == "processes"
    )
    page.text(
        f"""Processor time of that process, with all that watches over the workers of a
        `LocalCluster`: {used}."""
    )
    same = len({row["landmarks"] for row in rows}) == 1
    page.text(f"Landmarks of all runs: **{'equal' if same else 'different'}**.")


def _show_traffic(row: Row, page: Page) -> None:
    page.text(
        f"""What traveled during the fit with {row["cores"]} processes (`traffic_`). A round takes
        {1e3 * row["per_round"]:.1f} ms if nothing is computed, and a task
        {1e3 * row["per_task"]:.2f} ms of the scheduler's time if there are many."""
    )
    lines = [
        [
            f"`{question}`",
            f"{counts['rounds']}",
            size(counts["bytes_sent"]),
            size(counts["bytes_received"]),
            number(counts["seconds"]),
        ]
        for question, counts in row["traffic"].items()
    ]
    page.table(["question", "rounds", "sent", "received", "seconds"], lines)


def _show_larger(measured: Row, made: Sequence[Row], page: Page) -> None:
    page.heading("More points and more workers", level=3)
    page.text(
        f"""Computed from the run with {measured["cores"]} processes: work at the points is shared,
        a round costs one task for each worker, bytes go through one client at
        {BYTES_PER_SECOND / 1e9:g} GB/s, and chunks have {ROWS_PER_TASK:,} rows. Memory is that
        of points, index and a chunk, in proportion to the points of a worker."""
    )
    lines = []
    for n in POINTS:
        for workers in MANY_WORKERS:
            parts = predicted(n, workers, measured)
            largest = max(parts, key=lambda part: parts[part])
            moved = network(n, workers, measured)
            name = f"10^{len(str(n)) - 1}"
            cells = [
                number(sum(parts.values())),
                size(memory(n, workers, measured)),
                size(moved),
                largest,
            ]
            lines.append([name, f"{workers:,}", *cells])
    heads = ["points", "workers", "seconds", "memory of a worker", "through the client"]
    page.table([*heads, "largest part"], lines)
    for row in made:
        expected = sum(predicted(row["n"], row["cores"], measured).values())
        page.text(
            f"""Checked with {row["n"]:,} points on {row["cores"]} processes of one machine, made
            chunk by chunk and reduced to a picture of {PICTURE} x {PICTURE} cells, which holds
            {row["inside"]:,} of them: **{number(row["seconds"]).text} s, predicted
            {number(expected).text} s**; memory of a worker {size(row["worker_peak"]).text},
            predicted {size(memory(row["n"], row["cores"], measured)).text}. The prediction is for
            workers with cores and memory of their own; here all of them share one machine's."""
        )


EXPERIMENT = Experiment("dask", "Dask", cases, run, show)
