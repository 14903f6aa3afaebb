"""``trigpoint embed --dask``: the same landmarks and coordinates as without."""

import numpy as np
import pytest
from terminal import run

import trigpoint as tp
from trigpoint._command.cli import main

pytest.importorskip("distributed")
zarr = pytest.importorskip("zarr")

ARGUMENTS = "-k", "100", "--method", "laplacian", "--neighbors", "10", "--quiet"


@pytest.fixture(scope="module")
def cluster():
    """A scheduler with an address, and workers in this process."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, protocol="tcp", dashboard_address=":0"
    ) as cluster:
        yield cluster


@pytest.fixture
def files(folder):
    """The points in several formats."""
    X = np.load("roll.npy")
    zarr.create_array("roll.zarr", data=X, chunks=(300, 3))
    pq, pa = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    table = pa.table({"east": X[:, 0], "name": ["a"] * len(X), "north": X[:, 1], "up": X[:, 2]})
    pq.write_table(table, "roll.parquet", row_group_size=700)
    return folder


@pytest.mark.parametrize(
    ("source", "out", "columns"),
    [
        ("roll.zarr", "Y.zarr", ()),
        ("roll.npy", "Y.npy", ("--columns", "2,0")),
        ("roll.parquet", "Y.parquet", ("--columns", "up,east")),
    ],
)
def test_the_same_with_and_without_a_cluster(source, out, columns, files, cluster, caplog):
    assert run("embed", source, "-o", "here.npy", "--save", "a.trig", *columns, *ARGUMENTS) == 0
    dask = "--dask", cluster.scheduler_address
    assert run("embed", source, "-o", out, "--save", "b.trig", *columns, *dask, *ARGUMENTS) == 0
    assert not [record for record in caplog.records if record.name.startswith("distributed")]
    here, there = tp.load("a.trig"), tp.load("b.trig")
    np.testing.assert_array_equal(there.landmark_indices_, here.landmark_indices_)
    np.testing.assert_allclose(np.asarray(tp.read_points(out)), np.load("here.npy"), atol=1e-5)


@pytest.mark.slow
def test_processes_are_started_here(files, capsys, forked_workers):
    assert run("embed", "roll.zarr", "-o", "Y.zarr", "--dask", "local:2", *ARGUMENTS) == 0
    assert run("embed", "roll.npy", "-o", "here.npy", *ARGUMENTS) == 0
    np.testing.assert_allclose(np.asarray(tp.read_points("Y.zarr")), np.load("here.npy"), atol=1e-5)
    assert capsys.readouterr().err == ""


def test_what_cannot_work_is_refused(files, cluster, capsys, monkeypatch):
    from trigpoint._command import cluster as module

    with monkeypatch.context() as patched:
        patched.setattr(module, "_SECONDS", 0.2)
        assert run("embed", "roll.npy", "-o", "Y.npy", "--dask", "127.0.0.1:9", *ARGUMENTS) == 1
        assert "there is no Dask scheduler at 127.0.0.1:9: start one" in capsys.readouterr().err
        at_9 = "--dask", "127.0.0.1:9"
        assert main(["embed", "roll.npy", "-o", "Y.npy", *at_9, "--method", "laplacian"]) == 1
        said = capsys.readouterr().err
    assert said.startswith("trigpoint: connecting to 127.0.0.1:9, up to 0.2 s\n")
    columns = "--columns", "east,north,up"
    dask = "--dask", cluster.scheduler_address
    assert run("embed", "roll.csv", "-o", "Y.npy", *columns, *dask, *ARGUMENTS) == 1
    assert "roll.csv cannot be read in parts" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        run("embed", "roll.npy", "-o", "Y.npy", "--dask", "local:none")
