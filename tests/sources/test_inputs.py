"""Points from files are the same points: same landmarks, same coordinates."""

import numpy as np
import pytest

import trigpoint as tp


@pytest.fixture
def points(roll):
    return roll[0].astype(np.float32)


def write(path, points):
    np.save(path, points)
    return path


def eigenmaps(**options):
    # With a given graph, none is selected.
    options = {"graph": tp.KNNGraph(n_neighbors=10), **options}
    return tp.LaplacianEigenmaps(landmarks=100, random_state=0, **options)


def test_coordinates_of_a_fit_go_to_a_file(tmp_path, points):
    emb, out = eigenmaps(), tmp_path / "Y.npy"
    assert emb.fit_transform(points, out=out) == out
    np.testing.assert_array_equal(np.load(out), emb.transform(points))


def test_what_cannot_be_written_is_refused_before_the_fit(tmp_path, points):
    path = write(tmp_path / "points.npy", points)
    emb = eigenmaps()
    for out in (tmp_path / "nowhere" / "Y.npy", tmp_path / "Y.xlsx"):
        with pytest.raises((ValueError, OSError)):
            emb.fit_transform(points, out=out)
    with pytest.raises(ValueError, match=r"points\.npy"):
        emb.fit_transform(path, out=path)
    assert not hasattr(emb, "landmark_embedding_")
