"""``trigpoint evaluate``: how good the landmarks and the embedding of a saved model are."""

import argparse
import csv
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from trigpoint.commands import common
from trigpoint.commands.common import CommandError, Result
from trigpoint.files import PointSource, read_points
from trigpoint.kernels import landmark_spacing
from trigpoint.manifold import load
from trigpoint.metrics import (
    coverage_radius,
    knn_accuracy,
    neighbor_preservation,
    nystrom_error,
)

# Points that are looked at; more would not change the figures that are shown.
_SAMPLE = 20_000
_ERROR_SAMPLE = 4_000
_NEIGHBORS = 15

# Of less points than twice this, any labels may be classes.
_FEW_CLASSES = 10


def add(commands: common.Commands) -> None:
    """Add the subcommand."""
    parser = common.add_command(
        commands,
        "evaluate",
        run,
        help="how good the landmarks and the embedding of a saved model are",
        examples="""
            trigpoint evaluate big.trig big.npy
            trigpoint evaluate digits.trig digits.npz::X --labels digits.npz::y --json
        """,
        notes=f"Figures are of {_SAMPLE:,} of the points, drawn at random.",
    )
    parser.add_argument("model", type=Path, metavar="MODEL", help="a file that --save wrote")
    common.add_input(parser)
    parser.add_argument(
        "--labels",
        metavar="FILE",
        help="labels of the points, for the accuracy of the nearest neighbour: .npy, .npz::KEY, or "
        "a column of a .csv as FILE::COLUMN",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the sample (default: 0)")


def run(options: argparse.Namespace) -> Result:
    """Measure on a sample."""
    model = load(options.model)
    points = common.open_points(options, model)
    n = points.shape[0]
    labels = None if options.labels is None else _labels(options.labels, n)
    rng = np.random.default_rng(options.seed)
    rows = np.sort(rng.choice(n, min(n, _SAMPLE), replace=False))
    X = _rows(points, rows)
    # Through a source, which has the names that the model was fitted to.
    Y = model.transform(_named(X, points))
    landmarks = model.landmarks_
    few = X[rng.choice(len(X), min(len(X), _ERROR_SAMPLE), replace=False)]
    bandwidth = 2 * landmark_spacing(X, len(landmarks), rng)
    n_neighbors = min(_NEIGHBORS, len(X) - 1)
    values: dict[str, Any] = {
        "model": str(options.model),
        "input": points.name,
        "points": n,
        "sampled": len(rows),
        "landmarks": len(landmarks),
        "coverage_radius": coverage_radius(X, landmarks),
        "coverage_radius_95": coverage_radius(X, landmarks, quantile=0.95),
        "trace_error": float(nystrom_error(few, landmarks, bandwidth, relative=True)),
        "trace_error_bandwidth": float(bandwidth),
        "neighbor_preservation": neighbor_preservation(X, Y, n_neighbors=n_neighbors),
        "bridges": len(getattr(model, "bridges_", ())),
    }
    shown = {
        "points": f"{n:,}" + (f", of which {len(rows):,} are looked at" if len(rows) < n else ""),
        "landmarks": f"{len(landmarks):,}",
        "farthest point": f"{values['coverage_radius']:.4g} from its nearest landmark "
        f"(95 % are within {values['coverage_radius_95']:.4g})",
        "trace error": f"{values['trace_error']:.2%} of the kernel of bandwidth {bandwidth:.3g}",
        "neighbours kept": f"{values['neighbor_preservation']:.1%} of each point's nearest "
        f"{n_neighbors}",
        "bridges": f"{values['bridges']} edges join parts of the graph that were separate",
    }
    if labels is not None:
        accuracy = _accuracy(Y, labels[rows], rng)
        values["nearest_neighbor_accuracy"] = accuracy
        shown["labels"] = f"{accuracy:.2%} right by the nearest neighbour in the embedding"
    return Result(f"{options.model}\n{common.listing(shown)}", values)


def _named(X: np.ndarray, points: PointSource) -> Any:
    source = read_points(X)
    source.feature_names = points.feature_names
    return source


def _rows(points: PointSource, rows: np.ndarray) -> np.ndarray:
    """Some rows of the points, in one pass over them."""
    found, start = [], 0
    for block in points.blocks(2**16):
        low, high = np.searchsorted(rows, (start, start + len(block)))
        found.append(block[rows[low:high] - start])
        start += len(block)
    return np.concatenate(found)


def _labels(name: str, n: int) -> np.ndarray:
    labels = _one_column(name)
    if len(labels) != n:
        raise CommandError(f"{name} has {len(labels):,} labels for {n:,} points: pass one for each")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        row = int(np.flatnonzero(~np.isfinite(labels))[0])
        raise CommandError(f"{name} has no label in row {row}: fill it in")
    n_classes = len(np.unique(labels))
    if n_classes > max(_FEW_CLASSES, n // 2):
        raise CommandError(
            f"{name} has {n_classes:,} different values for {n:,} points: labels are classes, "
            "which many points share"
        )
    return labels


def _one_column(name: str) -> np.ndarray:
    file, _, key = name.partition("::")
    path = Path(file)
    if not path.is_file():
        raise CommandError(f"there is no file {path}")
    if path.suffix == ".csv":
        return _csv_column(path, key)
    try:
        loaded = np.load(path, allow_pickle=False)
    except (ValueError, EOFError, OSError, zipfile.BadZipFile) as error:
        raise CommandError(f"{path} holds no labels that can be read: {error}") from error
    if not isinstance(loaded, np.ndarray):
        if key not in loaded:
            raise CommandError(
                f"{path} has no array {key!r}: choose from {', '.join(loaded)}, as in "
                f"{path}::{next(iter(loaded), 'y')}"
            )
        loaded = loaded[key]
    if loaded.ndim != 1 and max(loaded.shape, default=0) != loaded.size:
        raise CommandError(f"{name} has shape {loaded.shape}: labels are one column")
    return np.asarray(loaded).ravel()


def _csv_column(path: Path, column: str) -> np.ndarray:
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.DictReader(file)
        names = list(reader.fieldnames or [])
        if column not in names:
            raise CommandError(
                f"{path} has no column {column!r}: choose from {', '.join(names)}, as in "
                f"{path}::{next(iter(names), 'label')}"
            )
        return np.array([row[column] or "" for row in reader])


def _accuracy(Y: np.ndarray, labels: np.ndarray, rng: np.random.Generator) -> float:
    """Each half of the points classified by the other half."""
    order = rng.permutation(len(Y))
    first, second = order[: len(Y) // 2], order[len(Y) // 2 :]
    right = [
        knn_accuracy(Y[a], labels[a], Y[b], labels[b]) * len(b)
        for a, b in ((first, second), (second, first))
    ]
    return float(sum(right) / len(Y))
