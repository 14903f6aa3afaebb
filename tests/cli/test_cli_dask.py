"""``trigpoint embed --dask``: the same coordinates as without."""

import logging
from types import SimpleNamespace

import numpy as np
import pytest
from terminal import run, said

import trigpoint as tp
from trigpoint._cli import cluster as module
from trigpoint._cli.results import FAILED

distributed = pytest.importorskip("distributed")
zarr = pytest.importorskip("zarr")

ARGUMENTS = "-k", "100", "--method", "laplacian", "--neighbors", "10"


@pytest.fixture(scope="module")
def address():
    """The address of a scheduler whose workers are in this process."""
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=False,
        protocol="tcp",
        dashboard_address="127.0.0.1:0",
    ) as cluster:
        yield cluster.scheduler_address


@pytest.fixture
def formats(folder):
    """The points in several formats."""
    X = np.load("roll.npy")
    zarr.create_array("roll.zarr", data=X, chunks=(300, 3))
    pq, pa = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    table = pa.table({"east": X[:, 0], "name": ["a"] * len(X), "north": X[:, 1], "up": X[:, 2]})
    pq.write_table(table, "roll.parquet", row_group_size=700)


@pytest.mark.usefixtures("formats")
@pytest.mark.parametrize(
    ("source", "columns"),
    [
        ("roll.zarr", ()),
        ("roll.npy", ("--columns", "2,0")),
        ("roll.parquet", ("--columns", "up,east")),
    ],
)
def test_the_same_with_and_without_a_cluster(source, columns, address):
    assert run("embed", source, "-o", "here.npy", *columns, *ARGUMENTS) == 0
    arguments = [*columns, "--dask", address, *ARGUMENTS]
    assert run("embed", source, "-o", "Y.npy", *arguments) == 0
    there = np.load("Y.npy")
    np.testing.assert_allclose(there, np.load("here.npy"), atol=1e-5)


@pytest.mark.slow
@pytest.mark.usefixtures("formats")
def test_a_cluster_on_this_machine_is_closed_to_others():
    psutil = pytest.importorskip("psutil")
    own = psutil.Process()
    options = SimpleNamespace(dask=2, input="roll.zarr", columns=None, quiet=True)
    with module.on_cluster(options, tp.open_source("roll.zarr")):
        sockets = [
            connection.laddr.ip
            for process in [own, *own.children(recursive=True)]
            for connection in process.net_connections("inet")
            if connection.status == psutil.CONN_LISTEN
        ]
    assert len(sockets) >= 3  # The scheduler and two workers.
    assert set(sockets) == {"127.0.0.1"}


def test_what_cannot_work_is_refused(folder, address, capsys, monkeypatch):
    monkeypatch.setattr(module, "_SECONDS", 0.2)
    logging.getLogger("distributed").setLevel(logging.ERROR)
    assert run("embed", "roll.npy", "-o", "Y.npy", "--dask", "127.0.0.1:9", *ARGUMENTS) == FAILED
    assert "no Dask cluster with workers found at 127.0.0.1:9: start one" in said(capsys)
    columns = "--columns", "east,north,up"
    assert run("embed", "roll.csv", *columns, "-o", "Y.npy", "--dask", address, *ARGUMENTS) == 1
    assert "roll.csv cannot be read in parts by several processes" in said(capsys)
