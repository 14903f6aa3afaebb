"""Progress: a bar that fits its terminal, plain lines elsewhere, neither too often."""

import io
import os
import re
from types import SimpleNamespace

import pytest

from trigpoint._common import progress
from trigpoint._common.progress import TerminalReport


class Terminal(io.StringIO):
    """A stream that says it is a terminal, and has no file behind it."""

    encoding = "utf-8"

    def isatty(self):
        """Say so."""
        return True

    def drawn(self):
        """Lines as they were drawn one over the other, without what clears the line before."""
        return [line.rstrip("\n") for line in self.getvalue().split("\r\x1b[K")[1:]]

    def kept(self):
        """Lines that stay to be read."""
        return [line.rpartition("\x1b[K")[2] for line in self.getvalue().split("\n")[:-1]]


@pytest.fixture
def clock(monkeypatch):
    """Seconds that pass when they are told to."""
    clock = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(progress, "monotonic", lambda: clock.now)
    return clock


@pytest.fixture(autouse=True)
def width(monkeypatch):
    """Width of the terminal, which tests may change."""

    def set_width(columns):
        monkeypatch.setenv("COLUMNS", str(columns))

    set_width(100)
    return set_width


def bar_of(line):
    """The bar alone: its length, and how much of it is filled."""
    bar = re.search("[█░]+", line).group()
    return len(bar), bar.count("█")


def test_a_bar_tells_the_stage_the_share_and_the_times(clock):
    terminal = Terminal()
    report = TerminalReport(terminal)
    report("landmarks", 0, 2500)
    clock.now += 30
    report("landmarks", 625, 2500)
    clock.now += 90
    report("landmarks", 2500, 2500)
    first, middle, last = terminal.drawn()
    assert bar_of(first) == (40, 0)
    assert first.endswith("  0% 0 of 2,500, 0.0 s")
    assert bar_of(middle) == (40, 10)
    assert middle.startswith("landmarks ")
    assert middle.endswith(" 25% 625 of 2,500, 30.0 s, 1 min 30 s left")
    assert bar_of(last) == (40, 40)
    assert last.endswith("100% 2,500 of 2,500, 2 min 00 s")
    assert terminal.getvalue().count("\n") == 1
    assert terminal.getvalue().endswith("\n")


def test_a_bar_is_redrawn_at_most_ten_times_a_second(clock):
    terminal = Terminal()
    report = TerminalReport(terminal)
    for done in range(1001):
        report("points", done, 1000)
        clock.now += 0.001
    # One second: the first, one every tenth of it, and the last.
    assert 10 <= len(terminal.drawn()) <= 12
    assert bar_of(terminal.drawn()[-1]) == (40, 40)


def test_what_was_done_before_the_first_report_does_not_count_for_the_speed(clock):
    """Work that goes on where it stopped begins at 90 of 100, not at 90 in no time."""
    terminal = Terminal()
    report = TerminalReport(terminal)
    report("table1", 90, 100)
    clock.now += 10
    report("table1", 92, 100)
    first, second = terminal.drawn()
    assert "left" not in first
    assert second.endswith("92 of 100, 10.0 s, 40.0 s left")


@pytest.mark.parametrize("columns", [200, 80, 60, 40, 30, 20, 10, 5])
def test_a_bar_fits_the_terminal(clock, width, columns):
    width(columns)
    terminal = Terminal()
    report = TerminalReport(terminal)
    report("landmarks", 0, 10_000_000)
    clock.now += 5000
    report("landmarks", 1_234_567, 10_000_000)
    clock.now += 50_000
    report("landmarks", 10_000_000, 10_000_000)
    drawn = terminal.drawn()
    assert len(drawn) == 3
    for line in drawn:
        assert 0 < len(line) < columns
    assert ("12%" in drawn[1]) == (columns >= 20)
    assert ("█" in drawn[1]) == (columns >= 30)
    assert ("1,234,567 of 10,000,000" in drawn[1]) == (columns >= 80)


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo-terminal")
def test_the_width_is_that_of_the_terminal_written_to(clock, width):
    import fcntl
    import struct
    import termios

    width(33)
    controller, terminal = os.openpty()
    try:
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 61, 0, 0))
        with os.fdopen(terminal, "w", encoding="utf-8") as stream:
            TerminalReport(stream)("points", 1, 2)
            written = os.read(controller, 4096).decode()
    finally:
        os.close(controller)
    assert len(written.removeprefix("\r\x1b[K")) == 60


def test_a_terminal_that_cannot_write_blocks_gets_ascii(clock):
    class Plain(Terminal):
        encoding = "latin-1"

    terminal = Plain()
    TerminalReport(terminal)("points", 1, 2)
    assert terminal.drawn()[0].startswith("points " + "#" * 20 + "." * 20)


def test_every_stage_has_its_own_line_and_clock(clock):
    terminal = Terminal()
    report = TerminalReport(terminal)
    for stage in ("landmarks", "points"):
        report(stage, 0, 10)
        clock.now += 7
        report(stage, 10, 10)
    landmarks, points = terminal.kept()
    assert landmarks == f"landmarks {'█' * 40} 100% 10 of 10, 7.0 s"
    assert points == f"points {'█' * 40} 100% 10 of 10, 7.0 s"


def test_the_same_stage_begins_again_once_it_is_finished(clock):
    terminal = Terminal()
    report = TerminalReport(terminal)
    for _ in range(2):
        report("points", 0, 10)
        clock.now += 3
        report("points", 10, 10)
    assert [line[-5:] for line in terminal.kept()] == ["3.0 s", "3.0 s"]


def test_elsewhere_a_short_stage_is_one_line_at_its_end(clock):
    stream = io.StringIO()
    report = TerminalReport(stream)
    for done in range(0, 101, 10):
        report("landmarks", done, 100)
        clock.now += 0.5
    assert stream.getvalue() == "landmarks: 100 of 100 (100%), 5.0 s\n"


def test_elsewhere_a_long_stage_is_a_line_every_ten_seconds(clock):
    stream = io.StringIO()
    report = TerminalReport(stream)
    for done in range(26):
        report("table1", done, 25)
        clock.now += 1
    assert stream.getvalue().splitlines() == [
        "table1: 10 of 25 (40%), 10.0 s, 15.0 s left",
        "table1: 20 of 25 (80%), 20.0 s, 5.0 s left",
        "table1: 25 of 25 (100%), 25.0 s",
    ]


def test_nothing_to_do_is_done(clock):
    stream = io.StringIO()
    TerminalReport(stream)("points", 0, 0)
    assert stream.getvalue() == "points: 0 of 0 (100%), 0.0 s\n"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.04, "0.0 s"),
        (59.5, "59.5 s"),
        (60, "1 min 00 s"),
        (119.99, "1 min 59 s"),
        (3599, "59 min 59 s"),
        (3600, "1 h 00 min"),
        (90_061, "25 h 01 min"),
    ],
)
def test_durations(seconds, text):
    assert progress._duration(seconds) == text
