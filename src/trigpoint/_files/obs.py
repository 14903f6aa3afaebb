"""What is noted of each cell: the columns of ``obs`` in an ``.h5ad`` file."""

from pathlib import Path
from typing import Any

import numpy as np

from trigpoint._files.hdf5 import open_hdf5
from trigpoint._files.selection import choose_name

# Beside the columns, in which older files keep the names of categories.
_CATEGORIES = "__categories"


def read_obs(path: Path, name: str, key: str) -> np.ndarray:
    """Read one column of ``obs``, as ``"obs/NAME"`` or ``"NAME"``.

    Parameters
    ----------
    path : Path
        The file.
    name : str
        What messages call it.
    key : str
        The column; empty for the only one.

    Returns
    -------
    values : ndarray of shape (n,)
        Numbers, or text as objects; categories by their names. What is missing is NaN or ``None``.
    """
    wanted = key.strip("/").removeprefix("obs/")
    with open_hdf5(path, name) as file:
        obs = file.get("obs")
        if obs is None:
            raise ValueError(f"{name} has no obs, where columns of cells are")
        # A table of records before version 0.7 of the format, and a group since.
        records = hasattr(obs, "dtype")
        names = [column for column in (obs.dtype.names if records else obs) or ()]
        names = [column for column in names if column != _CATEGORIES]
        column = choose_name(wanted, names, "column", f"{name}::obs/")
        categories = file.get(
            f"uns/{column}_categories" if records else f"obs/{_CATEGORIES}/{column}"
        )
        if categories is not None:
            return _named(obs[column][...], categories[...])
        return _read(obs[column])


def _read(node: Any) -> np.ndarray:
    """Values of a dataset, of categories, or of a column that may have gaps."""
    if not hasattr(node, "keys"):
        return _decoded(node[...])
    if "codes" in node:
        return _named(node["codes"][...], node["categories"][...])
    if "mask" not in node:
        raise ValueError(f"{node.name.strip('/')} is no column of numbers, text or categories")
    values = _decoded(node["values"][...]).astype(object)
    values[node["mask"][...]] = None
    return values


def _named(codes: np.ndarray, categories: np.ndarray) -> np.ndarray:
    # Missing ones have the code -1, which takes the last.
    return np.array([*map(str, _decoded(categories)), None], dtype=object)[codes]


def _decoded(values: np.ndarray) -> np.ndarray:
    """Text as text, where h5py gives bytes; numbers as they are."""
    if values.dtype.kind not in "OS":
        return values
    texts = [value.decode() if isinstance(value, bytes) else str(value) for value in values]
    return np.array(texts, dtype=object)
