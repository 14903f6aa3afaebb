"""Fixtures for all tests."""

import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from trigpoint.datasets import make_fish_bowl, make_swiss_roll

# These files hold no doctests, and pytest cannot import several modules of the same name.
collect_ignore_glob = ["*conftest.py"]


@pytest.fixture(scope="session", autouse=True)
def no_waiting_for_the_disk():
    """Skip fsync, since no test needs data to survive a loss of power."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture
def data_dir() -> Path:
    """Return the folder of the real data, or skip the test."""
    beside = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("TRIGPOINT_DATA", beside))
    if not folder.is_dir():
        pytest.skip(f"no real data in {folder}: set TRIGPOINT_DATA")
    return folder


@pytest.fixture
def calls(monkeypatch):
    """Return a function that records the calls of ``owner.name``.

    It returns a list of the arguments of all calls, which run as usual. Keyword arguments, if any,
    are the last entry.
    """

    def recorded(owner, name):
        found, original = [], getattr(owner, name)

        def noted(*arguments, **options):
            found.append((*arguments, options) if options else arguments)
            return original(*arguments, **options)

        monkeypatch.setattr(owner, name, noted)
        return found

    return recorded


@pytest.fixture
def peak_memory():
    """Return a function that calls another one, and returns its result and peak memory in bytes."""

    def peak(function, *arguments, **options):
        tracemalloc.start()
        try:
            return function(*arguments, **options), tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    return peak


@pytest.fixture
def rng() -> np.random.Generator:
    """Return a generator with a fixed seed."""
    return np.random.default_rng(20150915)


@pytest.fixture(scope="session")
def roll() -> tuple[np.ndarray, np.ndarray]:
    """A Swiss roll of 3,000 points and its intrinsic coordinates."""
    return make_swiss_roll(3000, random_state=0)


@pytest.fixture(scope="session")
def bowl() -> tuple[np.ndarray, np.ndarray]:
    """A fish bowl of 2,000 points and its planar coordinates."""
    return make_fish_bowl(2000, random_state=0)
