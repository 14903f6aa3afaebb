"""One column of a file: labels, numbers or dates that belong to points."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from trigpoint._common.errors import DamagedFileError
from trigpoint._files.arrow import PARQUET_SUFFIXES, parquet_column, parquet_files, parquet_schema
from trigpoint._files.column_types import text_kind
from trigpoint._files.damage import check_is_file
from trigpoint._files.obs import read_obs
from trigpoint._files.optional import require
from trigpoint._files.selection import choose_name, split_place
from trigpoint._files.text_layout import is_missing, refuse_unreadable, text_suffix
from trigpoint._files.text_table import open_table

FORMATS = ".npy, .npz::KEY, .csv::COLUMN, .parquet::COLUMN or .h5ad::obs/COLUMN"

# A number with a leading zero, such as 007, is a name.
_WHOLE, _NAME = re.compile(r"[+-]?(0|[1-9]\d{0,17})"), re.compile(r"0\d+")


def read_values(name: str) -> np.ndarray:
    r"""Read one column.

    Parameters
    ----------
    name : str
        ``"file.npy"``, ``"file.npz::key"``, ``"table.csv::column"`` (also ``.tsv``, ``.txt``, each
        also ``.gz``), ``"table.parquet::column"`` (also a folder of them), or
        ``"cells.h5ad::obs/column"``. A single array or column need not be named.

    Returns
    -------
    values : ndarray of shape (n,)
        Numbers, datetime64, or text as objects. Missing values are NaN, NaT or ``None``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from trigpoint._files.values import read_values
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = Path(folder, "t.csv")
    ...     _ = table.write_text("x,kind\n0.5,oak\n0.7,elm\n")
    ...     read_values(f"{table}::kind")
    array(['oak', 'elm'], dtype=object)
    """
    file, carried = split_place(name)
    path, key = Path(file), carried or ""
    check_is_file(path)
    ending = path.name.lower()
    if text_suffix(path):
        values = _text_values(path, key)
    elif ending.endswith(PARQUET_SUFFIXES) or (path.is_dir() and parquet_files(path)):
        values = _parquet_values(path, key)
    elif ending.endswith(".h5ad"):
        values = read_obs(path, str(path), key)
    elif ending.endswith((".npy", ".npz")):
        values = _numpy_values(path, key)
    else:
        raise ValueError(f"{path} holds no readable column: give {FORMATS}")
    if values.ndim != 1 and max(values.shape, default=0) != values.size:
        raise ValueError(f"{name} has shape {values.shape}: pass one column, a value per point")
    return values.ravel()


def _numpy_values(path: Path, key: str) -> np.ndarray:
    with _without_pickles(path):
        loaded = np.load(path, allow_pickle=False)
    if isinstance(loaded, np.ndarray):
        return loaded
    with loaded:
        member = choose_name(key, loaded.files, "array", f"{path}::")
        with _without_pickles(path):
            values = loaded[member]
            # What does not begin as an array comes as bytes.
            if not isinstance(values, np.ndarray):
                raise ValueError("not an array")
            return values


@contextmanager
def _without_pickles(path: Path) -> Iterator[None]:
    """Say what is wrong with a file; NumPy would advise allowing pickles, which can run code."""
    try:
        yield
    # A damaged file may raise anything, from zlib's errors to those of Python's tokenizer.
    except Exception as error:
        raise DamagedFileError(
            f"{path} holds no array of numbers, text or dates: save one with np.save"
        ) from error


def _text_values(path: Path, key: str) -> np.ndarray:
    with refuse_unreadable(str(path)):
        table = open_table(path, str(path))
        names = table.layout.names or [str(number) for number in range(table.layout.n_columns)]
        fields = table.column(names.index(choose_name(key, names, "column", f"{path}::")))
    plain = [table.layout.plain(field) for field in fields]
    kind = text_kind(plain)
    if kind == "number" and not any(map(_NAME.fullmatch, plain)):
        # Whole numbers may be labels, so they stay integers.
        whole = all(map(_WHOLE.fullmatch, plain))
        numbers = ["nan" if is_missing(field) else field for field in plain]
        return np.array(numbers).astype(np.int64 if whole else np.float64)
    if kind == "date":
        dates = ["NaT" if is_missing(field) else field for field in fields]
        return np.array(dates, dtype="datetime64[us]")
    return np.array([field or None for field in fields], dtype=object)


def _parquet_values(path: Path, key: str) -> np.ndarray:
    name = str(path)
    names = parquet_schema(path, name).names
    label = choose_name(key, names, "column", f"{path}::")
    column = parquet_column(path, name, label)
    pyarrow = require("pyarrow", f"reading {name}")
    kind = column.type
    if pyarrow.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
    elif pyarrow.types.is_decimal(kind):
        column = column.cast(pyarrow.float64())
    elif pyarrow.types.is_nested(kind):
        raise ValueError(f"column {label!r} of {name}, of type {kind}, does not hold single values")
    values: np.ndarray = column.to_numpy()
    return values
