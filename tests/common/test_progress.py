"""Progress: bars on a terminal, plain lines elsewhere, and neither too often."""

import io
import os
import pickle
import re
import time
from types import SimpleNamespace

import pytest
from sklearn.base import clone

from trigpoint._common import display as display_module
from trigpoint._common.display import ProgressBars, ProgressLines, compilation, progress_display
from trigpoint._common.progress import ProgressMixin
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
    monkeypatch.setattr(display_module, "monotonic", lambda: clock.now)
    return clock


def test_a_bar_shows_the_stage_the_counts_and_the_time_left(terminal, clock):
    display = progress_display(terminal)
    assert isinstance(display, ProgressBars)
    display("landmarks", 0, 2500)
    clock.now += 5
    display("landmarks", 625, 2500)
    first, last = terminal.drawn()
    assert first.rstrip() == f"landmarks: {'░' * 20} 0 of 2,500 (0 %), 0 s"
    assert last == f"landmarks: {'█' * 5}{'░' * 15} 625 of 2,500 (25 %), 5 s, 15 s left"
    assert "\n" not in terminal.getvalue()
    display("landmarks", 2500, 2500)
    assert terminal.getvalue().count("\n") == 1
    # No remaining time is left on the screen.
    assert terminal.kept()[0].rstrip() == f"landmarks: {'█' * 20} 2,500 of 2,500 (100 %), 5 s"


def test_messages_go_above_the_bar(terminal):
    display = progress_display(terminal)
    display("landmarks", 1, 10)
    display.write("warning: far points")
    display.close()
    warning, bar = terminal.kept()
    assert warning == "warning: far points"
    assert bar.startswith("landmarks: ██░")


def test_compiling_is_shown_and_not_counted_as_work(terminal, clock):
    display = progress_display(terminal)
    display("layout", 0, 100)
    compilation.begin()
    clock.now += 30
    display.refresh()
    assert terminal.drawn()[-1].rstrip().endswith("compiling inner loops (first run only), 30 s")
    compilation.end()
    clock.now += 2
    display("layout", 10, 100)
    assert terminal.drawn()[-1].rstrip().endswith("10 of 100 (10 %), 32 s, 18 s left")


def test_the_command_is_never_silent_for_long(terminal):
    """Even if a stage reports nothing, and nothing is left of what took no time."""
    display = progress_display(terminal)
    display.keep_fresh()
    display("starting", 0, 1)
    display("reading", 0, 1)
    assert terminal.getvalue() == ""
    time.sleep(1.3)
    assert re.fullmatch(r"reading: [\d.]+ s", terminal.drawn()[-1].rstrip())
    display.stop()
    assert terminal.getvalue().endswith(" \r")
    assert terminal.kept() == []
    after = terminal.getvalue()
    time.sleep(0.7)
    assert terminal.getvalue() == after


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
    assert landmarks.startswith("landmarks: ██████░")
    assert points.startswith("points: ░")
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
        (0.2, ["table1: 25 of 25 (100 %), 5 s"]),
        (
            1,
            [
                "table1: 10 of 25 (40 %), 10 s, 15 s left",
                "table1: 20 of 25 (80 %), 20 s, 5 s left",
                "table1: 25 of 25 (100 %), 25 s",
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


def test_few_steps_give_no_estimate_and_a_single_one_shows_only_its_time(clock, terminal):
    stream = io.StringIO()
    display = progress_display(stream)
    display("points", 0, 0)
    display("methods", 0, 4)
    clock.now += 20
    display("methods", 1, 4)
    display("graph", 0, 1)
    clock.now += 3
    display("graph", 1, 1)
    lines = ["points: 0 of 0 (100 %), 0 s", "methods: 1 of 4 (25 %), 20 s", "graph: 3 s"]
    assert stream.getvalue().splitlines() == lines
    display = progress_display(terminal)
    display("graph", 0, 1)
    display("graph", 1, 1)
    assert terminal.getvalue() == ""


def test_no_progress_by_default(capsys):
    calls = []
    reporter(False)("points", 1, 1)
    reporter(lambda *call: calls.append(call))("points", 1, 1)
    assert calls == [("points", 1, 1)]
    assert capsys.readouterr() == ("", "")
    reporter(True)("points", 2, 2)
    assert capsys.readouterr().err == "points: 2 of 2 (100 %), 0 s\n"
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
