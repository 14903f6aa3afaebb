"""Inputs and outputs of subcommands: points, values that belong to them, and files to write."""

import argparse
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from trigpoint._cli.results import CommandError, say
from trigpoint._common.words import VALUE_FORMATS
from trigpoint._sources import Output, Source, open_source
from trigpoint._sources.anndata import likely_points
from trigpoint._sources.choosing import listed, listed_names, split_place
from trigpoint._sources.opening import stored_arrays
from trigpoint._sources.tables import is_table, read_values, table_columns


def open_points(options: argparse.Namespace, model: Any = None) -> Source:
    """Open the points that the options name.

    Without --columns, a table gives the columns that `model` was fitted to; without a model, those
    that hold numbers.
    """
    path = Path(split_place(options.input)[0])
    fitted = getattr(model, "feature_names_in_", None)
    if not path.exists() or not is_table(path):
        if options.columns is None and model is None:
            _suggest_array(options, path)
        return open_source(options.input, columns=_numbered(options.columns, ()))
    names = [column.name for column in table_columns(path)]
    if options.columns is not None:
        source = open_source(options.input, columns=_numbered(options.columns, names))
        if fitted is not None and source.columns.names not in (None, tuple(fitted)):
            raise CommandError(
                f"--columns selects {listed_names(source.columns.names or ())}, but the model was "
                f"fitted to {listed_names(fitted)}: leave out --columns, and they are found by name"
            )
        return source
    if fitted is not None and None not in names:
        return open_source(options.input, columns=list(fitted))
    return open_source(options.input) if model is not None else _open_numbers(options, path)


def _numbered(columns: Sequence[str] | None, names: Sequence[str | None]) -> list[str | int] | None:
    """Convert digits to column numbers, unless a column has that name."""
    if columns is None:
        return None
    return [int(name) if name.isdecimal() and name not in names else name for name in columns]


def _open_numbers(options: argparse.Namespace, path: Path) -> Source:
    """Open the columns of a table that hold numbers, and say which were left out."""
    columns = [column for column in enumerate(table_columns(path)) if column[1].kind != "row label"]
    numbers = [number for number, column in columns if column.kind == "number"]
    others = [
        f"{column.name or number} ({column.kind})"
        for number, column in columns
        if column.kind != "number"
    ]
    if not numbers or not others:
        return open_source(options.input)
    source = open_source(options.input, columns=numbers)
    taken = numbers if source.columns.names is None else source.columns.names
    say(options, f"points are the columns {listed_names(taken)}; left out: {listed(others)}")
    return source


def _suggest_array(options: argparse.Namespace, path: Path) -> None:
    """Say which array of an AnnData file is usually embedded, if none was named."""
    if split_place(options.input)[1] is None and path.name.lower().endswith(".h5ad"):
        better = likely_points(stored_arrays(path)) if path.exists() else None
        if better not in (None, "X"):
            say(options, f"points are X; cells are usually embedded from {path}::{better}")


def read_named(option: str, text: str, source: Source) -> tuple[str, Path, np.ndarray]:
    """Read values that go with the points: their name, the file that holds them, the values.

    Parameters
    ----------
    option : str
        The option that names them, for messages.
    text : str
        A column of the points' own table, or another file: ``FILE``, ``FILE::KEY``.
    source : Source
        The points, one for each value.
    """
    place = _value_place(text, source, option)
    file, key = split_place(place)
    values = np.asarray(read_values(place))
    if len(values) != source.n:
        raise CommandError(f"{option} {text} has {len(values):,} values for {source.n:,} points")
    return key.rpartition("/")[2] if key else Path(text).stem, Path(file), values


def _value_place(text: str, source: Source, option: str) -> str:
    if split_place(text)[1] is not None:
        return text
    own, path = source.path, Path(text)
    own_table = own if own is not None and is_table(own) else None
    # A column of the table comes first: a file of the same name is there by chance.
    if own_table is not None and text in {column.name for column in table_columns(own_table)}:
        return f"{own}::{text}"
    if path.is_file() or (path.is_dir() and is_table(path)):
        return text
    if own_table is not None:
        return f"{own}::{text}"
    if own is not None and own.name.lower().endswith(".h5ad"):
        return f"{own}::obs/{text.removeprefix('obs/')}"
    raise CommandError(
        f"{option} {text} is not a file, and {source.name} has no other columns: give "
        f"{VALUE_FORMATS}"
    )


def read_colors(names: Sequence[str], source: Source) -> tuple[dict[str, np.ndarray], list[Path]]:
    """Read the values of --color, by display name, and list the files that hold them."""
    colors: dict[str, np.ndarray] = {}
    files = []
    for text in names:
        name, file, values = read_named("--color", text, source)
        # Two files may have columns of the same name.
        colors[text if name in colors else name] = values
        files.append(file)
    return colors, files


def described(source: Source) -> dict[str, Any]:
    """Return what ``--json`` says about the points."""
    n, d = source.shape
    return {"name": source.name, "rows": n, "columns": d, "dtype": source.dtype.name}


def check_outputs(
    options: argparse.Namespace, read: Iterable[Path | None], outputs: Mapping[str, Path | None]
) -> None:
    """Reject, before any work, files that cannot or should not be written.

    Existing files are rejected unless --force was given, files that are `read` always. Outputs are
    named by their option.
    """
    given = {option: path for option, path in outputs.items() if path is not None}
    for option, path in given.items():
        if path.is_dir():
            raise CommandError(f"{path} is a folder: name a file")
        if not path.parent.is_dir():
            raise CommandError(f"{path} cannot be written: there is no folder {path.parent}")
        if path.exists() and not options.force:
            raise CommandError(f"{path} exists: name another file, or add --force to replace it")
        if any(place is not None and _is_same(path, place) for place in read):
            raise CommandError(f"{path} is being read: write to another file")
        if option == "--output":
            Output(path, options.force).check()
    if len({os.path.realpath(path) for path in given.values()}) < len(given):
        raise CommandError("two of the files to write are the same: name different ones")


def _is_same(path: Path, other: Path) -> bool:
    return path.exists() and other.exists() and path.samefile(other)
