"""Farthest point traversal against a plain loop over all points."""

import numpy as np
import pytest

import trigpoint._kernels.distances
from trigpoint._samplers.farthest import FarthestPoint


def traverse(X, first, k):
    """Rows and covering radii; ties go to the lower row, as in ``argmax``."""
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


# Below and above the dimension from which the tree holds images.
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
    # Squared distances are small whole numbers: nearly all steps are ties, also between copies.
    X = rng.integers(0, 3, size=(600, d)).astype(np.float64)
    for seed in range(5):
        check(X, 9 if d == 2 else 100, seed)


def test_images_are_not_trusted_beyond_their_rounding(rng):
    # Two groups so far apart that products lose what is within: without a margin for rounding,
    # wrong points are passed over.
    X = 1e-7 * rng.normal(size=(800, 3)) @ rng.normal(size=(3, 100))
    # One point of each group is clearly the farthest from the other group.
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
def test_few_points_are_looked_at_on_a_manifold(d, rng, monkeypatch):
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
