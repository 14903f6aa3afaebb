"""Select an array by its key, and columns by name or number."""

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from trigpoint._common.errors import ParameterTypeError, ParameterValueError

# Separates a file from the key of an array inside it.
_KEY_MARK = "::"

# Maximum number of names in a message, and of columns in code that a message suggests.
_LISTED, _PASTED = 20, 60

# Names of columns that number the rows. Messages never suggest them as points.
NUMBERING = ("id", "index")

# Shapes and types of the arrays in a file, by name.
Members = Mapping[str, tuple[Sequence[int], np.dtype]]


def choose_columns(
    columns: Any, n_columns: int, names: Sequence[str] | None, source: str
) -> np.ndarray:
    """Return the positions of the chosen columns in the requested order.

    `columns` are names or numbers from 0. The source, called `source` in messages, has `n_columns`
    columns, called `names` unless that is None.
    """
    are_many = isinstance(columns, Iterable) and not isinstance(columns, str)
    wanted = list(columns) if are_many else [columns]
    if not wanted:
        raise ParameterValueError(
            f"columns=[] chooses no columns of {source}: name at least one", "columns"
        )
    chosen = [_column_number(column, n_columns, names, source) for column in wanted]
    if len(set(chosen)) < len(chosen):
        raise ParameterValueError(
            f"columns={wanted} chooses a column of {source} twice: name it once", "columns"
        )
    return np.array(chosen, dtype=np.intp)


def _column_number(column: Any, n_columns: int, names: Sequence[str] | None, source: str) -> int:
    numbers = f"choose numbers from 0 to {n_columns - 1}"
    if isinstance(column, Integral) and not isinstance(column, bool):
        if not 0 <= int(column) < n_columns:
            raise ParameterValueError(f"{source} has no column {column}: {numbers}", "columns")
        return int(column)
    if not isinstance(column, str):
        raise ParameterTypeError(
            f"columns must be names or whole numbers, got {column!r}", "columns"
        )
    if names is None:
        raise ParameterValueError(
            f"columns of {source} have no names, so there is no column {column!r}: {numbers}",
            "columns",
        )
    found = [number for number, name in enumerate(names) if name == column]
    if len(found) == 1:
        return found[0]
    problem = f"{source} has no column {column!r}: choose from {listed_names(names)}"
    if found:
        problem = (
            f"{source} has {len(found)} columns named {column!r}: choose by number, {listed(found)}"
        )
    raise ParameterValueError(problem, "columns")


def refuse_columns(
    source: str,
    refused: Sequence[str],
    columns: Any,
    names: Sequence[str],
    numeric: Sequence[str],
    compare: str = "choose metric='table'",
) -> None:
    """Reject the non-numeric columns described in `refused`; suggest numeric ones.

    `columns` is what the user requested, or None, `names` lists all columns, and `compare` says how
    to compare the refused ones.
    """
    if not refused:
        return
    numeric = [name for name in numeric if name.lower() not in NUMBERING]
    verb = "does" if len(refused) == 1 else "do"
    problem = f"{', '.join(refused[:5])} of {source} {verb} not hold numbers"
    if not numeric:
        remedy = f"no other column does, so {compare}, or convert some"
    elif columns is not None:
        remedy = f"{compare}, or choose from {listed_names(numeric)}"
    elif len(numeric) <= _PASTED:
        chosen = list(numeric) if len(set(names)) == len(names) else "numbers of columns"
        remedy = f"{compare}, or leave it out with tp.open_source(X, columns={chosen})"
    else:
        remedy = f"{compare}, or choose others with tp.open_source(X, columns=[...])"
    raise ParameterValueError(f"{problem}: {remedy}", "X" if columns is None else "columns")


def choose_member(key: str | None, members: Members, source: str) -> str:
    """Return the name of the array that `key` selects.

    Without a key, choose the only array, or the only numeric two-dimensional one.
    """
    if not members:
        raise ParameterValueError(f"{source} holds no arrays", "X")
    if key is not None:
        for name in (key, key.strip("/")):
            if name in members:
                return name
        raise ParameterValueError(
            f"{source} has no array {key!r}: choose from {listed(members)}", "key"
        )
    tables = tables_among(members)
    candidates = list(members) if len(members) == 1 else tables
    if len(candidates) == 1:
        return candidates[0]
    found = [f"{name} {tuple(shape)} {dtype}" for name, (shape, dtype) in members.items()]
    raise ParameterValueError(
        f"{source} holds {len(members)} arrays, {len(tables)} of them tables of numbers: choose "
        f"one, as in {key_place(source, next(iter(members)))}, from {listed(found)}",
        "key",
    )


def tables_among(members: Members) -> list[str]:
    """Return the names of the arrays that may be points: two-dimensional and numeric."""
    return [
        name for name, (shape, dtype) in members.items() if len(shape) == 2 and dtype.kind in "fbiu"
    ]


def key_place(source: str, key: str) -> str:
    """Return example code that chooses an array of a file or object."""
    return f"'{source}::{key}'" if Path(source).exists() else f"tp.open_source(X, {key=})"


def refuse_key(key: str | None, source: str) -> None:
    """Reject a key for a source with a single table."""
    if key is not None:
        raise ParameterValueError(
            f"{source} holds one table, so {key=} has no effect: leave it out", "key"
        )


def split_place(text: str) -> tuple[str, str | None]:
    """Split ``"file::key"``; the key is None if there is none or if `text` is an existing file."""
    if _KEY_MARK not in text or Path(text).exists():
        return text, None
    file, _, key = text.partition(_KEY_MARK)
    return file, key


def choose_name(name: str, names: Sequence[str], what: str, place: str) -> str:
    """Return `name` if it is one of `names`, or the only entry of `names` if `name` is empty.

    For messages, `what` is a singular noun for the entries, and `place` the prefix of a name, such
    as ``"table.csv::"``.
    """
    file = place.partition(_KEY_MARK)[0]
    name = name or (names[0] if len(names) == 1 else "")
    times = list(names).count(name)
    if times == 1:
        return name
    if times:
        raise ParameterValueError(f"{file} has {times} {what}s named {name!r}: rename them", "key")
    problem = f"{file} has no {what} {name!r}" if name else f"{file} has {len(names)} {what}s"
    first = next(iter(names), what)
    raise ParameterValueError(
        f"{problem}: choose from {listed_names(names)}, as in {place}{first}", "key"
    )


def listed(items: Iterable[object]) -> str:
    """Join the first few items for a message."""
    texts = [str(item) for item in items]
    more = f" and {len(texts) - _LISTED} more" if len(texts) > _LISTED else ""
    return ", ".join(texts[:_LISTED]) + more


def listed_names(names: Iterable[object]) -> str:
    """Join the first few names; quote names with commas, as CSV files and options do."""
    return listed(_quoted(name) for name in names)


def joined_names(names: Iterable[object]) -> str:
    """Join all names; quote those with commas."""
    return ", ".join(map(_quoted, names))


def _quoted(name: object) -> str:
    return f'"{name}"' if "," in str(name) else str(name)
