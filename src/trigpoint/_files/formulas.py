"""Text that spreadsheets would run as a formula when they open a file of text."""

from collections.abc import Iterable
from typing import Any

from trigpoint._common.warn import warn_user
from trigpoint._common.words import counted

# To them, a cell that begins like this is a formula, unless it is a number.
_BEGINS = ("=", "+", "-", "@", "\t", "\r")


def disarm(columns: Iterable[list[Any]]) -> None:
    """Put an apostrophe before what looks like a formula, and warn of it.

    For text that comes from other formats. What already is in a file of text is copied as it is.
    """
    n_found = 0
    for values in columns:
        for row, value in enumerate(values):
            if _is_formula(value):
                values[row] = f"'{value}"
                n_found += 1
    if n_found:
        warn_user(
            UserWarning(
                f"{counted(n_found, 'cell')} of text that looked like formulas got an apostrophe "
                "before it, so that no spreadsheet runs it: write Parquet to keep them as they are"
            )
        )


def _is_formula(value: Any) -> bool:
    if not isinstance(value, str) or not value.startswith(_BEGINS):
        return False
    try:
        float(value)
    except ValueError:
        return True
    return False
