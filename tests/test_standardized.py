"""metric="seuclidean": the same as dividing columns by their standard deviations by hand."""

import json

import numpy as np
import pytest
from scipy.sparse import random_array

import trigpoint as tp
from trigpoint._command.cli import main
from trigpoint._points.inputs import points_to_transform
from trigpoint._points.scaling import column_scales
from trigpoint._report.content import gather

ESTIMATORS = [tp.LaplacianEigenmaps, tp.DiffusionMaps, tp.Isomap, tp.KernelPCA, tp.LandmarkMap]


@pytest.fixture(name="X")
def points(rng):
    """A curved sheet whose columns have very different units, and a constant one."""
    u, v = rng.uniform(0, 3, size=(2, 300))
    return np.c_[1e4 * np.cos(u), 7e4 + 1e2 * np.sin(u), v, np.full(300, 5.0)]


def by_hand(X):
    return X / np.where(X.std(axis=0) > 0, X.std(axis=0), 1)


def test_scales_are_standard_deviations(X, tmp_path):
    scales = column_scales(tp.read_points(X))
    np.testing.assert_allclose(scales, [*X[:, :3].std(axis=0), 1], rtol=1e-12)
    np.save(tmp_path / "x.npy", X)
    np.testing.assert_array_equal(column_scales(tp.read_points(tmp_path / "x.npy")), scales)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_fit_and_transform_divide_alike(estimator, X, tmp_path):
    emb = estimator(landmarks=60, metric="seuclidean", random_state=0).fit(X[:250])
    scaled = X / emb.column_scales_
    plain = estimator(landmarks=60, random_state=0).fit(scaled[:250])
    np.testing.assert_array_equal(emb.landmark_indices_, plain.landmark_indices_)
    np.testing.assert_array_equal(emb.transform(X), plain.transform(scaled))
    np.testing.assert_allclose(emb.landmarks_, by_hand(X[:250])[emb.landmark_indices_], rtol=1e-9)
    emb.save(tmp_path / "m.trig")
    np.testing.assert_array_equal(tp.load(tmp_path / "m.trig").transform(X), emb.transform(X))
    assert emb.quality(X).neighbors_kept == plain.quality(scaled).neighbors_kept
    # A fit with another metric forgets the scales.
    assert not hasattr(emb.set_params(metric="euclidean").fit(X), "column_scales_")


def test_files_and_samplers(X, tmp_path):
    np.save(tmp_path / "x.npy", X)
    for sampler in (tp.EfficientDPP, tp.FarthestPoint, tp.KMeansPlusPlus):
        here = sampler(30, metric="seuclidean", random_state=0).fit(X)
        there = sampler(30, metric="seuclidean", random_state=0).fit(tmp_path / "x.npy")
        by = sampler(30, random_state=0).fit(X / here.column_scales_)
        np.testing.assert_array_equal(here.indices_, by.indices_)
        np.testing.assert_array_equal(here.indices_, there.indices_)


def test_methods_are_compared_on_scaled_points(X):
    found = tp.compare_methods(X, metric="seuclidean", random_state=0).scores
    by = tp.compare_methods(by_hand(X), random_state=0).scores
    assert found == pytest.approx(by, abs=0.02)


def test_the_page_has_the_units_of_the_file(X):
    emb = tp.Isomap(landmarks=60, metric="seuclidean", random_state=0).fit(X)
    content = gather(emb._subject(), points_to_transform(emb, X), neighborhoods=None, curve=False)
    column = next(column for column in content.columns if column.name == "column 1")
    assert (column.low, column.high) == pytest.approx((X[:, 1].min(), X[:, 1].max()))


def test_what_is_refused(X):
    emb = tp.LaplacianEigenmaps(metric="seuclidean")
    with pytest.raises(ValueError, match="points cannot be landmarks with metric='seuclidean'"):
        tp.LaplacianEigenmaps(landmarks=X[:20], metric="seuclidean").fit(X)
    with pytest.raises(ValueError, match="metric='seuclidean' takes no sparse points"):
        emb.fit(random_array((100, 50), density=0.05, rng=0, format="csr"))
    da = pytest.importorskip("dask.array")
    for dask in (emb.fit, emb.fit(X).transform):
        with pytest.raises(ValueError, match=r"takes no Dask collections: .* X / X.std"):
            dask(da.from_array(X, chunks=(100, 4)))


def test_a_table_of_different_units_in_the_terminal(X, tmp_path, monkeypatch, capsys):
    """From `info` to a model that divides new points as well."""
    monkeypatch.chdir(tmp_path)
    np.savetxt("t.csv", X, delimiter=",", header="a,b,c,d", comments="")
    assert main(["info", "t.csv", "--json"]) == 0
    command = json.loads(capsys.readouterr().out)["next"].split()
    assert command[-2:] == ["--metric", "seuclidean"]
    plain = ["embed", "t.csv", "-o", "plain.csv", "--method", "laplacian", "-k", "60"]
    assert main(plain) == 0
    said = (
        "trigpoint: 99.9% of the variance is in column a: if units differ, add --metric seuclidean"
    )
    assert said in capsys.readouterr().err.splitlines()
    options = ["--method", "isomap", "-k", "60", "--save", "m.trig", "--quiet"]
    assert main([*command[1:], *options]) == 0
    assert main(["transform", "m.trig", "t.csv", "-o", "z.npy", "--quiet"]) == 0
    Y = np.loadtxt("t_embedding.csv", delimiter=",", skiprows=1)
    np.testing.assert_allclose(np.load("z.npy"), Y, atol=1e-9)
    expected = tp.Isomap(landmarks=60, random_state=0).fit(by_hand(X))
    assert tp.load("m.trig").quality("t.csv").neighbors_kept == pytest.approx(
        expected.quality(by_hand(X)).neighbors_kept
    )
    capsys.readouterr()
    assert main(["evaluate", "m.trig", "t.csv", "--json", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["quality"]["neighbors_kept"] > 0.8
    assert main(["select", "t.csv", "-k", "20", "--metric", "seuclidean", "-o", "s.npy"]) == 0
    assert np.isin(np.load("s.npy")[:, 0].round(6), X[:, 0].round(6)).all()
