"""Threads of our own, which change no bit of a result, and those of BLAS."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import trigpoint as tp
from trigpoint._numerics.threads import one_blas_thread


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@pytest.fixture
def two_blas_threads():
    """Whatever the environment says."""
    with threadpool_limits(2):
        assert set(blas_threads()) == {2}
        yield


@pytest.mark.usefixtures("two_blas_threads")
def test_blas_keeps_to_one_thread_inside_and_gets_the_others_back():
    with one_blas_thread():
        with one_blas_thread():
            assert set(blas_threads()) == {1}
        assert set(blas_threads()) == {1}
    assert set(blas_threads()) == {2}


@pytest.mark.usefixtures("two_blas_threads")
def test_blas_gets_its_threads_back_after_calls_that_overlap():
    def enter(_):
        with one_blas_thread():
            blas_threads()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(enter, range(40)))
    assert set(blas_threads()) == {2}


@pytest.fixture
def started(monkeypatch):
    """A list of the threads that were started."""
    threads = []

    def start(thread, start=threading.Thread.start):
        threads.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    return threads


def assert_same_bits(results):
    """Compare arrays of several runs, each a dictionary."""
    first, *others = results
    for other in others:
        for name, values in first.items():
            np.testing.assert_array_equal(other[name], values, err_msg=name)


# Small data is drawn by one thread whatever `n_jobs` is: these sizes are above what it takes to
# start more. In low dimension that is 200,000 points and 65,536 neighbors searched together, in
# high dimension several blocks of points.
@pytest.mark.parametrize(("n", "d", "k", "m"), [(210_000, 3, 64, 12_000), (60_000, 20, 64, 600)])
@pytest.mark.parametrize("covariance", [None, "full", "diag"])
def test_landmarks_are_the_same_bits_with_any_number_of_threads(n, d, k, m, covariance, started):
    X = np.random.default_rng(0).normal(size=(n, d)).astype(np.float32)
    results = []
    for n_jobs in (1, 2, 4, 16):
        sampler = tp.EfficientDPP(
            k, n_neighbors=m, bandwidth=0.5, covariance=covariance, random_state=5, n_jobs=n_jobs
        )
        started.clear()
        with threadpool_limits(min(n_jobs, 4)):
            sampler.fit(X)
        # One thread runs in the caller; of 16 there is work for two at least.
        assert len(started) >= 2 if n_jobs > 1 else not started
        found = {"indices": sampler.indices_, "radii": sampler.radii_}
        results.append(found | ({} if covariance is None else {"cov": sampler.covariances_}))
    assert_same_bits(results)


@pytest.mark.parametrize("extension", ["graph", "all", 3])
@pytest.mark.parametrize("d", [3, 20])
def test_coordinates_are_the_same_bits_with_any_number_of_threads(d, extension, started):
    X = np.random.default_rng(0).normal(size=(40_000, d)).astype(np.float32)
    results = []
    for n_jobs in (1, 2, 4, 16):
        embedding = tp.LaplacianEigenmaps(
            landmarks=100, extension=extension, random_state=0, n_jobs=n_jobs
        )
        with threadpool_limits(min(n_jobs, 4)):
            embedding.fit(X[:2000])
            started.clear()
            coordinates = embedding.transform(X)
        assert len(started) >= 2 if n_jobs > 1 else not started
        results.append({"coordinates": coordinates, "landmarks": embedding.landmarks_})
    assert_same_bits(results)


@pytest.mark.usefixtures("two_blas_threads")
def test_blas_keeps_to_one_thread_in_every_thread_that_asks():
    """The first that asked is still alive, and has left."""
    with one_blas_thread():
        pass

    def inside():
        with one_blas_thread():
            return blas_threads()

    with ThreadPoolExecutor(1) as pool:
        assert set(pool.submit(inside).result()) == {1}
