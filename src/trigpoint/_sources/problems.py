"""Report errors of files, and import optional libraries."""

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from trigpoint._common.errors import DamagedFileError, ParameterError, ParameterValueError

# Smaller matrices are not tested for being distance matrices. Only this many rows are compared.
_FEWEST_ROWS, _COMPARED = 20, 50
# Relative difference between two distances that rounding may cause.
_ROUNDING = 1e-6


def check_is_file(path: Path) -> None:
    """Reject a path that does not exist or is neither a file nor a folder."""
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    if not (path.is_file() or path.is_dir()):
        # Opening a pipe would wait for a writer, and files are read more than once.
        raise ParameterValueError(
            f"{path} is a pipe or a device, not a file: copy its content to a file first", "X"
        )


@contextmanager
def naming_errors(name: str, kind: str) -> Iterator[None]:
    """Name the file in every error raised while it is read as `kind`, such as "HDF5".

    The errors that libraries raise for damaged files vary between libraries and versions, so they
    all become `DamagedFileError`. Errors of this package already name the file.
    """
    try:
        yield
    except (ParameterError, DamagedFileError, ImportError):
        raise
    except MemoryError as error:
        raise MemoryError(f"reading {name} as {kind}: {error}") from error
    except OSError as error:
        if error.filename is not None:
            raise
        if error.errno is not None:
            raise OSError(error.errno, error.strerror, name) from error
        raise DamagedFileError(f"{name} cannot be read as {kind}: {error}") from error
    except Exception as error:
        reason = str(error) or type(error).__name__
        # NumPy's message suggests allowing pickles, which can run code.
        reason = "it holds objects" if "pickle" in reason else reason
        if kind == "text" and "columns, got" in reason:
            reason += "; give every line as many values, and remove lines above the table"
        raise DamagedFileError(f"{name} cannot be read as {kind}: {reason}") from error


def require(module: str, task: str) -> Any:
    """Import a module of an optional package, or raise an error that says what to install."""
    package = module.split(".")[0]
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f"{task} needs {package}: pip install {package}", name=package) from error


def is_from(thing: Any, package: str, *class_names: str) -> bool:
    """Return whether `thing` is an instance of a named class of `package`, or of a subclass.

    This does not import the package.
    """
    return any(
        base.__name__ in class_names and base.__module__.split(".")[0] == package
        for base in type(thing).__mro__
    )


def refuse_distance_matrix(source: Any) -> None:
    """Raise an error if the rows of a source look like those of a distance matrix."""
    n, count = source.shape
    if n != count or n < _FEWEST_ROWS or source.columns.sparse or source.columns.holds != "numbers":
        return
    rows = np.linspace(0, n - 1, _COMPARED, dtype=np.int64)
    rows = np.unique(rows)
    some = source.take(rows)[:, rows]
    around = some[~np.eye(len(rows), dtype=bool)]
    is_zero = not np.diag(some).any() and (around >= 0).all() and (around > 0).mean() > 0.5
    if is_zero and np.allclose(some, some.T, rtol=_ROUNDING, atol=0):
        raise ParameterValueError(
            f"{source.name} is a symmetric matrix of shape {source.shape} with zeros on the "
            "diagonal, like distances between its rows: set metric='precomputed'; if its rows are "
            "points, append a column of zeros",
            "metric",
        )
