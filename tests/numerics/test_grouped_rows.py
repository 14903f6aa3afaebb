"""Groups of equal rows, compared with NumPy."""

import numpy as np
import pytest

from trigpoint._kernels import hashing
from trigpoint._numerics.blocks import grouped_rows


def slow_groups(X):
    """Group by sorting."""
    seen: dict[tuple[float, ...], int] = {}
    first = []
    groups = []
    for i, row in enumerate(map(tuple, X.tolist())):
        if row not in seen:
            seen[row] = len(first)
            first.append(i)
        groups.append(seen[row])
    return first, groups


@pytest.fixture(params=[np.float32, np.float64], ids=["float32", "float64"])
def rows(request, rng):
    X = rng.integers(3, size=(400, 4)).astype(request.param) - 1
    # Zeros of both signs are equal.
    X[rng.random(X.shape) < 0.5] *= -1
    assert np.signbit(X[X == 0]).any()
    return X


def test_groups_by_definition(rows):
    for X in (rows, np.asfortranarray(rows), rows[:1], np.unique(rows, axis=0), rows[:, :1]):
        first, groups = grouped_rows(X)
        expected = slow_groups(X)
        np.testing.assert_array_equal(first, expected[0])
        np.testing.assert_array_equal(groups, expected[1])


@pytest.mark.parametrize("n_keys", [1, 5])
def test_points_of_the_same_hash_are_distinguished(n_keys, rows, monkeypatch):
    def few_keys(bits, keys):
        keys[:] = np.abs(rows).sum(axis=1).astype(np.uint64) % np.uint64(n_keys)

    monkeypatch.setattr(hashing, "hash_rows", few_keys)
    first, groups = grouped_rows(rows)
    expected = slow_groups(rows)
    np.testing.assert_array_equal(first, expected[0])
    np.testing.assert_array_equal(groups, expected[1])


def test_hashes_of_different_rows_differ(rng):
    X = np.concatenate([rng.normal(size=(20_000, 3)), rng.integers(50, size=(20_000, 3))])
    keys = np.empty(len(X), dtype=np.uint64)
    hashing.hash_rows(X.view(np.uint64), keys)
    assert len(np.unique(keys)) == len(np.unique(X, axis=0))
