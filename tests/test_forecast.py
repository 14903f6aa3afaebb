"""What is forecast is counted, and grows as the work does."""

import tracemalloc

import numpy as np
import pytest

import trigpoint as tp
from trigpoint._forecast.memory import COMPILED_BYTES


@pytest.mark.slow
@pytest.mark.parametrize(("n", "d"), [(200_000, 3), (20_000, 60)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_memory_is_what_a_run_takes(n, d, dtype, rng):
    X = rng.normal(size=(n, d)).astype(dtype)
    emb = tp.LaplacianEigenmaps(landmarks=500, random_state=0)
    emb.fit_transform(X[:1000])
    tracemalloc.start()
    emb.fit_transform(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    counted = tp.forecast(n, d, 500, dtype=dtype).bytes - COMPILED_BYTES
    assert peak / 2 < counted < 2 * peak


def test_memory_grows_with_what_is_kept():
    kept, written = (tp.forecast(10**8, 3, 100, n_components=20, keep=k).bytes for k in (1, 0))
    assert kept - COMPILED_BYTES == 20 * 4 * 10**8
    # The tree's copy of the points and their rows, and the weights.
    assert written < 24 * 10**8 + 1e9


def test_stages_add_up_and_the_text_says_so():
    expected = tp.forecast(10**6, 3, 1000)
    assert expected.seconds == pytest.approx(sum(expected.stages.values()))
    assert set(expected.stages) == {"landmarks", "graph", "spectrum", "points"}
    assert str(expected).startswith(f"about {expected.seconds:.1f} s (landmarks ")
    assert tp.forecast(10**8, 3, 1000).seconds > 20 * expected.seconds


@pytest.mark.parametrize("shape", [(10, 3, 3), (2, 1, 2), (500, 30_000, 10)])
def test_odd_shapes_have_a_forecast(shape):
    assert 0 < tp.forecast(*shape, n_components=1).seconds < np.inf


def test_bad_arguments():
    with pytest.raises(ValueError, match="k=20 is too large"):
        tp.forecast(10, 3, 20)
    with pytest.raises(ValueError, match="n_components=5 is too large"):
        tp.forecast(100, 3, 5, n_components=5)
    with pytest.raises(ValueError, match="dtype='int64' is not a type of points: choose float32"):
        tp.forecast(100, 3, 5, dtype=int)
