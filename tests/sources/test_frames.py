"""Data frames and annotated data as input and output."""

import sys
from types import SimpleNamespace

import formats
import h5py
import numpy as np
import pandas as pd
import polars as pl
import pytest
import xarray as xr
from sklearn.base import clone

import trigpoint as tp
from trigpoint._cli import cli

NAMES = ["c0", "c1", "c2"]


@pytest.fixture
def X(rng):  # noqa: N802
    return rng.normal(size=(120, 3)).astype(np.float32)


@pytest.fixture
def emb():
    return tp.LaplacianEigenmaps(landmarks=40, random_state=0)


def test_polars_frames_are_points(X, emb):
    wanted = clone(emb).fit_transform(X)
    frame = pl.DataFrame(X, schema=NAMES)
    for points in (frame, frame.lazy()):
        np.testing.assert_array_equal(emb.fit_transform(points), wanted)
    assert emb.feature_names_in_.tolist() == NAMES
    assert emb.quality(frame).n_points == 120
    with pytest.raises(ValueError, match=r"has columns c1, c0, c2, but .* fitted with c0, c1"):
        emb.transform(frame.select("c1", "c0", "c2"))
    rows = tp.EfficientDPP(10, random_state=0).fit(frame).indices_
    np.testing.assert_array_equal(rows, tp.EfficientDPP(10, random_state=0).fit(X).indices_)


@pytest.mark.parametrize("points", [pl.DataFrame, pd.DataFrame, np.asarray])
def test_polars_frames_come_out(X, emb, points):
    out = emb.set_output(transform="polars").fit_transform(points(X))
    assert isinstance(out, pl.DataFrame)
    assert out.columns == ["laplacianeigenmaps0", "laplacianeigenmaps1"]
    np.testing.assert_array_equal(out.to_numpy(), clone(emb).set_output().fit_transform(X))


def test_labeled_arrays_are_points(X, emb):
    array = xr.DataArray(X, dims=("cell", "gene"), coords={"gene": NAMES})
    out = emb.fit_transform(array)
    assert emb.feature_names_in_.tolist() == NAMES
    assert type(out) is np.ndarray
    np.testing.assert_array_equal(out, clone(emb).fit_transform(X))
    framed = emb.set_output(transform="pandas").transform(array)
    assert framed.columns.tolist() == ["laplacianeigenmaps0", "laplacianeigenmaps1"]
    # Numbers of columns are no names.
    emb.fit(xr.DataArray(X, dims=("x", "y"), coords={"y": [1.5, 2.5, 3.5]}))
    assert not hasattr(emb, "feature_names_in_")


def make(X, **obsm):
    """Make an object with cells in rows and named genes in columns, like AnnData."""
    return formats.annotated(X, obsm)


def test_annotated_data(X, rng, emb):
    pca = rng.normal(size=(120, 5)).astype(np.float32)
    adata = make(X, X_pca=pca, X_umap=pca[:, :2])
    fitted = tp.fit_anndata(adata, emb)
    assert fitted is emb
    np.testing.assert_array_equal(adata.obsm["X_trigpoint"], clone(emb).fit_transform(pca))
    landmarks = np.flatnonzero(adata.obs["trigpoint_landmark"])
    assert landmarks.tolist() == sorted(emb.landmark_indices_)
    added = adata.uns["trigpoint"]
    assert added["params"]["method"] == "LaplacianEigenmaps"
    assert added["params"]["use_rep"] == "X_pca"
    assert added["params"]["landmarks"] == 40
    assert added["connectivities"].shape == (40, 40)
    np.testing.assert_array_equal(added["landmark_indices"], emb.landmark_indices_)
    np.testing.assert_array_equal(added["landmark_embedding"], emb.landmark_embedding_)


def test_annotated_data_by_other_names(X):
    adata = make(X, X_other=X[:, :2])
    tp.fit_anndata(adata, use_rep="X_other", key_added="map")
    assert adata.obsm["X_map"].shape == (120, 2)
    assert adata.uns["map"]["params"]["method"] == "LandmarkMap"
    assert "connectivities" not in adata.uns["map"]
    # Without principal components, X is used, whose columns are genes.
    emb = tp.fit_anndata(adata, tp.Isomap(landmarks=40, random_state=0))
    assert emb.feature_names_in_.tolist() == NAMES
    assert adata.uns["trigpoint"]["params"]["use_rep"] == "X"
    with pytest.raises(ValueError, match="AnnData has no 'X_scvi'"):
        tp.fit_anndata(adata, use_rep="X_scvi")


def test_landmarks_that_are_no_cells(X):
    adata = make(X)
    emb = tp.fit_anndata(adata, tp.LaplacianEigenmaps(landmarks=X[:40] + 0.1, random_state=0))
    assert emb.landmark_indices_ is None
    assert "trigpoint_landmark" not in adata.obs
    assert "landmark_indices" not in adata.uns["trigpoint"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.zeros((9, 2)),), "adata must be an AnnData object, not an object of type ndarray"),
        ((None,), "of type NoneType"),
        ((SimpleNamespace(obsm={}), tp.DiffusionMaps), "must be an estimator of this library"),
    ],
)
def test_what_is_not_annotated(arguments, message):
    with pytest.raises(tp.ParameterError, match=message):
        tp.fit_anndata(*arguments)


def test_other_cells_are_embedded_from_the_fitted_representation(rng, tmp_path):
    cells, others = (
        make(rng.normal(size=(200, 5)), X_pca=rng.normal(size=(200, 3))) for _ in range(2)
    )
    emb = tp.LaplacianEigenmaps(landmarks=30, random_state=0)
    with h5py.File(tmp_path / "others.h5ad", "w") as file:
        file["X"], file["obsm/X_pca"] = others.X, others.obsm["X_pca"]
    for fit in (lambda: emb.fit(cells), lambda: tp.fit_anndata(cells, emb)):
        fit()
        assert emb.anndata_key_ == "X_pca"
        expected = emb.transform(others.obsm["X_pca"])
        np.testing.assert_array_equal(emb.transform(others), expected)
        np.testing.assert_array_equal(emb.transform(tmp_path / "others.h5ad"), expected)
    # Other representations are remembered, also in a file.
    emb.fit(tp.open_source(cells, key="X")).save(tmp_path / "m.trig")
    for fitted in (emb, tp.load(tmp_path / "m.trig")):
        expected = emb.transform(tp.open_source(others.X))
        np.testing.assert_array_equal(fitted.transform(others), expected)
        np.testing.assert_array_equal(fitted.transform(tmp_path / "others.h5ad"), expected)
    emb.fit(cells.X)
    assert not hasattr(emb, "anndata_key_")


def test_everything_reads_the_same_representation(rng, tmp_path):
    cells = make(rng.normal(size=(200, 5)), X_pca=rng.normal(size=(200, 3)))
    assert tp.open_source(cells).shape == (200, 3)
    seen = tp.compare_methods(cells, random_state=0).scores
    assert seen == tp.compare_methods(cells.obsm["X_pca"], random_state=0).scores


def test_landmarks_are_marked_only_among_other_cells(X):
    adata = make(X)
    tp.fit_anndata(adata)
    assert "trigpoint_landmark" not in adata.obs
    tp.fit_anndata(adata, tp.Isomap(landmarks=40, random_state=0))
    assert adata.obs["trigpoint_landmark"].sum() == 40


def test_diffusion_maps_as_scanpy_stores_them(X):
    adata = make(X)
    emb = tp.DiffusionMaps(4, landmarks=40, random_state=0)
    tp.fit_anndata(adata, emb, key_added="diffmap")
    basis, eigenvalues = adata.obsm["X_diffmap"], adata.uns["diffmap_evals"]
    np.testing.assert_allclose((basis**2).sum(axis=0), 1)
    assert np.ptp(basis[:, 0]) == 0
    np.testing.assert_array_equal(eigenvalues, [1, *emb.eigenvalues_])
    found = np.abs(np.corrcoef(basis[:, 1:].T, emb.transform(adata).T))
    np.testing.assert_allclose(np.diag(found[:4, 4:]), 1, rtol=1e-5)


def test_old_files_and_subsamples_go_through_anndata(X, tmp_path, monkeypatch):
    """A stand-in for anndata: it reads old files, and writes new ones and some of the cells."""
    monkeypatch.chdir(tmp_path)
    with h5py.File("old.h5ad", "w") as file:
        file["X"], file["obs"] = X, np.zeros(len(X), dtype=[("index", "i8")])

    class Cells:
        n_vars = 3

        def __init__(self, rows):
            self.rows = rows

        def __getitem__(self, chosen):
            return Cells(self.rows[chosen])

        def copy(self):
            return self

        def write_h5ad(self, path):
            with h5py.File(path, "w") as file:
                file["X"] = self.rows

    read = []

    def read_h5ad(path):
        read.append(path)
        return Cells(X)

    with pytest.raises(ImportError, match=r"old layout, needs anndata: pip install anndata"):
        tp.open_source("old.h5ad")
    monkeypatch.setitem(sys.modules, "anndata", SimpleNamespace(read_h5ad=read_h5ad))
    np.testing.assert_array_equal(np.asarray(tp.open_source("old.h5ad")), X)
    assert len(read) == 1
    assert cli.main(["select", "old.h5ad", "-k", "9", "-o", "few.h5ad", "--json"]) == 0
    assert np.asarray(tp.open_source("few.h5ad")).shape == (9, 3)
