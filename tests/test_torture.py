"""A short form of `make torture`, and that it notices what is wrong."""

import os
import random
from pathlib import Path

import pytest
from copies import Copies
from tools.torture.power_loss import losses
from tools.torture.shim import can_build

ROOT = Path(__file__).parents[1]

needs_compiler = pytest.mark.skipif(not can_build(), reason="needs Linux and a C compiler")


BELOW = """
from tools.torture import shim
shim.restart_below()
from tools.torture import operations
operations.warm_up([])
"""
TORTURE = """
import sys
from tools.torture.__main__ import main
sys.exit(main())
"""


@pytest.fixture(scope="module")
def below(tmp_path_factory):
    """Start processes from one that has the shim loaded, and the libraries above it."""
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    folder = tmp_path_factory.mktemp("copies")
    with Copies(BELOW, folder, os.environ | {"PYTHONPATH": path}) as copies:
        yield copies


@needs_compiler
@pytest.mark.slow
def test_short_form(below):
    """Kills, errors and losses of power, at some of the calls of some of the formats."""
    options = "--only", "transform zarr", "resumed npy", "--every", "13"
    done = below.run(TORTURE, *options, "--kills", "6", "--states", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    counts = dict(line.split(": ") for line in done.stdout.splitlines()[-6:])
    assert counts.pop("wrong") == "0"
    assert all(int(number.replace(",", "")) > 5 for number in counts.values())
    assert len(counts) == 5


@needs_compiler
@pytest.mark.slow
def test_mistakes_are_noticed(below):
    """Bytes or names that are not on the disk in time, and leftovers that stay."""
    before = """
from trigpoint._files import atomic
atomic._sync_folder = atomic._sync = lambda path: None
atomic._locked = lambda folder: None
"""
    options = "--only", "save", "--every", "4", "--kills", "0", "--states", "5"
    done = below.run(before + TORTURE, *options)
    assert done.returncode == 1, done.stdout + done.stderr
    for complaint in ("lost after call", "partial after call", "the next run left"):
        assert complaint in done.stdout


OLD, NEW = {"": b"old"}, {"": b"new"}
# Write a file beside the target, and move it there.
CALLS = [
    b"C\t2\t/out/part\n",
    b"W\t2\t0\t3\nnew",
    b"S\t2\n",
    b"R\t/out/part\t/out/y\n",
    b"S\t1\n",
]


def lost(tmp_path, calls, old=OLD):
    log = tmp_path / "log"
    log.write_bytes(b"".join(calls))
    before = {} if old is None else {"y": old[""]}
    given = log, Path("/out"), 1, before, "y", old, NEW
    n_states, wrong = losses(*given, random.Random(0), 5)
    assert n_states >= 2 * len(calls)
    return wrong


@pytest.mark.parametrize("old", [OLD, None])
def test_power_may_be_lost_at_any_time(tmp_path, old):
    assert lost(tmp_path, CALLS, old) == set()


def test_bytes_that_were_not_synced_are_missed(tmp_path):
    wrong = lost(tmp_path, CALLS[:2] + CALLS[3:])
    assert {text.partition(" ")[0] for text in wrong} == {"partial"}


def test_names_that_were_not_synced_are_missed(tmp_path):
    # The file is new, but so far it may as well be the old one.
    (found,) = lost(tmp_path, CALLS[:4])
    assert found == "partial after call 4 of 4, R"


def test_a_file_that_is_written_in_place_is_noticed(tmp_path):
    calls = [b"O\t2\t/out/y\n", b"T\t2\t0\n", b"W\t2\t0\t3\nnew", b"S\t2\n"]
    assert "partial after call 2 of 4, T" in lost(tmp_path, calls)


def test_a_moment_without_either_is_noticed(tmp_path):
    calls = [*CALLS[:3], b"R\t/out/y\t/out/away\n", *CALLS[3:]]
    assert "lost after call 4 of 6, R" in lost(tmp_path, calls)
