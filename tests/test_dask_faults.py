"""A worker is killed in each stage of a run on a real cluster of processes.

The run ends with the same bits, in bounded time: what the worker held is computed again elsewhere.
"""

import os
import signal
import time
from contextlib import contextmanager

import numpy as np
import pytest

import trigpoint as tp
from trigpoint._landmarks import drawing
from trigpoint._points.dask import cluster as cluster_module
from trigpoint._points.dask.cluster import ClusterError
from trigpoint._points.dask.shards import Missing
from trigpoint._points.dask.weights import Replayed

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("forked_workers")]

N = 12_000
N_WORKERS = 3
MOST_SECONDS = 120


@pytest.fixture(autouse=True)
def limit():
    """An end to a run that would hang."""

    def stop(*_):
        # Not a TimeoutError, which those who wait for answers expect, and wait on.
        pytest.fail(f"still running after {MOST_SECONDS} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(MOST_SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@contextmanager
def cluster_of(n_workers, *, processes=True):
    """A client of workers with one thread each."""
    with (
        distributed.LocalCluster(
            n_workers=n_workers, threads_per_worker=1, processes=processes, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def client(forked_workers):
    """Worker processes, each of which is started again when it is killed."""
    with cluster_of(N_WORKERS) as client:
        yield client


@pytest.fixture(scope="module")
def points():
    return tp.datasets.make_swiss_roll(N, random_state=0)[0]


def parted(points):
    return da.from_array(points, chunks=(N // 8, 3))


def estimator(**options):
    return tp.LaplacianEigenmaps(landmarks=120, n_neighbors=10, random_state=0, **options)


@pytest.fixture(scope="module")
def expected(points, client):
    """Landmarks and coordinates when nobody is killed, and the model that has them."""
    there = estimator()
    coordinates = there.fit_transform(parted(points)).compute()
    np.testing.assert_array_equal(
        there.landmark_indices_, estimator().fit(points).landmark_indices_
    )
    return there.landmark_indices_, coordinates, there


def processes(client):
    """Processes of all workers, some of which may have to be started again first."""
    pids = []
    while len(pids) < N_WORKERS:
        # The cluster does not replace every one that was killed.
        client.cluster.scale(N_WORKERS)
        time.sleep(0.05)
        found = client.run(os.getpid, on_error="return").values()
        pids = [pid for pid in found if isinstance(pid, int)]
    return pids


class Killer:
    """Kills one worker when a stage has come this far."""

    def __init__(self, client, stage, done):
        self.pids = processes(client)
        self.when = stage, done
        self.victim = None

    def __call__(self, stage, done, total):
        if self.victim is None and stage == self.when[0] and done >= self.when[1]:
            self.victim = self.pids[0]
            os.kill(self.victim, signal.SIGKILL)


@pytest.mark.parametrize(
    ("stage", "done"),
    [
        ("reading", 0),
        ("reading", 8),
        ("landmarks", 1),
        # The covariances of all landmarks are measured after the last one is drawn.
        ("landmarks", 120),
        ("graph", 0),
    ],
)
def test_a_worker_is_lost_during_fit(stage, done, points, client, expected):
    killer = Killer(client, stage, done)
    there = estimator(callback=killer).fit(parted(points))
    assert killer.victim is not None
    np.testing.assert_array_equal(there.landmark_indices_, expected[0])
    np.testing.assert_array_equal(there.transform(parted(points)).compute(), expected[1])


def slowly(block, folder):
    """Take a while at first, so that a worker is at work when it is killed."""
    begun = folder / f"{os.getpid()}"
    if not begun.exists():
        begun.touch()
        time.sleep(0.3)
    return block


@pytest.mark.parametrize("out", [None, "Y.zarr", "Y.npy"])
def test_a_worker_is_lost_while_points_are_placed(out, points, client, expected, tmp_path):
    processes(client)
    there = expected[2]
    begun = tmp_path / "begun"
    begun.mkdir()
    late = parted(points).map_blocks(slowly, folder=begun, meta=points[:0])
    if out is None:
        future = client.compute(there.transform(late))
        kill_one(begun)
        found = future.result()
    else:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(1) as pool, client.as_current():
            path = pool.submit(write, client, there, late, tmp_path / out)
            kill_one(begun)
            found = np.asarray(tp.read_points(path.result()))
        assert sorted(file.name for file in tmp_path.iterdir()) == sorted([out, "begun"])
    np.testing.assert_array_equal(found, expected[1])


def write(client, there, points, path):
    with client.as_current():
        return there.transform(points, out=path)


def kill_one(begun):
    while not list(begun.iterdir()):
        time.sleep(0.01)
    os.kill(int(next(begun.iterdir()).name), signal.SIGKILL)


def holder(client):
    """The process of a worker that holds a part of the points, and so their weights."""
    pids = client.run(os.getpid, on_error="return")
    return next(
        pids[address]
        for address, keys in client.has_what().items()
        if isinstance(pids.get(address), int) and any(str(key).startswith("Shard") for key in keys)
    )


def test_weights_are_rebuilt_from_the_landmarks(points, client, monkeypatch):
    """Killed again and again while proposals come from the weights of all points."""
    monkeypatch.setattr(drawing, "_PATIENCE", 200)
    options = {"n_neighbors": N // 3, "bandwidth": 10.0, "random_state": 0}
    here = tp.EfficientDPP(40, **options).fit(points)
    processes(client)
    moments, killed, rebuilt = [10, 20, 30], [], []
    ask = Replayed._ask

    def counted(weights, question, arguments, first):
        answers = ask(weights, question, arguments, first)
        rebuilt.extend(answer for answer in answers.values() if isinstance(answer, Missing))
        return answers

    monkeypatch.setattr(Replayed, "_ask", counted)

    def callback(stage, done, total):
        if stage == "landmarks" and moments and done >= moments[0]:
            moments.pop(0)
            killed.append(holder(client))
            os.kill(killed[-1], signal.SIGKILL)

    there = tp.EfficientDPP(40, callback=callback, **options).fit(parted(points))
    assert len(killed) == 3
    assert rebuilt, "nobody had lost weights"
    np.testing.assert_array_equal(there.indices_, here.indices_)


def test_a_worker_that_joins_late_is_used(points, expected):
    with cluster_of(1, processes=False) as client:
        there = estimator().fit(parted(points))
        client.cluster.scale(2)
        client.wait_for_workers(2)
        blocks = there.transform(parted(points)).persist()
        distributed.wait(blocks)
        holders = {worker for workers in client.who_has(blocks).values() for worker in workers}
        np.testing.assert_array_equal(blocks.compute(), expected[1])
    assert len(holders) == 2


@pytest.fixture
def lonely():
    """A client whose only worker is a thread of this process."""
    with cluster_of(1, processes=False) as client:
        yield client


def test_a_cluster_without_workers_is_not_waited_for(points, lonely, monkeypatch):
    monkeypatch.setattr(cluster_module, "_LOOK_AFTER", 0.1)
    monkeypatch.setattr(cluster_module, "_NO_WORKERS_FOR", 0.3)

    def leave(stage, done, total):
        if stage == "landmarks":
            lonely.cluster.scale(0)

    with pytest.raises(ClusterError, match="no workers for 0 seconds: start some"):
        estimator(callback=leave).fit(parted(points))


def test_results_that_are_lost_when_done_are_not_waited_for(lonely, monkeypatch):
    futures, gather = lonely.map(abs, [-1, -2]), lonely.gather
    assert cluster_module.gathered(lonely, futures) == [1, 2]
    monkeypatch.setattr(cluster_module, "_LOOK_AFTER", 0.1)
    monkeypatch.setattr(cluster_module, "_NO_WORKERS_FOR", 0.3)

    def leave(*arguments, **options):
        lonely.cluster.scale(0)
        while lonely.nthreads():
            time.sleep(0.01)
        return gather(*arguments, **options)

    monkeypatch.setattr(lonely, "gather", leave)
    with pytest.raises(ClusterError, match="no workers for 0 seconds: start some"):
        cluster_module.gathered(lonely, futures)


def test_work_that_is_dropped_is_not_waited_for(lonely):
    futures = lonely.map(abs, [-1, -2], workers=["127.0.0.1:1"])
    lonely.cancel(futures)
    with pytest.raises(ClusterError, match="dropped the work"):
        cluster_module.gathered(lonely, futures)


def test_workers_that_do_nothing_are_not_waited_for(lonely, monkeypatch):
    """As when Dask has lost track of a task, or all workers pause."""
    monkeypatch.setattr(cluster_module, "_LOOK_AFTER", 0.1)
    monkeypatch.setattr(cluster_module, "_NO_WORKERS_FOR", 0.3)
    nowhere = lonely.map(abs, [-1, -2], workers=["127.0.0.1:1"])
    with pytest.raises(ClusterError, match=r"done nothing for 0 seconds.*restart"):
        cluster_module.gathered(lonely, nowhere)
    with pytest.raises(ClusterError, match="done nothing for 0 seconds"):
        list(cluster_module.waited_for(lonely, nowhere))
    # One that is at work is waited for.
    assert cluster_module.gathered(lonely, [lonely.submit(time.sleep, 0.8)]) == [None]


def test_a_cluster_that_has_no_workers_at_first(points, monkeypatch):
    monkeypatch.setattr(cluster_module, "_NO_WORKERS_FOR", 0.3)
    with (
        cluster_of(0, processes=False),
        pytest.raises(ClusterError, match="no workers for 0 seconds: start some"),
    ):
        estimator().fit(parted(points))
