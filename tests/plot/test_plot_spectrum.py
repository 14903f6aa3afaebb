"""`plot.spectrum` and `plot.landmark_curve`."""

import numpy as np
import pytest

import trigpoint as tp
from trigpoint import plot
from trigpoint._samplers.curve import LandmarkCurve
from trigpoint.plot._eigenvalues import leading_eigenvalues, widest_gap


def drawn(axes):
    """Places and values of the dots, by what the legend calls them."""
    return {line.get_label(): np.transpose(line.get_data()) for line in axes.lines}


def legend(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


@pytest.mark.parametrize(
    ("sizes", "after"),
    [
        ([0.1, 0.2, 0.7, 0.8], 2),
        ([1 / 9, 1 / 4, 1 / 3.5, 1.0], 3),
        ([0.0, 0.0, 1.0], 2),
        ([1.0, 1.4, 1.9], None),
        ([0.5, 0.5], None),
        ([0.5], None),
    ],
)
def test_the_widest_gap_is_the_largest_ratio(sizes, after):
    assert widest_gap(np.array(sizes)) == after


def test_three_clusters_have_their_gap_after_two(islands):
    """The graph of three clusters falls apart but for its bridges: two small eigenvalues."""
    axes = plot.spectrum(islands, title="here")
    assert legend(axes) == ["coordinate", "not used", "widest gap by ratio, after 2"]
    assert set(drawn(axes)["widest gap by ratio, after 2"][:, 0]) == {2.5}
    assert axes.get_title() == "here"


def test_gaps_of_diffusion_maps_are_distances_from_one(islands):
    """With alpha=0, eigenvalues are one minus those of Laplacian eigenmaps."""
    same = {"landmarks": islands.landmarks_, "graph": islands.graph_}
    diffusion = tp.DiffusionMaps(2, alpha=0.0, random_state=0, **same).fit(islands.landmarks_)
    assert leading_eigenvalues(diffusion).gap == leading_eigenvalues(islands).gap == 2


def test_eigenvectors_that_were_passed_over_are_shown_too(roll):
    """Between coordinates that are no neighbors there is no gap but eigenvectors not used."""
    emb = tp.LaplacianEigenmaps(
        2, landmarks=200, eigenvectors="independent", graph=tp.KNNGraph(10), random_state=0
    ).fit(roll[0])
    all_of_them = tp.LaplacianEigenmaps(
        30, landmarks=emb.landmark_indices_, graph=tp.KNNGraph(10), random_state=0
    ).fit(roll[0])
    leading = leading_eigenvalues(emb)
    np.testing.assert_allclose(leading.values, all_of_them.eigenvalues_, rtol=1e-6)
    np.testing.assert_allclose(leading.values[leading.used], emb.eigenvalues_, rtol=1e-6)
    assert leading.used[0]
    assert not leading.used[1], "on a roll the second is a function of the first"
    assert leading.gap == leading_eigenvalues(all_of_them).gap
    found = drawn(plot.spectrum(emb))
    np.testing.assert_allclose(found["coordinate"][:, 0] - 1, np.flatnonzero(leading.used))


def test_equal_eigenvalues_are_told_apart():
    """Those of a ring come in pairs."""
    angles = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    ring = np.column_stack([np.cos(angles), np.sin(angles)])
    emb = tp.LaplacianEigenmaps(
        4, landmarks=60, graph=tp.KNNGraph(4, metric="euclidean"), random_state=0
    )
    leading = leading_eigenvalues(emb.fit(ring))
    assert leading.used[:6].tolist() == [True] * 4 + [False] * 2


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
