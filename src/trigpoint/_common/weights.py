"""Weights of rows: a row of weight w counts like w copies of it."""

from typing import Any

import numpy as np

from trigpoint._common.errors import ParameterValueError

# Average number of copies of a row if weights are not whole numbers.
_COPIES = 16

# The sum of larger weights might overflow.
_LARGEST = 1e100

# Integers up to this number are exact in float64.
_EXACT = 2**53


def check_length(name: str, values: Any, n: int) -> None:
    """Raise an error unless there is one value for each of `n` rows."""
    shape = np.asarray(values).shape
    if not shape or shape[0] != n:
        raise ParameterValueError(
            f"{name} has shape {shape} and X has {n:,} rows: pass one value for each row", name
        )


def check_weights(sample_weight: Any, n: int, usable: int | np.ndarray) -> np.ndarray:
    """Return the weights (n,) of rows as float64, or raise an error that names the row.

    `usable` is the number of rows or, if some rows cannot be fitted, the numbers of those that can;
    all other rows get weight 0.
    """
    name = "sample_weight"
    check_length(name, sample_weight, n)
    given = np.asarray(sample_weight)
    if given.ndim != 1 or given.dtype.kind not in "biufO":
        raise ParameterValueError(
            f"{name} has values of type {given.dtype} and shape {given.shape}: pass one number for "
            "each row",
            name,
        )
    try:
        weights = given.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterValueError(f"{name} is not numeric ({error}): pass numbers", name) from None
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(bad):
        more = f" and in {len(bad) - 1:,} other rows" if len(bad) > 1 else ""
        raise ParameterValueError(
            f"{name} is {weights[bad[0]]} in row {bad[0]}{more}: pass numbers >= 0; rows of weight "
            "0 are left out of the fit",
            name,
        )
    if not isinstance(usable, int):
        weights[np.setdiff1d(np.arange(n), usable)] = 0.0
    if not weights.any():
        raise ParameterValueError(
            f"every {name} is zero: pass weights > 0 for the rows to fit", name
        )
    largest = int(weights.argmax())
    if weights[largest] > _LARGEST:
        raise ParameterValueError(
            f"{name} is {weights[largest]} in row {largest}: divide all weights by it", name
        )
    return weights


def copies_of(weights: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the desired number (n,) of copies of each row, and the total number of rows.

    Weights that are multiples of a common unit are divided by it, so that each copy counts as a
    row. Other weights are scaled to a mean of 16 copies, and only rows of positive weight are
    counted.
    """
    positive = weights[weights > 0]
    with np.errstate(over="ignore"):
        for whole in (weights / positive.min(), weights):
            if whole.sum() < _EXACT and (whole == np.rint(whole)).all():
                copies = whole / np.gcd.reduce(whole.astype(np.int64))
                return copies, int(copies.sum())
    return weights * (_COPIES * len(positive) / weights.sum()), len(positive)


def repeated_rows(copies: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Return about `size` row numbers in ascending order, each at most `copies` (n,) times.

    If `size` is less than the number of copies, the expected number of repetitions is proportional
    to the copies. Fractional numbers are rounded at random.
    """
    wanted = copies * min(1.0, size / copies.sum())
    if (wanted != np.rint(wanted)).any():
        wanted = np.floor(wanted + rng.random(len(wanted)))
    return np.repeat(np.arange(len(copies)), wanted.astype(np.int64))
