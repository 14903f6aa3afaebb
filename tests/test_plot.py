"""Pictures: what is drawn, not how it looks."""

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

from trigpoint import LandmarkCurve, plot


@pytest.fixture(autouse=True)
def close_figures():
    """Leave no figure behind."""
    yield
    plt.close("all")


def test_few_points_are_markers(rng):
    coordinates = rng.normal(size=(50, 3))
    axes = plot.embedding(coordinates, color=coordinates[:, 2], landmarks=coordinates[:5])
    by_row = plot.embedding(coordinates, landmarks=np.arange(5))
    np.testing.assert_allclose(by_row.collections[1].get_offsets(), coordinates[:5, :2])
    points, landmarks = axes.collections
    np.testing.assert_allclose(points.get_offsets(), coordinates[:, :2])
    np.testing.assert_allclose(landmarks.get_offsets(), coordinates[:5, :2])


def test_many_points_are_an_image_of_mean_colours():
    """Two columns of points, of colours 1 and 3: the image has these two at its sides."""
    x = np.repeat([0.0, 1.0], 20_000)
    coordinates = np.column_stack([x, np.tile(np.linspace(0, 1, 20_000), 2)])
    axes = plot.embedding(coordinates, color=1 + 2 * x)
    image = axes.images[0].get_array()
    np.testing.assert_allclose(image[:, 0], 1)
    np.testing.assert_allclose(image[:, -1], 3)
    assert np.isnan(image.filled(np.nan)[:, 1:-1]).all()


def test_density_without_colour(rng):
    axes = plot.embedding(rng.normal(size=(30_000, 2)))
    image = axes.images[0].get_array()
    assert (10**image).sum() == pytest.approx(30_000)


def test_given_axes_are_drawn_on(rng):
    _, axes = plt.subplots()
    assert plot.embedding(rng.normal(size=(10, 2)), ax=axes, title="here") is axes
    assert axes.get_title() == "here"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"coordinates": np.ones(5)}, r"coordinates has shape \(5,\)"),
        ({"coordinates": np.ones((5, 1))}, r"coordinates has shape \(5, 1\)"),
        ({"coordinates": np.ones((0, 2))}, r"coordinates has shape \(0, 2\)"),
        ({"coordinates": np.full((5, 2), np.nan)}, "coordinates has NaN"),
        ({"coordinates": np.ones((5, 2)), "color": [1, 2]}, r"color has shape \(2,\)"),
    ],
)
def test_bad_arrays_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        plot.embedding(**arguments)


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


def test_tolerance_out_of_reach_is_not_marked():
    curve = LandmarkCurve(np.array([10, 100]), np.array([0.5, 0.05]), np.zeros(2), 1.0)
    axes = plot.landmark_curve(curve, tolerance=0.01)
    assert not axes.texts
