"""Annotations of each cell: the columns of ``obs`` in an ``.h5ad`` file."""

from pathlib import Path
from typing import Any

import numpy as np

from trigpoint._common.errors import ParameterValueError
from trigpoint._files.anndata import open_h5ad
from trigpoint._files.selection import choose_name


def read_obs(path: Path, name: str, key: str) -> np.ndarray:
    """Read one column of ``obs``, as ``"obs/NAME"`` or ``"NAME"``.

    Parameters
    ----------
    path : Path
        The file.
    name : str
        What messages call it.
    key : str
        The column; may be empty if there is only one.

    Returns
    -------
    values : ndarray of shape (n,)
        Numbers, or text as objects; categories by name. Missing values are NaN or ``None``.
    """
    wanted = key.strip("/").removeprefix("obs/")
    with open_h5ad(path, name, ["obs"]) as file:
        obs = file.get("obs")
        if obs is None:
            raise ParameterValueError(
                "X", name, "{name} has no obs, which would hold the columns of the cells", name=name
            )
        return _read(obs[choose_name(wanted, list(obs), "column", f"{name}::obs/")])


def obs_columns(path: Path, name: str) -> dict[str, str]:
    """Names of the columns of ``obs``, and what each holds: numbers, text or classes."""
    with open_h5ad(path, name, ["obs"]) as file:
        obs = file.get("obs", {})
        index = obs.attrs.get("_index", "_index") if obs else ""
        return {column: _kind(node) for column, node in obs.items() if column != index}


def _kind(node: Any) -> str:
    if not hasattr(node, "dtype"):
        return "classes" if "codes" in node else "other"
    return "number" if node.dtype.kind in "fbiu" else "text"


def _read(node: Any) -> np.ndarray:
    """Values of a dataset, of categories, or of a column with missing values."""
    if not hasattr(node, "keys"):
        return _decoded(node[...])
    if "codes" in node:
        return _named(node["codes"][...], node["categories"][...])
    if "mask" not in node:
        raise ParameterValueError(
            "key",
            node.name,
            "{column} is not a column of numbers, text or categories",
            "choose another",
            column=node.name.strip("/"),
        )
    values = _decoded(node["values"][...]).astype(object)
    values[node["mask"][...]] = None
    return values


def _named(codes: np.ndarray, categories: np.ndarray) -> np.ndarray:
    # Missing values have code -1, which picks the last one.
    return np.array([*map(str, _decoded(categories)), None], dtype=object)[codes]


def _decoded(values: np.ndarray) -> np.ndarray:
    """Text as str, where h5py gives bytes; numbers as they are."""
    if values.dtype.kind not in "OS":
        return values
    texts = [value.decode() if isinstance(value, bytes) else str(value) for value in values]
    return np.array(texts, dtype=object)
