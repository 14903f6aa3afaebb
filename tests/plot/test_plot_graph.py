"""`plot.graph`: every edge once, bridges apart, heavier ones more opaque."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.sparse import triu

import trigpoint as tp
from trigpoint import plot


def edge_set(segments, points):
    """Pairs of rows of `points` that segments join."""
    found = set()
    for segment in segments:
        ends = [int(np.abs(points - end).sum(axis=1).argmin()) for end in segment]
        np.testing.assert_allclose(points[ends], segment)
        found.add(tuple(sorted(ends)))
    return found


@pytest.mark.parametrize(("on", "plane"), [("embedding", (0, 1)), ("points", (2, 0))])
def test_every_edge_is_drawn_once(on, plane, eigenmaps):
    axes = plot.graph(eigenmaps, on=on, plane=plane)
    edges, marks = axes.collections
    where = eigenmaps.landmark_embedding_ if on == "embedding" else eigenmaps.landmarks_
    np.testing.assert_allclose(marks.get_offsets(), where[:, plane])
    expected = {
        tuple(edge) for edge in np.transpose(triu(eigenmaps.graph_, k=1).nonzero()).tolist()
    }
    segments = edges.get_segments()
    assert len(segments) == len(expected)
    assert edge_set(segments, where[:, plane]) == expected
    labels = axes.get_xlabel(), axes.get_ylabel()
    assert labels == {"embedding": ("coordinate 1", "coordinate 2")}.get(
        on, ("column 2", "column 0")
    )


def test_opacity_is_the_weight(eigenmaps):
    edges = plot.graph(eigenmaps).collections[0]
    weights = np.sort(triu(eigenmaps.graph_, k=1).data)
    opacity = edges.get_colors()[:, 3]
    assert opacity[-1] == pytest.approx(0.9)
    np.testing.assert_allclose((opacity - 0.05) / 0.85, weights / weights[-1], atol=1e-12)


def test_bridges_are_marked(islands):
    axes = plot.graph(islands, on="points")
    edges, bridges, _ = axes.collections
    points = islands.landmarks_[:, :2]
    expected = {tuple(sorted(bridge)) for bridge in islands.bridges_.tolist()}
    assert edge_set(bridges.get_segments(), points) == expected
    assert not edge_set(edges.get_segments(), points) & expected
    assert len(edges.get_segments()) + 2 == (islands.graph_.nnz - 90) // 2
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["2 bridges"]
    assert tuple(bridges.get_colors()[0]) != tuple(edges.get_colors()[0])


def test_of_too_many_edges_the_heaviest_are_drawn_and_a_note_says_so(islands):
    axes = plot.graph(islands, on="points", max_edges=10)
    edges, bridges, _ = axes.collections
    assert len(bridges.get_segments()) == 2
    weights = islands.graph_.toarray()
    weights[tuple(islands.bridges_.T)] = 0
    heaviest = np.sort(np.triu(weights, k=1).ravel())[-10:]
    drawn = edge_set(edges.get_segments(), islands.landmarks_[:, :2])
    np.testing.assert_allclose(sorted(weights[pair] for pair in drawn), heaviest)
    total = (islands.graph_.nnz - 90) // 2 - 2
    (note,) = axes.texts
    assert note.get_text() == f"the heaviest 10 of {total} edges"
    axes.figure.canvas.draw()
    place = note.get_window_extent()
    # Where no edge is, and inside of the figure.
    assert 0 <= place.y0 < place.y1 <= axes.xaxis.label.get_window_extent().y0


def test_many_edges_are_pixels_in_vector_files(roll, eigenmaps):
    assert not plot.graph(eigenmaps).collections[0].get_rasterized()
    dense = tp.Isomap(2, landmarks=200, graph=tp.KNNGraph(40), random_state=0).fit(roll[0])
    assert plot.graph(dense).collections[0].get_rasterized()
    assert not plot.graph(dense).texts


def test_what_has_no_graph_is_refused(eigenmaps, kernel_pca, roll):
    with pytest.raises(TypeError, match="has no graph_: pass a fitted LaplacianEigenmaps"):
        plot.graph(kernel_pca)
    with pytest.raises(TypeError, match="is not understood: pass a fitted"):
        plot.graph(eigenmaps.graph_)
    with pytest.raises(ValueError, match="not fitted"):
        plot.graph(tp.Isomap())
    with pytest.raises(ValueError, match="on='plane' is not known"):
        plot.graph(eigenmaps, on="plane")
    with pytest.raises(ValueError, match="max_edges=0"):
        plot.graph(eigenmaps, max_edges=0)
    with pytest.raises(ValueError, match=r"plane=\(0, 3\)"):
        plot.graph(eigenmaps, plane=(0, 3))
    line = tp.Isomap(1, landmarks=50, random_state=0).fit(roll[0])
    with pytest.raises(ValueError, match=r"landmark_embedding_ of estimator has shape \(50, 1\)"):
        plot.graph(line)
    assert not plt.get_fignums()
    assert len(plot.graph(line, on="points").collections) == 2
