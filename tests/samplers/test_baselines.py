"""Uniform sampling, k-means, its seeding, and farthest points, compared with plain versions."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import chisquare
from subset_statistics import SIGNIFICANCE, ordered_probabilities, p_value

import trigpoint._kernels.distances
from trigpoint._common.checks import as_generator
from trigpoint._samplers import kmeans, nearest_landmark
from trigpoint._samplers.farthest import FarthestPoint
from trigpoint._samplers.kmeans import KMeansLandmarks, KMeansPlusPlus
from trigpoint._samplers.uniform import Uniform
from trigpoint.datasets import make_swiss_roll


@pytest.fixture(name="X")
def points():
    return np.random.default_rng(0).normal(size=(400, 3))


def test_uniform_draws_every_row_equally_often():
    X = np.arange(10.0)[:, None]
    rng = np.random.default_rng(0)
    counts = np.zeros(10)
    for _ in range(2000):
        counts[Uniform(3, random_state=rng).fit(X).indices_] += 1
    # Without replacement, the variance of counts is (n - k) / (n - 1) times that of a multinomial.
    # Chi-square, 9 degrees, p = 0.001.
    assert chisquare(counts).statistic * 9 / 7 < 27.9  # chi-square, 9 degrees, p = 0.001


# --- k-means++ seeding -------------------------------------------------------------------------


def ordered_triples(X, power):
    """Return the probability of every ordered triple when drawing by a power of the distance."""
    D = cdist(X, X) ** power
    return ordered_probabilities(len(X), 3, lambda J: D[J].min(axis=0) if J else np.ones(len(X)))


def test_seeding_has_the_distribution_of_the_paper():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [4.0, 1.0], [5.0, 5.0]])
    sampler = KMeansPlusPlus(3, random_state=np.random.default_rng(20))
    draws = [sampler.fit(X).indices_ for _ in range(3000)]
    assert p_value(draws, ordered_triples(X, power=2), ordered=True) > SIGNIFICANCE
    # Seeds drawn by plain distances, and uniform seeds, are rejected.
    for wrong in (1, 0):
        assert p_value(draws, ordered_triples(X, wrong), ordered=True) < SIGNIFICANCE


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("offset", [0, 1e4])
def test_products_spare_differences_and_change_nothing(dtype, offset):
    rng = np.random.default_rng(0)
    distinct = rng.normal(size=(400, 24)) * np.linspace(1, 0.01, 24) + offset
    X = np.repeat(distinct, 3, axis=0).astype(dtype)
    drawn = KMeansPlusPlus(150, random_state=0).fit(X).indices_

    rng, rows, nearest = as_generator(0), [], np.full(len(X), np.inf)
    rows.append(int(rng.integers(len(X))))
    for _ in range(149):
        difference = X - X[rows[-1]]
        nearest = np.minimum(nearest, np.einsum("ij,ij->i", difference, difference))
        cumulative = np.cumsum(nearest)
        rows.append(int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right")))
    np.testing.assert_array_equal(drawn, rows)


def test_seeding_visits_few_points_again(calls):
    X = np.random.default_rng(0).normal(size=(5000, 24))
    differences = calls(nearest_landmark, "squares_to_row")
    KMeansPlusPlus(200, random_state=0).fit(X)
    looked_at = [len(rows) for _, rows, _ in differences]
    assert looked_at[0] == len(X)
    assert np.mean(looked_at) < 0.1 * len(X)


def test_seeding_refuses_distances_that_overflow():
    # Each squared distance is finite, but their sum is not.
    X = 3e153 * np.arange(-1.0, 1.0, 0.01)[:, None]
    with pytest.raises(ValueError, match="overflow: rescale X"):
        KMeansPlusPlus(2, random_state=0).fit(X)


# --- k-means -----------------------------------------------------------------------------------


@pytest.fixture
def blobs():
    """Return five groups of 40 points around known centers."""
    centers = np.array([[0.0, 0.0], [50.0, 0.0], [0.0, 50.0], [50.0, 50.0], [100.0, 0.0]])
    noise = np.random.default_rng(1).normal(size=(5, 40, 2))
    return centers[:, None] + noise


def by_position(points):
    return points[np.lexsort(points.T)]


# Half a unit in the last place of float32 at 2^20, far from the origin.
@pytest.mark.parametrize(
    ("offset", "dtype", "tolerance"), [(0, np.float64, 1e-9), (2**20, np.float32, 0.0626)]
)
def test_centers_are_the_means_of_the_clusters(blobs, offset, dtype, tolerance):
    X = (blobs + offset).astype(dtype)
    sampler = KMeansLandmarks(5, init="k-means++", snap=False, random_state=0)
    sampler.fit(X.reshape(-1, 2))
    means = by_position(X.astype(np.float64).mean(axis=1))
    np.testing.assert_allclose(by_position(sampler.landmarks_), means, rtol=0, atol=tolerance)
    assert sampler.indices_ is None


def test_snapped_landmark_is_the_point_nearest_to_the_center(blobs):
    fitted = KMeansLandmarks(5, init="k-means++", random_state=0).fit(blobs.reshape(-1, 2))
    to_center = np.linalg.norm(blobs - blobs.mean(axis=1, keepdims=True), axis=2)
    nearest = blobs[np.arange(5), to_center.argmin(axis=1)]
    np.testing.assert_array_equal(by_position(fitted.landmarks_), by_position(nearest))


def test_two_points_at_equal_distance_go_to_the_lower_row():
    X = np.array([[3.0], [1.0], [101.0], [103.0]])
    for seed in range(5):
        fitted = KMeansLandmarks(2, init="k-means++", random_state=seed).fit(X)
        assert sorted(fitted.indices_.tolist()) == [0, 2]


def test_iterations_are_counted(X):
    assert KMeansLandmarks(30, max_iter=2, random_state=0).fit(X).n_iter_ == 2
    assert 2 < KMeansLandmarks(30, random_state=0).fit(X).n_iter_ < 300


def test_empty_clusters_take_the_farthest_points_even_from_one_cluster():
    X = np.array([[0.0], [1.0], [5.0], [20.0], [20.1]])
    labels = np.array([0, 0, 0, 1, 1])
    kmeans._fill_empty(X, labels, 4)
    np.testing.assert_array_equal(labels, [3, 0, 2, 1, 1])
    # Duplicates cannot fill a cluster.
    with pytest.raises(ValueError, match=r"n_landmarks=3 is too large.*found only 2"):
        kmeans._fill_empty(np.array([[0.0], [0.0], [1.0]]), np.array([0, 0, 1]), 3)


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
@pytest.mark.parametrize("snap", [True, False])
def test_clusters_left_empty_are_filled(snap):
    """If k-means stops after one iteration, clusters may be empty."""
    emptied = 0
    for seed in (0, 12, 36):
        X, _ = make_swiss_roll(300, random_state=seed)
        sampler = KMeansLandmarks(100, snap=snap, max_iter=1, random_state=seed).fit(X)
        assert len(np.unique(sampler.landmarks_, axis=0)) == 100
        start = kmeans._distinct_rows(X, 100, as_generator(seed))
        emptied += len(np.unique(kmeans._cluster(X, X[start], 1)[0])) < 100
    assert emptied, "no run had an empty cluster, so nothing was tested"


def traverse(X, first, k):
    """Return rows and covering radii; ties go to the lower row, as in ``argmax``."""
    X = X.astype(np.float64)
    rows, radii = [first], []
    squares = np.full(len(X), np.inf)
    for _ in range(k):
        squares = np.minimum(squares, np.square(X - X[rows[-1]]).sum(axis=1))
        radii.append(np.sqrt(squares.max()))
        rows.append(int(squares.argmax()))
    return rows[:k], radii


def check(X, k, seed=0):
    fitted = FarthestPoint(k, random_state=seed).fit(X)
    rows, radii = traverse(X, fitted.indices_[0], k)
    np.testing.assert_array_equal(fitted.indices_, rows)
    np.testing.assert_allclose(fitted.covering_radii_, radii, rtol=1e-12, atol=1e-300)
    return fitted


# Below and above the dimension from which the tree holds projections.
@pytest.mark.parametrize("d", [1, 3, 20, 64, 65, 150])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_agrees_with_a_plain_loop(d, dtype, rng):
    X = rng.normal(size=(1500, d)).astype(dtype)
    before = X.copy()
    fitted = check(X, 80)
    assert fitted.indices_.dtype == np.int64
    assert fitted.landmarks_.dtype == dtype
    np.testing.assert_array_equal(fitted.landmarks_, X[fitted.indices_])
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize(("n", "k"), [(2, 1), (2, 2), (300, 300)])
def test_any_number_of_points_may_be_landmarks(n, k, rng):
    fitted = check(rng.normal(size=(n, 3)), k)
    assert (fitted.covering_radii_ == 0).tolist() == [False] * (k - 1) + [k == n]


@pytest.mark.parametrize("d", [2, 100])
def test_ties_go_to_the_lower_row(d, rng):
    # Squared distances are small integers, so nearly all steps are ties, also between duplicates.
    X = rng.integers(0, 3, size=(600, d)).astype(np.float64)
    for seed in range(5):
        check(X, 9 if d == 2 else 100, seed)


def test_images_are_not_trusted_beyond_their_rounding(rng):
    # Two groups so far apart that products lose the distances within them: without a margin for
    # rounding, wrong points would be chosen.
    X = 1e-7 * rng.normal(size=(800, 3)) @ rng.normal(size=(3, 100))
    # In each group, one point is clearly the farthest from the other group.
    X[0] -= 1e-4
    X[1] += 1e-4
    X[1::2] += 1e8
    check(X, 200)


def test_the_first_landmark_is_drawn_uniformly():
    X = np.arange(5.0)[:, None]
    rng = np.random.default_rng(0)
    counts = np.bincount(
        [FarthestPoint(1, random_state=rng).fit(X).indices_[0] for _ in range(500)]
    )
    # Chi-square, 4 degrees, p = 0.001.
    assert np.square(counts - 100).sum() / 100 < 18.5


@pytest.mark.parametrize("d", [3, 100])
def test_few_points_are_visited_on_a_manifold(d, rng, monkeypatch):
    n, k, looked_at = 20_000, 500, 0
    plane = rng.random(size=(n, 2)) @ rng.normal(size=(2, d))

    def count(cover, image, nodes, buckets):
        nonlocal looked_at
        n_nodes, n_buckets = reached(cover, image, nodes, buckets)
        tree, some = cover.tree, buckets[:n_buckets]
        looked_at += int((tree.stops[some] - tree.starts[some]).sum())
        return n_nodes, n_buckets

    reached = trigpoint._kernels.distances.reached
    monkeypatch.setattr(trigpoint._kernels.distances, "reached", count)
    FarthestPoint(k, random_state=0).fit(plane)
    assert n < looked_at < 30 * n
