"""Recognize the format of points, and open the matching source."""

import importlib
import os
from copy import copy
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import validate_data

from trigpoint._common.checks import check_choice, check_count, refuse_non_numbers
from trigpoint._common.errors import ParameterTypeError, ParameterValueError, ParameterWarning
from trigpoint._common.warn import warn_user
from trigpoint._common.weights import check_length, check_weights
from trigpoint._sources.array import ArraySource, from_object
from trigpoint._sources.base import Source
from trigpoint._sources.choosing import Members, refuse_key, split_place
from trigpoint._sources.frames import refuse_repeated_names
from trigpoint._sources.objects import ObjectSource, is_list
from trigpoint._sources.problems import check_is_file, is_from
from trigpoint._sources.values import Columns


class Format(NamedTuple):
    """A lazily imported module of this package that reads files, objects or both.

    The module defines ``from_path(path, key, columns)`` if it reads files, ``from_object(X, key,
    columns)`` if it reads objects, and ``members(path)`` if a file may hold several arrays.
    """

    module: str
    suffixes: tuple[str, ...] = ()  # File name suffixes.
    package: str = ""  # Library that defines the objects.
    classes: tuple[str, ...] = ()  # Names of the objects' classes.

    def load(self) -> Any:
        """Import the module."""
        return importlib.import_module(f"trigpoint._sources.{self.module}")


FORMATS = (
    Format("array", (".npy", ".npz"), "numpy", ("NpzFile",)),
    Format("frames", (), "pandas", ("DataFrame",)),
    Format("frames", (), "polars", ("DataFrame", "LazyFrame")),
    Format("frames", (), "xarray", ("DataArray",)),
    Format("arrow", (".parquet", ".pq"), "pyarrow", ("Table", "Dataset")),
    Format("text", (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")),
    Format("hdf5", (".h5", ".hdf5"), "h5py", ("Dataset", "Group")),
    Format("anndata", (".h5ad",), "anndata", ("AnnData",)),
    Format("zarr", (".zarr", ".zarr.zip"), "zarr", ("Array", "Group")),
    Format("dask", (), "dask", ("Array", "DataFrame", "Series", "Bag", "Delayed", "FrameBase")),
    Format("torch", (), "torch", ("Tensor",)),
)
# Values of the parameter `missing`, besides None.
MISSING = ("median", "drop")

# Libraries whose objects scikit-learn does not validate.
_OPENED = {known.package for known in FORMATS} - {"", "numpy", "pandas"}
_FEWEST_ROWS = 2
_SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".ods", ".numbers")


def open_source(
    X: Any,
    *,
    key: str | None = None,
    columns: Any = None,
    missing: str | None = None,
    bits: int | None = None,
) -> Source:
    """Open points for reading; only headers are read at first.

    Parameters
    ----------
    X : path or object
        A ``.npy``, ``.npz``, ``.parquet``, ``.pq``, ``.h5``, ``.hdf5``, ``.h5ad``, ``.zarr.zip``,
        ``.csv``, ``.tsv`` or ``.txt`` file (text also with ``.gz``), a ``.zarr`` folder, or a
        folder of Parquet files. A path may include a key, as in ``"cells.h5ad::obsm/X_pca"``. Or an
        object: a NumPy array, NpzFile or list, a SciPy sparse array, an h5py Dataset, a zarr Array,
        a pyarrow Table or Dataset, a pandas or polars DataFrame, an xarray DataArray, an AnnData
        object, a Dask array or DataFrame, a PyTorch tensor, or a `Source`, which is returned
        unchanged.
    key : str or None
        Which of several arrays to open: a name in ``.npz``, a path inside Zarr and HDF5, ``"X"`` or
        an ``obsm`` entry of AnnData. None selects the only array, or the only 2-D numeric array; in
        AnnData, it selects ``X_pca`` or, if there is none, X.
    columns : str, int, sequence of them, or None
        Columns to read, in this order, by number or, if they have names, by name.
    missing : {"median", "drop"} or None, default=None
        What to do about missing values of a table (a DataFrame, Arrow table, Parquet or text file).
        "median" replaces them by the median of the column, and ``metric="table"`` also compares
        which values were missing; "drop" leaves out their rows, whose coordinates are NaN. A model
        treats missing values in other tables the same way. ``None`` raises an error.
    bits : int or None, default=None
        Number of bits of each row, if each byte of an array of type uint8 holds eight of them, as
        from ``np.packbits(X, axis=1)``. The metrics ``"jaccard"`` and ``"hamming"`` take packed
        bits.

    Returns
    -------
    source : Source
        float32 and float64 are preserved, float16 becomes float32, and integers and booleans become
        float64.

    Raises
    ------
    ImportError
        If reading a file requires a library that is not installed; the message says how to install
        it.
    FileNotFoundError
        If there is no such file.
    ValueError
        If the points are not a table of numbers with at least one row.

    Examples
    --------
    >>> import numpy as np
    >>> import trigpoint as tp
    >>> source = tp.open_source(np.arange(6).reshape(3, 2), columns=[1])
    >>> source.shape, source.dtype
    ((3, 1), dtype('float64'))
    """
    if missing is not None:
        check_choice("missing", missing, MISSING)
        return open_table(X, key=key, columns=columns, missing=missing)
    source = _opened(X, key, columns)
    if hasattr(source, "check_numbers"):
        source.check_numbers()
    return source if bits is None else _packed(source, bits)


def open_table(
    X: Any, *, key: str | None = None, columns: Any = None, missing: str | None = None
) -> Source:
    """Open a table with columns of any kind; other points are opened as `open_source` does."""
    if is_from(X, "pandas", "DataFrame"):
        refuse_key(key, "DataFrame")
        source: Any = Format("frames").load().arrow_source(X, columns)
    else:
        source = _opened(X, key, columns)
    # Importing pyarrow takes a moment, and arrays do not need it.
    if hasattr(source, "check_numbers"):
        from trigpoint._sources.mixed import TableSource

        return TableSource(source, missing)
    if missing is not None:
        raise ParameterValueError(
            f"{missing=} applies to tables, and {source.name} is not one: leave missing None, or "
            "pass a DataFrame or the path of a table",
            "missing",
        )
    return source


def _opened(X: Any, key: str | None, columns: Any) -> Source:
    if key is not None and not isinstance(key, str):
        raise ParameterTypeError(f"key must be a name, got {key!r}", "key")
    if type(X) is np.ndarray and key is None:
        return ArraySource(X, columns=columns)
    if isinstance(X, (str, os.PathLike)):
        return _open_path(os.fspath(X), key, columns)
    if isinstance(X, Source):
        if key is not None or columns is not None:
            given = "key" if columns is None else "columns"
            raise ParameterValueError(
                f"{X.name} is already open: choose {given} when opening it", given
            )
        return X
    for known in FORMATS:
        if known.package and is_from(X, known.package, *known.classes):
            return known.load().from_object(X, key, columns)
    # Not recognized by class name, because views of AnnData have classes of their own.
    if hasattr(X, "X") and hasattr(X, "obsm"):
        return Format("anndata").load().from_object(X, key, columns)
    return from_object(X, key, columns)


def opened(X: Any, space: Any) -> Source:
    """Open `X` in the form that a space takes: a table, a list of objects, or points."""
    if "objects" in space.takes and is_list(X):
        return ObjectSource(X).under(space)
    return (open_table if space.takes_gaps else open_source)(X).under(space)


def _packed(source: Source, bits: int) -> Source:
    """Return a source of packed bits."""
    n_bytes = -(-check_count("bits", bits) // 8)
    if not source.takes_bits or n_bytes != source.columns.count:
        raise ParameterValueError(
            f"bits={bits} needs {n_bytes} columns of type uint8 in an array or a file, and "
            f"{source.name} has {source.columns.count}: pass the number of bits in a row",
            "bits",
        )
    packed = copy(source)
    packed.columns = Columns(None, bits, np.dtype(np.float64), holds="bits")
    return packed


def validated(estimator: Any, X: Any, *, reset: bool, space: Any = None) -> Source:
    """Open `X` for an estimator or sampler, as `open_source` does.

    A list is read as objects if the space takes objects. `fit` passes ``reset=True``, which sets
    `n_features_in_` and `feature_names_in_`.
    """
    if space is not None and "objects" in space.takes and is_list(X):
        X = ObjectSource(X)
    library = type(X).__module__.partition(".")[0]
    is_place = isinstance(X, (str, os.PathLike, Source, np.lib.npyio.NpzFile))
    is_annotated, is_frame = hasattr(X, "obsm"), hasattr(X, "iloc")
    if reset and hasattr(estimator, "anndata_key_"):
        del estimator.anndata_key_
    if reset:
        metric = getattr(estimator, "metric", None)
        as_table = isinstance(metric, str) and metric == "table"
    else:
        as_table = estimator.model_.columns.kinds is not None
    if is_place or is_annotated or library in _OPENED or (as_table and (is_frame or not reset)):
        key = None if reset else fitted_key(estimator, X)
        source = (open_table if as_table else open_source)(X, key=key)
        if reset:
            if source.representation is not None:
                estimator.anndata_key_ = source.representation
            estimator.n_features_in_ = source.columns.count
            if source.columns.names is not None:
                estimator.feature_names_in_ = np.array(source.columns.names, dtype=object)
            elif hasattr(estimator, "feature_names_in_"):
                del estimator.feature_names_in_
            if not isinstance(X, Source):
                _warn_of_left_out(source)
    else:
        if is_frame and hasattr(X, "columns"):
            refuse_repeated_names(X)
        else:
            refuse_non_numbers(X)
        checked = validate_data(
            estimator,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype="numeric",
            ensure_all_finite=False,
            ensure_min_samples=_FEWEST_ROWS if reset else 1,
            # Data frames are converted by their source, because column types may differ.
            skip_check_array=is_frame,
        )
        source = open_source(X if is_frame else checked)
    if reset and source.n < _FEWEST_ROWS:
        raise ParameterValueError(
            f"{source.name} has {source.n} row(s), but at least two are needed: choose another "
            "file",
            "X",
        )
    return source


def weighted(source: Source, sample_weight: Any, y: Any = None) -> Source:
    """Return a source whose rows have weights, and check the length of `y`, which is not used."""
    if y is not None:
        check_length("y", y, source.n)
    if sample_weight is None:
        return source
    weights = check_weights(sample_weight, source.n, source.usable)
    source = copy(source)
    source.weights = weights
    return source


def _warn_of_left_out(source: Any) -> None:
    """Warn about the columns of a table that are not compared."""
    left_out = source.summary.left_out if hasattr(source, "summary") else {}
    if left_out:
        reasons = "; ".join(f"{name} ({why})" for name, why in left_out.items())
        warn_user(
            ParameterWarning(
                f"columns of {source.name} are left out: {reasons}; drop them before fitting, or "
                "convert them to categories or numbers"
            )
        )


def fitted_key(estimator: Any, X: Any) -> str | None:
    """Return the representation that an estimator was fitted on, if `X` has several."""
    is_file = isinstance(X, (str, os.PathLike)) and os.fspath(X).lower().endswith(".h5ad")
    return getattr(estimator, "anndata_key_", None) if is_file or hasattr(X, "obsm") else None


def _open_path(text: str, key: str | None, columns: Any) -> Source:
    if not text:
        raise ParameterValueError("the path of the points is empty: name a file", "X")
    file, carried = split_place(text)
    if not file or carried == "":
        raise ParameterValueError(f"{text!r} lacks a file or a key: write it as 'file::key'", "X")
    if carried and key is not None:
        raise ParameterValueError(
            f"{text!r} already includes a key, so {key=} is ambiguous: give only one", "key"
        )
    path = Path(file)
    check_is_file(path)
    source = format_of(path).load().from_path(path, carried or key, columns)
    source.path = path
    return source


def format_of(path: Path) -> Format:
    """Return the format of a file or folder."""
    name = path.name.lower()
    if path.is_dir():
        if any((path / mark).exists() for mark in ("zarr.json", ".zarray", ".zgroup")):
            name = ".zarr"
        elif any(file.name.lower().endswith((".parquet", ".pq")) for file in path.iterdir()):
            name = ".parquet"
        else:
            raise ParameterValueError(
                f"{path} is a folder that is neither a Zarr array or group nor contains Parquet "
                "files (.parquet, .pq)",
                "X",
            )
    for known in FORMATS:
        if known.suffixes and name.endswith(known.suffixes):
            return known
    remedy = f"choose one of {', '.join(s for f in FORMATS for s in f.suffixes)}"
    if path.suffix.lower() in _SPREADSHEETS:
        remedy = "save the table as CSV"
    raise ParameterValueError(f"{path} has an unknown suffix: {remedy}", "X")


def stored_arrays(path: Path) -> Members:
    """Return the arrays in a file that can hold several; empty for other formats."""
    module = format_of(path).load()
    return module.members(path) if hasattr(module, "members") else {}
