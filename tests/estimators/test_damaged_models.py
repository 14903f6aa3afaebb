"""Model files that are not what they should be: nothing but an error, at little cost."""

import json
import pickle
from contextlib import suppress

import numpy as np
import pytest

import trigpoint as tp
from trigpoint._common.errors import DamagedFileError
from trigpoint._estimators.tensors import read_tensors, write_tensors


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
def test_a_file_that_contradicts_itself(model, tmp_path, change):
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


def with_landmarks(path, k):
    """Rewrite a model with `k` landmarks at random and no graph, with a right digest."""
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
    """Forged files of less than 700 kB, some of which describe matrices of k x k."""
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
    """A chain of 5,000 landmarks: a file of 400 kB, and paths of 200 MB."""
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
