"""A word before the end: a file that is cut while it is mapped, an output that is full."""

import sys
from pathlib import Path

import numpy as np
import pytest

from copies import COMMAND
from trigpoint._command.common import FAILED

CUT = """
import os, sys
import trigpoint as tp
from trigpoint._command.cli import main

{where}
original = {owner}.{function}

def cut(*arguments, **options):
    os.truncate("big.npy", 4096)
    return original(*arguments, **options)

{owner}.{function} = cut
sys.exit(main(["embed", "big.npy", "-o", "Y.npy", "-k", "50", "--method", "laplacian", "--quiet"]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="files that are mapped cannot be cut there")
@pytest.mark.parametrize(
    ("where", "owner", "function"),
    [
        # Before the tree is built, by machine code in threads.
        ("owner = tp.LaplacianEigenmaps", "owner", "_choose"),
        # While Python adds up, by code that has not let go of it.
        ("import trigpoint._points.inputs as owner", "owner", "check_magnitude"),
    ],
    ids=["loops", "python"],
)
def test_a_file_that_is_cut_during_the_run(folder, copies, where, owner, function):
    np.save("big.npy", np.random.default_rng(0).random((300_000, 3)))
    script = CUT.format(where=where, owner=owner, function=function)
    done = copies.run(script)
    assert done.stderr == (
        "trigpoint: big.npy was cut, or its disk failed, while it was being read: do not change it "
        "during a run\n"
    )
    assert done.returncode == FAILED
    assert not Path("Y.npy").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only some systems have it")
def test_a_full_standard_output(folder, copies):
    done = copies.run(COMMAND, "info", "roll.npy", stdout="/dev/full")
    assert done.returncode == FAILED
    assert done.stderr == "trigpoint: standard output: No space left on device\n"


def test_no_standard_output(folder, copies):
    """As after ``>&-`` in a shell."""
    done = copies.run("import sys; sys.stdout = None; " + COMMAND, "info", "roll.npy", "--json")
    assert done.returncode == FAILED
    assert done.stderr == "trigpoint: standard output: Bad file descriptor\n"
