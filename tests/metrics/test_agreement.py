"""Agreement of neighborhoods at all scales."""

import numpy as np
import pytest
from scipy.sparse.csgraph import shortest_path
from scipy.spatial.distance import cdist

import trigpoint as tp
from trigpoint.metrics import neighborhood_agreement


def by_definition(known, Y):
    """One neighborhood of one point at a time."""
    n = len(Y)
    apart = cdist(Y, Y)
    near = [[j for j in np.argsort(row, kind="stable") if j != i] for i, row in enumerate(known)]
    shown = [[j for j in np.argsort(row, kind="stable") if j != i] for i, row in enumerate(apart)]
    total = weights = 0.0
    for size in range(1, n - 1):
        shared = sum(len(set(a[:size]) & set(b[:size])) for a, b in zip(near, shown, strict=True))
        share = shared / (size * n)
        total += ((n - 1) * share - size) / (n - 1 - size) / size
        weights += 1 / size
    return total / weights


def test_straight_distances_by_definition(rng):
    X, Y = rng.normal(size=(40, 5)), rng.normal(size=(40, 2))
    Y[:20] = X[:20, :2]
    expected = by_definition(cdist(X, X), Y)
    assert neighborhood_agreement(X, Y, n_neighbors=None) == pytest.approx(expected, rel=1e-12)


def test_distances_along_the_points_by_definition(rng):
    angles = np.sort(rng.uniform(0, 5, size=60))
    X = np.column_stack([np.cos(angles), np.sin(angles)])
    apart = cdist(X, X)
    graph = np.zeros((60, 60))
    for i, near in enumerate(np.argsort(apart, axis=1)[:, 1:9]):
        graph[i, near] = graph[near, i] = apart[i, near]
    paths = shortest_path(graph, directed=False)
    assert np.isfinite(paths).all()
    found = neighborhood_agreement(X, X[:, :1], n_neighbors=8)
    assert found == pytest.approx(by_definition(paths, X[:, :1]), rel=1e-12)


def test_the_same_order_is_perfect_and_chance_is_nothing(rng):
    X = rng.normal(size=(300, 2))
    turned = 3 * X @ [[0.6, -0.8], [0.8, 0.6]] + 7
    assert neighborhood_agreement(X, turned, n_neighbors=None) == 1
    assert abs(neighborhood_agreement(X, rng.normal(size=(300, 2)))) < 0.02
    # Separate groups and copies are no obstacle.
    copies = np.repeat(np.concatenate([X[:20], X[20:40] + 1e3]), 3, axis=0)
    assert neighborhood_agreement(copies, copies) > 0.9


def test_cosine_compares_directions(rng):
    X = rng.normal(size=(100, 3))
    longer = X * rng.uniform(1, 100, size=(100, 1))
    own = neighborhood_agreement(X, X[:, :2], metric="cosine")
    assert neighborhood_agreement(longer, X[:, :2], metric="cosine") == pytest.approx(own)
    assert neighborhood_agreement(longer, X[:, :2]) != pytest.approx(own)


@pytest.mark.parametrize(
    ("X", "Y", "options", "message"),
    [
        (np.eye(3), np.eye(3), {}, "X has 3 points"),
        (np.eye(5), np.eye(4), {}, "5.*4|4.*5"),
        (np.eye(5), np.eye(5), {"n_neighbors": 5}, "n_neighbors"),
        (np.eye(5), np.eye(5), {"metric": "hamming"}, "metric"),
    ],
)
def test_refusals(X, Y, options, message):
    with pytest.raises(tp.ParameterError, match=message):
        neighborhood_agreement(X, Y, **options)
