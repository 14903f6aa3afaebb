"""Saved estimators: identical coordinates, and errors for damaged files."""

import json
import pickle
from contextlib import suppress

import numpy as np
import pytest
from safetensors import safe_open
from scipy.sparse import csr_array

import trigpoint as tp
from trigpoint._common.errors import DamagedFileError
from trigpoint._estimators.tensors import read_tensors, write_tensors


def wide(n=400, d=60, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)) * np.linspace(3, 0.1, d)


# Only the first estimator compares graphs, because a file does not record how a graph was chosen.
ESTIMATORS = [
    tp.LaplacianEigenmaps(landmarks=60, random_state=0),
    tp.LaplacianEigenmaps(landmarks=60, graph="euclidean", extension="all", random_state=0),
    tp.LaplacianEigenmaps(
        landmarks=tp.KMeansLandmarks(50, snap=False, random_state=1), graph=tp.KNNGraph(10)
    ),
    tp.LaplacianEigenmaps(landmarks=np.arange(0, 300, 5), graph=tp.KNNGraph(12, ridge=0.1)),
    tp.LaplacianEigenmaps(
        landmarks=60, graph=tp.KNNGraph(10, covariance="diag", by_mass=True), random_state=0
    ),
    tp.DiffusionMaps(landmarks=60, graph=tp.KNNGraph(10), alpha=0.5, time=2.0, random_state=0),
    tp.Isomap(landmarks=60, random_state=0),
    tp.Isomap(landmarks=60, extension="graph", random_state=0),
    tp.KernelPCA(3, landmarks=tp.EfficientDPP(60, n_neighbors=30, refine=tp.Refinement(2))),
    tp.LandmarkMap(landmarks=60, n_iter=20, random_state=0),
    tp.LandmarkMap(n_iter=20),
    tp.as_published(2, 50, m=40, sigma=20.0, n_neighbors=8, covariance="diag", random_state=0),
]


SHARED = "landmarks_", "landmark_embedding_", "landmark_indices_"


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
# A map projects data with more than 50 columns.
@pytest.mark.parametrize("dimension", [3, 60])
@pytest.mark.filterwarnings("ignore::trigpoint.ParameterWarning")
def test_same_numbers_again(estimator, dtype, dimension, roll, tmp_path):
    X = (roll[0][:800] if dimension == 3 else wide()).astype(dtype)
    fitted = estimator.fit(X)
    fitted.save(tmp_path / "model.trig")
    again = tp.load(tmp_path / "model.trig")
    assert type(again) is type(fitted)
    np.testing.assert_array_equal(again.transform(X), fitted.transform(X))
    for attribute in (*SHARED, "eigenvalues_", "masses_"):
        # A map has no eigenvalues, and the others have no masses.
        expected, found = getattr(fitted, attribute, None), getattr(again, attribute, None)
        np.testing.assert_array_equal(found, expected)
        # Landmarks that are not rows have no row numbers.
        assert found is expected is None or found.dtype == expected.dtype
    if getattr(fitted, "covariances_", None) is None:
        assert getattr(again, "covariances_", None) is None
    else:
        np.testing.assert_array_equal(again.covariances_, fitted.covariances_)
    assert str(again) == str(fitted)
    assert again.fitted_.decided == fitted.fitted_.decided
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
    emb.set_params(landmarks__n_landmarks=5, graph__n_neighbors=3, n_components=5)
    emb.set_params(extension="graph", metric="cosine")
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
    """A custom sampler, which must not be created from a file."""


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
    """A custom graph, which must not be created from a file."""


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
    """A custom estimator, which must not be created from a file."""


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


def name(estimator):
    return type(estimator).__name__


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    X, _ = tp.datasets.make_swiss_roll(300, random_state=0)
    path = tmp_path_factory.mktemp("model") / "model.trig"
    tp.LaplacianEigenmaps(landmarks=30, graph=tp.KNNGraph(8), random_state=0).fit(X).save(path)
    return path.read_bytes()


def refused(path, data):
    path.write_bytes(data)
    with pytest.raises(DamagedFileError) as caught:
        tp.load(path)
    assert str(path) in str(caught.value)


def test_noise_and_other_files(tmp_path):
    rng = np.random.default_rng(0)
    for size in (0, 1, 7, 8, 9, 100, 10_000):
        refused(tmp_path / "noise.trig", rng.bytes(size))
    refused(tmp_path / "text.trig", b"x,y\n1,2\n" * 100)
    refused(tmp_path / "pickle.trig", pickle.dumps({"a": 1}))
    with pytest.raises(FileNotFoundError):
        tp.load(tmp_path / "none.trig")


def test_headers_that_cannot_be(model, tmp_path):
    for length in (2**63, 2**40, 2**25):
        refused(tmp_path / "huge.trig", length.to_bytes(8, "little") + model[8:])
    for text in (
        b'{"a":' * 5000 + b"1" + b"}" * 5000,
        b"[]",
        b'{"a":{"dtype":"PY","shape":[1],"data_offsets":[0,8]}}',
        b'{"a":{"dtype":"F64","shape":[99999999,99999999],"data_offsets":[0,8]}}',
        b'{"a":{"dtype":"F64","shape":[-1],"data_offsets":[0,8]}}',
        b'{"__metadata__":{"format":1}}',
        b'{"\xff":1}',
    ):
        refused(tmp_path / "odd.trig", len(text).to_bytes(8, "little") + text + bytes(8))


def rewritten(model, tmp_path, change):
    """Return a file with changed content and a matching digest."""
    path = tmp_path / "model.trig"
    path.write_bytes(model)
    arrays, metadata = read_tensors(path)
    described = json.loads(metadata["model"])
    change(arrays, described, metadata)
    if metadata.get("model") is not None:
        metadata["model"] = json.dumps(described)
    write_tensors(path, arrays, metadata)
    return path.read_bytes()


CHANGES = {
    "lengths below zero": lambda a, m, _: a["graph.lengths.data"].__setitem__(0, -1.0),
    "no columns": lambda a, m, _: (
        a.update({"landmarks.points": np.ones((30, 0))}),
        m["columns"].update(count=0),
    ),
    "no coordinates": lambda a, m, _: a.update(
        {"spectrum.coordinates": np.ones((30, 0)), "spectrum.eigenvalues": np.ones(0)}
    ),
    "whole numbers": lambda a, m, _: a.update({"landmarks.points": np.ones((30, 3), np.int64)}),
    "no landmarks": lambda a, m, _: a.pop("landmarks.points"),
    "fewer landmarks": lambda a, m, _: a.update({"landmarks.points": a["landmarks.points"][1:]}),
    "wider landmarks": lambda a, m, _: a.update({"landmarks.points": np.ones((30, 4))}),
    "edge to nowhere": lambda a, m, _: a["graph.lengths.indices"].__setitem__(0, 30),
    "rows that run back": lambda a, m, _: a["graph.weights.indptr"].__setitem__(1, 10**9),
    "other covariances": lambda a, m, _: a.update({"landmarks.covariances": np.ones((30, 4))}),
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
    "no type": lambda a, m, _: m["columns"].update(dtype="object_"),
    "other columns": lambda a, m, _: m["columns"].update(count=4),
    "another space": lambda a, m, _: (
        m.update(space="seuclidean"),
        a.update({"space.scales": np.zeros(3)}),
    ),
    "no parameters": lambda a, m, _: m.pop("parameters"),
    "no model": lambda a, m, meta: meta.pop("model"),
    "another program": lambda a, m, meta: meta.update(format="pt"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_file_with_contradictory_content(model, tmp_path, change):
    refused(tmp_path / "odd.trig", rewritten(model, tmp_path, change))


FORGED = [
    tp.LaplacianEigenmaps(landmarks=20, graph=tp.KNNGraph(8), random_state=0),
    tp.LaplacianEigenmaps(landmarks=20, extension="all", random_state=0),
    tp.LaplacianEigenmaps(landmarks=20, extension="smooth", graph=tp.KNNGraph(8), random_state=0),
    tp.DiffusionMaps(landmarks=20, graph=tp.KNNGraph(8), random_state=0),
    tp.Isomap(landmarks=20, graph=tp.KNNGraph(8), random_state=0),
    tp.KernelPCA(landmarks=20, random_state=0),
    tp.LandmarkMap(landmarks=20, n_iter=10, random_state=0),
]


@pytest.mark.parametrize("estimator", FORGED, ids=lambda e: f"{name(e)}-{e.extension}")
@pytest.mark.parametrize("value", [0.0, -1.0, 5e-324, 1e-160, 1e160, 1.7e308])
@pytest.mark.filterwarnings("ignore::trigpoint.ParameterWarning")
def test_numbers_that_no_fit_gives_are_refused_or_harmless(estimator, value, roll, tmp_path):
    """With a matching digest, coordinates are never infinite or NaN, and nothing warns."""
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


def with_landmarks(path, k):
    """Rewrite a model with `k` random landmarks, no graph, and a matching digest."""
    arrays, metadata = read_tensors(path)
    n_before, rng = len(arrays["landmarks.points"]), np.random.default_rng(0)
    for key, array in list(arrays.items()):
        if key.startswith(("graph.weights", "graph.lengths", "landmarks.covariances")):
            del arrays[key]
        elif len(array) == n_before:
            values = 1 + rng.random((k, *array.shape[1:]))
            arrays[key] = values if array.dtype.kind == "f" else np.arange(k)
    write_tensors(path, arrays, metadata)


@pytest.mark.parametrize(
    ("estimator", "k", "limit"),
    [
        (tp.KernelPCA(1, landmarks=20), 20_000, 1e8),
        (tp.LandmarkMap(1, landmarks=20, n_iter=5), 20_000, 2e8),
        (tp.LaplacianEigenmaps(1, landmarks=20, graph="complete", extension="all"), 4000, 1e9),
        (tp.LaplacianEigenmaps(1, landmarks=20, graph="complete", extension="all"), 20_000, 1e8),
        (tp.LaplacianEigenmaps(1, landmarks=20, graph="complete", extension="graph"), 4000, 1e8),
        (tp.Isomap(1, landmarks=20, graph="complete"), 4000, 1e8),
    ],
    ids=lambda value: name(value) if isinstance(value, tp.KernelPCA) else str(value)[:40],
)
def test_memory_is_in_proportion_to_the_file(estimator, k, limit, rng, tmp_path, peak_memory):
    """The forged files have less than 700 kB; some of them describe k x k matrices."""
    path = tmp_path / "model.trig"
    estimator.fit(rng.normal(size=(200, 1))).save(path)
    with_landmarks(path, k)
    assert path.stat().st_size < 7e5

    def read():
        with suppress(DamagedFileError):
            tp.load(path)

    _, peak = peak_memory(read)
    assert peak < limit


def test_paths_of_a_forged_isomap_are_not_computed(rng, tmp_path, peak_memory):
    """A file of 400 kB holds a chain of 5,000 landmarks, whose paths would take 200 MB."""
    path, k = tmp_path / "model.trig", 5000
    tp.Isomap(1, landmarks=20, graph=tp.KNNGraph(4), random_state=0).fit(
        rng.normal(size=(200, 1))
    ).save(path)
    with_landmarks(path, k)
    arrays, metadata = read_tensors(path)
    for name in ("weights", "lengths"):
        arrays[f"graph.{name}.data"] = np.ones(k - 1)
        arrays[f"graph.{name}.indices"] = np.arange(1, k)
        arrays[f"graph.{name}.indptr"] = np.minimum(np.arange(k + 1), k - 1)
    write_tensors(path, arrays, metadata)
    _, peak = peak_memory(refused, path, path.read_bytes())
    assert peak < 1e7


def test_a_model_of_too_many_levels(model, tmp_path):
    path = tmp_path / "model.trig"
    path.write_bytes(model)
    arrays, metadata = read_tensors(path)
    write_tensors(path, arrays, metadata | {"model": "[" * 200_000})
    refused(tmp_path / "deep.trig", path.read_bytes())


def test_a_newer_format_says_so(model, tmp_path):
    data = rewritten(model, tmp_path, lambda a, m, meta: meta.update(version="4"))
    (tmp_path / "new.trig").write_bytes(data)
    with pytest.raises(DamagedFileError, match=r"format version '4'.* newer trigpoint"):
        tp.load(tmp_path / "new.trig")
