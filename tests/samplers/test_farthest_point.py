"""Farthest point traversal against a plain loop over all points."""

import numpy as np
import pytest

import trigpoint._kernels.distances
from trigpoint._samplers import farthest
from trigpoint._samplers.farthest import FarthestPoint
from trigpoint.metrics import coverage_radius


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


@pytest.mark.parametrize("d", [2, 100])
def test_ties_go_to_the_lower_row(d, rng):
    # Squared distances are small whole numbers: nearly all steps are ties, also between copies.
    X = rng.integers(0, 3, size=(600, d)).astype(np.float64)
    for seed in range(5):
        check(X, 9 if d == 2 else 100, seed)


def test_all_points_can_be_landmarks(rng):
    X = rng.normal(size=(300, 3))
    fitted = check(X, 300)
    assert sorted(fitted.indices_.tolist()) == list(range(300))
    assert fitted.covering_radii_[-1] == 0
    assert fitted.covering_radii_[-2] > 0


def test_two_points():
    fitted = FarthestPoint(1, random_state=0).fit([[0.0], [3.0]])
    assert fitted.covering_radii_.tolist() == [3.0]
    assert len(FarthestPoint(2).fit([[0.0], [3.0]]).indices_) == 2


@pytest.mark.parametrize("d", [4, 80])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_copies_count_once(d, dtype, rng):
    distinct = (rng.normal(size=(12, d)) + 1e4).astype(dtype)
    X = np.repeat(distinct, 30, axis=0)[rng.permutation(360)]
    X[0, 0] = 0.0
    X[1], X[1, 0] = X[0], -0.0
    for seed in range(10):
        fitted = FarthestPoint(13, random_state=seed).fit(X)
        assert len(np.unique(fitted.landmarks_, axis=0)) == 13
        assert fitted.covering_radii_[-1] == 0
    message = "n_landmarks=14 is too large: only 13 of the 360 points are distinct; .*<= 13"
    with pytest.raises(ValueError, match=message):
        FarthestPoint(14, random_state=0).fit(X)


def test_images_are_not_trusted_beyond_their_rounding(rng):
    # Two groups so far apart that products lose what is within: without a margin for rounding,
    # wrong points are passed over.
    X = 1e-7 * rng.normal(size=(800, 3)) @ rng.normal(size=(3, 100))
    # One point of each group is clearly the farthest from the other group.
    X[0] -= 1e-4
    X[1] += 1e-4
    X[1::2] += 1e8
    check(X, 200)


def test_radii_are_those_of_the_metric(roll):
    X, _ = roll
    fitted = FarthestPoint(60, random_state=0).fit(X)
    for k in (1, 7, 60):
        radius = coverage_radius(X, fitted.indices_[:k])
        assert fitted.covering_radii_[k - 1] == pytest.approx(radius, rel=1e-12)
    # Each landmark was found at the radius of those before it.
    apart = np.linalg.norm(X[fitted.indices_[:59]] - X[fitted.indices_[59]], axis=1).min()
    assert apart == pytest.approx(fitted.covering_radii_[58], rel=1e-12)


@pytest.mark.parametrize("d", [3, 90])
def test_same_landmarks_with_any_number_of_threads(d, rng, monkeypatch):
    # So little work would not be shared otherwise.
    monkeypatch.setattr(farthest, "_COORDINATES", 1)
    X = rng.normal(size=(5000, d)).astype(np.float32)
    one, *others = (FarthestPoint(100, random_state=1, n_jobs=jobs).fit(X) for jobs in (1, 2, 3))
    for other in others:
        np.testing.assert_array_equal(one.indices_, other.indices_)
        np.testing.assert_array_equal(one.covering_radii_, other.covering_radii_)


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
