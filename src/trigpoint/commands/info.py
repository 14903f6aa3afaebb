"""``trigpoint info``: what a file holds, and what embedding it would take."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from trigpoint.commands import common
from trigpoint.commands.common import Result
from trigpoint.files import PointSource
from trigpoint.files.tensors import is_tensor_file
from trigpoint.forecasting import forecast
from trigpoint.graph import DEFAULT_NEIGHBORS
from trigpoint.manifold import load
from trigpoint.memory import available_memory
from trigpoint.points import block_rows

_NAMES_SHOWN = 12

# Points whose values are looked at without being asked to: a second or two.
_LITTLE = 2**28


def add(commands: common.Commands) -> None:
    """Add the subcommand."""
    parser = common.add_command(
        commands,
        "info",
        run,
        help="what a file holds, and what embedding it would take",
        examples="""
            trigpoint info points.npy
            trigpoint info cells.h5ad::obsm/X_pca --json
            trigpoint info big.npy --check
            trigpoint info model.trig
        """,
    )
    common.add_input(parser, "points, or a model that --save wrote")
    parser.add_argument(
        "--check",
        action="store_true",
        help="look for missing values and constant columns also where that takes long (above "
        f"{common.size(_LITTLE)})",
    )


def run(options: argparse.Namespace) -> Result:
    """Look at the header of a file, and at its values if they are few."""
    if is_tensor_file(options.input):
        return _model(options)
    return _points(common.open_points(options), options.check)


def _points(points: PointSource, check: bool) -> Result:
    n, d = points.shape
    k = common.suggested_landmarks(n)
    values: dict[str, Any] = {
        "name": points.name,
        "rows": n,
        "columns": d,
        "dtype": points.dtype.name,
        "bytes": n * d * points.dtype.itemsize,
        "feature_names": points.feature_names,
    }
    shown = {
        "points": f"{n:,} rows x {d:,} columns, {points.dtype.name} "
        f"({common.size(values['bytes'])} in memory)"
    }
    if points.feature_names is not None:
        shown["columns"] = _some(range(d), points.feature_names)
    if check or values["bytes"] <= _LITTLE:
        try:
            constant = values["constant_columns"] = _constant_columns(points)
            shown["values"] = "all finite"
            if constant:
                shown["constant"] = (
                    f"column {_some(constant, points.feature_names)}: may be left out"
                )
        except ValueError as error:
            values["problem"] = shown["values"] = str(error).removeprefix(f"{points.name} ")
    else:
        shown["values"] = "not looked at: --check finds missing ones and constant columns"
    if k + 1 < n:
        expected = forecast(n, d, k, dtype=points.dtype)
        free = available_memory()
        values["suggested"] = {"landmarks": k, "neighbors": min(DEFAULT_NEIGHBORS, k - 1)}
        values["forecast"] = {
            "seconds": round(expected.seconds, 2),
            "bytes": round(expected.bytes),
            "free_bytes": round(free) if free < float("inf") else None,
        }
        shown["suggested"] = f"--landmarks {k} --neighbors {min(DEFAULT_NEIGHBORS, k - 1)}"
        shown["forecast"] = (
            f"about {common.duration(expected.seconds)} and {common.size(expected.bytes)} beside "
            f"the points ({common.size(free)} free)"
        )
    return Result(f"{points.name}\n{common.listing(shown)}", values)


def _constant_columns(points: PointSource) -> list[int]:
    """Columns that tell no two points apart; raises where a value is missing."""
    first: np.ndarray | None = None
    constant = np.ones(points.shape[1], dtype=bool)
    for block in points.blocks(block_rows(points.shape[1] * points.dtype.itemsize)):
        first = block[0].copy() if first is None else first
        constant &= (block == first).all(axis=0)
    # A single point is no reason to speak of its columns.
    return np.flatnonzero(constant).tolist() if points.shape[0] > 1 else []


def _some(columns: Sequence[int], names: Sequence[str] | None) -> str:
    """First of some columns, by name where there are names."""
    shown = columns[:_NAMES_SHOWN]
    more = f" and {len(columns) - len(shown):,} more" if len(columns) > len(shown) else ""
    return ", ".join(str(c) if names is None else names[c] for c in shown) + more


def _model(options: argparse.Namespace) -> Result:
    model = load(options.input)
    k, d = model.landmarks_.shape
    given = {
        name: value
        for name, value in model.get_params(deep=False).items()
        if name not in ("verbose", "callback", "n_jobs")
    }
    parameters = {
        name: value if isinstance(value, (str, int, float, bool, type(None))) else str(value)
        for name, value in given.items()
    }
    values: dict[str, Any] = {
        "name": options.input,
        "estimator": type(model).__name__,
        "landmarks": k,
        "columns": d,
        "components": int(model.embedding_.shape[1]),
        "eigenvalues": [float(value) for value in model.eigenvalues_],
        "parameters": parameters,
        "bytes": Path(options.input).stat().st_size,
    }
    shown = {
        "model": f"{values['estimator']}, {values['components']} coordinates from {k:,} landmarks",
        "takes": f"points of {d:,} columns",
        "size": common.size(float(Path(options.input).stat().st_size)),
    }
    if hasattr(model, "feature_names_in_"):
        values["feature_names"] = list(model.feature_names_in_)
        shown["takes"] += ": " + ", ".join(model.feature_names_in_[:_NAMES_SHOWN])
    shown |= {name: " ".join(str(value).split()) for name, value in parameters.items()}
    return Result(f"{options.input}\n{common.listing(shown)}", values)
