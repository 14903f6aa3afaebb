"""Selection from a file: an array by its key, columns by name or number, a numeric type."""

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from trigpoint._common.errors import ParameterTypeError, ParameterValueError

# Separates a file from the key inside it.
_KEY_MARK = "::"

# Names in a message, and those of a remedy, which is there to be pasted rather than read.
_LISTED, _PASTED = 20, 60


def point_dtype(dtype: Any, what: str, remedy: str, **values: Any) -> np.dtype:
    """Return the floating type that numbers of `dtype` are read as, or reject `what`.

    float32 and float64 are kept; float16 becomes float32; integers and booleans become float64.
    `remedy` and `values` are used in the error.
    """
    dtype = np.dtype(dtype)
    if dtype.kind == "f" and dtype.itemsize in (2, 4, 8):
        return np.dtype(np.float64 if dtype.itemsize == 8 else np.float32)
    if dtype.kind in "biu":
        return np.dtype(np.float64)
    raise ParameterValueError(
        "X",
        dtype,
        "{what} holds values of type {dtype}, not numbers",
        remedy,
        what=what,
        dtype=dtype,
        **values,
    )


def check_shape(shape: Sequence[int], name: str) -> tuple[int, int]:
    """Return `shape` as (rows, columns), or raise an error if it is not a shape of points."""
    if len(shape) != 2:
        raise ParameterValueError(
            "X",
            tuple(shape),
            "{name} has shape {shape}",
            "points are the rows of an array with 2 dimensions",
            name=name,
            shape=tuple(shape),
        )
    for count, what in zip(shape, ("rows", "columns"), strict=True):
        if count < 1:
            raise ParameterValueError(
                "X",
                tuple(shape),
                "{name} has shape {shape}: there are no {what} to read",
                name=name,
                shape=tuple(shape),
                what=what,
            )
    return int(shape[0]), int(shape[1])


def choose_columns(
    columns: Any, n_columns: int, names: Sequence[str] | None, source: str
) -> np.ndarray | None:
    """Return the numbers of the chosen columns in the requested order; ``None`` for all.

    Parameters
    ----------
    columns : str, int, sequence of them, or None
        Names or numbers, counted from 0.
    n_columns : int
        Number of columns in the source.
    names : sequence of str or None
        Their names, if they have any.
    source : str
        Name of the source, for messages.
    """
    if columns is None:
        return None
    are_many = isinstance(columns, Iterable) and not isinstance(columns, str)
    wanted = list(columns) if are_many else [columns]
    if not wanted:
        raise ParameterValueError(
            "columns",
            columns,
            "{parameter=} chooses no columns of {source}",
            "name at least one",
            source=source,
        )
    chosen = [_column_number(column, n_columns, names, source) for column in wanted]
    if len(set(chosen)) < len(chosen):
        raise ParameterValueError(
            "columns",
            columns,
            "{parameter=} chooses a column of {source} twice",
            "name it once",
            source=source,
        )
    return np.array(chosen, dtype=np.intp)


def _column_number(column: Any, n_columns: int, names: Sequence[str] | None, source: str) -> int:
    if isinstance(column, Integral) and not isinstance(column, bool):
        if not 0 <= int(column) < n_columns:
            raise ParameterValueError(
                "columns",
                column,
                "{source} has no column {column}",
                "choose numbers from 0 to {last}",
                source=source,
                column=column,
                last=n_columns - 1,
            )
        return int(column)
    if not isinstance(column, str):
        raise ParameterTypeError(
            "columns", column, "{parameter} must be names or whole numbers, got {got!r}", got=column
        )
    if names is None:
        raise ParameterValueError(
            "columns",
            column,
            "columns of {source} have no names, so there is no {column!r}",
            "choose numbers from 0 to {last}",
            source=source,
            column=column,
            last=n_columns - 1,
        )
    found = [number for number, name in enumerate(names) if name == column]
    if len(found) == 1:
        return found[0]
    if found:
        raise ParameterValueError(
            "columns",
            column,
            "{source} has {count} columns named {column!r}",
            "choose by number, {numbers}",
            source=source,
            count=len(found),
            column=column,
            numbers=listed(found),
        )
    raise ParameterValueError(
        "columns",
        column,
        "{source} has no column {column!r}",
        "choose from {names}",
        source=source,
        column=column,
        names=listed_names(names),
    )


def picked_names(names: Sequence[str] | None, chosen: np.ndarray | None) -> list[str] | None:
    """Return the names of the chosen columns, or ``None`` if columns have none."""
    if names is None:
        return None
    return list(names) if chosen is None else [names[number] for number in chosen]


# Shapes and types of the arrays in a file, by name.
Members = Mapping[str, tuple[Sequence[int], np.dtype]]


def choose_member(key: str | None, members: Members, source: str) -> str:
    """Return the name of the array that `key` selects.

    Without a key, it is the only array, or the only two-dimensional one that holds numbers.

    Parameters
    ----------
    key : str or None
        The requested key.
    members : mapping from names to (shape, dtype)
        The arrays in the file.
    source : str
        Name of the file, for messages.
    """
    if not members:
        raise ParameterValueError("X", source, "{source} holds no arrays", source=source)
    if key is not None:
        for name in (key, key.strip("/")):
            if name in members:
                return name
        raise ParameterValueError(
            "key",
            key,
            "{source} has no array {key!r}",
            "choose from {members}",
            source=source,
            key=key,
            members=listed(members),
        )
    tables = tables_among(members)
    candidates = list(members) if len(members) == 1 else tables
    if len(candidates) == 1:
        return candidates[0]
    found = [f"{name} {tuple(shape)} {dtype}" for name, (shape, dtype) in members.items()]
    raise ParameterValueError(
        "key",
        key,
        "{source} holds {n_arrays} arrays, {n_tables} of them tables of numbers",
        "choose one, as in {place}, from {found}",
        source=source,
        n_arrays=len(members),
        n_tables=len(tables),
        place=key_place(source, next(iter(members))),
        found=listed(found),
    )


def key_place(source: str, key: str) -> str:
    """How to ask for an array: in the name of a file, or of an object by its key."""
    return f"'{source}::{key}'" if Path(source).exists() else f"tp.read_points(X, {key=})"


def tables_among(members: Members) -> list[str]:
    """Names of the arrays that may be points: numbers, in two dimensions."""
    return [
        name for name, (shape, dtype) in members.items() if len(shape) == 2 and dtype.kind in "fbiu"
    ]


def listed(items: Iterable[object]) -> str:
    """Join the first few items for a message."""
    texts = [str(item) for item in items]
    more = f" and {len(texts) - _LISTED} more" if len(texts) > _LISTED else ""
    return ", ".join(texts[:_LISTED]) + more


def listed_names(names: Iterable[str]) -> str:
    """Join the first few names; those with commas are quoted, as in a file and in an option."""
    return listed(f'"{name}"' if "," in name else name for name in names)


def split_place(text: str) -> tuple[str, str | None]:
    """File and key of ``"file::key"``; the key is ``None`` if `text` is the name of a file."""
    if _KEY_MARK not in text or Path(text).exists():
        return text, None
    file, _, key = text.partition(_KEY_MARK)
    return file, key


def choose_name(name: str, names: Sequence[str], what: str, place: str) -> str:
    """Return `name` if it is one of `names`, or the only one if `name` is empty.

    Parameters
    ----------
    name : str
        The requested name; may be empty.
    names : sequence of str
        The available names.
    what : str
        What they are names of, in the singular.
    place : str
        Where they are, written as the prefix of a name: ``"table.csv::"``.
    """
    file = place.partition(_KEY_MARK)[0]
    if name in names and name:
        if (times := list(names).count(name)) > 1:
            raise ParameterValueError(
                "key",
                name,
                "{file} has {times} {what}s named {name!r}",
                "rename them",
                file=file,
                times=times,
                what=what,
                name=name,
            )
        return name
    if not name and len(names) == 1:
        return names[0]
    problem = "{file} has no {what} {name!r}" if name else "{file} has {count} {what}s"
    raise ParameterValueError(
        "key",
        name,
        problem,
        "choose from {names}, as in {place}{first}",
        file=file,
        what=what,
        name=name,
        count=len(names),
        names=listed_names(names),
        place=place,
        first=next(iter(names), what),
    )


def leave_out(names: Sequence[str] | None, numbers: Sequence[int]) -> tuple[str, dict[str, Any]]:
    """Remedy for a column without numbers, with the numeric columns to paste as its values."""
    if not 0 < len(numbers) <= _PASTED:
        return "choose other {columns}", {}
    chosen = [int(number) if names is None else names[number] for number in numbers]
    return "leave it out with {columns=}", {"columns": chosen}


def refuse_key(key: str | None, source: str) -> None:
    """Reject a key for a source with a single table."""
    if key is not None:
        raise ParameterValueError(
            "key",
            key,
            "{source} holds one table, so {parameter=} has no effect",
            "leave it out",
            source=source,
        )
