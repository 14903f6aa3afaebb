"""Dask collections: rows in one pass, lazy coordinates, all schedulers, lost workers."""

import os
import signal
import threading
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from formats import Model

from trigpoint._common.errors import ParameterError
from trigpoint._sources import open_source
from trigpoint._sources.dask import UnknownChunksWarning

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

N = 4000
CHUNKS = {
    "one": (N,),
    "even": (1000,) * 4,
    "ragged": (1, 1499, 0, 2437, 63),
    "small": (3, *(137,) * 29, 24),
}
ROWS = np.array([0, 1, 999, 1000, 1500, 3999])


@pytest.fixture(scope="module")
def points():
    return np.random.default_rng(0).normal(size=(N, 3))


@pytest.fixture
def columns(points):
    return open_source(points).columns


def parted(X, chunks="even"):
    return da.from_array(X, chunks=(CHUNKS[chunks], X.shape[1]))


@pytest.mark.parametrize("chunks", CHUNKS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, int])
def test_rows_are_those_of_the_array(points, chunks, dtype):
    X = (9 * points).astype(dtype)
    source, expected = open_source(parted(X, chunks)), open_source(X)
    assert source.columns == expected.columns
    assert source.shape == X.shape
    for rows in (None, ROWS):
        np.testing.assert_array_equal(source.take(rows), expected.take(rows), strict=True)
    blocks = list(source.blocks())
    np.testing.assert_array_equal(np.concatenate([b for _, b in blocks]), expected.take(None))
    assert [first for first, _ in blocks] == [
        first
        for first, n in zip(np.cumsum((0, *CHUNKS[chunks])), CHUNKS[chunks], strict=False)
        if n
    ]


def test_chosen_columns_and_columns_in_several_chunks(points):
    X = da.from_array(points, chunks=(1000, 2))
    np.testing.assert_array_equal(open_source(X).take(ROWS), points[ROWS])
    np.testing.assert_array_equal(
        open_source(X, columns=[2, 0]).take(ROWS), points[ROWS][:, [2, 0]]
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_frames(points, dtype):
    frame = pd.DataFrame(points.astype(dtype), columns=list("xyz"))
    source = open_source(dd.from_pandas(frame, npartitions=4))
    assert source.columns == open_source(frame).columns
    with pytest.warns(UnknownChunksWarning):
        np.testing.assert_array_equal(source.take(ROWS), frame.to_numpy()[ROWS], strict=True)
    source = open_source(dd.from_pandas(frame, npartitions=4), columns=["z", "x"])
    assert source.columns.names == ("z", "x")
    with pytest.warns(UnknownChunksWarning):
        np.testing.assert_array_equal(source.take(None), frame[["z", "x"]].to_numpy(), strict=True)
    frame["y"] = frame["y"].astype("Float64").mask(frame.index == 1500)
    with (
        pytest.warns(UnknownChunksWarning),
        pytest.raises(ValueError, match="X contains NaN in row 1500, column 'y'"),
    ):
        open_source(dd.from_pandas(frame, npartitions=4)).take(None)


class CountedReads:
    """Partitions that count how often they are read."""

    def __init__(self, X, chunks="even"):
        self.reads, self.X = [], X
        bounds = np.cumsum((0, *CHUNKS[chunks]))
        parts = [
            da.from_delayed(
                dask.delayed(self.read, pure=False)(start, stop), (stop - start, 3), meta=X[:0]
            )
            for start, stop in pairwise(bounds)
        ]
        self.array = da.concatenate(parts)

    def read(self, start, stop):
        self.reads.append(int(start))
        return self.X[start:stop]


def test_partitions_without_wanted_rows_are_not_computed(points):
    counted = CountedReads(points)
    source = open_source(counted.array)
    assert source.shape == (N, 3)
    assert counted.reads == []
    source.take(np.array([5, 6, 2500]))
    assert sorted(counted.reads) == [0, 2000]


def test_unknown_chunks_are_counted_in_a_pass_of_its_own(points):
    counted = CountedReads(points)
    X = counted.array[counted.array[:, 0] > 0]
    source = open_source(X)
    assert counted.reads == []
    with pytest.warns(UnknownChunksWarning, match=r"unknown sizes.*X.compute_chunk_sizes") as said:
        n = source.n
    assert said[0].filename == __file__
    assert n == (points[:, 0] > 0).sum()
    assert len(counted.reads) == 4
    # Rows are counted once, with one warning.
    matched = source.matching(source.columns)
    np.testing.assert_array_equal(matched.take(None), points[points[:, 0] > 0])
    assert len(counted.reads) == 8


@pytest.mark.parametrize("scheduler", ["threads", "synchronous", "processes"])
def test_lazy_coordinates_on_every_scheduler(points, columns, scheduler):
    counted = CountedReads(points, "ragged")
    array = parted(points, "ragged") if scheduler == "processes" else counted.array
    lazy, n_far = open_source(array).map(Model(columns, 100))
    assert (lazy.chunks, lazy.dtype, n_far) == ((array.chunks[0], (2,)), np.float64, 0)
    assert counted.reads == []
    with dask.config.set(scheduler=scheduler):
        np.testing.assert_array_equal(lazy.compute(), points[:, :2] ** 2, strict=True)


def test_float32_is_preserved_and_a_model_decides(points, columns):
    small = open_source(points.astype(np.float32)).columns
    for X, fitted in ((points.astype(np.float32), small), (points, small), (points, columns)):
        source = open_source(parted(X)).matching(fitted)
        lazy, _ = source.map(Model(fitted))
        assert lazy.dtype == lazy.compute().dtype == fitted.dtype


@pytest.mark.parametrize("name", ["y.npy", "y.parquet"])
def test_to_a_file(tmp_path, points, columns, name, monkeypatch):
    monkeypatch.setattr("trigpoint._sources.dask._BYTES_TOGETHER", 5000)
    told = []
    path, _ = open_source(parted(points, "small")).map(
        Model(columns), out=tmp_path / name, report=lambda *message: told.append(message)
    )
    np.testing.assert_array_equal(open_source(path).take(None), points[:, :2] ** 2)
    assert told[-1] == ("points", N, N)


def changed(X, change, **options):
    """Return partitions that differ from their metadata."""
    return parted(X).map_blocks(change, dtype=float, meta=np.empty((0, 3)), **options)


def at_row_1500(block, value, block_id):
    block = block.copy()
    if block_id[0] == 1:
        block[500, 2] = value
    return block


def masked(block):
    return np.ma.masked_greater(block, 3)


def shorter(block, block_id):
    return block[: 990 if block_id[0] == 1 else None]


def sparse_block(block):
    from scipy.sparse import csr_array

    return csr_array(block)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda X: changed(X, at_row_1500, value=np.nan), "X contains NaN in row 1500, column 2"),
        (lambda X: changed(X, at_row_1500, value=np.inf), "X contains infinity .* row 1500"),
        (lambda X: changed(X, at_row_1500, value=1e300), "X has values up to 1e.300"),
        (lambda X: changed(X, masked), "partition . of X, .* begins at row .*, has masked values"),
        (
            lambda X: changed(X, shorter),
            r"partition 1 of X, which begins at row 1000, has shape \(990, 3\), but \(1000, 3\)",
        ),
        (lambda X: changed(X, sparse_block), "partition . of X, .*, is a csr_array: convert it"),
    ],
)
def test_partitions_that_are_refused(tmp_path, made, message, points, columns):
    source = open_source(made(points))
    for use in (
        lambda: source.take(None),
        lambda: list(source.blocks()),
        lambda: source.map(Model(columns))[0].compute(),
        lambda: source.map(Model(columns), out=tmp_path / "y.npy"),
    ):
        with pytest.raises(ParameterError, match=message):
            use()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("made", "error", "message"),
    [
        (lambda X: parted(X)[:, 0], ValueError, r"has shape \(4000,\)\. Expected 2D array"),
        (lambda X: parted(X).astype(complex), ValueError, "values of type complex128"),
        (lambda X: parted(X).astype("M8[s]"), ValueError, "values of type datetime64"),
        (lambda X: parted(X).map_blocks(sparse_block), TypeError, "chunks of type csr_array"),
        (lambda X: dask.delayed(X), TypeError, "X is a Dask Delayed.*: pass a Dask array"),
        (
            lambda X: dd.from_pandas(pd.DataFrame({"a": [1.0], "b": ["x"]}), npartitions=1),
            ValueError,
            r"column 'b' of .*leave it out with tp.open_source\(X, columns=\['a'\]\)",
        ),
    ],
)
def test_collections_that_are_refused_at_once(made, error, message, points):
    with pytest.raises(error, match=message):
        open_source(made(points))


@pytest.fixture
def workers():
    """Start two processes that are reachable from this machine only."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


class LargeModel(Model):
    """A model that is too large for a graph."""

    def __init__(self, columns):
        super().__init__(columns)
        self.table = np.arange(2**20, dtype=float)

    def __call__(self, block, first_row=0):
        found, far = super().__call__(block, first_row)
        return found + self.table[-1], far


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="sends SIGKILL")
def test_workers_that_are_lost(workers, points, columns, tmp_path):
    """Workers are lost one after the other during the computation; Dask recomputes their tasks."""
    import time

    def slowly(block):
        time.sleep(0.1)
        return block

    cloudpickle = pytest.importorskip("cloudpickle")
    cloudpickle.register_pickle_by_value(__import__("formats"))
    cloudpickle.register_pickle_by_value(__import__(__name__))
    X = parted(points, "small")
    slow = open_source(X.map_blocks(slowly, dtype=float, meta=np.empty((0, 3))))
    expected = points[:, :2] ** 2

    def killing(pids, compute):
        timers = [
            threading.Timer(0.7 * place, os.kill, (pid, signal.SIGKILL))
            for place, pid in enumerate(pids, start=1)
        ]
        for timer in timers:
            timer.start()
        found = compute()
        for timer in timers:
            timer.join()
        assert not set(pids) & set(workers.run(os.getpid).values())
        return found

    one, _ = workers.run(os.getpid).values()
    path, _ = killing([one], lambda: slow.map(Model(columns), out=tmp_path / "y.npy"))
    np.testing.assert_array_equal(np.load(path), expected)
    np.testing.assert_array_equal(open_source(X).take(ROWS), points[ROWS])
    lazy, _ = slow.map(LargeModel(columns))
    assert len(cloudpickle.dumps(lazy.__dask_graph__())) < 2**20
    # Even if both workers that had the model are lost.
    both = list(workers.run(os.getpid).values())
    np.testing.assert_array_equal(killing(both, lazy.compute), expected + (2.0**20 - 1))
