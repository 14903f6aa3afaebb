"""The local dimension of points."""

import numpy as np
import pytest

import trigpoint as tp
from trigpoint._geometry import local_dimension


def ball(n, d, rng):
    directions = rng.normal(size=(n, d))
    return (
        directions
        / np.linalg.norm(directions, axis=1, keepdims=True)
        * rng.random((n, 1)) ** (1 / d)
    )


@pytest.mark.parametrize("dimension", [1, 2, 3, 5])
def test_balls_in_a_larger_space(dimension, rng):
    X = ball(20_000, dimension, rng) @ rng.normal(size=(dimension, 40))
    # Balls at the border hold fewer points, which costs some of a high dimension.
    assert local_dimension(X, 2000) == pytest.approx(dimension, rel=0.15)


def test_noise_below_the_spacing_of_landmarks_does_not_count(rng):
    X, _ = tp.datasets.make_swiss_roll(20_000, random_state=0)
    noisy = np.hstack([X, np.zeros((len(X), 7))]) + 0.2 * rng.normal(size=(len(X), 10))
    few, many = local_dimension(noisy, 200), local_dimension(noisy, 20_000)
    assert few == pytest.approx(2, abs=0.4)
    assert many > 3.4


def test_scale_seed_and_copies_do_not_matter(rng):
    X = ball(5000, 3, rng)
    expected = local_dimension(X, 100)
    assert local_dimension(2.0**20 * X, 100) == expected
    copies = np.repeat(X, 2, axis=0)
    assert local_dimension(copies, 100) == pytest.approx(expected, rel=0.15)


@pytest.mark.parametrize("n", [2, 3, 5, 11])
def test_few_points(n, rng):
    X = rng.normal(size=(n, 2))
    assert 0 <= local_dimension(X, n) <= 2
    assert local_dimension(np.ones((n, 2)), n) == 0
