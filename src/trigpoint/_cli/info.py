"""``trigpoint info``: show what a file holds, any problems, and how to embed it."""

import argparse
import shlex
import shutil
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from trigpoint._cli.points import joined, open_points
from trigpoint._cli.results import Result, described, listing
from trigpoint._common.words import counted, percent, size
from trigpoint._estimators import load
from trigpoint._estimators.tensors import is_tensor_file
from trigpoint._geometry import local_dimension
from trigpoint._sources import DamagedFileError, Source
from trigpoint._sources.anndata import likely_points, obs_columns
from trigpoint._sources.choosing import joined_names, listed, listed_names, split_place
from trigpoint._sources.opening import stored_arrays
from trigpoint._sources.tables import is_table, read_values, table_columns
from trigpoint._sources.values import as_dense
from trigpoint._spaces import Space, Standardized, space_for
from trigpoint.metrics._outliers import FACTOR, SHARE, outlying_rows

# Maximum size in bytes of points that are checked without --check, which takes a second or two.
_LITTLE = 2**28

# Text columns with at most this many distinct values count as classes.
_MOST_CLASSES = 40

# Up to half of the columns dominate distances if they hold this fraction of the variance. The
# smaller fraction is for tables of few columns, whose units often differ.
_DOMINANT_SHARE, _DOMINANT_IN_TABLES, _FEW_COLUMNS = 0.999, 0.95, 50

# Maximum number of rows, and size in bytes, of the sample to inspect in detail.
_SAMPLE, _SAMPLE_BYTES = 100_000, 2**27
# Number of landmarks that sets the scale at which the local dimension is measured.
_LANDMARKS = 1_000

# A 2-D embedding needs at least three landmarks.
_FEWEST_ROWS = 3

# Values for scripts, and text for display.
_Found = tuple[dict[str, Any], dict[str, str]]


def run(options: argparse.Namespace) -> Result:
    """Describe a model or a file of points."""
    if is_tensor_file(options.input):
        return _model(options)
    path = Path(split_place(options.input)[0])
    values: dict[str, Any] = {"name": options.input}
    shown: dict[str, str] = {}
    kinds: dict[str, str] = {}
    is_columns = path.exists() and is_table(path)
    has_key = split_place(options.input)[1] is not None
    if path.exists() and not has_key and (arrays := stored_arrays(path)):
        if (likely := likely_points(arrays)) is not None:
            options.input = f"{path}::{likely}"
        values["arrays"] = {key: [list(shape), str(kind)] for key, (shape, kind) in arrays.items()}
        shown["arrays"] = listed(
            f"{key} ({' x '.join(map(str, shape))} {kind})" for key, (shape, kind) in arrays.items()
        )
    if is_columns:
        columns = enumerate(table_columns(path))
        values["column_kinds"] = kinds = {of.name or str(number): of.kind for number, of in columns}
        shown["columns"] = listed(f"{name} ({kind})" for name, kind in kinds.items())
    elif path.exists() and path.name.lower().endswith(".h5ad"):
        values["obs"] = kinds = obs_columns(path)
        shown["obs"] = listed(f"{name} ({kind})" for name, kind in kinds.items())
    found, told = _points(options, kinds if is_columns else {})
    values, shown = values | found, shown | told
    if "problem" not in values:
        values["next"] = _next_command(options, kinds, values)
        shown["next"] = _wrapped(values["next"])
    return Result(f"{values['name']}\n{listing(shown)}", values)


def _points(options: argparse.Namespace, kinds: Mapping[str, str]) -> _Found:
    """Describe the points and their problems."""
    values: dict[str, Any] = {}
    shown: dict[str, str] = {}
    try:
        source: Any = open_points(options)
        n, columns = source.n, source.columns
        space = space_for(options.metric)
        values = {
            "rows": n,
            "columns": columns.count,
            "dtype": columns.dtype.name,
            "sparse": columns.sparse,
            "bytes": n * columns.count * columns.dtype.itemsize,
            "feature_names": None if columns.names is None else list(columns.names),
        }
        kind = "sparse " * columns.sparse + columns.dtype.name
        memory = "" if columns.sparse else f" ({size(values['bytes'])} in memory)"
        table = f"{counted(n, 'row')} x {counted(columns.count, 'column')}, {kind}{memory}"
        shown["points"] = table
        if columns.kinds is not None:
            values["columns_compared"] = source.summary.lines()
            lines = (f"{name}: {line}" for name, line in values["columns_compared"].items())
            room = shutil.get_terminal_size().columns - 20
            shown["columns"] = "\n".join(
                textwrap.fill(line, room, subsequent_indent="  ") for line in lines
            )
        elif columns.names is not None:
            shown["columns used"] = listed_names(columns.names)
        if values["bytes"] > _LITTLE and not options.check:
            shown["values"] = "not checked: --check finds missing values and constant columns"
            return values, shown
        found, told = _inspected(source.under(space), space)
        return values | found, shown | told
    except DamagedFileError:
        raise
    except ValueError as error:
        # An invalid choice of array or column is an error; other problems are only reported.
        if not values and (not kinds or options.columns is not None):
            raise
        problem = {"problem": described(error, options.parser)}
        return values | problem, shown | problem


def _inspected(source: Source, space: Space) -> _Found:
    """Describe constant columns, the local dimension, dominant columns and outliers."""
    found, n_sampled = _inspect(source, space)
    names: Sequence[Any] = space.named(source.columns.names) or range(source.columns.count)
    constant, dominant = (
        listed_names(names[j] for j in found[kind])
        for kind in ("constant_columns", "dominant_columns")
    )
    shown = {"values": "all finite"}
    if constant:
        shown["constant"] = f"columns {constant}: can be omitted"
    if found["dimension"]:
        shown["dimension"] = f"about {found['dimension']:.1f} around each point"
    if dominant:
        shown["scales"] = (
            f"{percent(dominant_share(source), 1)} of the variance is in {dominant}; if the "
            "columns have different units, keep --metric seuclidean (it divides each column by its "
            "standard deviation)"
        )
    if outliers := listed(found["outliers"]):
        among = "" if n_sampled == source.n else f" among {n_sampled:,} sampled rows"
        several = len(found["outliers"]) > 1
        shown["outliers"] = (
            f"{'rows' if several else 'row'} {outliers}{among} {'lie' if several else 'lies'} more "
            f"than {FACTOR:g} times farther from the rest than {percent(SHARE)} of rows; remove "
            f"{'them if they are errors' if several else 'it if it is an error'}"
        )
    return found, shown


def _next_command(
    options: argparse.Namespace, kinds: Mapping[str, str], found: Mapping[str, Any]
) -> str:
    """Return the shell command that embeds the points."""
    path = Path(split_place(options.input)[0])
    # Prefix a folder to names that begin like an option.
    stem, here = path.absolute().name.partition(".")[0], "./" if path.name.startswith("-") else ""
    if path.is_dir() and path.absolute() == Path.cwd():
        # Outputs inside the input folder would be rejected.
        here = "../"
    suffix = ".npy"
    if is_table(path):
        suffix = ".parquet" if ".parquet" in path.name.lower() or path.is_dir() else ".csv"
    points = f"./{options.input}" if options.input.startswith("-") else options.input
    words = ["trigpoint", "embed", points, "-o", f"{here}{stem}_embedding{suffix}"]
    words += ["--report", f"{here}{stem}.html"]
    if options.columns is not None:
        words += ["--columns", joined(options.columns)]
    if options.drop is not None:
        words += ["--drop", joined(options.drop)]
    if options.metric != "euclidean":
        words += ["--metric", options.metric]
    elif found.get("dominant_columns"):
        words += ["--metric", "seuclidean"]
    color = next((name for name, kind in kinds.items() if _are_classes(path, name, kind)), None)
    return shlex.join([*words, "--color", joined([color])] if color else words)


def _are_classes(path: Path, name: str, kind: str) -> bool:
    """Return whether a column has few distinct values, each shared by many points."""
    if kind != "text" or path.stat().st_size > _LITTLE:
        return kind == "classes"
    values = read_values(f"{path}::{name}")
    return 1 < len(set(values.tolist())) <= min(_MOST_CLASSES, len(values) // 2)


def _wrapped(command: str) -> str:
    """Wrap a command to the width of the terminal, with shell line continuations."""
    room = shutil.get_terminal_size().columns - 20
    lines = [""]
    for word in map(shlex.quote, shlex.split(command)):
        if lines[-1] and len(lines[-1]) + len(word) + 1 > room:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return " \\\n".join(lines)


def _model(options: argparse.Namespace) -> Result:
    model = load(options.input)
    k, d = len(model.landmarks_), model.model_.columns.count
    parameters = {
        name: value if isinstance(value, (str, int, float, bool, type(None))) else str(value)
        for name, value in model.fitted_.parameters.items()
    }
    n_components = int(model.landmark_embedding_.shape[1])
    n_bytes = Path(options.input).stat().st_size
    names = getattr(model, "feature_names_in_", None)
    values: dict[str, Any] = {
        "name": options.input,
        "estimator": type(model).__name__,
        "landmarks": k,
        "columns": d,
        "components": n_components,
        "eigenvalues": [float(value) for value in model.fitted_.spectrum.eigenvalues],
        "parameters": parameters,
        "feature_names": None if names is None else list(names),
        "bytes": n_bytes,
    }
    coordinates = counted(n_components, "coordinate")
    takes = f"points of {counted(d, 'column')}"
    shown = {
        "model": f"{values['estimator']}, {coordinates} from {k:,} landmarks",
        "takes": takes if names is None else f"{takes}: {joined_names(names)}",
        "size": size(float(n_bytes)),
    }
    parameters["landmarks"] = k
    shown |= {name: " ".join(str(value).split()) for name, value in parameters.items()}
    return Result(f"{options.input}\n{listing(shown)}", values)


def _inspect(source: Source, space: Space) -> tuple[dict[str, Any], int]:
    """Check all values and inspect a sample; return the findings and the sample size.

    Raises a ValueError if the points cannot be embedded.
    """
    n, d = source.n, space.width(source.columns.count)
    low, high = np.full(d, np.inf), np.full(d, -np.inf)
    for first, raw in source.blocks():
        block = space(raw, first)
        # The extremes of a sparse column include implicit zeros.
        low = np.minimum(low, as_dense(block.min(axis=0)).ravel())
        high = np.maximum(high, as_dense(block.max(axis=0)).ravel())
    if n < _FEWEST_ROWS:
        raise ValueError(f"{counted(n, 'row')}: too few to choose landmarks")
    constant = np.flatnonzero(low == high).tolist()
    if len(constant) == d:
        raise ValueError(f"all {n:,} rows are the same point: there is nothing to embed")
    found = {"constant_columns": constant, "dimension": 0.0, "dominant_columns": [], "outliers": []}
    if source.columns.sparse:
        return found, 0
    size = min(n, _SAMPLE, max(1, _SAMPLE_BYTES // (d * source.dtype.itemsize)))
    rows = np.sort(np.random.default_rng(0).choice(n, size, replace=False))
    points = as_dense(space(source.take(rows), rows))
    found["dominant_columns"] = dominant_columns(points, dominant_share(source))
    if found["dominant_columns"]:
        # Without scaling, distances would reflect only these columns.
        points = as_dense(Standardized().fit(points)(points))
    found["dimension"] = round(local_dimension(points, _LANDMARKS), 2)
    found["outliers"] = rows[outlying_rows(points)].tolist()
    return found, size


def dominant_share(source: Source) -> float:
    """Return the share of the variance above which a few columns dominate distances."""
    columns = source.columns
    is_table = columns.names is not None and columns.count <= _FEW_COLUMNS
    return _DOMINANT_IN_TABLES if is_table else _DOMINANT_SHARE


def dominant_columns(points: np.ndarray, most: float) -> list[int]:
    """Return the columns that hold a share `most` of the variance, if at most half of them do."""
    variances = points.var(axis=0, dtype=np.float64)
    order = np.argsort(-variances, kind="stable")
    share = np.cumsum(variances[order]) / max(variances.sum(), np.finfo(np.float64).tiny)
    enough = int(np.searchsorted(share, most)) + 1
    found: list[int] = sorted(order[:enough].tolist())
    return found if 2 * enough <= np.count_nonzero(variances) else []
