"""`plot.landmarks` and `plot.graph`."""

import numpy as np
import pytest
from scipy.sparse import triu

import trigpoint as tp
from trigpoint import plot


def measured(X, sampler, covariance="full"):
    """Return an estimator whose landmarks have local covariances."""
    graph = tp.KNNGraph(covariance=covariance)
    return tp.LaplacianEigenmaps(landmarks=sampler, graph=graph, extension="graph").fit(X)


@pytest.mark.parametrize("covariance", ["full", "diag"])
@pytest.mark.parametrize("plane", [(0, 1), (2, 0)])
def test_ellipses_are_the_projected_covariances(plane, covariance, roll):
    emb = measured(roll[0], tp.EfficientDPP(50, random_state=0), covariance)
    points, ellipses, marks = plot.landmarks(emb, roll[0], plane=plane).collections
    np.testing.assert_allclose(points.get_offsets(), roll[0][:, plane])
    np.testing.assert_allclose(ellipses.get_offsets(), emb.landmarks_[:, plane])
    np.testing.assert_allclose(marks.get_offsets(), emb.landmarks_[:, plane])
    angles = np.radians(ellipses.get_angles())
    sizes = np.column_stack([ellipses.get_widths(), ellipses.get_heights()])
    for angle, size, measure in zip(angles, sizes, emb.covariances_, strict=True):
        full = measure if covariance == "full" else np.diag(measure)
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        found = turn @ np.diag((size / 2) ** 2) @ turn.T
        np.testing.assert_allclose(found, full[np.ix_(plane, plane)], rtol=1e-6, atol=1e-9)


def test_the_axes_hold_the_ellipses(roll):
    emb = measured(roll[0], tp.EfficientDPP(50, random_state=0))
    axes = plot.landmarks(emb, plane=(1, 2))
    reach = np.sqrt(emb.covariances_[:, 1, 1])
    low, high = axes.get_xlim()
    assert (low < emb.landmarks_[:, 1] - reach).all()
    assert (high > emb.landmarks_[:, 1] + reach).all()
    assert axes.get_aspect() == 1


def test_many_points_are_drawn_as_density(rng):
    X = rng.normal(size=(25_000, 2))
    sampler = tp.Uniform(30, random_state=0).fit(X)
    axes = plot.landmarks(sampler, X, covariances=False)
    assert (10 ** axes.images[0].get_array()).sum() == pytest.approx(25_000)
    (marks,) = axes.collections
    np.testing.assert_allclose(marks.get_offsets(), sampler.landmarks_)
    # Black would hide the marks.
    assert axes.images[0].get_cmap()(1.0)[0] > 0.4


def test_many_landmarks_and_edges_are_pixels_in_vector_files(rng, roll, eigenmaps):
    X = rng.normal(size=(3000, 2))
    emb = measured(X, tp.EfficientDPP(2000, random_state=0), "diag")
    assert [c.get_rasterized() for c in plot.landmarks(emb).collections] == [True, True]
    few = measured(X, tp.EfficientDPP(20, random_state=0), "diag")
    assert [c.get_rasterized() for c in plot.landmarks(few).collections] == [False, False]
    assert not plot.graph(eigenmaps).collections[0].get_rasterized()
    dense = tp.Isomap(2, landmarks=200, graph=tp.KNNGraph(40), random_state=0).fit(roll[0])
    assert plot.graph(dense).collections[0].get_rasterized()
    assert not plot.graph(dense).texts


def test_columns_are_called_by_their_names(roll):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(roll[0], columns=["east", "north", "up"])
    sampler = tp.Uniform(10, random_state=0).fit(frame)
    axes = plot.landmarks(sampler, frame, covariances=False, plane=(0, 2), title="here")
    assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_title()) == ("east", "up", "here")
    np.testing.assert_allclose(axes.collections[0].get_offsets(), roll[0][:, [0, 2]])


def test_columns_of_very_different_length_are_not_drawn_to_one_scale(rng):
    X = rng.normal(size=(100, 2)) * [1, 1000]
    axes = plot.landmarks(tp.Uniform(10, random_state=0).fit(X), X, covariances=False)
    assert axes.get_aspect() == "auto"


def test_without_covariances_it_is_said_how_to_get_them(roll, kernel_pca):
    for source in (kernel_pca, tp.EfficientDPP(10).fit(roll[0]), tp.Uniform(10).fit(roll[0])):
        with pytest.raises(
            ValueError, match="no covariances: fit an estimator with graph='bhattacharyya'"
        ):
            plot.landmarks(source, covariances=True)
        for covariances in (None, False):
            assert len(plot.landmarks(source, covariances=covariances).collections) == 1


def test_an_estimator_read_from_a_file_may_have_no_covariances(rng, tmp_path):
    emb = tp.LaplacianEigenmaps(landmarks=50, random_state=0).fit(rng.normal(size=(400, 20)))
    emb.save(tmp_path / "wide.trig")
    again = tp.load(tmp_path / "wide.trig")
    assert again.covariances_ is None
    with pytest.raises(ValueError, match="model files omit full covariances above 16"):
        plot.landmarks(again, covariances=True)
    (marks,) = plot.landmarks(again).collections
    np.testing.assert_allclose(marks.get_offsets(), emb.landmarks_[:, :2])


def edge_set(segments, points):
    """Return the pairs of rows of `points` that segments join."""
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


def test_the_graph_of_one_coordinate_is_drawn_on_the_points(roll):
    line = tp.Isomap(1, landmarks=50, random_state=0).fit(roll[0])
    assert len(plot.graph(line, on="points").collections) == 2


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


def test_only_the_heaviest_of_too_many_edges_are_drawn_with_a_note(islands, monkeypatch):
    monkeypatch.setattr("trigpoint.plot._graph._MOST_EDGES", 10)
    axes = plot.graph(islands, on="points")
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
    # Away from all edges, and inside the figure.
    assert 0 <= place.y0 < place.y1 <= axes.xaxis.label.get_window_extent().y0
