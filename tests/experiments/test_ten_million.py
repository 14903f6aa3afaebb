"""The figure of ten million points, at a hundredth of its size."""

from dataclasses import replace

import numpy as np
import pytest
from reproducing import render, reproduce

from experiments.framework.experiment import Settings
from experiments.framework.summary import column
from experiments.internals import Pool, bhattacharyya_matrix, local_covariances, regularize
from experiments.paper import neighbors
from trigpoint import EfficientDPP, KNNGraph

QUICK = Settings(quick=True, runs=1)


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """The quick form, run once for all tests."""
    return reproduce("neighbors", tmp_path_factory.mktemp("neighbors"), QUICK)


@pytest.fixture
def landmarks(roll):
    pool = Pool.of(roll[0])
    landmarks = EfficientDPP(120, random_state=0).select(pool)
    _, covariances = local_covariances(pool, landmarks, "full", 1)
    return replace(landmarks, covariances=covariances)


def rows_of(result, **chosen):
    """Rows of a reproduction that have some values, by number of neighbors."""
    rows = [row for row in result.rows if chosen.items() <= row.items()]
    assert [row["n_neighbors"] for row in rows] == list(neighbors.QUICK_NEIGHBORS)
    return rows


def test_full_cases_are_those_of_the_paper():
    cases = list(neighbors.cases(Settings()))
    assert {(case["n_points"], case["n_landmarks"]) for case in cases} == {(10_000_000, 2500)}
    assert {case["n_neighbors"] for case in cases} == {25, 60, 200, 500}
    assert {case["seed"] for case in cases} == {0, 1, 2}
    # One draw serves all graphs of a seed and an m: they come one after the other.
    draws = [(case["seed"], case["m"]) for case in cases]
    assert draws == sorted(draws, key=lambda draw: (draw[0], -draw[1]))
    assert {m for _, m in draws} == {16_000, 30}


def test_files_of_the_quick_form(quick):
    rows = quick.rows
    assert quick.n_new == 24
    assert len(rows) == 24
    text = quick.text
    assert text.count("![") == 1
    assert len(quick.picture) > 20_000
    assert text.count("| largest standard error |") == 3
    record = quick.record
    assert record["complete"]
    assert record["quick"]


def test_landmarks_are_drawn_once_for_all_graphs(quick):
    drawn = neighbors.draw_landmarks.cache_info()
    assert drawn.misses == 2
    render("neighbors", quick.folder, QUICK)
    assert neighbors.draw_landmarks.cache_info().misses == 2


@pytest.mark.parametrize("linking", [neighbors.PLAIN, neighbors.AGREED])
def test_bhattacharyya_graphs_are_more_robust(quick, linking):
    """The paper's claim: shortcuts come later, and so does the end of the order."""
    m = 4 * neighbors.QUICK_POINTS // neighbors.QUICK_LANDMARKS
    euclidean, ours = (
        rows_of(quick, linking=linking, metric=metric, m=m) for metric in neighbors.METRICS
    )
    shortcuts = column(euclidean, "shortcuts"), column(ours, "shortcuts")
    assert (shortcuts[1][1:] < 0.6 * shortcuts[0][1:]).all()
    assert shortcuts[0][2] > 0.2
    assert shortcuts[1][:2].max() < 0.005
    assert column(ours, "order")[:2].min() > 0.99
    assert column(euclidean, "order")[2:].max() < 0.7
    # At few neighbors, Euclidean ones are the true ones.
    assert euclidean[0]["recall"] >= ours[0]["recall"]


def test_agreement_leaves_out_shortcuts(quick):
    for metric in neighbors.METRICS:
        m = 4 * neighbors.QUICK_POINTS // neighbors.QUICK_LANDMARKS
        plain, agreed = (
            column(rows_of(quick, linking=linking, metric=metric, m=m), "shortcuts")
            for linking in (neighbors.PLAIN, neighbors.AGREED)
        )
        assert (agreed <= plain).all()


def test_plain_bhattacharyya_graph_links_the_nearest(landmarks):
    graph = neighbors.plain_graph(landmarks, "bhattacharyya", 9)
    distances = bhattacharyya_matrix(landmarks.points, regularize(landmarks.covariances)[0])
    np.fill_diagonal(distances, np.inf)
    chosen = np.zeros(distances.shape, dtype=bool)
    np.put_along_axis(chosen, np.argsort(distances, axis=1)[:, :9], True, axis=1)
    np.testing.assert_array_equal(graph.lengths.toarray() > 0, chosen | chosen.T)


@pytest.mark.parametrize("metric", neighbors.METRICS)
def test_neighbors_that_agree_are_some_of_the_plain_ones(landmarks, metric):
    plain = neighbors.plain_graph(landmarks, metric, 15).lengths.toarray() > 0
    agreed = KNNGraph(15, metric=metric).build(landmarks).lengths.toarray() > 0
    assert not (agreed & ~plain).any()
    assert agreed.sum() < plain.sum()
