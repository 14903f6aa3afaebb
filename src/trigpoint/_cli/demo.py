"""``trigpoint demo``: map images of digits, and unroll a Swiss roll of a million points."""

import argparse
import time
from pathlib import Path

import numpy as np

from trigpoint import plot
from trigpoint._cli.evaluate import label_accuracy
from trigpoint._cli.results import Result, listing, progress, step
from trigpoint._common.words import counted, percent
from trigpoint._estimators import LandmarkMap, LaplacianEigenmaps
from trigpoint._sources.atomic import atomic_write, check_target
from trigpoint._sources.problems import require
from trigpoint.datasets import make_swiss_roll
from trigpoint.metrics import coordinate_recovery, coverage_radius, shortcut_rate

# Landmarks and transformed points of the warm-up run that compiles the loops.
_FEWEST, _SOME = 20, 2_000

_DRAWN_IN_3D = 8_000


def run(options: argparse.Namespace) -> Result:
    """Map the digits, unroll the Swiss roll, and write a page and a plot."""
    n, k, seed = options.points, options.landmarks, options.seed
    if not 3 <= k < n or n <= _FEWEST:
        options.parser.error(
            f"--landmarks {k} is too few or too many for --points {n}: choose at least 3 "
            f"landmarks, more points than landmarks, and more than {_FEWEST} points"
        )
    require("matplotlib", "drawing the plot")
    page, picture = options.out / "digits.html", options.out / "digits.png"
    path = options.out / "swiss_roll.png"
    options.out.mkdir(parents=True, exist_ok=True)
    for target in (page, picture, path):
        check_target(target)
    images, accuracy = _map_digits(options, page, picture)
    step(options, "making the roll")
    X, intrinsic = make_swiss_roll(n, random_state=seed)
    # Exclude compilation, which happens once per machine, from the timings.
    LaplacianEigenmaps(landmarks=_FEWEST, random_state=seed).fit(X).transform(X[:_SOME])
    emb = LaplacianEigenmaps(landmarks=k, random_state=seed, verbose=progress(options)).fit(X)
    start = time.perf_counter()
    Y = emb.transform(X)
    seconds = emb.stage_seconds_ | {"extension": time.perf_counter() - start}
    _draw(emb, X, Y, intrinsic, path)
    arc_length, height = map(float, coordinate_recovery(Y, intrinsic))
    edges = intrinsic[emb.landmark_indices_]
    shortcuts = float(shortcut_rate(emb.graph_, edges, n_neighbors=15))
    radius = float(coverage_radius(X, emb.landmarks_))
    times = seconds | {"all": sum(seconds.values())}
    shown = {stage: f"{spent:8.2f} s" for stage, spent in times.items()} | {
        "arc length": f"recovered from the coordinates, R2 = {arc_length:.4f}",
        "height": f"recovered from the coordinates, R2 = {height:.4f}",
        "shortcuts": f"{percent(shortcuts, 2)} of the edges of the graph",
        "coverage": f"every point within {radius:.2f} of a landmark (the roll is 28 wide)",
    }
    values = {
        "images": images,
        "nearest_neighbor_accuracy": accuracy,
        "points": n,
        "landmarks": k,
        "stage_seconds": seconds,
        "written": [str(page), str(picture), str(path)],
        "arc_length": arc_length,
        "height": height,
        "shortcuts": shortcuts,
        "coverage_radius": radius,
    }
    lines = [
        f"A map of {images:,} images of handwritten digits",
        listing({"labels": f"{percent(accuracy)} of the images lie next to one of the same digit"}),
        f"A Swiss roll of {n:,} points, embedded in 2-D from {k:,} landmarks",
        listing(shown),
        "Open these files",
        listing({"pictures": f"{picture} and {path}", "page": str(page)}),
    ]
    return Result("\n".join(lines), values)


def _map_digits(options: argparse.Namespace, page: Path, picture: Path) -> tuple[int, float]:
    """Map the images that scikit-learn comes with; return their number and the accuracy."""
    from matplotlib.figure import Figure
    from sklearn.datasets import load_digits

    digits = load_digits()
    X, y = digits.data, digits.target
    emb = LandmarkMap(random_state=options.seed, verbose=progress(options))
    Y = emb.fit_transform(X)
    step(options, f"writing {page}")
    emb.report(page, X, color={"digit": y.astype(str)}, images=(8, 8), coordinates=Y)
    step(options, f"drawing {picture}")
    figure = Figure(figsize=(7, 6), layout="constrained")
    title = f"Map of {counted(len(X), 'image')} of digits"
    plot.embedding(Y, color=y.astype(str), ax=figure.add_subplot(), title=title)
    with atomic_write(picture) as partial:
        figure.savefig(partial, dpi=130, format="png")
    return len(X), label_accuracy(Y, y, np.random.default_rng(options.seed))


def _draw(
    emb: LaplacianEigenmaps, X: np.ndarray, Y: np.ndarray, intrinsic: np.ndarray, path: Path
) -> None:
    """Plot the roll and the embedding."""
    # pyplot would need a display.
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullFormatter

    arc = intrinsic[:, 0]
    shown = slice(None, None, max(1, len(X) // _DRAWN_IN_3D))
    figure = Figure(figsize=(9, 4.2), layout="constrained")
    axes = figure.add_subplot(1, 2, 1, projection="3d")
    axes.scatter(X[shown, 0], X[shown, 1], X[shown, 2], c=arc[shown], s=1, linewidths=0)
    axes.view_init(elev=8, azim=-75)
    # Empty lists of tick labels break the constrained layout of Matplotlib 3.10.
    for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
        axis.set_major_formatter(NullFormatter())
    axes.set_title(f"{len(X):,} points (some shown)")
    title = "Laplacian eigenmaps of all points"
    plot.embedding(Y, color=arc, landmarks=emb, ax=figure.add_subplot(1, 2, 2), title=title)
    with atomic_write(path) as partial:
        figure.savefig(partial, dpi=130)
