"""Saved estimators: the same numbers again, and nothing but an error from a damaged file."""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from scipy.sparse import csr_array

import trigpoint as tp
from trigpoint._common.errors import DamagedFileError
from trigpoint._estimators.tensors import read_tensors, write_tensors


def wide(n=400, d=40, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)) * np.linspace(3, 0.1, d)


# Graphs are tried by the first alone; a file does not tell how its graph was found.
ESTIMATORS = [
    tp.LaplacianEigenmaps(landmarks=60, random_state=0),
    tp.LaplacianEigenmaps(landmarks=60, graph="euclidean", extension=10, random_state=0),
    tp.LaplacianEigenmaps(
        landmarks=tp.KMeansLandmarks(50, snap=False, random_state=1), n_neighbors=10
    ),
    tp.LaplacianEigenmaps(landmarks=np.arange(0, 300, 5), graph=tp.KNNGraph(12, ridge=0.1)),
    tp.LaplacianEigenmaps(landmarks=60, n_neighbors=10, covariance="low-rank", random_state=0),
    tp.DiffusionMaps(landmarks=60, n_neighbors=10, alpha=0.5, time=2.0, random_state=0),
    tp.Isomap(landmarks=60, random_state=0),
    tp.Isomap(landmarks=60, extension=5, random_state=0),
    tp.KernelPCA(landmarks=tp.EfficientDPP(60, refine=tp.Refinement(n_sweeps=1)), n_components=3),
    tp.LandmarkMap(landmarks=60, n_iter=20, random_state=0),
    tp.LandmarkMap(landmarks=60, n_iter=20, refine=10, random_state=0),
]


def name(estimator):
    return type(estimator).__name__


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("dimension", [3, 40])
def test_same_numbers_again(estimator, dtype, dimension, roll, tmp_path):
    X = (roll[0][:800] if dimension == 3 else wide()).astype(dtype)
    fitted = estimator.fit(X)
    fitted.save(tmp_path / "model.trig")
    again = tp.load(tmp_path / "model.trig")
    assert type(again) is type(fitted)
    np.testing.assert_array_equal(again.transform(X), fitted.transform(X))
    for attribute in ("landmarks_", "landmark_embedding_", "eigenvalues_", "landmark_indices_"):
        # A map has no eigenvalues.
        expected, found = getattr(fitted, attribute, None), getattr(again, attribute, None)
        np.testing.assert_array_equal(found, expected)
        # Landmarks that are not rows have no indices.
        assert found is expected is None or found.dtype == expected.dtype
    if getattr(fitted, "covariances_", None) is None:
        assert getattr(again, "covariances_", None) is None
    elif isinstance(fitted.covariances_, tp.LowRankCovariances):
        for part, values in vars(fitted.covariances_).items():
            np.testing.assert_array_equal(getattr(again.covariances_, part), values)
    else:
        np.testing.assert_array_equal(again.covariances_, fitted.covariances_)
    assert again.get_params()["n_components"] == fitted.n_components
    assert list(again.get_feature_names_out()) == list(fitted.get_feature_names_out())


def test_covariances_are_left_out_where_the_file_would_be_made_of_them(rng, tmp_path):
    emb = tp.LaplacianEigenmaps(landmarks=60, random_state=0).fit(rng.normal(size=(400, 20)))
    assert emb.covariances_.shape == (60, 20, 20)
    emb.save(tmp_path / "model.trig")
    assert tp.load(tmp_path / "model.trig").covariances_ is None


def test_a_file_without_covariances_is_read(model, tmp_path):
    """As those of earlier versions are."""
    data = rewritten(model, tmp_path, lambda a, m, _: a.pop("landmarks.covariances"))
    (tmp_path / "old.trig").write_bytes(data)
    assert tp.load(tmp_path / "old.trig").covariances_ is None


def test_saved_twice_is_the_same_file(roll, tmp_path):
    for number in range(2):
        emb = tp.LaplacianEigenmaps(landmarks=60, random_state=0, n_jobs=1 + number)
        emb.fit(roll[0][:500])
        emb.save(tmp_path / f"{number}.trig")
    assert (tmp_path / "0.trig").read_bytes() == (tmp_path / "1.trig").read_bytes()


def test_parameters_come_back(roll, tmp_path):
    sampler = tp.EfficientDPP(40, n_neighbors=30, refine=tp.Refinement(n_sweeps=2))
    emb = tp.DiffusionMaps(2, landmarks=sampler, graph=tp.KNNGraph(15), random_state=7)
    emb.fit(roll[0][:500]).save(tmp_path / "model.trig")
    assert str(tp.load(tmp_path / "model.trig")) == str(emb)


def test_what_is_set_after_the_fit_is_not_saved(roll, tmp_path):
    X = roll[0][:500]
    emb = tp.LaplacianEigenmaps(2, landmarks=50, random_state=0).fit(X)
    before = emb.transform(X)
    emb.set_params(n_components=5, landmarks=10, extension=3).save(tmp_path / "model.trig")
    again = tp.load(tmp_path / "model.trig")
    assert (again.n_components, again.landmarks, again.extension) == (2, 50, "auto")
    np.testing.assert_array_equal(again.transform(X), before)


def test_nor_is_what_is_set_of_its_parts(roll, tmp_path):
    emb = tp.Isomap(landmarks=tp.Uniform(50), graph=tp.KNNGraph(10), random_state=0)
    emb.fit(roll[0][:500]).set_params(landmarks__n_landmarks=5, graph__n_neighbors=3)
    emb.save(tmp_path / "model.trig")
    again = tp.load(tmp_path / "model.trig")
    assert (again.landmarks.n_landmarks, again.graph.n_neighbors) == (50, 10)


def test_a_sampler_with_a_callback_is_saved_as_a_sampler(roll, tmp_path):
    sampler = tp.EfficientDPP(50, callback=lambda *_: None)
    tp.Isomap(landmarks=sampler, random_state=0).fit(roll[0][:500]).save(tmp_path / "model.trig")
    assert str(tp.load(tmp_path / "model.trig").landmarks) == "EfficientDPP(n_landmarks=50)"


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
        landmarks=OwnSampler(50), random_state=np.random.default_rng(0), callback=lambda *_: None
    ).fit(X)
    emb.save(tmp_path / "model.trig")
    again = tp.load(tmp_path / "model.trig")
    np.testing.assert_array_equal(again.landmarks, emb.landmark_indices_)
    assert again.random_state is None
    np.testing.assert_array_equal(again.transform(X), emb.transform(X))


def test_a_graph_given_as_a_matrix_comes_back(roll, tmp_path):
    X = roll[0][:500]
    rows = np.arange(0, 500, 10)
    near = np.linalg.norm(X[rows][:, None] - X[rows], axis=2)
    weights = np.exp(-((near / 8) ** 2)) * (near < 15)
    emb = tp.LaplacianEigenmaps(landmarks=rows, graph=weights).fit(X)
    emb.save(tmp_path / "model.trig")
    again = tp.load(tmp_path / "model.trig")
    np.testing.assert_array_equal(again.transform(X), emb.transform(X))
    assert isinstance(again.graph, csr_array)


class OwnGraph(tp.KNNGraph):
    """Not one of the library's either."""


@pytest.mark.parametrize("landmarks", [50, tp.Uniform(50), np.arange(0, 500, 10)])
def test_a_graph_of_ones_own_is_kept_as_a_matrix(roll, tmp_path, landmarks):
    X = roll[0][:500]
    emb = tp.LaplacianEigenmaps(landmarks=landmarks, graph=OwnGraph(12), random_state=0).fit(X)
    emb.save(tmp_path / "model.trig")
    again = tp.load(tmp_path / "model.trig")
    np.testing.assert_array_equal(again.transform(X), emb.transform(X))


class OwnEstimator(tp.LaplacianEigenmaps):
    """Could not be made from a file."""


def test_an_estimator_of_ones_own_is_refused_at_once(roll, tmp_path):
    emb = OwnEstimator(landmarks=50, random_state=0).fit(roll[0][:400])
    with pytest.raises(TypeError, match="OwnEstimator is not one of trigpoint's estimators"):
        emb.save(tmp_path / "model.trig")
    assert not list(tmp_path.iterdir())


def test_a_link_is_kept_and_its_target_replaced(roll, tmp_path):
    emb = tp.LaplacianEigenmaps(landmarks=50, random_state=0).fit(roll[0][:400])
    (tmp_path / "old.trig").write_bytes(b"old")
    (tmp_path / "latest.trig").symlink_to(tmp_path / "old.trig")
    emb.save(tmp_path / "latest.trig")
    assert (tmp_path / "latest.trig").is_symlink()
    assert type(tp.load(tmp_path / "old.trig")) is tp.LaplacianEigenmaps


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
    for n in (2_000, 100_000):
        X, _ = tp.datasets.make_swiss_roll(n, dtype=np.float32, random_state=0)
        emb = tp.LaplacianEigenmaps(landmarks=300, n_neighbors=10, random_state=0)
        emb.fit(X).save(tmp_path / "model.trig")
        sizes.append((tmp_path / "model.trig").stat().st_size)
    assert sizes[1] == pytest.approx(sizes[0], rel=0.05)


def test_an_unfitted_estimator_is_refused(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        tp.LaplacianEigenmaps().save(tmp_path / "model.trig")
    assert not list(tmp_path.iterdir())


def test_pickle_keeps_working(roll):
    emb = tp.LaplacianEigenmaps(landmarks=50, random_state=0).fit(roll[0][:400])
    again = pickle.loads(pickle.dumps(emb))
    np.testing.assert_array_equal(again.transform(roll[0]), emb.transform(roll[0]))


def test_other_programs_can_read_it(roll, tmp_path):
    emb = tp.LaplacianEigenmaps(landmarks=50, random_state=0).fit(roll[0][:400])
    emb.save(tmp_path / "model.trig")
    with safe_open(tmp_path / "model.trig", framework="numpy") as file:
        np.testing.assert_array_equal(file.get_tensor("landmarks.points"), emb.landmarks_)
        assert json.loads(file.metadata()["model"])["estimator"] == "LaplacianEigenmaps"


def test_files_of_earlier_releases_are_read():
    """The file was written by 0.1.0."""
    X, _ = tp.datasets.make_swiss_roll(60, random_state=0)
    emb = tp.load(Path(__file__).parent / "saved" / "laplacian_1.trig")
    assert (type(emb), emb.landmarks, emb.n_neighbors) == (tp.LaplacianEigenmaps, 12, 4)
    expected = [[-0.23964981, 0.369562], [-0.22643475, 0.10717439]]
    np.testing.assert_allclose(emb.transform(X[:2]), expected, atol=1e-8)


# Files that are not what they should be -------------------------------------------------------


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    X, _ = tp.datasets.make_swiss_roll(300, random_state=0)
    path = tmp_path_factory.mktemp("model") / "model.trig"
    tp.LaplacianEigenmaps(landmarks=30, n_neighbors=8, random_state=0).fit(X).save(path)
    return path.read_bytes()


def refused(path, data):
    path.write_bytes(data)
    with pytest.raises(DamagedFileError) as caught:
        tp.load(path)
    assert str(path) in str(caught.value)


def test_cut_off_anywhere(model, tmp_path):
    lengths = [*range(0, 64), *range(64, len(model), 97), len(model) - 1]
    for length in lengths:
        refused(tmp_path / "cut.trig", model[:length])


def test_any_flipped_bit(model, tmp_path):
    rng = np.random.default_rng(0)
    for place in [*range(16), *rng.integers(0, len(model), 400)]:
        data = bytearray(model)
        data[place] ^= 1 << int(rng.integers(8))
        refused(tmp_path / "flipped.trig", bytes(data))


def test_noise_and_other_files(tmp_path):
    rng = np.random.default_rng(0)
    for size in (0, 1, 7, 8, 9, 100, 10_000):
        refused(tmp_path / "noise.trig", rng.bytes(size))
    refused(tmp_path / "text.trig", b"x,y\n1,2\n" * 100)
    refused(tmp_path / "pickle.trig", pickle.dumps({"a": 1}))


@pytest.mark.parametrize("length", [2**63, 2**40, 2**25])
def test_a_huge_header_allocates_nothing(model, tmp_path, length):
    refused(tmp_path / "huge.trig", length.to_bytes(8, "little") + model[8:])


HEADERS = {
    "deep": b'{"a":' * 5000 + b"1" + b"}" * 5000,
    "list": b"[]",
    "repeated": b'{"a":{"dtype":"F64","shape":[0],"data_offsets":[0,0]},"a":{}}',
    "unknown type": b'{"a":{"dtype":"PY","shape":[1],"data_offsets":[0,8]}}',
    "huge shape": b'{"a":{"dtype":"F64","shape":[99999999,99999999],"data_offsets":[0,8]}}',
    "negative shape": b'{"a":{"dtype":"F64","shape":[-1],"data_offsets":[0,8]}}',
    "overlap": b'{"a":{"dtype":"F64","shape":[1],"data_offsets":[0,8]},'
    b'"b":{"dtype":"F64","shape":[1],"data_offsets":[4,12]}}',
    "fraction": b'{"a":{"dtype":"F64","shape":[1.0],"data_offsets":[0,8]}}',
    "numbers as metadata": b'{"__metadata__":{"format":1}}',
    "not utf-8": b'{"\xff":1}',
}


@pytest.mark.parametrize("text", HEADERS.values(), ids=HEADERS.keys())
def test_headers_that_cannot_be(text, tmp_path):
    refused(tmp_path / "odd.trig", len(text).to_bytes(8, "little") + text + bytes(8))


def rewritten(model, tmp_path, change):
    """A file whose digest is right, and whose content is not."""
    path = tmp_path / "model.trig"
    path.write_bytes(model)
    arrays, metadata = read_tensors(path)
    described = json.loads(metadata["model"])
    change(arrays, described, metadata)
    if metadata.get("model") is not None:
        metadata["model"] = json.dumps(described)
    write_tensors(path, arrays, metadata)
    return path.read_bytes()


def low_rank(arrays, directions, variances, n_rest, variance=1.0):
    """Put low-rank covariances of these shapes in place of the full ones."""
    del arrays["landmarks.covariances"]
    arrays["landmarks.covariances.directions"] = np.ones(directions)
    arrays["landmarks.covariances.variances"] = np.full(variances, variance)
    arrays["landmarks.covariances.rest"] = np.ones(n_rest)


def test_covariances_of_low_rank_are_read(model, tmp_path):
    """With the right shapes, unlike those below."""
    data = rewritten(model, tmp_path, lambda a, m, _: low_rank(a, (30, 2, 3), (30, 2), 30))
    (tmp_path / "other.trig").write_bytes(data)
    assert tp.load(tmp_path / "other.trig").covariances_.rank == 2


CHANGES = {
    "lengths below zero": lambda a, m, _: a["graph.lengths.data"].__setitem__(0, -1.0),
    "no columns": lambda a, m, _: (
        a.update({"landmarks.points": np.ones((30, 0))}),
        m.update(n_features=0),
    ),
    "no coordinates": lambda a, m, _: a.update(
        {"spectrum.coordinates": np.ones((30, 0)), "spectrum.eigenvalues": np.ones(0)}
    ),
    "whole numbers": lambda a, m, _: a.update({"landmarks.points": np.ones((30, 3), np.int64)}),
    "bandwidth NaN": lambda a, m, _: m.update(bandwidth=float("nan")),
    "no landmarks": lambda a, m, _: a.pop("landmarks.points"),
    "fewer landmarks": lambda a, m, _: a.update({"landmarks.points": a["landmarks.points"][1:]}),
    "wider landmarks": lambda a, m, _: a.update({"landmarks.points": np.ones((30, 4))}),
    "edge to nowhere": lambda a, m, _: a["graph.lengths.indices"].__setitem__(0, 30),
    "rows that run back": lambda a, m, _: a["graph.weights.indptr"].__setitem__(1, 10**9),
    "other covariances": lambda a, m, _: a.update({"landmarks.covariances": np.ones((30, 4))}),
    "directions of other landmarks": lambda a, m, _: low_rank(a, (29, 2, 3), (29, 2), 29),
    "directions of other columns": lambda a, m, _: low_rank(a, (30, 2, 4), (30, 2), 30),
    "no directions": lambda a, m, _: low_rank(a, (30, 0, 3), (30, 0), 30),
    "variances of other directions": lambda a, m, _: low_rank(a, (30, 2, 3), (30, 3), 30),
    "no rest": lambda a, m, _: low_rank(a, (30, 2, 3), (30, 2), 0),
    "variances below zero": lambda a, m, _: low_rank(a, (30, 2, 3), (30, 2), 30, -1.0),
    "not finite": lambda a, m, _: a["spectrum.coordinates"].__setitem__((0, 0), np.nan),
    "bandwidth 0": lambda a, m, _: a["graph.bandwidths"].__setitem__(0, 0),
    "bridge to nowhere": lambda a, m, _: a.update({"graph.bridges": np.array([[0, 99]])}),
    "another class": lambda a, m, _: m.update(estimator="Popen"),
    "another sampler": lambda a, m, _: m["parameters"].update(
        landmarks={"class": "Popen", "parameters": {"args": "true"}}
    ),
    "another parameter": lambda a, m, _: m["parameters"].update(shell=True),
    "odd parameter": lambda a, m, _: m["parameters"].update(extension="none"),
    "odd extension": lambda a, m, _: m.update(extension="none"),
    "no extension yet": lambda a, m, _: m.update(extension="auto"),
    "no type": lambda a, m, _: m.update(dtype="object_"),
    "no parameters": lambda a, m, _: m.pop("parameters"),
    "no model": lambda a, m, meta: meta.pop("model"),
    "another program": lambda a, m, meta: meta.update(format="pt"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_file_that_contradicts_itself(model, tmp_path, change):
    refused(tmp_path / "odd.trig", rewritten(model, tmp_path, change))


FORGED = [
    tp.LaplacianEigenmaps(landmarks=20, n_neighbors=8, random_state=0),
    tp.LaplacianEigenmaps(landmarks=20, extension="all", random_state=0),
    tp.LaplacianEigenmaps(landmarks=20, extension="smooth", n_neighbors=8, random_state=0),
    tp.DiffusionMaps(landmarks=20, n_neighbors=8, random_state=0),
    tp.Isomap(landmarks=20, n_neighbors=8, random_state=0),
    tp.KernelPCA(landmarks=20, random_state=0),
    tp.LandmarkMap(landmarks=20, n_iter=10, random_state=0),
]


@pytest.mark.parametrize("estimator", FORGED, ids=lambda e: f"{name(e)}-{e.extension}")
@pytest.mark.parametrize("value", [0.0, -1.0, 5e-324, 1e-160, 1e160, 1.7e308])
@pytest.mark.filterwarnings("ignore::trigpoint.FarPointsWarning")
def test_numbers_that_no_fit_gives_are_refused_or_harmless(estimator, value, roll, tmp_path):
    """Forged with a right digest: no coordinate is ever infinite or NaN, and nothing warns."""
    X, path = roll[0][:200], tmp_path / "model.trig"
    estimator.fit(X).save(path)
    arrays, metadata = read_tensors(path)
    n_refused = 0
    for key in [key for key in arrays if arrays[key].dtype.kind == "f" and arrays[key].size]:
        for place in (0, slice(None)):
            forged = {key: array.copy() for key, array in arrays.items()}
            forged[key].reshape(-1)[place] = value
            write_tensors(path, forged, metadata)
            try:
                assert np.isfinite(tp.load(path).transform(X)).all()
            except (DamagedFileError, tp.ParameterError):
                n_refused += 1
    assert n_refused or value in (0.0, -1.0)


def test_a_model_of_too_many_levels(model, tmp_path):
    path = tmp_path / "model.trig"
    path.write_bytes(model)
    arrays, metadata = read_tensors(path)
    write_tensors(path, arrays, metadata | {"model": "[" * 200_000})
    refused(tmp_path / "deep.trig", path.read_bytes())


def test_a_newer_format_says_so(model, tmp_path):
    data = rewritten(model, tmp_path, lambda a, m, meta: meta.update(version="2"))
    (tmp_path / "new.trig").write_bytes(data)
    with pytest.raises(DamagedFileError, match="newer trigpoint"):
        tp.load(tmp_path / "new.trig")


def test_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        tp.load(tmp_path / "none.trig")


def test_a_failed_save_leaves_what_was_there(roll, tmp_path, monkeypatch):
    path = tmp_path / "model.trig"
    path.write_bytes(b"before")
    emb = tp.LaplacianEigenmaps(landmarks=50, random_state=0).fit(roll[0][:400])

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        emb.save(path)
    assert path.read_bytes() == b"before"
    assert [p.name for p in tmp_path.iterdir()] == ["model.trig"]
