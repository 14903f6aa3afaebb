"""`plot.compare`: panels in the same colors, one legend or color bar."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

import trigpoint as tp
from trigpoint import plot


def test_panels_share_their_colours(rng):
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
    """An image of means spans less than the numbers, and landmarks others than the points."""
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
    """Landmarks of some classes only are in the same colors as all points."""
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
def test_panels_stand_in_rows(count, ncols, shape, rng):
    axes = plot.compare({f"{i}": rng.normal(size=(9, 2)) for i in range(count)}, ncols=ncols)
    assert axes.shape == (count,)
    assert axes[0].get_subplotspec().get_gridspec().get_geometry() == shape
    assert len(axes[0].figure.axes) == count
    below = [ax.get_xlabel() != "" for ax in axes]
    assert below == [place + shape[1] >= count for place in range(count)]


def test_bad_values_are_named(rng):
    values = rng.normal(size=(9, 2))
    with pytest.raises(TypeError, match="embeddings is a list: pass a dict"):
        plot.compare([values])
    with pytest.raises(ValueError, match="embeddings is empty"):
        plot.compare({})
    with pytest.raises(ValueError, match=r"embeddings\['b'\] has shape \(9,\)"):
        plot.compare({"a": values, "b": values[:, 0]})
    with pytest.raises(ValueError, match=r"color has shape \(9,\).*the 8 points"):
        plot.compare({"a": values, "b": values[1:]}, color=np.arange(9))
    with pytest.raises(ValueError, match="not fitted"):
        plot.compare({"a": tp.Isomap()})
    with pytest.raises(ValueError, match="ncols=0"):
        plot.compare({"a": values}, ncols=0)
    assert not plt.get_fignums()
