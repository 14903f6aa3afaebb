"""Parameter checks. Every message states the name, the value and the remedy."""

import os
import reprlib
from collections.abc import Collection, Sequence, Sized
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from trigpoint._common import memory
from trigpoint._common.errors import ParameterError, ParameterTypeError, ParameterValueError, short

# Range of bandwidths for points that pass `check_magnitude`, in which neither the square of the
# bandwidth nor twice the square underflows or overflows.
_LEAST, _MOST = 2e-154, 6e153

# Number of dense matrices in memory at once: the matrix, its factor, a working copy and workspace.
_COPIES = 4

# Maximum number of rows that a message lists.
_ROWS_SHOWN = 6


def check_count(
    name: str, value: Any, *, low: int = 1, high: int | None = None, why: str = ""
) -> int:
    """Return `value` as an int in ``[low, high]``, or raise an error."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise _wrong_type(name, value, "a whole number")
    count = int(value)
    why = why and f" ({why})"
    if count < low:
        raise ParameterValueError(f"{name}={count} is too small: choose {name} >= {low}{why}", name)
    if high is not None and count > high:
        raise ParameterValueError(
            f"{name}={count} is too large: choose {name} <= {high}{why}", name
        )
    return count


def check_positive(name: str, value: Any, *, zero: bool = False, high: float = _MOST) -> float:
    """Return `value` as a finite float > 0 (>= 0 with ``zero=True``) and at most `high`."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise _wrong_type(name, value, "a number")
    number = float(value)
    if not (_LEAST <= number <= high or (zero and number == 0)):
        raise ParameterValueError(
            f"{name}={number} is out of range: choose {name} {_range(number, zero, high)}", name
        )
    return number


def _range(number: float, zero: bool, high: float) -> str:
    """Describe the valid range; mention floating-point limits only if one was exceeded."""
    is_tiny = 0 < number < _LEAST
    if high < _MOST:
        from_zero = f"0, or from {_LEAST:g} to {high:g}" if is_tiny else f"from 0 to {high:g}"
        return from_zero if zero else f"> 0 and <= {high:g}"
    if number > high:
        return f"<= {high:g}"
    if is_tiny:
        return f">= {_LEAST:g}" + (", or 0" if zero else "")
    return ">= 0" if zero else "> 0"


def check_rows(name: str, rows: np.ndarray, n: int) -> np.ndarray:
    """Return integer row numbers as int64, or raise an error unless all are in ``[0, n)``."""
    if rows.min() < 0 or rows.max() >= n:
        raise ParameterValueError(
            f"{name} has rows from {rows.min()} to {rows.max()}: choose rows from 0 to {n - 1}",
            name,
        )
    return rows.astype(np.int64)


def check_share(name: str, value: Any) -> float:
    """Return `value` as a float strictly between 0 and 1."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise _wrong_type(name, value, "a number")
    number = float(value)
    if not 0 < number < 1:
        raise ParameterValueError(
            f"{name}={number} is out of range: choose {name} between 0 and 1", name
        )
    return number


def check_bool(name: str, value: Any) -> bool:
    """Return `value` if it is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise _wrong_type(name, value, "True or False")
    return bool(value)


def check_choice(name: str, value: Any, choices: Collection[Any]) -> Any:
    """Return `value` if it is one of `choices`."""
    # Arrays compare element by element, so exclude them before the membership test.
    if isinstance(value, (str, type(None))) and value in choices:
        return value
    raise ParameterValueError(
        f"{name}={short(value)} is not known: choose one of {', '.join(map(repr, choices))}", name
    )


def check_dense(parameter: str, n: int, what: str, remedy: str) -> None:
    """Reject dense (n, n) float64 computations that exceed the machine's memory.

    `parameter` determines `n`, `what` is a noun for the `n` items, and `remedy` is what to use
    instead.
    """
    needed = _COPIES * 8 * n**2
    available = memory.physical_memory()
    if needed > available:
        raise ParameterValueError(
            f"{n} {what} need a dense matrix and about {needed / 1e9:.0f} GB, but this machine "
            f"has {available / 1e9:.0f} GB: use {remedy}",
            parameter,
        )


def check_path(value: Any, remedy: str, name: str = "path") -> Path:
    """Return `value` as the path of a file, which may not be a folder, or raise an error."""
    if not isinstance(value, (str, os.PathLike)):
        raise ParameterTypeError(
            f"{name} must be a file path, not an object of type {type(value).__name__}: {remedy}",
            name,
        )
    text = os.fspath(value)
    refuse_nul(name, text, remedy)
    if not text or os.path.isdir(text):
        problem = f"{text} is a folder" if text else "the path is empty"
        raise ParameterValueError(f"{problem}: {remedy}", name)
    return Path(value)


def refuse_nul(name: str, path: str, remedy: str) -> None:
    """Reject a path with a NUL character, which no file system allows."""
    if "\0" in path:
        raise ParameterValueError(f"the path contains a NUL character: {remedy}", name)


def _wrong_type(name: str, value: Any, wanted: str) -> ParameterTypeError:
    return ParameterTypeError(
        f"{name} must be {wanted}, got {short(value)} ({type(value).__name__})", name
    )


def as_generator(random_state: Any) -> np.random.Generator:
    """Create the single random generator of a fit.

    Accepts everything that scikit-learn does (``None``, an integer or a ``RandomState``), as well
    as a NumPy ``Generator`` or ``SeedSequence``. The global random state is neither read nor
    changed.
    """
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**32, size=4, dtype=np.uint32))
    if isinstance(random_state, Integral) and not isinstance(random_state, bool):
        if random_state < 0:
            raise ParameterValueError(
                f"random_state={random_state} is negative: choose random_state >= 0, or None",
                "random_state",
            )
        return np.random.default_rng(int(random_state))
    if random_state is None or isinstance(
        random_state, (np.random.Generator, np.random.SeedSequence)
    ):
        return np.random.default_rng(random_state)
    raise _wrong_type(
        "random_state", random_state, "None, a whole number, a RandomState or a Generator"
    )


def refuse_masked(X: Any, name: str = "X") -> None:
    """Reject masked values, which would otherwise be read as the numbers under the mask."""
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise ParameterValueError(
            f"{name} has masked values: fill them in or remove their rows", name
        )


def as_array(values: Any, name: str) -> np.ndarray:
    """Convert to an array of any type; reject masked values and rows of different lengths."""
    refuse_masked(values, name)
    try:
        return np.asarray(values)
    except ValueError:
        lengths = sorted({len(row) if isinstance(row, Sized) else 1 for row in values})
        raise ParameterValueError(
            f"{name} has rows of {lengths[0]} and of {lengths[-1]} values: give every row the "
            "same number of values",
            name,
        ) from None


def refuse_non_numbers(X: Any, name: str = "X") -> None:
    """Reject arrays and nested lists of dates, text or other non-numbers, and report the position.

    NumPy would convert dates to numbers in an unknown unit, and text that happens to look like
    numbers. Objects that are numbers are accepted.
    """
    if type(X) is np.ndarray and X.dtype.kind in "fiub":
        return
    if not isinstance(X, (np.ndarray, list, tuple)):
        is_array = hasattr(X, "shape") or hasattr(X, "__array__")
        if isinstance(X, type) or (not is_array and np.ndim(X) == 0):
            kind = "None" if X is None else f"of type {type(X).__name__}"
            raise ParameterTypeError(
                f"{name} is {kind}, not points: pass an array with one point per row, a data "
                "frame or a file path",
                name,
            )
        _refuse_other_fields(name, getattr(X, "dtype", None))
        return
    values = as_array(X, name)
    if values.dtype.kind in "mM":
        what = "dates" if values.dtype.kind == "M" else "durations"
        plain = "datetime64" if values.dtype.kind == "M" else "timedelta64"
        raise ParameterValueError(
            f"{name} holds {what} ({values.dtype}), not numbers: convert them first, for example "
            f"to seconds: {name}.astype('{plain}[s]').astype(float)",
            name,
        )
    _refuse_other_fields(name, values.dtype)
    if values.dtype.kind not in "OSU":
        return
    try:
        values.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise _no_number(name, values, error) from None
    if holds_text(values):
        numbers = f"{name}.astype(float)" if X is values else f"np.array({name}, dtype=float)"
        raise ParameterValueError(
            f"{name} holds numbers written as text: if they are numbers, pass {numbers}", name
        )


def _refuse_other_fields(name: str, dtype: Any) -> None:
    """Reject complex numbers and record arrays."""
    if isinstance(dtype, np.dtype) and dtype.kind == "c":
        # The wording is required by scikit-learn's estimator checks.
        raise ParameterValueError(
            f"{name} holds {dtype}: Complex data not supported; pass {name}.real, or "
            f"np.hstack([{name}.real, {name}.imag])",
            name,
        )
    if isinstance(dtype, np.dtype) and dtype.kind == "V":
        raise ParameterValueError(
            f"{name} is an array of records: pass pandas.DataFrame({name})", name
        )


def holds_text(values: np.ndarray) -> bool:
    """Return whether some values are text, even if it looks like numbers."""
    if values.dtype.kind in "SU":
        return True
    return values.dtype.kind == "O" and any(isinstance(v, (str, bytes)) for v in values.flat)


def _no_number(name: str, values: np.ndarray, error: Exception) -> ParameterError:
    """Return an error about the first value that is not a number."""
    kind = ParameterTypeError if isinstance(error, TypeError) else ParameterValueError
    place = next(place for place in np.ndindex(values.shape) if not _is_number(values[place]))
    value = reprlib.repr(
        values[place].item() if isinstance(values[place], np.generic) else values[place]
    )
    where = ", ".join(f"{axis} {i}" for axis, i in zip(("row", "column"), place, strict=False))
    return kind(
        f"{name} has {value} instead of a number in {where} ({error}): omit such columns or "
        "convert them to numbers",
        name,
    )


def _is_number(value: Any) -> bool:
    try:
        return np.asarray(value).astype(np.float64).ndim == 0
    except (TypeError, ValueError, OverflowError):
        return False


def check_magnitude(
    X: np.ndarray | csr_array,
    name: str = "X",
    *,
    may_be_tiny: bool = False,
    rows: int | np.ndarray | None = None,
) -> None:
    """Reject values whose squared distances would overflow or underflow.

    With `may_be_tiny`, all points may be near the origin, as in a block of new points. `rows`, for
    the message, is the number of the first row, or an array with the numbers of all rows.
    """
    info = np.finfo(X.dtype)
    # The square of a thousandth of the largest value must not underflow.
    low, high = 1e3 * np.sqrt(info.tiny), np.sqrt(info.max / (16 * X.shape[1]))
    largest = max(float(X.max()), -float(X.min()))
    if largest > high or (0 < largest < low and not may_be_tiny):
        where, fail, remedy = "", "vanish in", "rescale"
        if largest > high:
            fail, remedy = "overflow", "correct that value, or rescale"
            if rows is not None:
                dense = X if isinstance(X, np.ndarray) else X.toarray()
                first = int(np.flatnonzero((np.abs(dense) > high).any(axis=1))[0])
                where = f" in row {row_numbers(rows, first)}"
        raise ParameterValueError(
            f"{name} has values up to {largest:.3g}{where}, whose squared distances {fail} "
            f"{X.dtype}: {remedy} {name} to values between {low:.0e} and {high:.0e}",
            name,
        )


def row_numbers(rows: Any, places: Any) -> Any:
    """Return row numbers of X for positions in a block: a slice, an array or a number.

    `rows` is the number of the block's first row, or an array with the numbers of all its rows. If
    it is a number, that of the first row of a slice is returned.
    """
    if isinstance(rows, np.ndarray):
        return rows[places]
    return rows + (places.start if isinstance(places, slice) else places)


def refuse_non_finite(
    X: np.ndarray,
    name: str,
    names: Sequence[Any] | None = None,
    first_row: int | np.ndarray = 0,
) -> None:
    """Reject points with NaN or infinity, and report their rows.

    `names` are the names or numbers of the columns, and `first_row` is the number of the first row
    of a block, or an array with the numbers of all its rows.
    """
    # The sum of a finite block is nearly always finite, and needs no temporary array.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(X.sum()):
            return
    bad = ~np.isfinite(X)
    if not bad.any():
        return
    row, column = np.argwhere(bad)[0]
    label = column if names is None else repr(names[column])
    found = np.flatnonzero(bad.any(axis=1))
    rows = row_numbers(first_row, found)
    kind = "NaN" if np.isnan(X[row, column]) else "infinity (inf)"
    raise ParameterValueError(
        f"{name} contains {kind} in row {rows[0]}, column {label}{_also_in(rows)}: fill in these "
        "values or remove the rows",
        name,
    )


def refuse_zero_rows(
    rows: np.ndarray, name: str, metric: str = "cosine", what: str = "only zeros"
) -> None:
    """Raise an error if there are points without a direction, such as rows of zeros.

    `rows` are their row numbers, and `what` describes their values.
    """
    if len(rows):
        raise ParameterValueError(
            f"{name} has {what} in row {rows[0]}{_also_in(rows)}; the {metric} metric is "
            "undefined for such points: remove such rows or set metric='euclidean'",
            name,
        )


def _also_in(rows: np.ndarray) -> str:
    """List all rows but the first, for a message."""
    others = ", ".join(str(other) for other in rows[1:_ROWS_SHOWN])
    more = f" and {len(rows) - _ROWS_SHOWN} more" if len(rows) > _ROWS_SHOWN else ""
    return f"; also in row{'s' if len(rows) > 2 else ''} {others}{more}" if others else ""
