"""Directions and sparse files on the terminal."""

import json

import numpy as np
import pytest
from scipy import sparse
from terminal import run, said

import trigpoint as tp
from trigpoint._command.common import FAILED


@pytest.fixture
def vectors(tmp_path, monkeypatch, rng):
    """Vectors of very different lengths, dense and with most values left out."""
    monkeypatch.chdir(tmp_path)
    X = rng.normal(size=(300, 3)) @ rng.normal(size=(3, 20)) * rng.lognormal(size=(300, 1))
    np.save("vectors.npy", X)
    counts = rng.poisson(0.2, size=(300, 40)) + np.eye(300, 40, dtype=int)
    counts[:, 0] += 1
    sparse.save_npz("counts.npz", sparse.csr_array(counts.astype(np.float32)))
    return X


def test_embed_evaluate_and_transform_by_direction(vectors, capsys):
    arguments = ["vectors.npy", "-k", "40", "--metric", "cosine", "--save", "m.trig", "--json"]
    assert run("embed", *arguments, "-o", "Y.npy") == 0
    assert json.loads(capsys.readouterr().out)["metric"] == "cosine"
    emb = tp.LaplacianEigenmaps(
        landmarks=tp.EfficientDPP(40, random_state=0),
        metric="cosine",
        graph="bhattacharyya",
        random_state=0,
    )
    np.testing.assert_array_equal(np.load("Y.npy"), emb.fit_transform(vectors))
    np.save("longer.npy", 4 * vectors)
    assert run("transform", "m.trig", "longer.npy", "-o", "Z.npy") == 0
    np.testing.assert_array_equal(np.load("Z.npy"), np.load("Y.npy"))
    capsys.readouterr()
    results = []
    for points in ("vectors.npy", "longer.npy"):
        assert run("evaluate", "m.trig", points, "--json") == 0
        values = json.loads(capsys.readouterr().out)
        results.append([values["coverage_radius"], values["quality"]])
    assert results[0] == results[1]
    assert results[0][0] < 2


def test_select_by_direction_writes_the_rows_themselves(vectors, capsys):
    arguments = ["vectors.npy", "-k", "30", "--metric", "cosine"]
    assert run("select", *arguments, "-o", "rows.npy", "--json") == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    expected = tp.EfficientDPP(30, metric="cosine", random_state=0).fit(vectors).indices_
    assert rows == expected.tolist()
    np.testing.assert_array_equal(np.load("rows.npy"), vectors[rows])


def test_a_row_of_zeros_is_refused_with_the_option(vectors, capsys):
    vectors[7] = 0
    np.save("vectors.npy", vectors)
    arguments = ["vectors.npy", "-k", "30", "--metric", "cosine"]
    assert run("embed", *arguments, "-o", "Y.npy") == FAILED
    error = said(capsys)
    assert "vectors.npy has only zeros in row 7" in error
    assert "remove such rows or set --metric euclidean" in error


def test_a_sparse_file(vectors, capsys):
    X = sparse.load_npz("counts.npz")
    for metric in ("euclidean", "cosine"):
        arguments = ["counts.npz", "-k", "40", "--metric", metric, "--force", "--json"]
        assert run("embed", *arguments, "-o", "Y.npy", "--save", "m.trig") == 0
        emb = tp.LaplacianEigenmaps(
            landmarks=tp.EfficientDPP(40, random_state=0), metric=metric, random_state=0
        )
        np.testing.assert_array_equal(np.load("Y.npy"), emb.fit_transform(X))
        capsys.readouterr()
        assert run("select", *arguments, "-o", "rows.npy") == 0
        rows = json.loads(capsys.readouterr().out)["rows"]
        np.testing.assert_array_equal(np.load("rows.npy"), X.toarray()[rows])
        assert run("evaluate", "m.trig", "counts.npz", "--json") == 0
    capsys.readouterr()
    assert run("info", "counts.npz") == 0
    printed = capsys.readouterr().out
    assert "300 rows x 40 columns, float32, sparse: " in printed
    assert "indptr" not in printed


def test_what_cannot_be_sparse_says_so(vectors, capsys):
    assert run("select", "counts.npz", "-k", "auto") == FAILED
    line = said(capsys)
    assert "EfficientDPP('auto') does not take sparse points" in line
    assert "toarray" not in line
    assert run("embed", "counts.npz", "-o", "Y.npy", "--method", "map") == FAILED
    assert said(capsys).startswith("--method map takes no sparse points: choose another, or reduce")
