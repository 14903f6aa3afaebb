"""`plot.embedding` and `plot.compare`: the content of plots, not their appearance."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

import trigpoint as tp
from trigpoint import plot
from trigpoint._common.palette import GRAY, OKABE_ITO


def legend_names(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def drawn_colors(axes):
    """Return the set of marker colors of a scatter plot."""
    points = axes.collections[0]
    return {tuple(color[:3]) for color in points.to_rgba(points.get_array())}


@pytest.mark.parametrize("plane", [(0, 1), (3, 1)])
def test_few_points_are_markers(plane, rng):
    coordinates = rng.normal(size=(50, 4))
    _, given = plt.subplots()
    axes = plot.embedding(
        coordinates,
        color=coordinates[:, 2],
        landmarks=coordinates[:5],
        plane=plane,
        ax=given,
        title="here",
    )
    assert axes is given
    assert axes.get_title() == "here"
    assert axes.get_xlabel() == f"coordinate {plane[0] + 1}"
    assert axes.get_ylabel() == f"coordinate {plane[1] + 1}"
    points, landmarks = axes.collections
    np.testing.assert_allclose(points.get_offsets(), coordinates[:, plane])
    np.testing.assert_allclose(points.get_array(), coordinates[:, 2])
    by_row = plot.embedding(coordinates, landmarks=np.arange(5), plane=plane)
    for marks in (landmarks, by_row.collections[1]):
        np.testing.assert_allclose(marks.get_offsets(), coordinates[:5, plane])


@pytest.mark.parametrize(("n", "rasterized"), [(1999, False), (2000, True)])
def test_many_markers_are_pixels_in_vector_files(n, rasterized, rng):
    axes = plot.embedding(rng.normal(size=(n, 2)))
    assert axes.collections[0].get_rasterized() is rasterized


def test_many_points_are_an_image_of_mean_colors():
    """Points with the values 1 and 3 are in two columns, at the sides of the image."""
    x = np.repeat([0.0, 1.0], 20_000)
    coordinates = np.column_stack([x, np.tile(np.linspace(0, 1, 20_000), 2)])
    axes = plot.embedding(coordinates, color=1 + 2 * x)
    image = axes.images[0].get_array()
    np.testing.assert_allclose(image[:, 0], 1)
    np.testing.assert_allclose(image[:, -1], 3)
    assert np.isnan(image.filled(np.nan)[:, 1:-1]).all()
    assert not axes.collections


def test_pixels_are_at_the_positions_of_their_points(rng):
    """In a wide cloud with one far point, its pixel is in that corner, also on the axes."""
    coordinates = np.concatenate([rng.uniform(0, 1, (30_000, 2)), [[10.0, -5.0]]])
    axes = plot.embedding(coordinates, color=np.append(np.zeros(30_000), 1.0))
    image = axes.images[0]
    assert image.get_array()[0, -1] == 1
    np.testing.assert_allclose(
        image.get_extent(), [coordinates[:, 0].min(), 10, -5, coordinates[:, 1].max()]
    )
    assert axes.get_xlim()[1] > 10, "points leave a margin"


# Classes ----------------------------------------------------------------------------------------


def test_strings_are_classes(rng):
    coordinates = rng.normal(size=(6, 2))
    names = np.array(["b", "a", "c", "a", "b", "b"])
    axes = plot.embedding(coordinates, color=names, label="kind")
    assert legend_names(axes) == ["a", "b", "c"]
    assert axes.get_legend().get_title().get_text() == "kind"
    points = axes.collections[0]
    # Markers are drawn in another order, each in the color of its class.
    for where, color in zip(points.get_offsets(), points.to_rgba(points.get_array()), strict=True):
        row = np.abs(coordinates - where).sum(axis=1).argmin()
        assert tuple(color[:3]) == to_rgb(OKABE_ITO["abc".index(names[row])])


def test_few_whole_numbers_are_classes_unless_they_are_said_to_be_numbers(rng):
    coordinates, digits = rng.normal(size=(100, 2)), np.arange(100) % 12
    axes = plot.embedding(coordinates, color=digits)
    assert legend_names(axes) == [str(digit) for digit in range(12)]
    assert plot.embedding(coordinates, color=digits, categories=False).get_legend() is None
    assert plot.embedding(coordinates, color=np.arange(100) % 15).get_legend() is None
    axes = plot.embedding(coordinates, color=np.arange(100) % 15, categories=True)
    assert len(legend_names(axes)) == len(drawn_colors(axes)) == 15


def test_many_points_are_an_image_of_the_most_frequent_class():
    """In each of two columns, two of three points have the same class."""
    x = np.repeat([0.0, 1.0], 15_000)
    coordinates = np.column_stack([x, np.tile(np.repeat(np.linspace(0, 1, 5_000), 3), 2)])
    classes = np.concatenate([np.tile(["b", "b", "a"], 5_000), np.tile(["c", "a", "c"], 5_000)])
    axes = plot.embedding(coordinates, color=classes)
    image = axes.images[0]
    left, right = image.to_rgba(image.get_array())[[0, 0], [0, -1], :3]
    assert (image.get_array()[:, 0] == 1).all()
    assert (image.get_array()[:, -1] == 2).all()
    np.testing.assert_allclose(left, to_rgb(OKABE_ITO[1]))
    np.testing.assert_allclose(right, to_rgb(OKABE_ITO[2]))
    assert image.get_array().mask[:, 1:-1].all() or np.isnan(image.get_array()[:, 1:-1]).all()
    assert legend_names(axes) == ["a", "b", "c"]


def test_colour_bar_says_what_numbers_are(rng):
    coordinates = rng.normal(size=(30, 2))
    plain = plot.embedding(coordinates, color=coordinates[:, 0])
    assert len(plain.figure.axes) == 1
    axes = plot.embedding(coordinates, color=coordinates[:, 0], label="height")
    assert axes.figure.axes[1].get_ylabel() == "height"
    classes = plot.embedding(coordinates, color=["a", "b"] * 15, legend=False)
    assert classes.get_legend() is None


def test_a_series_says_what_its_numbers_are(rng):
    coordinates = rng.normal(size=(30, 2))
    heights = pd.Series(coordinates[:, 0], name="height")
    axes = plot.embedding(coordinates, color=heights)
    assert axes.figure.axes[1].get_ylabel() == "height"
    axes = plot.embedding(coordinates, color=heights, label="metres")
    assert axes.figure.axes[1].get_ylabel() == "metres"
    assert len(plot.embedding(coordinates, color=heights, legend=False).figure.axes) == 1
    # A column of an unnamed table has a number as its name.
    assert len(plot.embedding(coordinates, color=heights.rename(0)).figure.axes) == 1
    kinds = pd.Series(["a", "b"] * 15, name="kind")
    legend = plot.embedding(coordinates, color=kinds).get_legend()
    assert legend.get_title().get_text() == "kind"


@pytest.mark.parametrize("n", [30, 30_000])
def test_grey_points_are_explained(n, rng):
    coordinates, color = rng.normal(size=(n, 2)), np.linspace(0, 1, n)
    color[::3] = np.nan
    axes = plot.embedding(coordinates, color=color)
    _, bar = axes.figure.axes
    assert legend_names(bar) == ["missing"]
    (dot,) = bar.get_legend().legend_handles
    assert to_rgb(dot.get_color()) == to_rgb(GRAY)
    axes.figure.canvas.draw()
    below = bar.get_legend().get_window_extent()
    assert below.y1 <= bar.get_window_extent().y0 + 1
    assert below.y0 >= 0
    known = plot.embedding(coordinates, color=np.nan_to_num(color), label="x")
    assert known.figure.axes[1].get_legend() is None


def test_missing_numbers_are_gray(rng):
    few = rng.normal(size=(4, 2))
    points = plot.embedding(few, color=[1.0, np.nan, 2.0, np.inf]).collections[0]
    colors = points.to_rgba(points.get_array())
    np.testing.assert_allclose(colors[[1, 3], :3], [to_rgb(GRAY)] * 2)
    assert points.get_clim() == (1, 2)

    # Means omit missing values, and pixels with missing values only are gray.
    x = np.repeat([0.0, 1.0], 15_000)
    many = np.column_stack([x, np.tile(np.repeat(np.linspace(0, 1, 5_000), 3), 2)])
    color = np.where(x == 0, np.nan, np.tile([0.5, np.nan, 3.5], 10_000))
    grey, means = plot.embedding(many, color=color).images
    np.testing.assert_allclose(means.get_array()[:, -1], 2)
    assert np.isnan(means.get_array().filled(np.nan)[:, 0]).all()
    np.testing.assert_allclose(grey.to_rgba(grey.get_array())[0, 0, :3], to_rgb(GRAY))


# Estimators -------------------------------------------------------------------------------------


def test_landmarks_of_an_estimator_stand_where_transform_puts_them(roll, eigenmaps, recwarn):
    Y = eigenmaps.transform(roll[0])
    marks = plot.embedding(Y, landmarks=eigenmaps).collections[1].get_offsets()
    np.testing.assert_allclose(marks, Y[eigenmaps.landmark_indices_, :2], rtol=1e-6, atol=1e-12)

    # Here `transform` smooths, so the landmarks' own coordinates would lie outside the plot.
    wide = np.random.default_rng(0).normal(size=(500, 40))
    smooth = tp.LaplacianEigenmaps(2, landmarks=60, extension="all", random_state=0).fit(wide)
    Y = smooth.transform(wide)
    marks = plot.embedding(Y, landmarks=smooth).collections[1].get_offsets()
    np.testing.assert_allclose(marks, Y[smooth.landmark_indices_], rtol=1e-6, atol=1e-12)
    assert not np.allclose(marks, smooth.landmark_embedding_, rtol=0.1)
    assert not recwarn.list


def test_an_estimator_is_drawn_by_its_landmarks(roll, eigenmaps):
    height = roll[1][:, 1]
    axes = plot.embedding(eigenmaps, color=height)
    np.testing.assert_allclose(
        axes.collections[0].get_offsets(), eigenmaps.landmark_embedding_[:, :2]
    )
    of_all = axes.collections[0].get_array()
    np.testing.assert_allclose(of_all, height[eigenmaps.landmark_indices_])
    of_landmarks = plot.embedding(eigenmaps, color=height[eigenmaps.landmark_indices_])
    np.testing.assert_allclose(of_landmarks.collections[0].get_array(), of_all)


# Errors -----------------------------------------------------------------------------------------


def test_panels_share_their_colors(rng):
    few, many = rng.normal(size=(100, 3)), rng.normal(size=(100, 4))
    color, figure = np.linspace(-5, 5, 100), Figure()
    axes = plot.compare(
        {"first": few, "second": many},
        color=color,
        label="depth",
        title="all",
        plane=(2, 1),
        figure=figure,
    )
    assert not plt.get_fignums()
    assert [ax.get_title() for ax in axes] == ["first", "second"]
    assert axes[0].get_xlabel() == "coordinate 3"
    drawn = [ax.collections[0] for ax in axes]
    np.testing.assert_allclose(drawn[1].get_offsets(), many[:, [2, 1]])
    assert [mappable.get_clim() for mappable in drawn] == [(-5, 5)] * 2
    assert axes[0].figure is figure
    assert len(figure.axes) == 3, "two panels and a bar"
    assert figure.axes[2].get_ylabel() == "depth"
    assert figure.get_suptitle() == "all"


def test_images_and_markers_have_one_scale(eigenmaps, rng):
    """An image of means, and landmarks, have smaller ranges than the values of the points."""
    color = rng.normal(size=30_000)
    Y = rng.integers(0, 20, size=(30_000, 2)) / 20.0
    axes = plot.compare({"points": Y, "landmarks": eigenmaps}, color=color)
    image, markers = axes[0].images[0], axes[1].collections[0]
    assert image.get_array().max() < 1
    expected = color[eigenmaps.landmark_indices_]
    np.testing.assert_allclose(markers.get_array(), expected)
    assert image.get_clim() == markers.get_clim()
    assert markers.get_clim() == pytest.approx((expected.min(), expected.max()))


def test_classes_have_one_legend(roll, eigenmaps):
    """Landmarks of some classes only have the same colors as the points."""
    classes = np.where(roll[1][:, 0] < np.median(roll[1][:, 0]), "inner", "outer")
    classes[eigenmaps.landmark_indices_] = "outer"
    Y = eigenmaps.transform(roll[0])
    axes = plot.compare({"points": Y, "landmarks": eigenmaps}, color=classes, label="part")
    (legend,) = axes[0].figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["inner", "outer"]
    assert all(ax.get_legend() is None for ax in axes)
    points, landmarks = (ax.collections[0] for ax in axes)
    assert set(landmarks.get_array()) == {1}
    outer = points.to_rgba(points.get_array())[points.get_array() == 1][0]
    np.testing.assert_allclose(landmarks.to_rgba(landmarks.get_array())[0], outer)


@pytest.mark.parametrize(
    ("count", "ncols", "shape"),
    [(3, None, (1, 3)), (5, None, (2, 4)), (5, 2, (3, 2)), (2, 9, (1, 2))],
)
def test_panels_are_arranged_in_rows(count, ncols, shape, rng):
    axes = plot.compare({f"{i}": rng.normal(size=(9, 2)) for i in range(count)}, ncols=ncols)
    assert axes.shape == (count,)
    assert axes[0].get_subplotspec().get_gridspec().get_geometry() == shape
    assert len(axes[0].figure.axes) == count
    below = [ax.get_xlabel() != "" for ax in axes]
    assert below == [place + shape[1] >= count for place in range(count)]
