"""Counts, durations and sizes in words."""

import numpy as np

import trigpoint as tp
from trigpoint._common.words import html_table, printable


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
