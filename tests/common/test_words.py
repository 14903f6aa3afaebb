"""Counts, durations and sizes in words."""

import numpy as np
import pytest

import trigpoint as tp
from trigpoint._common.words import counted, duration, html_table, printable, size


def test_counts():
    assert [counted(n, "point") for n in (0, 1, 2, 3000)] == [
        "0 points",
        "1 point",
        "2 points",
        "3,000 points",
    ]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 s"), (0.5, "0.5 s"), (42, "42 s"), (99, "99 s"), (600, "10 min"), (9000, "2.5 h")],
)
def test_durations(seconds, words):
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("n_bytes", "words"),
    [(12, "12 B"), (999.6, "1 kB"), (34_000, "34 kB"), (5.6e6, "5.6 MB"), (7.8e12, "7.8e+03 GB")],
)
def test_sizes(n_bytes, words):
    assert size(n_bytes) == words


def test_text_for_a_terminal():
    assert printable("a\tb\nc \u00e9 \u6f22") == "a\tb\nc \u00e9 \u6f22"
    assert printable("\x1b[2J\x07\x9b31m\r\ud800") == r"\x1b[2J\x07\x9b31m\r\ud800"
    assert printable("\u202egnp.exe") == r"\u202egnp.exe"


def test_tables_for_notebooks():
    """What names and values say is text, never markup."""
    table = html_table("a < b", {"<i>": "1 & 2"})
    assert "<p><b>a &lt; b</b></p>" in table
    assert "&lt;i&gt;" in table
    assert "1 &amp; 2" in table


def test_records_are_tables_in_notebooks(rng):
    X = rng.normal(size=(200, 3))
    curve = tp.landmark_curve(X, n_landmarks=[5, 20], random_state=0)
    assert f'20 landmarks</th><td style="text-align: left">{curve.errors[1]:.2%}' in (
        curve._repr_html_()
    )
    refined = tp.Refinement().refine(X, np.arange(10))
    assert f'after 0 sweeps</th><td style="text-align: left">{refined.errors[0]:.3%}' in (
        refined._repr_html_()
    )
    compared = tp.compare_methods(X, landmarks=40, random_state=0)
    assert f"{compared.attempts[0].method} keeps most" in compared._repr_html_()
