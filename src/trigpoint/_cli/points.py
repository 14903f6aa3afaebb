"""Inputs and outputs of subcommands: points, values of points, and files to write."""

import argparse
import csv
import io
import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from trigpoint._cli.results import CommandError, listing, say, step
from trigpoint._common.errors import ParameterError
from trigpoint._common.records import ColumnKind
from trigpoint._common.words import VALUE_FORMATS, percent
from trigpoint._sources import Output, Source, open_source
from trigpoint._sources.atomic import check_target
from trigpoint._sources.choosing import choose_columns, listed, listed_names, split_place
from trigpoint._sources.opening import fitted_key, open_table, weighted
from trigpoint._sources.tables import (
    TableColumn,
    is_table,
    read_column,
    read_values,
    table_columns,
)

# Maximum share of missing values in a column.
_MOST_MISSING = 0.3


def open_points(options: argparse.Namespace, model: Any = None) -> Source:
    """Open the points given by the options.

    Without --columns, a table is read with the columns that `model` was fitted to or, without a
    model, all columns except row labels. Without --metric, the option is set to the metric for
    these columns.
    """
    path = Path(split_place(options.input)[0])
    step(options, f"reading {path.name}")
    table = table_columns(path) if path.exists() and is_table(path) else []
    names = [column.name for column in table]
    chosen = None if options.columns is None else _wanted(options.columns, names)
    if model is not None:
        return _as_fitted(options, model, chosen, names)
    given = getattr(options, "metric", None)
    options.metric = given or "euclidean"
    if not table:
        if options.drop:
            raise CommandError(f"--drop names columns of tables, and {options.input} is not one")
        source = open_source(options.input, columns=chosen)
        if source.representation is not None and split_place(options.input)[1] is None:
            say(options, f"points are {source.representation} of {path}")
        return source
    place: Any = len(table), None if None in names else names, options.input
    drop = list(options.drop or ())
    weight = getattr(options, "weight", None)
    if weight is not None and (weight in names or (None in names and weight.isdecimal())):
        drop.append(weight)
    dropped = choose_columns(_wanted(drop, names), *place) if drop else ()
    used = [j for j, column in enumerate(table) if column.kind != "row label"]
    if chosen is not None:
        used = choose_columns(chosen, *place).tolist()
    used = [j for j in used if j not in dropped]
    left_out = {
        column.name or str(j): "left out: row numbers"
        for j, column in enumerate(table)
        if column.kind == "row label" and j not in used
    }
    if not used:
        raise CommandError(f"no column of {options.input} is left to compare: drop fewer")
    kinds: dict[str, ColumnKind] = {}
    if len({names[j] for j in used}) == len(used) or None in names:
        mixed: Any = open_table(options.input, columns=used, missing="median")
        # Fails if there is no column to compare.
        kinds = {kind.name: kind for kind in mixed.columns.kinds}
        _check_gaps(options, mixed.summary)
        if given == "table" or (given is None and mixed.summary.is_mixed):
            options.metric = "table"
            # `info` always lists the columns.
            if options.command != "info":
                shown = listing(left_out | mixed.summary.lines())
                say(options, f"--metric table compares columns of different kinds:\n{shown}")
            return mixed
    return _numeric(options, table, used, kinds)


def open_weighted(options: argparse.Namespace) -> Source:
    """Open the points given by the options, with the weights of --weight if it is given."""
    source = open_points(options)
    if options.weight is None:
        return source
    option = f"--weight {options.weight}"
    _, _, values = read_named("--weight", options.weight, source)
    try:
        return weighted(source, values)
    except ParameterError as error:
        raise CommandError(str(error).replace("sample_weight", option)) from None


def _wanted(columns: Sequence[str], names: Sequence[str | None]) -> list[str | int]:
    """Return names and positions; a number is a position unless it is the name of a column."""
    return [int(text) if text.isdecimal() and text not in names else text for text in columns]


def _as_fitted(
    options: argparse.Namespace, model: Any, chosen: list[Any] | None, names: Sequence[str | None]
) -> Source:
    """Open the columns that a model was fitted to."""
    fitted = getattr(model, "feature_names_in_", None)
    if model.model_.columns.kinds is not None:
        # The source finds the columns by name.
        return open_table(options.input, columns=chosen).matching(model.model_.columns)
    if chosen is not None:
        source = open_source(options.input, columns=chosen)
        if fitted is not None and source.columns.names not in (None, tuple(fitted)):
            raise CommandError(
                f"--columns selects {listed_names(source.columns.names or ())}, but the model was "
                f"fitted to {listed_names(fitted)}: leave out --columns to select them by name"
            )
        return source
    if fitted is None or not names or None in names:
        return open_source(options.input, key=fitted_key(model, options.input))
    if missing := [name for name in fitted if name not in names]:
        raise CommandError(
            f"{options.input} has no column {missing[0]!r}, but the model was fitted to "
            f"{listed_names(fitted)}: name a file that has them"
        )
    return open_source(options.input, columns=list(fitted))


def _check_gaps(options: argparse.Namespace, summary: Any) -> None:
    """Reject columns of which a large part is missing."""
    for kind in summary.kinds:
        if kind.gaps > _MOST_MISSING * summary.n:
            remedy = f"leave it out with --drop {shlex.quote(joined([kind.name]))}"
            if options.columns is not None:
                remedy = "leave it out of --columns"
            raise CommandError(
                f"{percent(kind.gaps / summary.n)} of column {kind.name!r} is missing, more than "
                f"{percent(_MOST_MISSING)}: {remedy}"
            )


def _numeric(
    options: argparse.Namespace,
    table: Sequence[TableColumn],
    used: list[int],
    kinds: Mapping[str, ColumnKind],
) -> Source:
    """Open the columns that hold numbers, for a metric that compares only these."""
    own = [kinds.get(table[j].name or str(j)) for j in used]
    others = [kind.name for kind in own if kind is not None and kind.kind in ("category", "date")]
    if options.columns is not None and others:
        raise CommandError(
            f"column {others[0]!r} does not hold numbers, which --metric {options.metric} needs: "
            "choose --metric table, or leave it out of --columns"
        )
    if options.columns is None:
        numeric = [j for j in used if table[j].kind in ("number", "boolean")]
        used = numeric or used
    chosen = None if used == list(range(len(table))) else used
    if gaps := [kind for kind in own if kind is not None and kind.gaps and kind.name not in others]:
        counts = ", ".join(f"{kind.gaps:,} in {kind.name}" for kind in gaps)
        say(options, f"missing values are filled in by the median: {counts}")
        source = open_table(options.input, columns=chosen, missing="median")
    else:
        source = open_source(options.input, columns=chosen)
    if chosen is not None and options.columns is None and options.command != "info":
        taken = used if source.columns.names is None else source.columns.names
        left_out = [
            f"{column.name or number} ({column.kind})"
            for number, column in enumerate(table)
            if number not in used
        ]
        say(options, f"points are the columns {listed_names(taken)}; left out: {listed(left_out)}")
    return source


def read_beside(options: argparse.Namespace, source: Source) -> dict[str, Any]:
    """Read the columns of --keep, by name, as Arrow arrays."""
    if not options.keep:
        return {}
    if source.path is None or not is_table(source.path):
        raise CommandError(f"--keep copies columns of tables, and {source.name} is not one")
    return dict(read_column(source.path, text) for text in options.keep)


def joined(names: Sequence[str]) -> str:
    """Join names with commas, as options take them; names with commas are quoted."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return line.getvalue()


def read_named(option: str, text: str, source: Source) -> tuple[str, Path, np.ndarray]:
    """Read one value per point; return a display name, the file, and the values.

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


def read_columns(
    option: str, names: Sequence[str], source: Source
) -> tuple[dict[str, np.ndarray], list[Path]]:
    """Return the values given by an option, keyed by display name, and the files they are in."""
    columns: dict[str, np.ndarray] = {}
    files = []
    for text in names:
        name, file, values = read_named(option, text, source)
        # Two files may have columns of the same name.
        columns[text if name in columns else name] = values
        files.append(file)
    return columns, files


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
