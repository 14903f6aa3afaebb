"""The arrays in a file, and which of them is most likely meant."""

from pathlib import Path

from trigpoint._files.anndata import h5ad_members
from trigpoint._files.hdf5 import hdf5_members, open_hdf5
from trigpoint._files.naming import naming_file
from trigpoint._files.npy import npz_members
from trigpoint._files.selection import Members, tables_among
from trigpoint._files.zarrs import zarr_members

# Where scanpy keeps principal components.
PRINCIPAL_COMPONENTS = "obsm/X_pca"

# Entries of ``obsm`` with fewer columns are pictures of the cells, such as UMAP.
_FEWEST_COLUMNS = 10


def stored_arrays(path: Path) -> Members:
    """The arrays in a file of several; none for other files."""
    name = str(path)
    ending = path.name.lower()
    with naming_file(path):
        if ending.endswith(".npz"):
            return npz_members(path, name)
        if ending.endswith(".h5ad"):
            return h5ad_members(path, name)
        if ending.endswith((".h5", ".hdf5")):
            with open_hdf5(path, name) as file:
                return hdf5_members(file)
        if ending.endswith((".zarr", ".zarr.zip")):
            return zarr_members(path, name)
    return {}


def likely_points(arrays: Members) -> str | None:
    """Key of the array that is most likely meant: principal components, or the largest table."""
    tables = tables_among(arrays)
    reduced = [
        key for key in tables if key.startswith("obsm/") and arrays[key][0][1] >= _FEWEST_COLUMNS
    ]
    if PRINCIPAL_COMPONENTS in reduced:
        return PRINCIPAL_COMPONENTS
    return max(reduced or tables, key=lambda key: tuple(arrays[key][0]), default=None)
