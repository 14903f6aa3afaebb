"""`plot.landmark_curve`: errors, what is needed, and labels that can be read."""

from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import pytest

from trigpoint import plot
from trigpoint._samplers.curve import LandmarkCurve


def falling(counts, errors):
    return LandmarkCurve(np.array(counts), np.array(errors), np.zeros(len(counts)), 1.0)


def test_landmark_curve_marks_what_is_needed():
    counts = np.array([10, 100, 1000])
    curve = LandmarkCurve(counts, np.array([0.5, 0.05, 0.0]), np.array([0.1, 0.01, 0.0]), 1.0)
    axes = plot.landmark_curve(curve, tolerance=0.05, label="drawn", title="here")
    line, level, mark = axes.lines
    np.testing.assert_allclose(line.get_xdata(), counts)
    np.testing.assert_allclose(line.get_ydata()[:2], curve.errors[:2])
    assert level.get_ydata()[0] == 0.05
    assert mark.get_xdata()[0] == 100
    assert axes.texts[0].get_text() == "100 landmarks"
    assert axes.get_title() == "here"
    again = plot.landmark_curve(curve, ax=axes)
    assert again is axes
    assert len(axes.lines) == 4
    assert axes.get_title() == "here"


def test_tolerance_out_of_reach_is_not_marked():
    curve = falling([10, 100], [0.5, 0.05])
    axes = plot.landmark_curve(curve, tolerance=0.01)
    assert not axes.texts


@pytest.mark.parametrize("shift", [1.0, 1.05, 1.3, 3.0])
def test_labels_of_several_curves_do_not_overlap(shift):
    """Curves that need almost as many landmarks, in either order."""
    axes = None
    for factor in (1.0, shift**2, shift):
        curve = falling([10, 100, 1000], np.array([0.5, 0.05, 0.005]) * factor)
        axes = plot.landmark_curve(curve, tolerance=0.05, ax=axes, label="a")
    axes.figure.canvas.draw()
    assert len(axes.texts) == 3
    boxes = [text.get_window_extent() for text in axes.texts]
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    marks = axes.lines[2::3]
    curves = axes.lines[::3]
    assert [text.get_color() for text in axes.texts] == [line.get_color() for line in curves]
    assert [mark.get_color() for mark in marks] == [line.get_color() for line in curves]


def test_curves_have_different_colours():
    axes = plot.landmark_curve(falling([10, 100], [0.5, 0.05]))
    plot.landmark_curve(falling([10, 100], [0.4, 0.04]), ax=axes)
    assert axes.lines[0].get_color() != axes.lines[1].get_color()


def test_no_curve_runs_through_a_label():
    """Of three curves the one in the middle has others on both sides."""
    axes = None
    for factor in (1.0, 2.0, 4.0):
        curve = falling([10, 30, 100, 300, 1000], np.array([0.6, 0.2, 0.06, 0.02, 0.006]) * factor)
        axes = plot.landmark_curve(curve, tolerance=0.05, ax=axes, label="a")
    axes.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in axes.texts]
    for line in axes.lines[::3]:
        x, y = (np.log(values) for values in line.get_data())
        along = np.linspace(x[0], x[-1], 500)
        path = np.exp(np.column_stack([along, np.interp(along, x, y)]))
        for place in axes.transData.transform(path):
            assert not any(box.contains(*place) for box in boxes)


def test_what_is_no_curve_is_refused():
    message = (
        "curve of type list and length 3 is not understood: pass what trigpoint.landmark_curve"
    )
    with pytest.raises(TypeError, match=message):
        plot.landmark_curve([1, 2, 3])
    with pytest.raises(TypeError, match="curve=None is not understood"):
        plot.landmark_curve(None)
    assert not plt.get_fignums()
