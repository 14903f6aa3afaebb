"""Landmarks are drawn from a pool, and numbered as rows of the data."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans

import trigpoint as tp
from trigpoint import _pool
from trigpoint._numerics.blocks import Run
from trigpoint._pool import Pool
from trigpoint._samplers import CoincidingLandmarksWarning, draw_landmarks, pool_for
from trigpoint._samplers.choice import ALL
from trigpoint._sources import open_source
from trigpoint._spaces import space_for


@pytest.fixture(name="X")
def points(rng):
    return rng.normal(size=(5000, 8))


@pytest.fixture
def small_pools(monkeypatch):
    monkeypatch.setattr(_pool, "LEAST_ROWS", 1000)


def chosen(landmarks, X, metric="euclidean", seed=0):
    rng = np.random.default_rng(seed)
    pool = pool_for(landmarks, open_source(X), space_for(metric), rng)
    return draw_landmarks(landmarks, pool, Run(rng, 1, False)), pool


def test_refinement_numbers_rows_of_the_data(X, small_pools):
    refined = tp.EfficientDPP(8, refine=1, random_state=0).fit(X)
    np.testing.assert_array_equal(refined.refinement_.indices, refined.indices_)


def test_neighbors_count_rows_of_the_data(X, small_pools):
    asked = tp.EfficientDPP(8, n_neighbors=101, random_state=0)
    pool = pool_for(asked, open_source(X), space_for("euclidean"), np.random.default_rng(0))
    assert (pool.n, pool.points.shape) == (5000, (1000, 8))
    assert asked.select(pool).neighborhoods.size == 21
    # All rows are in the pool.
    assert asked.select(Pool(X)).neighborhoods.size == 101
    few = tp.EfficientDPP(8, n_neighbors=40, random_state=0)
    message = r"n_neighbors=40 of the 5,000 rows correspond to 8 .*pool=None"
    with pytest.raises(ValueError, match=message):
        few.fit(X)
    assert few.set_params(pool=None).fit(X).indices_ is not None
    with pytest.raises(ValueError, match="n_neighbors=5001 is too large"):
        few.set_params(pool="auto", n_neighbors=5001).fit(X)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_a_pool_may_have_any_number_of_rows(X, metric):
    for pool, size in ((None, 5000), (700, 700), (10**6, 5000), ("auto", 5000)):
        sampler = tp.EfficientDPP(8, pool=pool)
        found = pool_for(sampler, open_source(X), space_for(metric), np.random.default_rng(0))
        assert len(found.points) == size
        assert (found.rows is None) == (size == 5000)


def test_all_rows_of_a_memory_map_are_used_in_place(X, tmp_path, small_pools):
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    sampler = tp.EfficientDPP(20, pool=None, random_state=0)
    pool = pool_for(sampler, open_source(mapped), space_for("euclidean"), None)
    assert np.shares_memory(pool.points, mapped)
    expected = clone(sampler).fit(X).indices_
    np.testing.assert_array_equal(clone(sampler).fit(mapped).indices_, expected)
    np.testing.assert_array_equal(clone(sampler).fit(tmp_path / "X.npy").indices_, expected)
    X[4321, 0] = np.nan
    np.save(tmp_path / "X.npy", X)
    with pytest.raises(ValueError, match="4321"):
        clone(sampler).fit(np.load(tmp_path / "X.npy", mmap_mode="r"))


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "seuclidean"])
def test_given_points_pass_the_space(X, metric, small_pools):
    X[:, 0] *= 100
    landmarks, pool = chosen(X[:20], X, metric)
    assert landmarks.indices is None
    np.testing.assert_array_equal(landmarks.points, pool.space(X[:20]))


def test_kmeans_of_scikit_learn(X, small_pools):
    kmeans = KMeans(50, n_init=1)
    landmarks, again = chosen(kmeans, X)[0], chosen(kmeans, X)[0]
    assert landmarks.indices is None
    assert landmarks.points.shape == (50, 8)
    np.testing.assert_allclose(landmarks.points, again.points)
    assert not np.allclose(landmarks.points, chosen(kmeans, X, seed=1)[0].points)
    assert kmeans.random_state is None
    assert not hasattr(kmeans, "cluster_centers_")


class Own:
    """A custom sampler without any import from the library."""

    def __init__(self, choose):
        self.choose = choose

    def fit(self, points):
        vars(self).update(self.choose(points))


def test_samplers_of_users(X, small_pools):
    def every_tenth(points):
        return {"indices_": np.arange(0, len(points), 10)}

    landmarks, pool = chosen(Own(every_tenth), X)
    np.testing.assert_array_equal(
        landmarks.indices, pool.numbers(np.arange(0, len(pool.points), 10))
    )
    np.testing.assert_array_equal(landmarks.points, X[landmarks.indices])
    means = Own(lambda points: {"landmarks_": points.reshape(2, -1, 8).mean(axis=1)})
    assert chosen(means, X)[0].points.shape == (2, 8)
    with pytest.raises(TypeError, match="Own has neither indices_ nor landmarks_"):
        chosen(Own(lambda points: {}), X)
    with pytest.raises(ValueError, match="indices_ of Own"):
        chosen(Own(lambda points: {"indices_": np.array([0, 10**6])}), X)
    for wrong in (np.zeros((5, 2)), np.full((5, 8), "a")):
        message = r"landmarks_ of Own has .* \(5, 8\) is needed"
        with pytest.raises(tp.ParameterError, match=message):
            tp.select(X, Own(lambda points, wrong=wrong: {"landmarks_": wrong}))
    # Samplers cannot write to the points.
    with pytest.raises(ValueError, match="read-only"):
        chosen(Own(lambda points: np.subtract(points, 1, out=points)), X)


class Shuffling:
    """A sampler that is no scikit-learn estimator and draws random rows."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, points):
        rng = np.random.default_rng(self.random_state)
        self.indices_ = rng.choice(len(points), 20, replace=False)


def test_any_sampler_of_the_user_gets_a_seed(X):
    first, again = (tp.select(X, Shuffling(), random_state=0).indices for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert set(tp.select(X, Shuffling(), random_state=1).indices) != set(first)


def test_coinciding_landmarks_are_left_out_with_a_note(rng):
    X = np.repeat(rng.normal(size=(20, 3)), 50, axis=0)
    landmarks, _ = chosen(tp.Uniform(30, random_state=0), X)
    assert len(landmarks.points) == len(np.unique(landmarks.points, axis=0)) < 30
    (note,) = landmarks.notes
    assert isinstance(note, CoincidingLandmarksWarning)
    with pytest.warns(CoincidingLandmarksWarning, match="landmarks? coincided with others"):
        tp.select(X, tp.Uniform(30, random_state=0))


def test_a_projected_pool_gives_landmarks_in_the_projection(X):
    pool = Pool(X)
    reduced = pool.reduced(3, np.random.default_rng(0), 1)
    assert reduced.points.shape == (5000, 3)
    rng = np.random.default_rng(0)
    landmarks = draw_landmarks(10, reduced, Run(rng, 1, False))
    np.testing.assert_array_equal(landmarks.points, reduced.points[landmarks.indices])
    everything = draw_landmarks(ALL, reduced, Run(rng, 1, False))
    np.testing.assert_array_equal(everything.indices, np.arange(5000))


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "seuclidean"])
def test_select_returns_rows_as_they_are(X, metric, small_pools):
    told = []
    subset = tp.select(X, 30, metric=metric, random_state=0, callback=lambda *s: told.append(s))
    assert (len(subset), subset.n_points) == (30, 5000)
    np.testing.assert_array_equal(subset.points, X[subset.indices])
    assert told[-1] == ("landmarks", 30, 30)
    again = tp.select(X, 30, metric=metric, random_state=0, n_jobs=1)
    np.testing.assert_array_equal(again.indices, subset.indices)


def test_select_gives_landmarks_that_are_not_rows(X):
    centers = tp.select(X[:500].tolist(), tp.KMeansLandmarks(5, snap=False), random_state=0)
    assert centers.indices is None
    assert centers.points.shape == (5, 8)
