"""Progress: bars on a terminal, plain lines elsewhere, and neither too often."""

import io
import os
import pickle
import re
import time
from types import SimpleNamespace

import pytest
from sklearn.base import clone

from trigpoint._common import progress
from trigpoint._common.progress import ProgressBars, ProgressLines, ProgressMixin, progress_display
from trigpoint._numerics.blocks import reporter


class Terminal(io.StringIO):
    """A stream that claims to be a terminal but has no file descriptor."""

    encoding = "utf-8"

    def isatty(self):
        """Return True, as a terminal does."""
        return True

    def drawn(self):
        """Return the lines that were drawn over each other."""
        return [line.rstrip("\n") for line in self.getvalue().split("\r")[1:]]

    def kept(self):
        """Return the lines that remain visible."""
        return [line.rpartition("\r")[2] for line in self.getvalue().split("\n")[:-1]]


@pytest.fixture(autouse=True)
def width(monkeypatch):
    """Set the width of a terminal that does not report it."""
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("LINES", "24")


@pytest.fixture
def terminal():
    return Terminal()


@pytest.fixture
def clock(monkeypatch):
    """Replace the clock; time passes only when the test says so."""
    clock = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(progress, "monotonic", lambda: clock.now)
    return clock


def test_a_bar_tells_the_stage_the_share_and_the_counts(terminal):
    display = progress_display(terminal)
    assert isinstance(display, ProgressBars)
    display("landmarks", 0, 2500)
    time.sleep(0.15)
    display("landmarks", 625, 2500)
    first, last = terminal.drawn()[0], terminal.drawn()[-1]
    assert first.startswith("landmarks:   0%|")
    assert last.startswith("landmarks:  25%|")
    assert "| 625 of 2,500 [00:00<00:0" in last
    assert "\n" not in terminal.getvalue()
    display("landmarks", 2500, 2500)
    assert terminal.getvalue().count("\n") == 1
    # The finished bar shows no remaining time.
    assert re.fullmatch(r"landmarks: 100%\|.+\| 2,500 of 2,500 \[00:0\d\] *", terminal.kept()[0])


@pytest.mark.parametrize("columns", [120, 80, 30, 0])
def test_a_bar_fits_the_terminal_that_is_written_to(columns):
    fcntl, termios = pytest.importorskip("fcntl"), pytest.importorskip("termios")
    import struct

    controller, terminal = os.openpty()
    try:
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        with os.fdopen(terminal, "w", encoding="utf-8") as stream:
            display = progress_display(stream)
            display("points", 1_234_567, 10_000_000)
            written = os.read(controller, 4096).decode()
            display.close()
    finally:
        os.close(controller)
    # Some terminals do not report their width.
    assert 0 < len(written.removeprefix("\r")) <= (columns or 80)


def test_a_stage_that_ends_early_leaves_a_whole_line(terminal):
    """Any later output, of a stage or an error message, begins on a new line."""
    display = progress_display(terminal)
    display("landmarks", 3, 10)
    display("points", 0, 10)
    display.close()
    display.close()
    landmarks, points = terminal.kept()
    assert landmarks.startswith("landmarks:  30%|")
    assert points.startswith("points:   0%|")
    assert terminal.getvalue().endswith("\n")


def test_notebooks_get_bars(monkeypatch):
    IPython = pytest.importorskip("IPython")
    monkeypatch.setattr(IPython, "get_ipython", lambda: SimpleNamespace(kernel=None))
    assert isinstance(progress_display(io.StringIO()), ProgressBars)
    monkeypatch.setattr(IPython, "get_ipython", lambda: None)
    assert isinstance(progress_display(io.StringIO()), ProgressLines)


@pytest.mark.parametrize(
    ("seconds", "lines"),
    [
        (0.2, ["table1: 25 of 25 (100%), 5 s"]),
        (
            1,
            [
                "table1: 10 of 25 (40%), 10 s, 15 s left",
                "table1: 20 of 25 (80%), 20 s, 5 s left",
                "table1: 25 of 25 (100%), 25 s",
            ],
        ),
    ],
)
def test_without_a_terminal_lines_appear_every_ten_seconds_and_at_the_end(clock, seconds, lines):
    stream = io.StringIO()
    display = progress_display(stream)
    assert isinstance(display, ProgressLines)
    for done in range(26):
        display("table1", done, 25)
        clock.now += seconds
    assert stream.getvalue().splitlines() == lines
    display.close()
    assert stream.getvalue().splitlines() == lines


def test_empty_and_single_step_stages(clock, terminal):
    stream = io.StringIO()
    progress_display(stream)("points", 0, 0)
    assert stream.getvalue() == "points: 0 of 0 (100%), 0 s\n"
    display = progress_display(terminal)
    display("points", 0, 0)
    display("graph", 0, 1)
    display("graph", 1, 1)
    assert [line.rstrip() for line in terminal.kept()][1:] == ["graph: 00:00"]


def test_no_progress_by_default(capsys):
    calls = []
    reporter(False)("points", 1, 1)
    reporter(lambda *call: calls.append(call))("points", 1, 1)
    assert calls == [("points", 1, 1)]
    assert capsys.readouterr() == ("", "")
    reporter(True)("points", 1, 1)
    assert capsys.readouterr().err == "points: 0 s\n"
    with pytest.raises(TypeError, match="verbose='yes' is neither True, False nor a function"):
        reporter("yes")


class Listening(ProgressMixin):
    def __init__(self, verbose=False):
        self.verbose = verbose


def test_clones_share_the_listener_and_pickles_are_silent():
    with io.StringIO() as stream:
        # The method of an open file cannot be pickled.
        estimator = Listening(stream.write)
        assert clone(estimator).verbose.__self__ is stream
        assert pickle.loads(pickle.dumps(estimator)).verbose is False
    assert pickle.loads(pickle.dumps(Listening(True))).verbose is True
