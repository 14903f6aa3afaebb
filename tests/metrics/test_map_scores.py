"""Scores of maps, neighborhood agreement, classes and coordinates, compared with definitions."""

from itertools import permutations

import numpy as np
import pytest
from scipy.sparse.csgraph import shortest_path
from scipy.spatial import procrustes
from scipy.spatial.distance import cdist
from scipy.stats import spearmanr
from sklearn.neighbors import KNeighborsClassifier

from trigpoint import metrics
from trigpoint.metrics import (
    _map_scores,
    _scores,
    map_scores,
    neighborhood_agreement,
    procrustes_r2,
)
from trigpoint.metrics._scores import knn_labels

K = 5


def obvious(X, Y, k=K):
    """Compute all scores with loops over all rows."""
    n = len(X)
    sums, shared, near = np.zeros(3), np.zeros(n), np.zeros(n)
    for i in range(n):
        others = np.delete(np.arange(n), i)
        a, b = (cdist(points[[i]], points[others])[0].round(9) for points in (X, Y))
        rank_x = np.array([1 + (a < value).sum() for value in a])
        # A row has each of the ranks that its ties share with equal probability.
        ranks_y = [np.arange((b < v).sum() + 1, (b <= v).sum() + 1) for v in b]
        in_x = rank_x <= k
        in_y = np.array([(ranks <= k).mean() for ranks in ranks_y])
        beyond = [np.maximum(0, ranks - in_x.sum()).mean() for ranks in ranks_y]
        sums += [
            (in_y * in_x).sum(),
            (in_y * np.maximum(0, rank_x - k) * ~in_x).sum(),
            np.mean(np.array(beyond)[in_x]) * k,
        ]
        for size in range(1, n):
            inside = [ranks for ranks, rank in zip(ranks_y, rank_x, strict=True) if rank <= size]
            shared[size] += sum((ranks <= size).mean() for ranks in inside)
            near[size] += (rank_x <= size).sum()
    sizes = np.arange(1, n - 1)
    chance = near[1:-1] / (n * (n - 1))
    with np.errstate(invalid="ignore"):
        curve = (shared[1:-1] / (n * sizes) - chance) / (1 - chance)
    worst = n * k * (2 * n - 3 * k - 1) / 2
    return sums[0] / (n * k), *(1 - sums[1:] / worst), np.where(chance < 1, curve, np.nan)


def scores_of(X, Y, **options):
    return map_scores(X, Y, n_neighbors=K, n_queries=None, **options)


@pytest.mark.parametrize("kind", ["plain", "wide", "few values", "copies", "one place"])
def test_scores_against_the_obvious_version(rng, kind):
    X = rng.normal(size=(40, 3))
    Y = X[:, :2] + 0.5 * rng.normal(size=(40, 2))
    if kind == "wide":
        X = 1e3 + X @ rng.normal(size=(3, 40))
    if kind == "few values":
        X, Y = X.round(), Y.round()
    if kind == "copies":
        X, Y = X[np.arange(40) // 4], Y[np.arange(40) // 4]
    if kind == "one place":
        Y = 0 * Y
    found = scores_of(X, Y)
    kept, trust, continuity, curve = obvious(X, Y)
    assert found.neighbors_preserved == pytest.approx(kept, abs=1e-12)
    assert found.trustworthiness == pytest.approx(trust, abs=1e-12)
    assert found.continuity == pytest.approx(continuity, abs=1e-12)
    np.testing.assert_allclose(found.curve, curve, atol=1e-12)
    weights = np.isfinite(curve) / np.arange(1, 39)
    expected = np.average(np.nan_to_num(curve), weights=weights)
    assert found.area == pytest.approx(expected, abs=1e-12)


def test_a_perfect_map_scores_1_and_a_random_one_as_chance_does(rng):
    X = rng.normal(size=(400, 2))
    shuffled = rng.permutation(X)
    perfect, random = (map_scores(X, Y) for Y in (3 - 2 * X[:, ::-1], shuffled))
    for name in ("neighbors_preserved", "trustworthiness", "continuity", "area", "triplets"):
        assert getattr(perfect, name) == pytest.approx(1)
    assert perfect.rank_correlation == pytest.approx(1)
    assert random.neighbors_preserved < 0.05
    assert random.trustworthiness == pytest.approx(0.5, abs=0.02)
    assert random.continuity == pytest.approx(0.5, abs=0.02)
    assert abs(random.area) < 0.02
    assert abs(random.rank_correlation) < 0.1
    assert random.triplets == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("copies", [1, 20])
def test_ties_do_not_help(rng, copies):
    """Neither rows that coincide nor the order in which duplicates are stored raise a score."""
    X = np.repeat(rng.normal(size=(400 // copies, 5)), copies, axis=0)
    collapsed = map_scores(X, np.zeros((400, 2)))
    chance = max(10, copies - 1) / 399
    assert collapsed.neighbors_preserved == pytest.approx(chance)
    assert abs(collapsed.area) < 0.02
    assert collapsed.rank_correlation == 0
    assert collapsed.triplets == 0.5
    assert collapsed.trustworthiness < 0.55
    assert collapsed.continuity < 0.55
    # Duplicates in any order among each other score like duplicates that coincide.
    perfect = map_scores(X, X)
    assert perfect.neighbors_preserved == pytest.approx(1)
    assert perfect.continuity == pytest.approx(1)
    assert perfect.area == pytest.approx(1)


def test_rows_without_order_have_no_scores_beyond_chance():
    """If all distances in the data are equal, every embedding scores alike."""
    found = map_scores(np.eye(12), np.arange(24.0).reshape(12, 2), n_neighbors=3)
    assert (found.neighbors_preserved, found.area, found.triplets) == (1.0, 0.0, 0.5)


def test_a_sample_of_queries_and_threads(rng, monkeypatch):
    X = rng.normal(size=(2000, 20))
    Y = X[:, :2]
    every, some = (map_scores(X, Y, n_queries=count) for count in (None, 500))
    assert some.neighbors_preserved == pytest.approx(every.neighbors_preserved, abs=0.01)
    assert some.trustworthiness == pytest.approx(every.trustworthiness, abs=0.01)
    assert some.area == pytest.approx(every.area, abs=0.01)
    assert some.rank_correlation == every.rank_correlation
    one = map_scores(X, Y, n_queries=500, n_jobs=1)
    np.testing.assert_array_equal(one.curve, some.curve)
    # In small blocks, too.
    monkeypatch.setattr(_map_scores, "_GROUP_BYTES", 10**6)
    monkeypatch.setattr(_map_scores, "_TILE_BYTES", 10**4)
    pieces = map_scores(X, Y, n_queries=500)
    np.testing.assert_allclose(pieces.curve, some.curve, atol=1e-12)


def test_distances_are_accurate_far_from_the_origin_and_near_an_outlier(rng):
    near = rng.normal(size=(300, 30))
    X = 1e6 + near
    found = map_scores(X, near)
    assert found.neighbors_preserved == pytest.approx(1, abs=1e-3)
    X = np.append(near, np.full((1, 30), 1e9), axis=0)
    found = map_scores(X, X)
    assert found.neighbors_preserved == 1
    groups = 1e5 * (np.arange(300) % 3)[:, None] + 1e-3 * near
    assert map_scores(groups, groups + 0.0).area == pytest.approx(1)
    shifted = map_scores(groups.astype(np.float64), 2 * groups)
    assert shifted.neighbors_preserved == pytest.approx(1)


def test_rank_correlation_and_triplets_of_pairs(rng):
    X, Y = rng.normal(size=(40, 3)), rng.normal(size=(40, 2)).round()
    Y[:, 0] += X[:, 0]
    all_triplets = np.array(list(permutations(range(40), 3))).T
    correlation, triplets = _map_scores._of_pairs(X, Y, all_triplets)
    first, second, third = all_triplets
    a, b = (cdist(points, points) for points in (X, Y))
    assert correlation == pytest.approx(spearmanr(a[first, second], b[first, second]).statistic)
    sign = np.sign(a[first, second] - a[first, third]) * np.sign(b[first, second] - b[first, third])
    assert triplets == pytest.approx((1 + sign).mean() / 2)


def test_procrustes_is_scipys(rng):
    Y = rng.normal(size=(100, 2))
    other = Y + 0.3 * rng.normal(size=(100, 2))
    expected = 1 - procrustes(Y, other)[2]
    assert procrustes_r2(Y, other) == pytest.approx(expected)
    assert procrustes_r2(1e100 * other, 1e-100 * Y) == pytest.approx(expected)
    assert procrustes_r2(Y, 5 + 3 * Y[:, ::-1]) == pytest.approx(1)
    assert procrustes_r2(Y, rng.normal(size=(100, 2))) < 0.1


@pytest.mark.parametrize("d", [2, 40])
@pytest.mark.parametrize("n_neighbors", [1, 4, 7])
def test_accuracy_is_scikit_learns(rng, d, n_neighbors):
    labels = rng.integers(0, 4, 500)
    X = rng.normal(size=(500, d)) + 0.8 * labels[:, None]
    train, test = slice(0, 350), slice(350, None)
    classifier = KNeighborsClassifier(n_neighbors, algorithm="brute").fit(X[train], labels[train])
    expected = classifier.score(X[test], labels[test])
    assert 0.3 < expected < 1
    for names in (labels, labels.astype(str), labels.astype(object)):
        accuracy = metrics.knn_accuracy(
            X[train], names[train], X[test], names[test], n_neighbors=n_neighbors
        )
        assert accuracy == expected
        found = knn_labels(X[train], names[train], X[test], n_neighbors=n_neighbors)
        assert found.dtype == names.dtype
        assert np.mean(found == names[test]) == expected


def test_accuracy_of_one_neighbor_by_brute_force_far_from_the_origin(rng):
    X = rng.normal(size=(300, 30)) + 1e6
    labels = np.arange(300)
    copies = X[::-1] + 1e-3 * rng.normal(size=(300, 30))
    assert metrics.knn_accuracy(X, labels, copies, labels[::-1]) == 1
    assert metrics.knn_accuracy(X, labels, copies, labels) == 0


def test_recovery_against_the_obvious_version(rng):
    u, embedding = rng.random((101, 2)), rng.normal(size=(101, 2)) * [1, 50]
    embedding[:, 0] += 3 * u[:, 0]
    order = np.random.default_rng(7).permutation(101)
    halves = order[:50], order[50:]
    scaled = embedding / embedding.std(axis=0)
    residuals = []
    for known, asked in (halves, halves[::-1]):
        for i in asked:
            nearest = known[np.argsort(cdist(scaled[[i]], scaled[known])[0])[:3]]
            residuals.append(u[nearest].mean(axis=0) - u[i])
    expected = 1 - np.square(residuals).sum(axis=0) / np.square(u - u.mean(axis=0)).sum(axis=0)
    found = metrics.coordinate_recovery(embedding, u, n_neighbors=3, random_state=7)
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_recovery_ignores_constant_axes_and_takes_a_sample(rng, monkeypatch):
    u = rng.random((3000, 1))
    padded = np.column_stack([u, np.full(3000, 0.1)])
    np.testing.assert_allclose(
        metrics.coordinate_recovery(padded, u), metrics.coordinate_recovery(u, u)
    )
    whole = metrics.coordinate_recovery(u, u)
    monkeypatch.setattr(_scores, "_RECOVERED_POINTS", 100)
    fewer = metrics.coordinate_recovery(u, u)
    assert fewer[0] < whole[0]
    np.testing.assert_array_equal(fewer, metrics.coordinate_recovery(u, u))


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


def test_identical_order_scores_1_and_random_order_0(rng):
    X = rng.normal(size=(300, 2))
    turned = 3 * X @ [[0.6, -0.8], [0.8, 0.6]] + 7
    assert neighborhood_agreement(X, turned, n_neighbors=None) == 1
    assert abs(neighborhood_agreement(X, rng.normal(size=(300, 2)))) < 0.02
    # Separate groups and duplicates are allowed.
    copies = np.repeat(np.concatenate([X[:20], X[20:40] + 1e3]), 3, axis=0)
    assert neighborhood_agreement(copies, copies) > 0.9
