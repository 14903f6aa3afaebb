"""The figure of ten million points, at a hundredth of its size."""

from dataclasses import replace

import numpy as np
import pytest
from reproducing import reproduce

from experiments.framework.experiment import Settings
from experiments.framework.summary import column
from experiments.internals import Pool, bhattacharyya_matrix, local_covariances, regularize
from experiments.paper import neighbors
from trigpoint import EfficientDPP

QUICK = Settings(quick=True, runs=1)


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """The quick form, run once for all tests."""
    return reproduce("neighbors", tmp_path_factory.mktemp("neighbors"), QUICK)


@pytest.fixture
def landmarks(roll):
    pool = Pool(roll[0])
    landmarks = EfficientDPP(120, random_state=0).select(pool)
    _, covariances = local_covariances(pool, landmarks, "full", 1)
    return replace(landmarks, covariances=covariances)


def rows_of(result, **chosen):
    """Rows of a reproduction that have some values, by number of neighbors."""
    rows = [row for row in result.rows if chosen.items() <= row.items()]
    assert [row["n_neighbors"] for row in rows] == list(neighbors.QUICK_NEIGHBORS)
    return rows


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
