"""``trigpoint evaluate``: measure the landmarks and the embedding of a saved model."""

import argparse
import re
from typing import Any

import numpy as np

from trigpoint._cli.arguments import METHODS
from trigpoint._cli.points import open_points, read_named
from trigpoint._cli.results import CommandError, Result, item, listing, progress
from trigpoint._common.labels import is_missing
from trigpoint._common.words import percent
from trigpoint._estimators import load
from trigpoint._numerics.gaussian import landmark_spacing
from trigpoint._numerics.projection import projected
from trigpoint._sources import Source
from trigpoint.metrics import coverage_radius, knn_accuracy, nystrom_error

# Maximum number of points, and size in bytes, of the sample. More would not change the digits
# shown.
_SAMPLE, _SAMPLE_BYTES = 20_000, 2**28
_ERROR_SAMPLE = 4_000
# Maximum number of landmarks for the trace error, which requires a matrix of all pairs.
_MOST_LANDMARKS = 10_000

# With fewer than twice this many points, any number of classes is accepted.
_FEW_CLASSES = 10


def run(options: argparse.Namespace) -> Result:
    """Evaluate a saved model on a sample of the points."""
    model = load(options.model)
    model.set_params(verbose=progress(options))
    source = open_points(options, model)
    n = source.n
    labels = _labels(options.labels, source) if options.labels else None
    quality = model.quality(source, random_state=options.seed)
    rng = np.random.default_rng(options.seed)
    affordable = _SAMPLE_BYTES // (source.columns.count * source.dtype.itemsize)
    rows = np.sort(source.draw(min(_SAMPLE, max(affordable, 1)), rng))
    subject = model._subject()
    projection = getattr(model.model_.extension, "projection", None)
    sample = subject.points(source, rows)
    # Project the sample to the space of the landmarks.
    points, _ = projected(projection, sample)
    landmarks = model.landmarks_
    few = points[rng.choice(len(points), min(len(points), _ERROR_SAMPLE), replace=False)]
    bandwidth = 2 * landmark_spacing(points, len(landmarks), rng)
    radii = [coverage_radius(points, landmarks, quantile=share) for share in (1.0, 0.95)]
    error = None
    if len(landmarks) <= _MOST_LANDMARKS:
        error = float(nystrom_error(few, landmarks, bandwidth, relative=True))
    values: dict[str, Any] = {
        "model": str(options.model),
        "input": source.name,
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
        "farthest point": f"{radii[0]:.4g} from its nearest landmark (95 % are within "
        f"{radii[1]:.4g})",
        **(
            {}
            if error is None
            else {
                "trace error": f"{percent(error, 2)} of the kernel with bandwidth {bandwidth:.3g}"
            }
        ),
        **{name: line for name, line in quality.lines().items() if name != "measured on"},
    }
    if labels is not None:
        accuracy = label_accuracy(subject.coordinates(sample), labels[rows], rng)
        values["nearest_neighbor_accuracy"] = accuracy
        shown["labels"] = f"{percent(accuracy, 2)} correct by nearest neighbor in the embedding"
    verdict = item(_as_options(quality.verdict), "", "")
    return Result(f"{options.model}\n{verdict}\n{listing(shown)}", values)


def _as_options(verdict: str) -> str:
    """Rewrite the parameters suggested by a verdict as options of ``trigpoint embed``."""
    for name, method in METHODS.items():
        for more, option in (("", ""), (r', metric="(\w+)"', r" --metric \2")):
            call = rf"\b{method}\(n_components=(\d+){more}\)"
            verdict = re.sub(call, rf"--method {name} -l \1{option}", verdict)
    verdict = re.sub(r"graph=KNNGraph\((\d+)\)", r"--neighbors \1", verdict)
    verdict = re.sub(r'\b(eigenvectors|extension|graph|landmarks)="(\w+)"', r"--\1 \2", verdict)
    # Parameters in parentheses belong to classes of other libraries.
    return re.sub(r"(?<!\()\b(?:n_)?(components|landmarks)=(\d+)", r"--\1 \2", verdict)


def _labels(text: str, source: Source) -> np.ndarray:
    """Read the class labels of all points."""
    _, _, labels = read_named("--labels", text, source)
    missing = [row for row, label in enumerate(labels) if is_missing(label)]
    if missing:
        raise CommandError(f"--labels {text} has no label in row {missing[0]}: fill it in")
    n_classes = len(np.unique(labels))
    if n_classes > max(_FEW_CLASSES, source.n // 2):
        raise CommandError(
            f"--labels {text} has {n_classes:,} different values for {source.n:,} points: labels "
            "must be classes that many points share"
        )
    return labels


def label_accuracy(coordinates: np.ndarray, labels: np.ndarray, rng: np.random.Generator) -> float:
    """Return the nearest-neighbor accuracy of two-fold cross-validation."""
    halves = np.array_split(rng.permutation(len(labels)), 2)
    right = [
        knn_accuracy(coordinates[a], labels[a], coordinates[b], labels[b]) * len(b)
        for a, b in (halves, halves[::-1])
    ]
    return float(sum(right) / len(labels))
