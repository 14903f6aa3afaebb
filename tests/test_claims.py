"""The claims about speed, guarded by counting instead of by a clock."""

import numpy as np
import pytest

import trigpoint as tp
from trigpoint._numerics import neighbors
from trigpoint.datasets import make_swiss_roll


@pytest.mark.parametrize("n", [10_000, 100_000])
def test_distance_rows_do_not_grow_with_the_number_of_points(n):
    X, _ = make_swiss_roll(n, random_state=0)
    sampler = tp.EfficientDPP(200, random_state=0).fit(X)
    # One neighbourhood for each landmark, 25 for the bandwidth, and few in vain.
    assert 225 <= sampler.n_distance_rows_ < 1.3 * 225
    assert sampler.search_ == "tree"


@pytest.mark.parametrize("k", [100, 400, 1600])
def test_distance_rows_grow_no_faster_than_the_landmarks(k):
    X, _ = make_swiss_roll(20_000, random_state=0)
    sampler = tp.EfficientDPP(k, random_state=0).fit(X)
    assert sampler.n_distance_rows_ < 1.3 * (k + 64)


def test_in_high_dimension_few_searches_are_in_vain(rng):
    """A twelfth of all points around each landmark: without foresight it was half of them."""
    X = rng.normal(size=(6000, 50)).astype(np.float32)
    sampler = tp.EfficientDPP(200, n_neighbors=500, random_state=0).fit(X)
    assert sampler.search_ == "products"
    assert sampler.n_distance_rows_ < 1.3 * 264


def test_tree_searches_look_at_little_more_than_the_neighbours(monkeypatch):
    """Buckets read for a neighbourhood, in points: at most four times its size."""
    X, _ = make_swiss_roll(100_000, random_state=0)
    m = 2000
    index = neighbors.neighbor_index(X, m, 100)
    tree = index.tree
    queries = X[:50]
    radii = index.query(queries, m)[0][:, -1]
    buckets = np.flatnonzero(tree.children == 0)
    read = []
    for query, radius in zip(queries, radii, strict=True):
        beyond = np.maximum(tree.lower[buckets] - query, query - tree.upper[buckets])
        touched = np.linalg.norm(np.maximum(beyond, 0), axis=1) <= radius
        read.append((tree.stops - tree.starts)[buckets[touched]].sum())
    assert np.mean(read) < 4 * m


def test_samplers_memory_is_a_few_numbers_a_point():
    """A tree's copy of the points and their rows, and the weights: no more than 40 bytes each."""
    import tracemalloc

    X, _ = make_swiss_roll(500_000, random_state=0)
    X = X.astype(np.float32)
    sampler = tp.EfficientDPP(500, random_state=0)
    sampler.fit(X[:1000])
    tracemalloc.start()
    sampler.fit(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 40 * len(X) + 130e6
