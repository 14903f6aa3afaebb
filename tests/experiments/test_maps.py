"""What is measured of maps, on cases with known answers."""

import numpy as np
import pytest

from experiments.benchmarks import maps


@pytest.fixture
def square(rng):
    return rng.uniform(size=(4000, 2))


def test_a_map_that_moves_nothing_keeps_everything(square):
    found = maps._kept(square, 3 * square, square[:50] + 0.01, 3 * (square[:50] + 0.01))
    assert found == {"kept": 1.0, "kept of new": 1.0}
    assert maps.distances_kept(square, -square) == pytest.approx(1.0)


def test_a_shuffled_map_keeps_nothing(square, rng):
    shuffled = rng.permutation(square)
    found = maps._kept(square, shuffled, square[:50], shuffled[:50])
    assert found["kept"] < 0.02
    assert maps.distances_kept(square, shuffled) < 0.05


def test_a_point_is_not_its_own_neighbor_even_among_copies():
    points = np.repeat(np.arange(20.0)[:, None], 12, axis=0)
    rows = np.arange(5)[:, None]
    found = maps._neighbors(points, points[:5], rows)
    assert found.shape == (5, 10)
    assert (points[found] == 0).all()
