"""``trigpoint embed``: embed all points of a file."""

import argparse
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import trigpoint
from trigpoint import plot
from trigpoint._cli.arguments import METHODS
from trigpoint._cli.info import dominant_columns, dominant_share
from trigpoint._cli.points import (
    check_outputs,
    joined,
    open_weighted,
    points_facts,
    read_beside,
    read_columns,
)
from trigpoint._cli.results import Result, item, progress, say, step
from trigpoint._common.device import resolve_device
from trigpoint._common.words import counted, duration, percent
from trigpoint._estimators import compare_methods
from trigpoint._estimators.comparison import FEWEST_TO_COMPARE
from trigpoint._graphs import CompleteGraph, KNNGraph
from trigpoint._report import write_report
from trigpoint._report.given import named_colors
from trigpoint._report.things import read_things
from trigpoint._samplers import EfficientDPP
from trigpoint._sources import Output, Source, open_source
from trigpoint._sources.atomic import atomic_write
from trigpoint._sources.choosing import listed_names
from trigpoint._sources.problems import require
from trigpoint._sources.values import as_dense
from trigpoint.metrics._comparison import Comparison
from trigpoint.plot._colors import read_coloring

_NAMES = {method: name for name, method in METHODS.items()}

# Options that do not apply to a method, and options that imply Laplacian eigenmaps if --method is
# not given.
_NOT_FOR = {
    "kernel-pca": ("graph", "neighbors", "eigenvectors", "extension"),
    "isomap": ("eigenvectors",),
    "map": ("graph", "eigenvectors", "extension"),
}
_OF_EIGENMAPS = ("graph", "neighbors", "eigenvectors", "extension")

# Maximum number of coordinates for which methods are compared.
_MOST_COMPARED = 3

# Default number of landmarks with `--refine`.
_REFINED = 1_000

# Mention PCA only if its score is better by more than this.
_PCA_BETTER = 0.02

_INCHES, _DPI = (8, 6), 150


def run(options: argparse.Namespace) -> Result:
    """Fit, then write the coordinates, the model, the page and the plot."""
    _check_choices(options)
    source = open_weighted(options)
    color, things = _read_shown(options, source)
    _say_scales(options, source)
    start = time.perf_counter()
    method, why, tried = _choose_method(options, source)
    estimator = make_estimator(options, method, source)
    estimator.fit(source)
    beside = read_beside(options, source)
    output = Output(options.output, options.force, beside=beside)
    # Maps of many rows fit planes to all landmarks before the first row is transformed.
    step(options, "preparing to transform")
    estimator.transform(source, out=output, device=options.device)
    written = [options.output]
    coordinates: Any = options.output
    if options.keep:
        coordinates = open_source(coordinates, columns=list(estimator.get_feature_names_out()))
    if options.save is not None:
        estimator.save(options.save)
        written.append(options.save)
    if options.report is not None:
        step(options, f"writing {options.report}")
        write_report(
            estimator._subject(),
            options.report,
            source,
            color=color or None,
            ids={name: np.asarray(values) for name, values in beside.items()} or None,
            title=options.title,
            sample=options.sample,
            coordinates=coordinates,
            tried=tried,
            force=options.force,
            **things,
        )
        written.append(options.report)
    if options.png is not None:
        step(options, f"drawing {options.png}")
        _draw(options, color, coordinates)
        written.append(options.png)
    values = {
        "input": points_facts(source),
        "method": method,
        **_facts(options, estimator, tried),
        "seconds": round(time.perf_counter() - start, 3),
        "stage_seconds": {name: round(s, 3) for name, s in estimator.stage_seconds_.items()},
        "written": [str(path) for path in written],
    }
    dimension, taken = counted(values["components"], "coordinate"), duration(values["seconds"])
    k = counted(values["landmarks"], "landmark")
    lines = [f"{source.n:,} points to {dimension} from {k} in {taken}"]
    lines += [item(f"method {method}: {why}", "  ", "    ")] if why else []
    return Result("\n".join([*lines, *(f"  {path}" for path in written)]), values)


def _facts(options: argparse.Namespace, estimator: Any, tried: Comparison | None) -> dict[str, Any]:
    """Return the facts about the fit that ``--json`` prints."""
    k, n_components = estimator.landmark_embedding_.shape
    scores = {} if tried is None else {**tried.scores, "pca": tried.pca_score}
    failures = {} if tried is None else tried.failures
    return {
        "scores": {_NAMES.get(name, name): round(score, 4) for name, score in scores.items()},
        "not_tried": {_NAMES[name]: why for name, why in failures.items()},
        "metric": options.metric,
        "landmarks": k,
        "components": n_components,
        "eigenvalues": [float(value) for value in estimator.fitted_.spectrum.eigenvalues],
        "bridges": len(getattr(estimator, "bridges_", ())),
        "dimension": round(estimator.dimension_, 2),
        "seed": options.seed,
    }


def _check_choices(options: argparse.Namespace) -> None:
    """Reject incompatible options before any work is done."""
    refuse = options.parser.error
    for option in _NOT_FOR.get(options.method, ()):
        if getattr(options, option) is not None:
            refuse(f"--{option} does not apply to --method {options.method}")
    if options.landmarks == "all" and options.method != "map":
        refuse("--landmarks all applies only to --method map")
    if options.refine and options.method == "map" and options.landmarks in (None, "all"):
        refuse("--refine improves a choice of landmarks, and a map takes all points: add -k N")
    if options.graph == "complete" and options.neighbors is not None:
        refuse("--neighbors does not apply to --graph complete, which links all landmarks")
    if options.color and options.report is None and options.png is None:
        refuse("--color applies only to --report and --png: add --report HTML")
    if options.title and options.report is None and options.png is None:
        refuse("--title applies only to --report and --png: add --report HTML")
    for option in ("images", "text", "sample"):
        if getattr(options, option) and options.report is None:
            refuse(f"--{option} applies only to --report: add --report HTML")
    if options.png is not None:
        if options.png.suffix.lower() != ".png":
            refuse(f"--png {options.png} does not end in .png")
        if options.components < 2:
            refuse("--png draws two coordinates: choose --components 2 or more")
        require("matplotlib", "--png")
    resolve_device(options.device)


def _read_shown(
    options: argparse.Namespace, source: Source
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Read and check the colors, texts and images to show, and check the outputs."""
    color, read = read_columns("--color", options.color or (), source)
    things: dict[str, Any] = {}
    if options.text:
        things["text"], files = read_columns("--text", options.text, source)
        read += files
    if re.fullmatch(r"[1-9]\d*(x[1-9]\d*){1,2}", options.images or ""):
        things["images"] = tuple(map(int, options.images.split("x")))
    elif options.images:
        things["images"], files = read_columns("--images", [options.images], source)
        read += files
    names = ("output", "save", "report", "png")
    for text in options.color or ():
        if text in (source.columns.names or ()) and source.path in read:
            say(
                options,
                f"{text} colors the map and is also embedded; --drop {joined([text])} leaves it "
                "out",
            )
    outputs = {f"--{name}": getattr(options, name) for name in names}
    check_outputs(options, [source.path, *read], outputs)
    if color:
        named_colors(color, source.n)
    if things:
        read_things(things.get("images"), things.get("text"), source.n, source.columns.count)
    if options.png is not None and color:
        read_coloring(_drawn_values(color)[1], None, "viridis")
    return color, things


def _say_scales(options: argparse.Namespace, source: Source) -> None:
    """Report the columns that dominate distances, as measured on the first rows."""
    if options.metric != "euclidean" or options.quiet or source.columns.sparse:
        return
    _, block = next(iter(source.blocks()))
    share = dominant_share(source)
    if dominant := dominant_columns(as_dense(block), share):
        names = source.columns.names or tuple(map(str, range(source.columns.count)))
        say(
            options,
            f"{percent(share, 1)} of the variance is in "
            f"{listed_names(names[j] for j in dominant)}; if the columns have different units, add "
            "--metric seuclidean",
        )


def _choose_method(
    options: argparse.Namespace, source: Source
) -> tuple[str, str, Comparison | None]:
    """Return the method, the reason for it, and the comparison of methods, if any."""
    if options.method is not None:
        return options.method, "", None
    given = [name for name in _OF_EIGENMAPS if getattr(options, name) is not None]
    why = f"--{given[0]} is an option of it" if given else ""
    if not why and options.components > _MOST_COMPARED:
        why = f"methods are compared for up to {_MOST_COMPARED} coordinates"
    if not why and source.n < FEWEST_TO_COMPARE:
        why = f"methods are compared for {FEWEST_TO_COMPARE} points or more"
    if why:
        return "laplacian", why, None
    tried = compare_methods(
        source,
        options.components,
        landmarks=options.landmarks if isinstance(options.landmarks, int) else None,
        metric=options.metric,
        random_state=options.seed,
        n_jobs=options.jobs,
        verbose=progress(options),
    )
    (method, best), *others = tried.scores.items()
    why = f"best neighborhood agreement, {best:.2f} of 1"
    why += "".join(f", {_NAMES[name]} {score:.2f}" for name, score in others)
    if tried.pca_score > best + _PCA_BETTER:
        why += f"; PCA would agree better, {tried.pca_score:.2f}"
    for name, failure in tried.failures.items():
        why += f"; {_NAMES[name]} was not tried: {failure}"
    return _NAMES[method], why, tried


def make_estimator(options: argparse.Namespace, method: str, source: Source) -> Any:
    """Return the estimator that the options describe."""
    landmarks = options.landmarks
    # There is nothing to refine if every point is a landmark.
    takes_all = landmarks is None and (method == "map" or source.n <= _REFINED)
    if options.refine and not takes_all:
        k = _REFINED if landmarks is None else landmarks
        landmarks = EfficientDPP(k, refine=True, random_state=options.seed)
    chosen = {"eigenvectors": options.eigenvectors, "extension": options.extension}
    if method == "map":
        chosen["n_neighbors"] = options.neighbors
    elif options.graph == "complete":
        chosen["graph"] = CompleteGraph()
    elif options.graph is not None or options.neighbors is not None:
        metric = options.graph or "bhattacharyya"
        chosen["graph"] = KNNGraph(options.neighbors, metric=metric)
    return getattr(trigpoint, METHODS[method])(
        options.components,
        landmarks=landmarks,
        metric=options.metric,
        random_state=options.seed,
        n_jobs=options.jobs,
        verbose=progress(options),
        **{name: value for name, value in chosen.items() if value is not None},
    )


def _draw(
    options: argparse.Namespace, color: Mapping[str, np.ndarray], written: Path | Source
) -> None:
    """Plot the first two of the coordinates written."""
    # pyplot would need a display.
    from matplotlib.figure import Figure

    figure = Figure(figsize=_INCHES, dpi=_DPI, layout="constrained")
    coordinates = as_dense(open_source(written).take(None))
    name, values = _drawn_values(color)
    title = options.title or counted(len(coordinates), "point")
    axes = figure.add_subplot()
    plot.embedding(coordinates, color=values, label=name, ax=axes, title=title)
    with atomic_write(options.png, replace=options.force) as partial:
        figure.savefig(partial, format="png")


def _drawn_values(color: Mapping[str, np.ndarray]) -> tuple[str | None, np.ndarray | None]:
    """Return the name and values of the first color, with dates converted to years."""
    name, values = next(iter(color.items()), (None, None))
    if values is not None and values.dtype.kind == "M":
        days = values.astype("datetime64[D]")
        values = np.where(np.isnat(days), np.nan, 1970 + days.astype(np.float64) / 365.2425)
    return name, values
