"""k-means and nearest neighbors in PyTorch, against scikit-learn and the library."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

from experiments.data.mnist import load_mnist
from experiments.paper.on_device import landmarks_of, lloyd, nearest_labels, seed_rows
from trigpoint import KMeansLandmarks, KMeansPlusPlus
from trigpoint.datasets import make_swiss_roll
from trigpoint.metrics import knn_labels

torch = pytest.importorskip("torch", reason="PyTorch is not installed")


def blobs(n=600, d=5, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(12, d))[rng.integers(12, size=n)] * 3 + rng.normal(size=(n, d))


def data(name):
    if name == "roll":
        return make_swiss_roll(800, random_state=0)[0]
    if name == "far from the origin":
        return blobs() + 1e4
    return blobs(400, 20) if name == "many columns" else blobs()


@pytest.mark.parametrize("name", ["blobs", "roll", "far from the origin", "many columns"])
@pytest.mark.parametrize("max_iter", [1, 3, 300])
def test_lloyd_gives_the_centers_of_scikit_learn(name, max_iter):
    X = data(name)
    start = X[np.random.default_rng(1).choice(len(X), 25, replace=False)]
    expected = KMeans(25, init=start, n_init=1, max_iter=max_iter).fit(X)
    labels, centers, n_iter = lloyd(torch.tensor(X), torch.tensor(start), max_iter=max_iter)
    np.testing.assert_array_equal(labels, expected.labels_)
    assert n_iter == expected.n_iter_
    means = [X[labels == cluster].mean(axis=0) for cluster in range(25)]
    np.testing.assert_allclose(centers.numpy(), means, rtol=1e-9)
    if max_iter == 300:
        np.testing.assert_allclose(centers.numpy(), expected.cluster_centers_, atol=1e-2)


def test_lloyd_gives_the_clusters_of_scikit_learn_on_digits(data_dir):
    X = load_mnist(data_dir / "mnist", split="test")[0][:3000].astype(np.float64)
    start = X[:60]
    expected = KMeans(60, init=start, n_init=1).fit(X)
    labels, centers, n_iter = lloyd(torch.tensor(X), torch.tensor(start))
    np.testing.assert_array_equal(labels, expected.labels_)
    assert n_iter == expected.n_iter_
    inertia = np.square(X - centers.numpy()[labels]).sum()
    assert inertia == pytest.approx(expected.inertia_, rel=1e-6)


@pytest.mark.parametrize("n_empty", [1, 4])
def test_lloyd_fills_empty_clusters_like_scikit_learn(n_empty):
    X = blobs()
    # Centers far from all points lose every one of them.
    start = np.concatenate([X[:20], 1e3 + X[:n_empty]])
    labels, _, n_iter = lloyd(torch.tensor(X), torch.tensor(start))
    expected = KMeans(len(start), init=start, n_init=1).fit(X)
    np.testing.assert_array_equal(labels, expected.labels_)
    assert n_iter == expected.n_iter_
    assert len(np.unique(labels)) == len(start)


@pytest.mark.parametrize("seed", range(3))
def test_seeding_draws_the_rows_of_the_library(seed):
    X = blobs(1000, seed=seed)
    expected = KMeansPlusPlus(200, random_state=seed).fit(X).indices_
    np.testing.assert_array_equal(seed_rows(torch.tensor(X), 200, seed), expected)


@pytest.mark.parametrize("init", ["random", "k-means++"])
def test_landmarks_are_those_of_the_library(init):
    X = blobs(1000)
    X[1] = X[0]
    sampler = KMeansLandmarks(100, init=init, snap=False, random_state=3)
    centers = landmarks_of(sampler, torch.tensor(X))
    np.testing.assert_allclose(centers, sampler.fit(X).landmarks_, rtol=1e-9)
    seeding = KMeansPlusPlus(50, random_state=3)
    np.testing.assert_array_equal(landmarks_of(seeding, torch.tensor(X)), seeding.fit(X).indices_)


def test_labels_are_those_of_the_library_also_where_distances_are_equal():
    rng = np.random.default_rng(0)
    # On a grid, so that many distances are equal, and some points coincide.
    train, test = (rng.integers(4, size=(n, 17)).astype(np.float32) / 3 for n in (800, 300))
    train[400:500] = train[:100]
    labels = rng.integers(1000, size=800)
    found = nearest_labels(torch.tensor(train), labels, torch.tensor(test))
    np.testing.assert_array_equal(found, knn_labels(train, labels, test))
