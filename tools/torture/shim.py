"""The shim below all libraries: how it is built, loaded and told what to do."""

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).with_name("shim.c")

# As in the source.
COUNT, KILL, FAIL, FULL, RECORD = 1, 2, 3, 4, 5
CHANGES, READS = 0, 2


def can_build() -> bool:
    """Whether there is a compiler, and a system that loads what it makes below other libraries."""
    return sys.platform == "linux" and shutil.which("cc") is not None


def restart_below() -> None:
    """Start this program again with the shim loaded, unless it is."""
    if hasattr(ctypes.CDLL(None), "torture_arm"):
        return
    folder = tempfile.mkdtemp(prefix="torture-shim-")
    library = os.path.join(folder, "shim.so")
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, SOURCE], check=True)
    environment = {**os.environ, "LD_PRELOAD": library, "TORTURE_SHIM": folder}
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)


def remove_build() -> None:
    """Remove what `restart_below` has built; it stays loaded."""
    shutil.rmtree(os.environ["TORTURE_SHIM"], ignore_errors=True)


def arm(folder: Path, mode: int, at: int = 0, error: int = 0, kind: int = CHANGES, log: str = ""):
    """From now on, count, hit or record the calls of this process on files in a folder."""
    library = ctypes.CDLL(None)
    library.torture_arm(os.fsencode(folder), mode, ctypes.c_long(at), error, kind, os.fsencode(log))


def calls() -> int:
    """How many there were."""
    library = ctypes.CDLL(None)
    library.torture_calls.restype = ctypes.c_long
    return int(library.torture_calls())


def disarm() -> None:
    """Let everything pass again."""
    ctypes.CDLL(None).torture_disarm()
