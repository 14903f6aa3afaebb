"""Recognizing Dask collections, without importing Dask."""

from typing import Any


def is_dask(X: Any) -> bool:
    """Whether `X` is a Dask collection."""
    return type(X).__module__.partition(".")[0] == "dask" and hasattr(X, "__dask_keys__")
