"""Threads of our own, and those of BLAS."""

from concurrent.futures import ThreadPoolExecutor

from threadpoolctl import threadpool_info

from trigpoint._numerics.threads import one_blas_thread


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_blas_keeps_to_one_thread_inside_and_gets_the_others_back():
    before = blas_threads()
    with one_blas_thread():
        with one_blas_thread():
            assert set(blas_threads()) == {1}
        assert set(blas_threads()) == {1}
    assert blas_threads() == before


def test_blas_gets_its_threads_back_after_calls_that_overlap():
    before = blas_threads()

    def enter(_):
        with one_blas_thread():
            blas_threads()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(enter, range(40)))
    assert blas_threads() == before


def test_blas_keeps_to_one_thread_in_every_thread_that_asks():
    """The first that asked is still alive, and has left."""
    with one_blas_thread():
        pass

    def inside():
        with one_blas_thread():
            return blas_threads()

    with ThreadPoolExecutor(1) as pool:
        assert set(pool.submit(inside).result()) == {1}
