"""The library's threads, which do not change any bit of a result, and those of BLAS."""

import os
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone
from threadpoolctl import threadpool_info, threadpool_limits

import trigpoint as tp
from trigpoint._geometry import local_covariances
from trigpoint._numerics.blocks import one_blas_thread, thread_map
from trigpoint._pool import Pool


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@pytest.fixture
def two_blas_threads():
    """Set two BLAS threads, whatever the environment sets."""
    with threadpool_limits(2):
        assert set(blas_threads()) == {2}
        yield


@pytest.mark.usefixtures("two_blas_threads")
def test_blas_gets_its_threads_back_after_calls_that_overlap():
    """BLAS uses one thread in every thread that asks for it, even after the first has left."""

    def inside(_=None):
        with one_blas_thread():
            with one_blas_thread():
                assert set(blas_threads()) == {1}
            assert set(blas_threads()) == {1}

    inside()
    assert set(blas_threads()) == {2}
    for n_threads in (1, 4):
        with ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(inside, range(40)))
        assert set(blas_threads()) == {2}


@pytest.fixture
def submitted(calls):
    """Return a list of the calls submitted to threads."""
    return calls(ThreadPoolExecutor, "submit")


def assert_same_bits(results):
    """Compare the arrays of several runs, each a dictionary."""
    first, *others = results
    for other in others:
        for name, values in first.items():
            np.testing.assert_array_equal(other[name], values, err_msg=name)


# Small data is drawn by one thread for any `n_jobs`, so the sizes here are above the threshold for
# more: in low dimension, 200,000 points and 65,536 neighbors searched together, and in high
# dimension, several blocks of points.
@pytest.mark.parametrize(("n", "d", "k", "m"), [(210_000, 3, 64, 12_000), (60_000, 20, 64, 600)])
@pytest.mark.parametrize("mode", ["full", "diag"])
def test_landmarks_are_the_same_bits_with_any_number_of_threads(n, d, k, m, mode, submitted):
    X = np.random.default_rng(0).normal(size=(n, d)).astype(np.float32)
    results = []
    for n_jobs in (1, 2, 16):
        sampler = tp.EfficientDPP(k, n_neighbors=m, bandwidth=0.5, random_state=5, n_jobs=n_jobs)
        submitted.clear()
        with threadpool_limits(min(n_jobs, 4)):
            pool = Pool(X)
            chosen = sampler.select(pool)
            radii, covariances = local_covariances(pool, chosen, mode, n_jobs)
        # One thread is the caller; of 16 threads, at least two have work.
        assert len(submitted) >= 2 if n_jobs > 1 else not submitted
        results.append({"rows": chosen.indices, "radii": radii, "covariances": covariances})
    assert_same_bits(results)


@pytest.mark.parametrize("extension", ["graph", "all", "smooth"])
@pytest.mark.parametrize(("n", "d"), [(40_000, 3), (20_000, 20)])
def test_coordinates_are_the_same_bits_with_any_number_of_threads(n, d, extension, submitted):
    X = np.random.default_rng(0).normal(size=(n, d)).astype(np.float32)
    results = []
    for n_jobs in (1, 2, 16):
        embedding = tp.LaplacianEigenmaps(
            landmarks=100, extension=extension, random_state=0, n_jobs=n_jobs
        )
        with threadpool_limits(min(n_jobs, 4)):
            embedding.fit(X[:1000])
            submitted.clear()
            coordinates = embedding.transform(X)
        assert len(submitted) >= 2 if n_jobs > 1 else not submitted
        results.append({"coordinates": coordinates, "landmarks": embedding.landmarks_})
    assert_same_bits(results)


def test_a_map_keeps_the_order_and_its_threads():
    together = threading.Barrier(3)

    def name(i):
        if i < 3:
            together.wait(timeout=60)  # Make every thread take part.
        time.sleep(0.001 * (i % 3))
        return i, threading.current_thread().name

    first, again = (dict(thread_map(name, range(20), 3)) for _ in range(2))
    assert list(first) == list(again) == list(range(20))
    assert set(again.values()) == set(first.values()), "a thread was started again"


def test_nested_maps_do_not_deadlock():
    def inner(i):
        return list(thread_map(lambda j: i + j, range(6), 2))

    expected = [[i + j for j in range(6)] for i in range(6)]
    assert list(thread_map(inner, range(6), 2)) == expected


def test_an_error_drops_what_has_not_begun_and_waits_for_the_rest():
    begun, ended = [], []

    def work(i):
        begun.append(i)
        time.sleep(0.05)
        if i == 0:
            raise ValueError("work")
        ended.append(i)

    with pytest.raises(ValueError, match="work"):
        list(thread_map(work, range(100), 2))
    count = len(begun)
    assert count < 8
    assert len(ended) == count - 1
    assert list(thread_map(str, range(3), 2)) == ["0", "1", "2"]


@pytest.mark.parametrize("embedding", [tp.KernelPCA(3), tp.LaplacianEigenmaps(3, graph="complete")])
@pytest.mark.parametrize("k", [150, 300])
def test_kernels_of_all_landmarks_are_the_same_bits_with_any_number_of_blas_threads(embedding, k):
    """In the main thread, products use as many threads as there are cores."""
    X = np.random.default_rng(0).normal(size=(600, 40))
    results = []
    for n_threads in (1, 2, 4):
        emb = clone(embedding).set_params(landmarks=k, random_state=0)
        with threadpool_limits(n_threads):
            results.append({"coordinates": emb.fit_transform(X)})
    assert_same_bits(results)


def fit_in_pieces(_):
    """Fit disconnected points, which causes a warning."""
    X = np.random.default_rng(0).normal(size=(400, 2))
    X[200:] += 100
    emb = tp.LaplacianEigenmaps(landmarks=60, graph="euclidean", random_state=0)
    return emb.fit_transform(X)


def test_fits_in_several_threads_leave_the_warnings_of_the_process_alone():
    """All fits warn, and so does the process afterwards."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        before, show = list(warnings.filters), warnings.showwarning
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(fit_in_pieces, range(12)))
        assert warnings.filters == before
        assert warnings.showwarning is show
    assert ["2 connected components" in str(one.message) for one in said] == 12 * [True]
    with pytest.warns(UserWarning, match="still heard"):
        warnings.warn("still heard", stacklevel=1)
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


# In a separate process, which forks while a thread fits repeatedly.
FORK = """
import os, threading, time, warnings
import numpy as np
import trigpoint as tp

warnings.simplefilter("ignore")
X = np.random.default_rng(0).normal(size=(3000, 20))
emb = tp.LaplacianEigenmaps(landmarks=100, random_state=0, n_jobs=2)
expected = emb.fit_transform(X)
done = threading.Event()

def fit():
    while not done.is_set():
        tp.LaplacianEigenmaps(landmarks=100, random_state=0, n_jobs=2).fit(X)

thread = threading.Thread(target=fit)
thread.start()
for wait in (0.05, 0.11, 0.17):
    time.sleep(wait)
    child = os.fork()
    if child == 0:
        again = tp.LaplacianEigenmaps(landmarks=100, random_state=0, n_jobs=2).fit_transform(X)
        os._exit(0 if np.array_equal(again, expected) else 1)
    deadline = time.monotonic() + 60
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0):
        if time.monotonic() > deadline:
            os.kill(child, 9)
        time.sleep(0.01)
    print(ended[1])
done.set()
thread.join()
"""


HELD = """
import os
from trigpoint._numerics.blocks import _Blas, one_blas_thread

with one_blas_thread(), _Blas.lock:
    child = os.fork()
    if child == 0:
        with one_blas_thread():
            os._exit(_Blas.inside - 1)
print(os.waitpid(child, 0)[1])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_process_forked_while_blas_is_limited_can_limit_it():
    result = subprocess.run(
        [sys.executable, "-c", HELD], capture_output=True, text=True, check=True, timeout=60
    )
    assert result.stdout.split() == ["0"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_process_forked_while_a_thread_fits_can_fit():
    """Locks held by the thread at that moment are not held in the new process."""
    result = subprocess.run(
        [sys.executable, "-c", FORK], capture_output=True, text=True, check=True, timeout=240
    )
    assert result.stdout.split() == ["0", "0", "0"]
