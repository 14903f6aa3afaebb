"""What is left of classes and coordinates in an embedding."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
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


def test_recovery_ignores_constant_axes_and_takes_a_sample(rng):
    u = rng.random((3000, 1))
    padded = np.column_stack([u, np.full(3000, 0.1)])
    np.testing.assert_allclose(
        metrics.coordinate_recovery(padded, u), metrics.coordinate_recovery(u, u)
    )
    fewer = metrics.coordinate_recovery(u, u, max_points=100)
    assert fewer[0] < metrics.coordinate_recovery(u, u)[0]
    np.testing.assert_array_equal(fewer, metrics.coordinate_recovery(u, u, max_points=100))
