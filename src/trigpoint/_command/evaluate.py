"""``trigpoint evaluate``: measure the landmarks and the embedding of a saved model."""

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from trigpoint._command import common
from trigpoint._command.columns import value_place
from trigpoint._command.common import CommandError, Result
from trigpoint._common.labels import is_missing
from trigpoint._estimators import load
from trigpoint._files import PointSource, read_points
from trigpoint._files.source import picked_rows
from trigpoint._sources.tables import FORMATS, read_values
from trigpoint._numerics.blocks import block_rows
from trigpoint._numerics.kernels import landmark_spacing
from trigpoint._numerics.threads import thread_count
from trigpoint._points.inputs import checked_blocks, scaled_source
from trigpoint.metrics import (
    coverage_radius,
    knn_accuracy,
    nystrom_error,
)
from trigpoint.metrics._quality import assess, sample_size

# Points in the sample, and their bytes; more would not change the figures shown.
_SAMPLE = 20_000
_ERROR_SAMPLE = 4_000
_SAMPLE_BYTES = 2**28

# With fewer than twice this many points, any labels may be classes.
_FEW_CLASSES = 10


def add(commands: common.Commands) -> None:
    """Add the subcommand."""
    parser = common.add_command(
        commands,
        "evaluate",
        run,
        help="measure the landmarks and the embedding of a saved model",
        examples="""
            trigpoint evaluate big.trig big.npy
            trigpoint evaluate digits.trig digits.npz::X --labels digits.npz::y --json
        """,
        notes=f"Figures are measured on {_SAMPLE:,} of the points, drawn at random, or fewer with "
        "thousands of\ncolumns.",
    )
    parser.add_argument("model", type=Path, metavar="MODEL", help="a file written by --save")
    common.add_input(parser)
    parser.add_argument(
        "--labels",
        metavar="FILE",
        help=f"labels of the points, for nearest-neighbor accuracy: {FORMATS}",
    )
    common.add_seed(parser, "seed for the sample")


def run(options: argparse.Namespace) -> Result:
    """Measure on a sample."""
    model = load(options.model)
    points = common.open_points(options, model)
    n = points.shape[0]
    labels = None
    if options.labels is not None:
        labels = _labels(value_place(options.labels, points, "--labels"), n)
    rng = np.random.default_rng(options.seed)
    row_bytes = points.shape[1] * points.dtype.itemsize
    sample = min(n, _SAMPLE, block_rows(row_bytes, _SAMPLE_BYTES))
    rows = np.sort(rng.choice(n, sample, replace=False))
    report = common.progress(options)
    X = picked_rows(checked_blocks(points, report, "reading"), rows)
    model.set_params(callback=report)
    # As a source, which has the column names that the model was fitted to.
    Y = model.transform(_named(X, points))
    scaled = scaled_source(_named(X, points), model.fitted_.parameters["metric"], model)
    X = np.asarray(scaled)
    size = min(len(X), sample_size(n, X.shape[1], X.itemsize))
    # Drawn as by `quality` of the estimators: the same points where all of them were sampled.
    part = np.random.default_rng(options.seed).choice(len(X), size, replace=False)
    steps = 3 if labels is None else 4
    report("measuring", 0, steps)
    quality = assess(model.fitted_, X[part], Y[part], rows[part], n, thread_count(None))
    report("measuring", 1, steps)
    landmarks = model.landmarks_
    few = X[rng.choice(len(X), min(len(X), _ERROR_SAMPLE), replace=False)]
    bandwidth = 2 * landmark_spacing(X, len(landmarks), rng)
    radii = [coverage_radius(X, landmarks, quantile=share) for share in (1.0, 0.95)]
    report("measuring", 2, steps)
    error = float(nystrom_error(few, landmarks, bandwidth, relative=True))
    report("measuring", 3, steps)
    values: dict[str, Any] = {
        "model": str(options.model),
        "input": points.name,
        "points": n,
        "sampled": len(rows),
        "landmarks": len(landmarks),
        "coverage_radius": radii[0],
        "coverage_radius_95": radii[1],
        "trace_error": error,
        "trace_error_bandwidth": float(bandwidth),
        "bridges": len(getattr(model, "bridges_", ())),
        "quality": quality.figures(),
    }
    shown = {
        "points": f"{n:,}" + (f", {len(rows):,} of them sampled" if len(rows) < n else ""),
        "landmarks": f"{len(landmarks):,}",
        "farthest point": f"{values['coverage_radius']:.4g} from its nearest landmark "
        f"(95% are within {values['coverage_radius_95']:.4g})",
        "trace error": f"{values['trace_error']:.2%} of the kernel with bandwidth {bandwidth:.3g}",
        **{name: line for name, line in quality.lines().items() if name != "measured on"},
    }
    if labels is not None:
        accuracy = _accuracy(Y, labels[rows], rng)
        report("measuring", steps, steps)
        values["nearest_neighbor_accuracy"] = accuracy
        shown["labels"] = f"{accuracy:.2%} correct by nearest neighbor in the embedding"
    return Result(f"{options.model}\n{quality.verdict}\n{common.listing(shown)}", values)


def _named(X: np.ndarray, points: PointSource) -> Any:
    source = read_points(X)
    source.feature_names = points.feature_names
    return source


def _labels(name: str, n: int) -> np.ndarray:
    labels = read_values(name)
    if len(labels) != n:
        raise CommandError(f"{name} has {len(labels):,} labels for {n:,} points: pass one for each")
    # Missing numbers and dates are not equal to themselves.
    missing = labels != labels
    if labels.dtype.kind == "O":
        missing = np.array([is_missing(label) for label in labels])
    if missing.any():
        row = int(np.flatnonzero(missing)[0])
        raise CommandError(f"{name} has no label in row {row}: fill it in")
    n_classes = len(np.unique(labels))
    if n_classes > max(_FEW_CLASSES, n // 2):
        raise CommandError(
            f"{name} has {n_classes:,} different values for {n:,} points: labels must be "
            "classes that many points share"
        )
    return labels


def _accuracy(Y: np.ndarray, labels: np.ndarray, rng: np.random.Generator) -> float:
    """Accuracy with each half of the points classified by the other half."""
    order = rng.permutation(len(Y))
    first, second = order[: len(Y) // 2], order[len(Y) // 2 :]
    right = [
        knn_accuracy(Y[a], labels[a], Y[b], labels[b]) * len(b)
        for a, b in ((first, second), (second, first))
    ]
    return float(sum(right) / len(Y))
