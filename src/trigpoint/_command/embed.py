"""``trigpoint embed``: coordinates of every point of a file."""

import argparse
import re
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from trigpoint._command import common
from trigpoint._command.cluster import add_dask, points_on_cluster
from trigpoint._command.columns import check_images, read_colors, read_things_of, value_place
from trigpoint._command.common import CommandError, Interrupted, Result, UsageError
from trigpoint._command.expectation import expect
from trigpoint._command.inspection import DOMINANT_SHARE, ROWS, dominant_columns
from trigpoint._command.methods import METHODS, choose_method, failures, reason, scores
from trigpoint._command.picture import draw_picture, open_page, picture_color
from trigpoint._common.device import resolve_device
from trigpoint._common.memory import available_memory
from trigpoint._common.words import counted, duration, size
from trigpoint._estimators.comparison import FEWEST_TO_COMPARE
from trigpoint._estimators.output import fit_and_write
from trigpoint._estimators.saving import save_model
from trigpoint._extension.extensions import FarPointsWarning
from trigpoint._files import PointSource, open_writer
from trigpoint._sources.problems import require
from trigpoint._sources.choosing import listed_names, split_place
from trigpoint._sources.tables import FORMATS
from trigpoint._forecast import forecast_bytes
from trigpoint._landmarks import EfficientDPP
from trigpoint._landmarks.choice import default_n_landmarks
from trigpoint._numerics.blocks import block_rows
from trigpoint._points.inputs import stays_sparse
from trigpoint.metrics._comparison import Comparison

# Options that do not apply to a method.
_NOT_FOR = {
    "kernel-pca": ("graph", "neighbors", "eigenvectors"),
    "isomap": ("eigenvectors",),
    "map": ("graph", "eigenvectors", "extension"),
}

# Numbers that options leave to the library are not known before the landmarks are.
_LIBRARY_CHOOSES = "default: from the data and the number of coordinates"


def add(commands: common.Commands) -> None:
    """Add the subcommand."""
    parser = common.add_command(
        commands,
        "embed",
        run,
        help="embed every point of a file from a few landmarks",
        examples="""
            trigpoint embed points.npy -o embedding.npy
            trigpoint embed cells.h5ad::obsm/X_pca -o cells.parquet --landmarks 2500
            trigpoint embed scan.csv --columns x,y,z -o scan2d.csv --report scan.html
            trigpoint embed scan.csv --columns x,y,z -o Y.csv --report scan.html --color kind,height
            trigpoint embed digits.npy -o Y.npy --report digits.html --images 28x28 --open
            trigpoint embed points.npy -o Y.npy --png points.png
            trigpoint embed sentences.npy -o Y.npy --metric cosine
            trigpoint embed big.npy -o Y.npy --save big.trig --json > run.json
            trigpoint embed big.npy -o Y.npy --device cuda
            trigpoint embed huge.zarr -o Y.zarr --dask local:4
        """,
        notes="Output is written block by block and appears only when complete.",
    )
    common.add_input(parser)
    common.add_output(parser, "coordinates: .npy, .csv, .parquet or .zarr")
    common.add_resume(parser)
    common.add_selection(parser, fewest=2)
    common.add_device(parser)
    add_dask(parser)
    parser.add_argument(
        "-l",
        "--components",
        type=common.count_argument,
        default=2,
        metavar="N",
        help="coordinates of each point (default: 2)",
    )
    parser.add_argument(
        "--method",
        choices=list(METHODS),
        help="default: for up to three coordinates laplacian, isomap, kernel-pca and map are tried "
        "on a sample, and the one that keeps most neighborhoods is taken; laplacian for more, with "
        f"fewer than {FEWEST_TO_COMPARE} points, and with any of the next four options",
    )
    parser.add_argument(
        "--graph",
        choices=["bhattacharyya", "euclidean", "complete", "anchors"],
        help="landmarks that are linked: nearest by one of two distances, all, or those that share "
        "points (default: bhattacharyya for a picture, complete for more than five coordinates)",
    )
    parser.add_argument(
        "--neighbors",
        type=common.count_argument,
        metavar="N",
        help=f"neighbors of each landmark ({_LIBRARY_CHOOSES})",
    )
    parser.add_argument(
        "--eigenvectors",
        choices=["leading", "independent"],
        help="independent skips eigenvectors that are functions of earlier ones (default: "
        "independent for up to three coordinates, else leading)",
    )
    parser.add_argument(
        "--extension",
        type=_extension_argument,
        metavar="smooth|graph|all|N",
        help="what places a point: planes through its nearest landmarks, or means of those linked "
        "to its nearest ones, of all, or of the N nearest (default: for a picture, smooth if it "
        "has the dimensions of the data, else graph; all for more than five coordinates)",
    )
    parser.add_argument(
        "--report", type=Path, metavar="HTML", help="also write an interactive page"
    )
    parser.add_argument(
        "--open", action="store_true", help="show that page in the browser when it is written"
    )
    parser.add_argument(
        "--png",
        type=Path,
        metavar="PNG",
        help="also draw the first two coordinates, colored by the first of --color",
    )
    parser.add_argument(
        "--color",
        type=common.split_names,
        metavar="NAME,...",
        help="values to color page and picture by: columns of the same table, text or numbers, or "
        f"{FORMATS}",
    )
    parser.add_argument(
        "--images",
        metavar="HxW|NAME",
        help="images that the page shows of points: 28x28 or 32x32x3 if rows are images; or a "
        "column, or other values, of paths or URLs, which the page loads only when asked",
    )
    parser.add_argument(
        "--text",
        metavar="NAME",
        help="text that the page shows of points: a column, or other values",
    )
    parser.add_argument("--save", type=Path, metavar="TRIG", help="also save the model")


def _image_shape(text: str | None) -> tuple[int, ...] | None:
    """Height and width, and channels, if that is what was given."""
    if text is None or not re.fullmatch(r"[1-9]\d*(x[1-9]\d*){1,2}", text):
        return None
    return tuple(map(int, text.split("x")))


def _extension_argument(text: str) -> str | int:
    return text if text in ("smooth", "graph", "all") else common.count_argument(text)


class _Inputs(NamedTuple):
    """Everything that is read before the work begins."""

    points: PointSource
    color: dict[str, np.ndarray]
    # What the page shows of each point: text and images.
    shown: dict[str, Any]
    # Name and values that the picture is colored by.
    picture_color: tuple[str | None, np.ndarray | None]


class _Embedded(NamedTuple):
    """What a run has fitted, and how long that took."""

    estimator: Any
    method: str
    tried: Comparison | None
    seconds: float


def run(options: argparse.Namespace) -> Result:
    """Fit, write the coordinates, then the model, the page and the picture."""
    check_choices(options)
    inputs = _read(options)
    check_counts(inputs.points, options)
    check_memory(inputs.points, options)
    say_scales(inputs.points, options)
    written: list[Path] = []
    start = time.perf_counter()
    try:
        embedded = _embed(options, inputs.points)
        written.append(options.output)
        # One by one, so that an interrupt names the files that are complete.
        for path in _write_others(options, inputs, embedded):
            written.append(path)
    except KeyboardInterrupt:
        raise Interrupted(written) from None
    in_all = time.perf_counter() - start
    if options.open and not open_page(options.report):
        common.say(options, f"there is no browser here: open {options.report} on your own machine")
    return _result(options, inputs.points, embedded, written, in_all)


def _read(options: argparse.Namespace) -> _Inputs:
    """Open the points, and read what they are colored by and shown as."""
    named = [*(options.color or ()), options.text, options.images]
    points = common.open_points(options, named=[name for name in named if name])
    # Rejected now rather than after an hour.
    if (
        options.method is not None
        and stays_sparse(points)
        and not METHODS[options.method].takes_sparse
    ):
        raise CommandError(
            f"--method {options.method} takes no sparse points: choose another, or reduce the "
            "columns first, as with scikit-learn's TruncatedSVD"
        )
    places = {text: value_place(text, points, "--color") for text in options.color or ()}
    shape = _image_shape(options.images)
    things = {"text": options.text, "images": None if shape else options.images}
    things_at = {
        name: value_place(text, points, f"--{name}") for name, text in things.items() if text
    }
    files = [Path(split_place(place)[0]) for place in [*places.values(), *things_at.values()]]
    outputs = options.output, options.save, options.report, options.png
    common.check_outputs(options, [points, *files], *outputs)
    open_writer(options.output, 1, 1)
    color = read_colors(places, points)
    drawn = picture_color(color) if options.png is not None else (None, None)
    shown: dict[str, Any] = {
        name: read_things_of(name, place, points) for name, place in things_at.items()
    }
    if shape:
        check_images(shape, points)
        shown["images"] = shape
    return _Inputs(points, color, shown, drawn)


def _embed(options: argparse.Namespace, points: PointSource) -> _Embedded:
    """Choose a method, fit it, and write the coordinates."""
    start = time.perf_counter()
    with points_on_cluster(options, points) as shared:
        method, tried = choose_method(options, shared, points)
        expect(options, points, [method])
        estimator = make_estimator(options, method, points.shape[0])
        fit_and_write(estimator, shared, common.output_of(options))
    return _Embedded(estimator, method, tried, time.perf_counter() - start)


def _write_others(
    options: argparse.Namespace, inputs: _Inputs, embedded: _Embedded
) -> Iterator[Path]:
    """Write the model, the page and the picture, and yield each path once it is written."""
    if options.save is not None:
        save_model(embedded.estimator, options.save, replace=options.force)
        yield options.save
    if options.report is not None:
        with warnings.catch_warnings():
            # The same warning was just shown for these points.
            warnings.simplefilter("ignore", FarPointsWarning)
            embedded.estimator.report(
                options.report,
                inputs.points,
                color=inputs.color or None,
                tried=embedded.tried,
                force=options.force,
                **inputs.shown,
            )
        yield options.report
    if options.png is not None:
        draw_picture(options.output, options.png, inputs.picture_color, replace=options.force)
        yield options.png


def _result(
    options: argparse.Namespace,
    points: PointSource,
    embedded: _Embedded,
    written: list[Path],
    in_all: float,
) -> Result:
    """What is printed at the end, as text and as JSON."""
    estimator, method, tried, seconds = embedded
    n, d = points.shape
    k, n_components = len(estimator.landmarks_), int(estimator.landmark_embedding_.shape[1])
    values = {
        "input": {"name": points.name, "rows": n, "columns": d, "dtype": points.dtype.name},
        "method": method,
        "tried": None if tried is None else scores(tried),
        "not_tried": {} if tried is None else failures(tried),
        "metric": options.metric,
        "landmarks": k,
        "components": n_components,
        "eigenvalues": [float(value) for value in estimator.fitted_.spectrum.eigenvalues],
        "bridges": len(getattr(estimator, "bridges_", ())),
        "dimension": round(estimator.dimension_, 2),
        # Not known if this run resumed after a fit that an earlier one has made.
        "device": getattr(estimator, "device_", None),
        "seed": options.seed,
        "seconds": round(seconds, 3),
        "seconds_in_all": round(in_all, 3),
        "stage_seconds": {k: round(v, 3) for k, v in estimator.stage_seconds_.items()},
        "written": [str(path) for path in written],
    }
    coordinates = counted(n_components, "coordinate")
    lines = [f"{n:,} points to {coordinates} from {k:,} landmarks in {duration(in_all)}"]
    if options.method is None:
        lines.append(f"  method {method}: {reason(tried, options, n)}")
    lines += [f"  {path}" for path in written]
    return Result("\n".join(lines), values)


def check_choices(options: argparse.Namespace) -> None:
    """Reject options that have no effect with others, and a GPU that is not there."""
    # Workers elsewhere may have one.
    if not isinstance(options.dask, str):
        resolve_device(options.device)
    for option in _NOT_FOR.get(options.method, ()):
        if getattr(options, option) is not None:
            raise UsageError(f"--{option} does not apply to --method {options.method}")
    if options.resume and options.dask is not None:
        raise UsageError("--resume does not apply to --dask, whose workers keep nothing")
    if options.metric == "seuclidean" and options.dask is not None:
        raise UsageError("--metric seuclidean does not apply to --dask: divide columns beforehand")
    if options.color and options.report is None and options.png is None:
        raise UsageError("--color colors what --report and --png write: add --report HTML")
    if options.png is not None:
        if options.png.suffix.lower() != ".png":
            raise UsageError(f"--png {options.png} does not end in .png: name a picture")
        if options.components < 2:
            raise UsageError("--png draws two coordinates: choose --components 2 or more")
        require("matplotlib", "--png")
    for option in ("open", "images", "text"):
        if getattr(options, option) and options.report is None:
            raise UsageError(f"--{option} is for the page that --report writes: add --report HTML")


def make_estimator(options: argparse.Namespace, method: str, n_points: int) -> Any:
    """Return the estimator that the options describe."""
    chosen = {
        "graph": options.graph,
        "eigenvectors": options.eigenvectors,
        "n_neighbors": options.neighbors,
        "extension": options.extension,
    }
    return METHODS[method](
        options.components,
        landmarks=_sampler(options, n_points),
        metric=options.metric,
        random_state=options.seed,
        n_jobs=options.jobs,
        device=options.device,
        callback=common.progress(options),
        **{name: value for name, value in chosen.items() if value is not None},
    )


def _sampler(options: argparse.Namespace, n_points: int) -> EfficientDPP | None:
    """The sampler of the landmarks; ``None`` uses the library's default."""
    k = options.landmarks
    if k is None:
        k = default_n_landmarks(n_points)
        # If every point is a landmark, there is nothing to refine.
        if k == n_points or not options.refine:
            return None
    return EfficientDPP(k, refine=options.refine, random_state=options.seed)


def say_scales(points: PointSource, options: argparse.Namespace) -> None:
    """Say which columns distances depend on almost alone, from the first rows."""
    if options.metric != "euclidean" or options.quiet or points.n_stored is not None:
        return
    most = min(ROWS, block_rows(points.shape[1] * points.dtype.itemsize))
    if dominant := dominant_columns(next(iter(points.blocks(most)))):
        names = points.feature_names or list(map(str, range(points.shape[1])))
        common.say(
            options,
            f"{DOMINANT_SHARE:.1%} of the variance is in column "
            f"{listed_names(names[j] for j in dominant)}: if units differ, add --metric seuclidean",
        )


def check_counts(points: PointSource, options: argparse.Namespace) -> None:
    """Reject, before it starts, more landmarks or coordinates than there can be."""
    k, n = options.landmarks, points.shape[0]
    most = k if isinstance(k, int) else n
    if most > n:
        raise CommandError(
            f"--landmarks {k} is too large: choose --landmarks <= {n} (the data has "
            f"{counted(n, 'point')})"
        )
    # A single row has a message of its own.
    if n > 1 and options.components >= most:
        raise CommandError(
            f"--components {options.components} is too large: choose --components <= {most - 1} "
            f"(there are at most {counted(most, 'landmark')})"
        )


def check_memory(points: PointSource, options: argparse.Namespace) -> None:
    """Reject, before it starts, work that would not fit in memory."""
    if options.dask is not None:
        # The points are in the memory of other processes.
        return
    n, d = points.shape
    k = default_n_landmarks(n) if options.landmarks is None else options.landmarks
    if not isinstance(k, int) or not 1 < k <= n:
        return  # Not known yet, or the sampler rejects it for this number of points.
    needed = forecast_bytes(
        n,
        d,
        k,
        n_components=min(options.components, k - 1),
        dtype=points.dtype,
        keep=False,
        n_jobs=options.jobs,
    )
    available = available_memory()
    if needed > available:
        raise CommandError(
            f"{n:,} points of {d} columns need about {size(needed)} of memory besides the "
            f"file, and {size(available)} is free: choose fewer --columns, fewer "
            "--landmarks, or another machine"
        )
