"""What is left of classes and coordinates in an embedding."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import spearmanr
from sklearn.neighbors import KNeighborsClassifier

from trigpoint import metrics
from trigpoint.metrics._scores import knn_labels


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


def test_recovery_of_monotone_shuffled_folded_and_bent_maps(rng):
    u = rng.random((4000, 2))
    for embedding in (u, u @ [[0, -3], [2, 0]], np.exp(2 * u) * [1.0, 1e6]):
        assert (metrics.coordinate_recovery(embedding, u) > 0.98).all()
    assert (metrics.coordinate_recovery(rng.permutation(u), u) < 0.05).all()
    folded = metrics.coordinate_recovery(np.abs(u - 0.5), u)
    assert (folded < 0.05).all()
    spiral = np.column_stack([u[:, 0] * np.cos(8 * u[:, 0]), u[:, 0] * np.sin(8 * u[:, 0])])
    recovery = metrics.coordinate_recovery(spiral, u)
    assert recovery.shape == (2,)
    assert recovery[0] > 0.98
    assert recovery[1] < 0.05


def test_recovery_against_the_obvious_version(rng):
    u, embedding = rng.random((101, 1)), rng.normal(size=(101, 2)) * [1, 50]
    embedding[:, 0] += 3 * u[:, 0]
    order = np.random.default_rng(7).permutation(101)
    halves = order[:50], order[50:]
    scaled = embedding / embedding.std(axis=0)
    residuals = []
    for known, asked in (halves, halves[::-1]):
        for i in asked:
            nearest = known[np.argsort(cdist(scaled[[i]], scaled[known])[0])[:3]]
            residuals.append(u[nearest, 0].mean() - u[i, 0])
    expected = 1 - np.sum(np.square(residuals)) / np.sum((u - u.mean()) ** 2)
    found = metrics.coordinate_recovery(embedding, u, n_neighbors=3, random_state=7)
    assert found[0] == pytest.approx(expected, rel=1e-10)


def test_recovery_ignores_constant_axes_and_takes_a_sample(rng):
    u = rng.random((3000, 1))
    padded = np.column_stack([u, np.full(3000, 0.1)])
    np.testing.assert_allclose(
        metrics.coordinate_recovery(padded, u), metrics.coordinate_recovery(u, u)
    )
    fewer = metrics.coordinate_recovery(u, u, max_points=100)
    assert fewer[0] < metrics.coordinate_recovery(u, u)[0]
    np.testing.assert_array_equal(fewer, metrics.coordinate_recovery(u, u, max_points=100))


def test_rank_correlation_is_spearmans(rng):
    a, b = rng.normal(size=200).round(1), rng.normal(size=200)
    b -= a
    expected = abs(spearmanr(a, b).statistic)
    assert 0.3 < expected < 1
    assert metrics.rank_correlation(a, b) == pytest.approx(expected)
    assert metrics.rank_correlation(a[:, None], np.exp(-a)) == 1
