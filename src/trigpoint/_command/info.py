"""``trigpoint info``: what a file holds, and the cost of embedding it."""

import argparse
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trigpoint._command import common
from trigpoint._command.common import Result
from trigpoint._command.inspection import DOMINANT_SHARE, Inspection, inspect
from trigpoint._command.messages import explain, join_names
from trigpoint._common.memory import available_memory
from trigpoint._common.words import counted, duration, size
from trigpoint._estimators import load
from trigpoint._estimators.comparison import FEWEST_TO_COMPARE
from trigpoint._files import DamagedFileError, PointSource, read_points
from trigpoint._sources.tables import DECIMAL_COMMA, TableColumn, is_table, table_columns
from trigpoint._files.contents import likely_points, stored_arrays
from trigpoint._sources.anndata import obs_columns
from trigpoint._sources.choosing import split_place
from trigpoint._sources.tensors import is_tensor_file
from trigpoint._files.text import TextSource
from trigpoint._files.text_layout import has_thousands_points, text_suffix
from trigpoint._files.text_table import TextTable
from trigpoint._sources.tables import read_values
from trigpoint._forecast import Forecast, forecast
from trigpoint._landmarks.choice import default_n_landmarks
from trigpoint._numerics.outliers import FACTOR, SHARE

_NAMES_SHOWN = 12

# More are not told apart by their colors.
_MOST_CLASSES = 40

# Most bytes of points whose values are checked without --check, if they can be mapped and if they
# have to be read first: a second or two.
_LITTLE = 2**28
_LITTLE_TO_READ = 2**26

# Files that cannot be mapped are read to choose landmarks, and again to embed the points.
_TIMES_READ = 2

# Two coordinates need at least three landmarks.
_FEWEST_LANDMARKS = 3

# For scripts, and for people.
_Found = tuple[dict[str, Any], dict[str, str]]


def add(commands: common.Commands) -> None:
    """Add the subcommand."""
    parser = common.add_command(
        commands,
        "info",
        run,
        help="show what a file holds and what embedding it would cost",
        examples="""
            trigpoint info points.npy
            trigpoint info cells.h5ad::obsm/X_pca --json
            trigpoint info big.npy --check
            trigpoint info model.trig
        """,
    )
    common.add_input(parser, "points, or a model written by --save")
    parser.add_argument(
        "--check",
        action="store_true",
        help="check for missing values and constant columns even if that takes long (above "
        f"{size(_LITTLE)}, or {size(_LITTLE_TO_READ)} if the file cannot be mapped)",
    )


def run(options: argparse.Namespace) -> Result:
    """Read the header of a file, and its values if there are few."""
    if is_tensor_file(options.input):
        return _model(options)
    path = Path(options.input)
    arrays = stored_arrays(path) if path.exists() else {}
    if (likely := likely_points(arrays)) is not None:
        options.input = f"{path}::{likely}"
    whole_table = options.columns is None and path.exists() and is_table(path)
    columns = table_columns(path) if path.exists() and is_table(path) else []
    if not whole_table or {column.kind for column in columns} <= {"number", "row label"}:
        values, shown = _numbers(options, whole_table)
    else:
        values, shown = _mixed_table(options, columns)
    # Those of a sparse array are not its rows.
    if likely is not None:
        values["arrays"] = {key: [list(shape), str(kind)] for key, (shape, kind) in arrays.items()}
        told = [
            f"{key} ({' x '.join(f'{count:,}' for count in shape)}, {kind})"
            for key, (shape, kind) in arrays.items()
        ]
        shown = {"arrays": _some(range(len(told)), told)} | shown
    kinds = {column.name: column.kind for column in columns if column.name}
    if path.exists() and path.name.lower().endswith(".h5ad"):
        values["obs"] = kinds = obs_columns(path, str(path))
        told = [f"{name} ({kind})" for name, kind in kinds.items()]
        shown["obs"] = _some(range(len(told)), told)
    if "problem" not in values:
        values["next"] = shown["next"] = _next_command(options, kinds, values)
    return Result(f"{values['name']}\n{common.listing(shown)}", values)


def _next_command(
    options: argparse.Namespace, kinds: Mapping[str, str], found: Mapping[str, Any]
) -> str:
    """The command to embed the points, as typed into a shell."""
    path = Path(split_place(options.input)[0])
    # A name that begins like an option is given with its folder.
    stem, here = path.name.partition(".")[0], "./" if path.name.startswith("-") else ""
    suffix = ".npy"
    if is_table(path):
        suffix = ".csv" if text_suffix(path) else ".parquet"
    points = f"./{options.input}" if options.input.startswith("-") else options.input
    words = ["trigpoint", "embed", points, "-o", f"{here}{stem}_embedding{suffix}"]
    words += ["--report", f"{here}{stem}.html"]
    if options.columns is not None:
        words += ["--columns", join_names(options.columns)]
    if found.get("dominant_columns"):
        words += ["--metric", "seuclidean"]
    color = next((name for name, kind in kinds.items() if _are_classes(path, name, kind)), None)
    return shlex.join([*words, "--color", join_names([color])] if color else words)


def _are_classes(path: Path, name: str, kind: str) -> bool:
    """Whether the values of a column are few, and many points share them."""
    if kind != "text" or path.stat().st_size > _LITTLE_TO_READ:
        return kind == "classes"
    values = read_values(f"{path}::{name}")
    return 1 < len(set(values.tolist())) <= min(_MOST_CLASSES, len(values) // 2)


def _numbers(options: argparse.Namespace, whole_table: bool) -> _Found:
    """Result for points, or for a table of numbers only."""
    try:
        points = common.open_points(options)
    except DamagedFileError:
        raise
    except ValueError as error:
        # A missing value in its first row can prevent a table from being opened.
        if not whole_table:
            raise
        problem = explain(error)
        return {"name": options.input, "problem": problem}, {"problem": problem}
    return _points(points, options.check)


def _mixed_table(options: argparse.Namespace, columns: Sequence[TableColumn]) -> _Found:
    """Result for a table with other columns too: the kinds of columns, and the numbers."""
    labels = [column.name or str(number) for number, column in enumerate(columns)]
    kinds = {label: column.kind for label, column in zip(labels, columns, strict=True)}
    told = [f"{label} ({of.described()})" for label, of in zip(labels, columns, strict=True)]
    values: dict[str, Any] = {"name": options.input, "column_kinds": kinds}
    shown = {"columns": _some(range(len(told)), told)}
    numbers = [number for number, column in enumerate(columns) if column.kind == "number"]
    if not numbers:
        problem = "no column holds numbers: there are no points"
        if like := [of.example for of in columns if of.example]:
            problem = f"no column holds numbers; {like[0]} is text: write numbers without signs"
        points = [of.example for of in columns if has_thousands_points(of.example)]
        if points:
            problem = f"{points[0]} has points between thousands: write 1.234 as 1234"
        elif DECIMAL_COMMA in kinds.values():
            problem = "numbers have a decimal comma: write them with a point"
        values["problem"] = shown["problem"] = problem
        return values, shown
    try:
        found, of_numbers = _points(read_points(options.input, columns=numbers), options.check)
    except DamagedFileError:
        raise
    except ValueError as error:
        values["problem"] = shown["problem"] = explain(error)
        return values, shown
    suggested = found.get("suggested", {}) | {"columns": [labels[j] for j in numbers]}
    return found | values | {"suggested": suggested}, of_numbers | shown


def _points(points: PointSource, check: bool) -> _Found:
    n, d = points.shape
    values: dict[str, Any] = {
        "name": points.name,
        "rows": n,
        "columns": d,
        "dtype": points.dtype.name,
        "stored_dtype": None if points.stored_dtype is None else points.stored_dtype.name,
        "bytes": n * d * points.dtype.itemsize,
        "stored_values": points.n_stored,
        "feature_names": points.feature_names,
    }
    kind = points.dtype.name
    if points.stored_dtype not in (None, points.dtype):
        kind = f"{values['stored_dtype']} read as {kind}"
    table = f"{counted(n, 'row')} x {counted(d, 'column')}, {kind}"
    shown = {"points": f"{table} ({size(values['bytes'])} in memory)"}
    if points.n_stored is not None:
        stored = f"{points.n_stored:,} values, {points.n_stored / (n * d):.2%} of all"
        shown["points"] = f"{table}, sparse: {stored}"
    if isinstance(points, TextSource):
        _skipped(points.table, values, shown)
    if points.feature_names is not None:
        shown["columns"] = _some(range(d), points.feature_names)
    k = default_n_landmarks(n)
    seen = Inspection()
    little = _LITTLE if points.array() is not None else _LITTLE_TO_READ
    if check or values["bytes"] <= little:
        seen = _inspected(points, k, check)
        values["constant_columns"] = list(seen.constant)
        if seen.problem is None:
            shown["values"] = "all finite"
        if seen.constant:
            constant = _some(seen.constant, points.feature_names)
            shown["constant"] = f"column {constant}: can be left out"
        if seen.problem is None:
            _judged(points, seen, values, shown)
    else:
        shown["values"] = "not checked: use --check to find missing values and constant columns"
    if seen.problem is not None:
        values["problem"] = shown["problem"] = seen.problem
        return values, shown
    if seen.n_distinct is not None and seen.n_distinct < n:
        values["distinct_rows"] = seen.n_distinct
        shown["distinct"] = f"only {seen.n_distinct:,} rows are distinct"
        k = default_n_landmarks(seen.n_distinct)
    if k < _FEWEST_LANDMARKS:
        values["problem"] = shown["problem"] = "too few distinct points to choose landmarks from"
    else:
        _forecast(points, k, seen, values, shown)
    return values, shown


def _skipped(table: TextTable, values: dict[str, Any], shown: dict[str, str]) -> None:
    """Add the lines of a text file that are not rows."""
    comments, blank = table.layout.n_comments, table.n_blank
    values["skipped"] = {"comments": comments, "blank_lines": blank}
    parts = [f"{counted(comments, 'comment line')} at the top"] * bool(comments)
    parts += [f"{counted(blank, 'blank line')} between rows"] * bool(blank)
    if parts:
        shown["skipped"] = " and ".join(parts)


def _judged(
    points: PointSource, seen: Inspection, values: dict[str, Any], shown: dict[str, str]
) -> None:
    """Add the local dimension, and what would spoil an embedding without making it impossible."""
    n = points.shape[0]
    values["dimension"] = round(seen.dimension, 2)
    values["dominant_columns"] = list(seen.dominant)
    values["outliers"] = list(seen.outliers)
    shown["dimension"] = f"about {seen.dimension:.1f} of {points.shape[1]}, around each point"
    if seen.dominant:
        dominant = _some(seen.dominant, points.feature_names)
        shown["scales"] = (
            f"column {dominant}: {DOMINANT_SHARE:.1%} of the variance, so that the others hardly "
            "count; if units differ, keep --metric seuclidean, which divides each column by its "
            "standard deviation first"
        )
    if seen.outliers:
        among = "" if seen.n_looked_at == n else f" among {seen.n_looked_at:,} rows looked at"
        shown["outliers"] = (
            f"row {_some(seen.outliers, None)}{among}: more than {FACTOR:g} times as far from the "
            f"others as {SHARE:.0%} of the rows; if they are errors, remove them"
        )


def _inspected(points: PointSource, most: int, every: bool) -> Inspection:
    try:
        return inspect(points, most, every)
    except DamagedFileError:
        raise
    except ValueError as error:
        return Inspection(problem=explain(error))


def _forecast(
    points: PointSource, k: int, seen: Inspection, values: dict[str, Any], shown: dict[str, str]
) -> None:
    """Add the number of landmarks and the cost; nothing is drawn if every point is taken."""
    n, d = points.shape
    # Fewer points are embedded without trying methods first.
    compare = n >= FEWEST_TO_COMPARE
    expected = forecast(n, d, k, dtype=points.dtype, compare=compare, report=True)
    report, comparison = expected.stages["report"], expected.stages.get("comparison", 0.0)
    seconds = expected.seconds - report + _TIMES_READ * seen.reading_seconds
    free = available_memory()
    suggested = {} if k == seen.n_distinct else {"landmarks": k}
    values["suggested"] = suggested
    values["forecast"] = {
        "seconds": round(seconds, 2),
        "comparison_seconds": round(comparison, 2),
        "report_seconds": round(report, 2),
        "compilation_seconds": round(expected.stages.get("compilation", 0.0), 2),
        "bytes": round(expected.bytes),
        "free_bytes": round(free) if free < float("inf") else None,
    }
    shown["forecast"] = (
        f"about {duration(seconds)}{_of_which(expected)}, with --report {duration(report)} more, "
        f"and {size(expected.bytes)} besides the points ({size(free)} free)"
    )


def _of_which(expected: Forecast) -> str:
    """What of it can be spared, or is spared the next time."""
    parts = []
    if (compiling := expected.stages.get("compilation")) is not None:
        parts.append(f"{duration(compiling)} to compile loops, the first time only")
    if (comparing := expected.stages.get("comparison")) is not None:
        parts.append(f"{duration(comparing)} to compare methods")
    return f" (of which {' and '.join(parts)})" if parts else ""


def _some(columns: Sequence[int], names: Sequence[str] | None) -> str:
    """The first few columns, by name if they have names."""
    shown = columns[:_NAMES_SHOWN]
    more = f" and {len(columns) - len(shown):,} more" if len(columns) > len(shown) else ""
    return ", ".join(str(c) if names is None else names[c] for c in shown) + more


def _model(options: argparse.Namespace) -> Result:
    model = load(options.input)
    k, d = model.landmarks_.shape
    parameters = {
        name: value if isinstance(value, (str, int, float, bool, type(None))) else str(value)
        for name, value in model.fitted_.parameters.items()
    }
    values: dict[str, Any] = {
        "name": options.input,
        "estimator": type(model).__name__,
        "landmarks": k,
        "columns": d,
        "components": int(model.landmark_embedding_.shape[1]),
        "eigenvalues": [float(value) for value in model.fitted_.spectrum.eigenvalues],
        "parameters": parameters,
        "bytes": Path(options.input).stat().st_size,
    }
    shown = {
        "model": f"{values['estimator']}, {counted(values['components'], 'coordinate')} from {k:,} "
        "landmarks",
        "takes": f"points of {d:,} columns",
        "size": size(float(Path(options.input).stat().st_size)),
    }
    if hasattr(model, "feature_names_in_"):
        values["feature_names"] = list(model.feature_names_in_)
        shown["takes"] += ": " + ", ".join(model.feature_names_in_[:_NAMES_SHOWN])
    shown |= {name: " ".join(str(value).split()) for name, value in parameters.items()}
    return Result(f"{options.input}\n{common.listing(shown)}", values)
