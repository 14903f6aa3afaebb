"""`plot.landmark_curve`: errors, what is needed, and labels that can be read."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from trigpoint import plot
from trigpoint._samplers.curve import LandmarkCurve


def falling(counts, errors):
    return LandmarkCurve(np.array(counts), np.array(errors), np.zeros(len(counts)), 1.0)


def test_landmark_curve_marks_what_is_needed():
    counts = np.array([10, 100, 1000])
    curve = falling(counts, [0.5, 0.05, 0.0])
    axes = plot.landmark_curve(curve, tolerance=0.05, label="drawn", title="here")
    line, level, mark = axes.lines
    np.testing.assert_allclose(line.get_xdata(), counts)
    np.testing.assert_allclose(line.get_ydata()[:2], curve.errors[:2])
    assert level.get_ydata()[0] == 0.05
    assert mark.get_xdata()[0] == 100
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["drawn", "100 landmarks"]
    assert axes.get_title() == "here"
    again = plot.landmark_curve(curve, ax=axes)
    assert again is axes
    assert len(axes.lines) == 4
    assert axes.get_title() == "here"


def test_a_legend_says_how_many_landmarks_each_of_several_curves_needs():
    axes = None
    for name, factor in (("a", 1.0), ("b", 3.0)):
        curve = falling([10, 100, 1000], np.array([0.5, 0.05, 0.005]) * factor)
        axes = plot.landmark_curve(curve, tolerance=0.05, ax=axes, label=name)
    texts = [text.get_text() for text in axes.get_legend().get_texts()]
    assert texts == ["a", "100 landmarks", "b", f"{curve.needed(0.05)} landmarks"]
    marks, curves = axes.lines[2::3], axes.lines[::3]
    assert [mark.get_color() for mark in marks] == [line.get_color() for line in curves]
    assert len({line.get_color() for line in curves}) == 2
    # A tolerance that is out of reach is not marked.
    assert plot.landmark_curve(curve, tolerance=0.001).get_legend() is None


def test_what_is_no_curve_is_refused():
    with pytest.raises(TypeError, match="curve of type list and length 3 is not understood: pass"):
        plot.landmark_curve([1, 2, 3])
    with pytest.raises(TypeError, match="curve=None is not understood"):
        plot.landmark_curve(None)
    assert not plt.get_fignums()
