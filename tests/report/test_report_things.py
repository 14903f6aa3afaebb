"""Images, addresses and text of points: what is kept of them, and what is refused."""

import io

import matplotlib.pyplot as plt
import numpy as np
import pytest

import trigpoint as tp
from trigpoint._report.things import Things, make_tiles, read_things


def tile(tiles, place):
    """Pixels (height, width, channels) of one image, from 0 to 1."""
    image = np.atleast_3d(plt.imread(io.BytesIO(tiles.png)))
    down, across = divmod(place, tiles.across)
    rows = slice(down * tiles.height, (down + 1) * tiles.height)
    return image[rows, across * tiles.width : (across + 1) * tiles.width]


@pytest.mark.parametrize("shape", [(5, 7), (5, 7, 3), (3, 5, 7), (5, 7, 1)])
@pytest.mark.parametrize("scale", [1, 255])
def test_tiles_are_the_pictures(rng, shape, scale):
    X = rng.uniform(0, scale, size=(100, np.prod(shape)))
    X[0, 0] = scale
    tiles = make_tiles(X, np.arange(0, 200, 2), X[:3], shape)
    assert tiles.points.tolist() == list(range(0, 200, 2))
    assert (tiles.height, tiles.width, tiles.n_landmarks) == (5, 7, 3)
    for place, row in ((0, X[0]), (77, X[77]), (102, X[2])):
        wanted = row.reshape(shape) / scale
        if len(shape) == 2:
            wanted = wanted[..., None]
        elif shape[0] == 3:
            wanted = np.moveaxis(wanted, 0, 2)
        np.testing.assert_allclose(tile(tiles, place), wanted, atol=0.51 / 31 + 0.002)


@pytest.mark.parametrize("levels", [None, 17])
def test_values_that_are_no_pixels_are_shown_from_the_least_to_the_most(levels, rng):
    """Digits of scikit-learn have gray levels from 0 to 16."""
    X = rng.normal(size=(10, 12)) if levels is None else rng.integers(0, levels, size=(10, 12))
    tiles = make_tiles(X, np.arange(10), X[:1], (3, 4))
    wanted = (X[4].reshape(3, 4, 1) - X.min()) / np.ptp(X)
    np.testing.assert_allclose(tile(tiles, 4), wanted, atol=0.02)


def test_large_pictures_are_reduced():
    X = np.kron(np.eye(2), np.ones((50, 60))).reshape(1, -1)
    tiles = make_tiles(X, np.zeros(1, dtype=int), X, (100, 120))
    assert (tiles.height, tiles.width) == (33, 40)
    found = tile(tiles, 0)[..., 0]
    assert found[0, 0] == found[-1, -1] == 1
    assert found[0, -1] == found[-1, 0] == 0


def test_there_are_as_many_pictures_as_there_is_room_for(rng):
    """Noise does not compress: of 4,000 pictures of 1,024 bytes about a third fit."""
    X = rng.uniform(size=(4000, 32 * 32)).astype(np.float32)
    tiles = make_tiles(X, np.arange(4000), X[:100], (32, 32))
    assert 1000 < len(tiles.points) < 3600
    assert tiles.n_landmarks == 100
    assert 1.6 * 2**20 < len(tiles.png) < 2.2 * 2**20
    assert make_tiles(X, np.arange(4000), X, (32, 32)).n_landmarks == 0


@pytest.mark.parametrize(
    ("images", "text", "n_rows", "message"),
    [
        ((28, 28), None, 10, r"images=\(28, 28\) does not match the 8 values of a row"),
        ((3,), None, 10, r"images=\(3,\) does not match the 8 values"),
        (["a.png"] * 9, None, 10, r"images 'images' has shape \(9,\) and X has 10 rows"),
        ((2, 2, 2), None, 10, "does not have 1, 3 or 4 channels"),
        (None, "a", 10, "text='a' is a single string: pass one value per row"),
        (None, ["a"], None, "text belongs to the rows of X, but X was not passed"),
    ],
)
def test_what_does_not_fit_is_refused(images, text, n_rows, message):
    with pytest.raises(tp.ParameterError, match=message):
        read_things(images, text, n_rows, 8)


def test_texts_are_shortened_so_that_the_page_stays_small():
    few = np.array(["x" * 1000, None, "y"], dtype=object)
    assert Things(texts=few).shown_texts(np.arange(3)) == ("", ["x" * 399 + "…", "", "y"])
    assert Things(addresses=few).shown_addresses(np.arange(3)) == ["x" * 1000, "", "y"]
    many = np.array(["z" * 300] * 40_000, dtype=object)
    assert sum(map(len, Things(texts=many).shown_texts(np.arange(40_000))[1])) <= 1_500_000
