"""Inputs and outputs of subcommands: points, values of points, and files to write."""

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
from trigpoint._sources.atomic import check_target
from trigpoint._sources.choosing import listed, listed_names, split_place
from trigpoint._sources.opening import stored_arrays
from trigpoint._sources.tables import is_table, read_values, table_columns


def open_points(options: argparse.Namespace, model: Any = None) -> Source:
    """Open the points given by the options.

    Without --columns, the columns of a table are those that `model` was fitted to or, without a
    model, all numeric ones.
    """
    path = Path(split_place(options.input)[0])
    fitted = getattr(model, "feature_names_in_", None)
    table = table_columns(path) if path.exists() and is_table(path) else []
    names = [column.name for column in table]
    if options.columns is not None:
        # Numbers are positions, unless a column has that name.
        chosen = [
            int(name) if name.isdecimal() and name not in names else name
            for name in options.columns
        ]
        source = open_source(options.input, columns=chosen)
        if fitted is not None and source.columns.names not in (None, tuple(fitted)):
            raise CommandError(
                f"--columns selects {listed_names(source.columns.names or ())}, but the model was "
                f"fitted to {listed_names(fitted)}: leave out --columns to select them by name"
            )
        return source
    if model is not None:
        if fitted is None or not table or None in names:
            return open_source(options.input)
        if missing := [name for name in fitted if name not in names]:
            raise CommandError(
                f"{options.input} has no column {missing[0]!r}, but the model was fitted to "
                f"{listed_names(fitted)}: name a file that has them"
            )
        return open_source(options.input, columns=list(fitted))
    _suggest_array(options, path)
    numbers = [number for number, column in enumerate(table) if column.kind == "number"]
    if not numbers or len(numbers) == len(table):
        return open_source(options.input)
    source = open_source(options.input, columns=numbers)
    # `info` always lists the columns.
    if options.command != "info":
        taken = numbers if source.columns.names is None else source.columns.names
        others = [
            f"{column.name or number} ({column.kind})"
            for number, column in enumerate(table)
            if column.kind != "number"
        ]
        say(options, f"points are the columns {listed_names(taken)}; left out: {listed(others)}")
    return source


def _suggest_array(options: argparse.Namespace, path: Path) -> None:
    """Suggest the array of an AnnData file that is usually embedded, if no key was given."""
    if split_place(options.input)[1] is None and path.name.lower().endswith(".h5ad"):
        better = likely_points(stored_arrays(path)) if path.exists() else None
        if better not in (None, "X"):
            say(options, f"points are X; cells are usually embedded from {path}::{better}")


def read_named(option: str, text: str, source: Source) -> tuple[str, Path, np.ndarray]:
    """Read one value per point; return the name of the values, their file and the values.

    `text`, the argument of `option`, is a column of the points' table, ``FILE`` or ``FILE::KEY``.
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
    # Columns of the table take precedence over files, which may share a name by chance.
    if own_table is not None and text in {column.name for column in table_columns(own_table)}:
        return f"{own}::{text}"
    if path.is_file() or (path.is_dir() and is_table(path)):
        return text
    if own_table is not None:
        return f"{own}::{text}"
    if own is not None and own.name.lower().endswith(".h5ad"):
        return f"{own}::obs/{text.removeprefix('obs/')}"
    raise CommandError(
        f"{option} {text} is not a file, and {source.name} has no other columns: pass "
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


def points_facts(source: Source) -> dict[str, Any]:
    """Return the facts about the points that ``--json`` prints."""
    n, d = source.shape
    return {"name": source.name, "rows": n, "columns": d, "dtype": source.dtype.name}


def check_outputs(
    options: argparse.Namespace, read: Iterable[Path | None], outputs: Mapping[str, Path | None]
) -> None:
    """Reject outputs that cannot or must not be written, before any work is done.

    Existing files are rejected unless --force was given; files in `read` are always rejected. The
    keys of `outputs` are their options.
    """
    given = {option: path for option, path in outputs.items() if path is not None}
    for option, path in given.items():
        if path.is_file() and not options.force:
            raise CommandError(f"{path} exists: name another file, or add --force to replace it")
        check_target(path, filter(None, read))
        if option == "--output":
            Output(path).check()
    if len({os.path.realpath(path) for path in given.values()}) < len(given):
        raise CommandError("two of the output files are the same: name different ones")
