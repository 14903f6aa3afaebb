"""Test modules are imported without what only POSIX systems have."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import contextlib
import signal
import sys
import pytest

with contextlib.suppress(ImportError):
    import distributed  # It knows the system that it is on, and imports `resource` elsewhere.

for module in ("fcntl", "resource", "termios"):
    sys.modules[module] = None
for name in ("SIGALRM", "SIGHUP", "SIGKILL", "alarm", "setitimer"):
    if hasattr(signal, name):
        delattr(signal, name)
sys.exit(pytest.main(["--collect-only", "-q", "-p", "no:cacheprovider", *sys.argv[1:]]))
"""


@pytest.mark.slow
def test_test_modules_are_collected_without_posix_modules():
    # Others cannot miss what they do not name.
    named = re.compile(r"\b(fcntl|resource|termios|signal)\b")
    tests = Path(__file__).parent.rglob("test_*.py")
    some = [str(file) for file in tests if named.search(file.read_text())]
    assert len(some) > 3
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *some],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[1],
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
