"""Saved estimators: the same numbers again, and nothing but an error from a damaged file."""

import json

import numpy as np
import pytest
from safetensors import safe_open
from scipy.sparse import csr_array

import trigpoint as tp


def wide(n=400, d=60, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)) * np.linspace(3, 0.1, d)


# Graphs are tried by the first alone; a file does not tell how its graph was found.
ESTIMATORS = [
    tp.LaplacianEigenmaps(landmarks=60, random_state=0),
    tp.LaplacianEigenmaps(landmarks=60, graph="euclidean", extension=10, random_state=0),
    tp.LaplacianEigenmaps(
        landmarks=tp.KMeansLandmarks(50, snap=False, random_state=1), graph=tp.KNNGraph(10)
    ),
    tp.LaplacianEigenmaps(landmarks=np.arange(0, 300, 5), graph=tp.KNNGraph(12, ridge=0.1)),
    tp.LaplacianEigenmaps(
        landmarks=60, graph=tp.KNNGraph(10, covariance="diag", by_mass=True), random_state=0
    ),
    tp.DiffusionMaps(landmarks=60, graph=tp.KNNGraph(10), alpha=0.5, time=2.0, random_state=0),
    tp.Isomap(landmarks=60, random_state=0),
    tp.Isomap(landmarks=60, extension=5, random_state=0),
    tp.KernelPCA(3, landmarks=tp.EfficientDPP(60, n_neighbors=30, refine=tp.Refinement(2))),
    tp.LandmarkMap(landmarks=60, n_iter=20, random_state=0),
    tp.LandmarkMap(n_iter=20),
]


SHARED = "landmarks_", "landmark_embedding_", "landmark_indices_"


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
# A map projects more than 50 columns.
@pytest.mark.parametrize("dimension", [3, 60])
def test_same_numbers_again(estimator, dtype, dimension, roll, tmp_path):
    X = (roll[0][:800] if dimension == 3 else wide()).astype(dtype)
    fitted = estimator.fit(X)
    fitted.save(tmp_path / "model.trig")
    again = tp.load(tmp_path / "model.trig")
    assert type(again) is type(fitted)
    np.testing.assert_array_equal(again.transform(X), fitted.transform(X))
    for attribute in (*SHARED, "eigenvalues_", "masses_"):
        # A map has no eigenvalues, and the others no masses.
        expected, found = getattr(fitted, attribute, None), getattr(again, attribute, None)
        np.testing.assert_array_equal(found, expected)
        # Landmarks that are not rows have no indices.
        assert found is expected is None or found.dtype == expected.dtype
    if getattr(fitted, "covariances_", None) is None:
        assert getattr(again, "covariances_", None) is None
    else:
        np.testing.assert_array_equal(again.covariances_, fitted.covariances_)
    assert str(again) == str(fitted)
    assert list(again.get_feature_names_out()) == list(fitted.get_feature_names_out())


def test_saved_twice_is_the_same_file(roll, tmp_path):
    for number in range(2):
        emb = tp.LaplacianEigenmaps(landmarks=60, random_state=0, n_jobs=1 + number)
        emb.fit(roll[0][:500])
        emb.save(tmp_path / f"{number}.trig")
    assert (tmp_path / "0.trig").read_bytes() == (tmp_path / "1.trig").read_bytes()


def test_what_is_set_after_the_fit_is_not_saved(roll, tmp_path):
    X = roll[0][:500]
    emb = tp.Isomap(2, landmarks=tp.Uniform(50), graph=tp.KNNGraph(10), random_state=0).fit(X)
    before = emb.transform(X)
    emb.set_params(landmarks__n_landmarks=5, graph__n_neighbors=3, n_components=5, extension=3)
    emb.set_params(metric="cosine")
    np.testing.assert_array_equal(emb.transform(X), before)
    emb.save(tmp_path / "model.trig")
    again = tp.load(tmp_path / "model.trig")
    assert (again.n_components, again.extension) == (2, "auto")
    assert (again.landmarks.n_landmarks, again.graph.n_neighbors) == (50, 10)
    np.testing.assert_array_equal(again.transform(X), before)


@pytest.mark.parametrize("path", [None, 3, b"model.trig", ["model.trig"], "", "."])
def test_what_is_no_path_of_a_model(path, roll):
    emb = tp.LaplacianEigenmaps(landmarks=20).fit(roll[0][:100])
    for use, remedy in ((tp.load, "name a file that"), (emb.save, "name the file to write")):
        with pytest.raises(tp.ParameterError, match=f"(path|folder).*: {remedy}"):
            use(path)


class OwnSampler(tp.Uniform):
    """Not one of the library's: nothing of it may be made from a file."""


def test_what_cannot_be_written_is_kept_as_what_it_came_to(roll, tmp_path):
    X = roll[0][:500]
    emb = tp.LaplacianEigenmaps(
        landmarks=OwnSampler(50), random_state=np.random.default_rng(0), verbose=lambda *_: None
    ).fit(X)
    emb.save(tmp_path / "model.trig")
    again = tp.load(tmp_path / "model.trig")
    np.testing.assert_array_equal(again.landmarks, emb.landmark_indices_)
    assert again.random_state is None
    np.testing.assert_array_equal(again.transform(X), emb.transform(X))


class OwnGraph(tp.KNNGraph):
    """Not one of the library's either."""


@pytest.mark.parametrize("landmarks", [50, tp.Uniform(50), np.arange(0, 500, 10)])
@pytest.mark.parametrize("graph", ["object", "matrix"])
def test_a_graph_of_ones_own_is_kept_as_a_matrix(roll, tmp_path, landmarks, graph):
    X = roll[0][:500]
    emb = tp.LaplacianEigenmaps(landmarks=landmarks, graph=OwnGraph(12), random_state=0).fit(X)
    if graph == "matrix":
        emb.set_params(landmarks=emb.landmark_indices_, graph=emb.graph_.toarray()).fit(X)
    emb.save(tmp_path / "model.trig")
    again = tp.load(tmp_path / "model.trig")
    np.testing.assert_array_equal(again.transform(X), emb.transform(X))
    assert isinstance(again.graph, csr_array)


class OwnEstimator(tp.LaplacianEigenmaps):
    """Could not be made from a file."""


def test_what_cannot_be_saved_leaves_no_file(roll, tmp_path):
    emb = OwnEstimator(landmarks=50, random_state=0).fit(roll[0][:400])
    with pytest.raises(TypeError, match="OwnEstimator is not one of trigpoint's estimators"):
        emb.save(tmp_path / "model.trig")
    with pytest.raises(ValueError, match="not fitted"):
        tp.LaplacianEigenmaps().save(tmp_path / "model.trig")
    with pytest.raises(tp.ParameterError, match="contains a NUL character: name the file"):
        tp.LaplacianEigenmaps(landmarks=50).fit(roll[0][:400]).save(tmp_path / "a\0.trig")
    assert not list(tmp_path.iterdir())


def test_column_names_come_back(roll, tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(roll[0][:400], columns=["east", "north", "up"])
    tp.LaplacianEigenmaps(landmarks=50, random_state=0).fit(frame).save(tmp_path / "model.trig")
    again = tp.load(tmp_path / "model.trig")
    assert list(again.feature_names_in_) == ["east", "north", "up"]
    with pytest.raises(ValueError, match="feature names"):
        again.transform(frame[["north", "east", "up"]])


def test_size_does_not_grow_with_the_points(tmp_path):
    sizes = []
    for n in (2_000, 20_000):
        X, _ = tp.datasets.make_swiss_roll(n, dtype=np.float32, random_state=0)
        emb = tp.LaplacianEigenmaps(landmarks=300, graph=tp.KNNGraph(10), random_state=0)
        emb.fit(X).save(tmp_path / "model.trig")
        sizes.append((tmp_path / "model.trig").stat().st_size)
    assert sizes[1] == pytest.approx(sizes[0], rel=0.05)


def test_other_programs_can_read_it(roll, tmp_path):
    emb = tp.LaplacianEigenmaps(landmarks=50, random_state=0).fit(roll[0][:400])
    emb.save(tmp_path / "model.trig")
    with safe_open(tmp_path / "model.trig", framework="numpy") as file:
        np.testing.assert_array_equal(file.get_tensor("landmarks.points"), emb.landmarks_)
        assert json.loads(file.metadata()["model"])["estimator"] == "LaplacianEigenmaps"
