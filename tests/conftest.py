"""Fixtures for all tests."""

import gc
import importlib
import os
from multiprocessing import forkserver, get_context
from pathlib import Path

import numpy as np
import pytest

from trigpoint.datasets import make_fish_bowl, make_swiss_roll

# They hold no doctests, and as modules of one name could not be looked through in any order.
collect_ignore_glob = ["*conftest.py"]

# Dask would look at what its workers do every hundredth of a second, and at their memory and loops
# every few.
os.environ.setdefault("DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED", "False")
os.environ.setdefault("DASK_DISTRIBUTED__WORKER__MEMORY__MONITOR_INTERVAL", "10s")
os.environ.setdefault("DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL", "10s")
# A loop that ticks so seldom would be called unresponsive.
os.environ.setdefault("DASK_DISTRIBUTED__ADMIN__TICK__LIMIT", "60s")
os.environ.setdefault("DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__INTERVAL", "10s")


def pytest_collection_modifyitems(items):
    """Slow tests come after others that compile the loops, and before the end is near."""
    slow = [item for item in items if item.get_closest_marker("slow")]
    others = [item for item in items if not item.get_closest_marker("slow")]
    some = len(others) // 4
    items[:] = others[:some] + slow + others[some:]


def pytest_collection():
    """Modules and tests stay: they are not looked through for garbage again and again."""
    gc.disable()


def pytest_collection_finish():
    """What collecting them left is taken away once."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def no_waiting_for_the_disk():
    """Power is lost in tests of `tools.torture` only, whose processes do wait."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture
def data_dir() -> Path:
    """Folder of the real data, or a skip that says why."""
    beside = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("TRIGPOINT_DATA", beside))
    if not folder.is_dir():
        pytest.skip(f"no real data in {folder}: set TRIGPOINT_DATA")
    return folder


@pytest.fixture
def rng() -> np.random.Generator:
    """A generator with a fixed seed."""
    return np.random.default_rng(20150915)


@pytest.fixture(scope="session")
def roll() -> tuple[np.ndarray, np.ndarray]:
    """A Swiss roll of 3,000 points and its intrinsic coordinates."""
    return make_swiss_roll(3000, random_state=0)


@pytest.fixture(scope="session")
def bowl() -> tuple[np.ndarray, np.ndarray]:
    """A fish bowl of 2,000 points and its planar coordinates."""
    return make_fish_bowl(2000, random_state=0)


@pytest.fixture(scope="session")
def forked_workers():
    """Fork the processes of a Dask cluster from one that has imported all they need."""
    import dask

    # Dask has a list of its own, which is too late for a server that is running.
    needed = ["distributed", "dask.array", "numba", "trigpoint._public"]
    get_context("forkserver").set_forkserver_preload(needed)
    forkserver.ensure_running()
    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        yield


@pytest.fixture
def gpu(monkeypatch):
    """PyTorch, whose "cpu" takes the place of a GPU: whatever asks for one computes there."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    from trigpoint._points.torch import device

    real = device.resolve_device

    def resolve(asked, X=None):
        return torch.device("cpu") if asked == "cuda" else real(asked, X)

    using = [
        "_points.inputs",
        "_points.torch.dlpack",
        "_points.dask.shards",
        "_estimators.partitioned",
    ]
    for name in (f"trigpoint.{module}" for module in using):
        monkeypatch.setattr(importlib.import_module(name), "resolve_device", resolve)
    return torch
