"""Gather the content of a report, independently of how it is rendered."""

import platform
import time
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from trigpoint._common.checks import check_count
from trigpoint._common.errors import ParameterValueError
from trigpoint._common.words import counted
from trigpoint._numerics.blocks import block_rows, row_blocks
from trigpoint._report.columns import Column, number_column
from trigpoint._report.given import color_column, named_colors
from trigpoint._report.sample import MOST_COORDINATES, Sample, dense, draw_sample
from trigpoint._report.subject import Subject
from trigpoint._report.things import Things, Tiles, make_tiles, read_things
from trigpoint._sources import Source
from trigpoint.metrics._comparison import Comparison
from trigpoint.metrics._quality import LEAST_SAMPLE, Quality, assess, sample_size
from trigpoint.metrics._suspects import JudgedEdges, is_complete, judge_edges, with_covariances

SAMPLE = 40_000

_MOST_COLUMNS = 12

# Maximum number of characters of a parameter's value.
_MOST_CHARACTERS = 120

# Maximum bytes of points from which local covariances are estimated.
_COVARIANCE_BYTES = 2**24

# Maximum bytes of points for which thumbnails are made.
_TILED_BYTES = 2**26


@dataclass(frozen=True)
class Content:
    """Content of a report.

    Columns and coordinates hold the values of the sample, followed by those of the landmarks;
    without a sample, only the landmarks are shown. The sample can be colored by the computed values
    in `derived` and by the user's values in `colors`. The page omits fields that are ``None``.
    """

    title: str
    fitted: Any
    sample: Sample | None
    coordinates: list[Column]
    columns: list[Column]
    first_columns: tuple[int, int]
    derived: list[Column]
    colors: list[Column]
    tiles: Tiles | None
    addresses: list[str] | None
    text: tuple[str, list[str]] | None
    edges: JudgedEdges | None
    quality: Quality | None
    tried: dict[str, str]
    parameters: dict[str, str]
    seconds: dict[str, float]
    versions: dict[str, str]


def gather(
    subject: Subject,
    source: Source | None,
    *,
    color: Any = None,
    images: Any = None,
    text: Any = None,
    title: str | None = None,
    sample: int = SAMPLE,
    coordinates: Any = None,
    tried: Comparison | None = None,
) -> Content:
    """Compute the content of a report about a fitted embedding, with the options of `report`.

    `sample` is the maximum number of points to show individually, and `coordinates` are those of
    all points, or a file of them, if already computed.
    """
    check_count("sample", sample)
    fitted, n = subject.fitted, None if source is None else source.n
    landmarks = fitted.landmarks.points
    what = counted(len(landmarks), "landmark") if n is None else counted(n, "point")
    if n is None and color is not None:
        raise ParameterValueError(
            "color needs one value per row of X, but X was not passed: pass both", "color"
        )
    given = {} if n is None else named_colors(color, n)
    things = read_things(images, text, n, landmarks.shape[1])
    drawn = None if source is None else draw_sample(subject, source, sample, coordinates)
    edges = _judged_edges(subject, drawn)
    # The values of single pixels are not informative.
    shown = _chosen_columns(landmarks) if things.image_shape is None else np.arange(0)
    quality = None if drawn is None else _measured(subject, drawn, edges)
    tiles, addresses, texts = None, None, None
    if drawn is not None:
        tiles = _tiles(things, landmarks, drawn)
        addresses = things.shown_addresses(drawn.rows)
        texts = things.shown_texts(drawn.rows)
    return Content(
        title=title or f"{fitted.title} of {what}",
        fitted=fitted,
        sample=drawn,
        coordinates=_coordinates(subject, drawn),
        columns=_columns(subject, source, drawn, shown),
        first_columns=_first_columns(landmarks[:, shown]),
        derived=_derived(drawn, quality),
        colors=[
            color_column(name, one.take(drawn.rows))
            for name, one in given.items()
            if drawn is not None
        ],
        tiles=tiles,
        addresses=addresses,
        text=texts,
        edges=edges,
        quality=quality,
        tried={} if tried is None else tried.lines(),
        parameters=used_parameters(fitted),
        seconds=subject.seconds,
        versions=_versions(),
    )


def _judged_edges(subject: Subject, sample: Sample | None) -> JudgedEdges | None:
    """Judge the edges of the graph, unless it is complete, which is not worth drawing."""
    landmarks, graph = subject.fitted.landmarks, subject.fitted.graph
    if graph is None or is_complete(graph):
        return None
    if sample is not None:
        points = dense(sample.points[_evenly_spaced(sample, _COVARIANCE_BYTES)])
        landmarks = with_covariances(landmarks, points, subject.n_threads)
    return judge_edges(graph, landmarks)


def _evenly_spaced(sample: Sample, most_bytes: int) -> np.ndarray:
    """Return evenly spaced positions in the sample, as many as `most_bytes` allow."""
    s, d = sample.points.shape
    return np.arange(s)[:: max(1, -(-s * d * 4 // most_bytes))]


def _coordinates(subject: Subject, sample: Sample | None) -> list[Column]:
    """Return the coordinates of the sample and of the landmarks.

    The coordinates of the landmarks are computed by the extension, like those of all points. The
    extension smooths in high dimension, so the original coordinates would lie outside the cloud.
    """
    landmarks = subject.fitted.landmarks
    own, rows = subject.fitted.landmark_coordinates, landmarks.indices
    if rows is None:
        rows = np.arange(len(landmarks.points))
    if sample is not None:
        own = np.concatenate([sample.coordinates, subject.coordinates(landmarks.points)])
        rows = np.concatenate([sample.rows, rows])
    own = own[:, :MOST_COORDINATES]
    names = [f"coordinate {j + 1}" for j in range(own.shape[1])]
    if own.shape[1] == 1:
        # A second, evenly filled axis keeps points from hiding each other. Its values depend on the
        # row, so that a landmark coincides with its own point.
        own = np.column_stack([own, rows * (np.sqrt(5) - 1) / 2 % 1])
        names.append("(spread out)")
    return [number_column(name, own[:, j], np.uint16) for j, name in enumerate(names)]


def _chosen_columns(points: np.ndarray) -> np.ndarray:
    """Return all columns or, if there are many, those in which landmarks have most variance."""
    if points.shape[1] <= _MOST_COLUMNS:
        return np.arange(points.shape[1])
    variances = points.var(axis=0, dtype=np.float64)
    return np.sort(np.argsort(-variances, kind="stable")[:_MOST_COLUMNS])


def _first_columns(points: np.ndarray) -> tuple[int, int]:
    if not points.shape[1]:
        return 0, 0
    order = np.argsort(-points.var(axis=0, dtype=np.float64), kind="stable")
    first, second = np.sort(order[:2])[[0, -1]].tolist()
    return first, second


def _columns(
    subject: Subject, source: Source | None, sample: Sample | None, shown: np.ndarray
) -> list[Column]:
    """Return the chosen columns of the sample and of the landmarks."""
    landmarks = subject.fitted.landmarks.points
    values = landmarks[:, shown].astype(np.float64)
    if sample is not None:
        values = np.concatenate([sample.columns(shown), values])
    values = subject.model.space.in_units(values, shown)
    names = subject.model.columns.names
    if names is None and source is not None:
        names = source.columns.names
    names = subject.model.space.named(names)
    if names is None or len(names) != landmarks.shape[1]:
        names = [f"column {j}" for j in range(landmarks.shape[1])]
    return [number_column(str(names[j]), values[:, place]) for place, j in enumerate(shown)]


def _tiles(things: Things, landmarks: np.ndarray, sample: Sample) -> Tiles | None:
    if things.image_shape is None:
        return None
    places = _evenly_spaced(sample, _TILED_BYTES)
    return make_tiles(dense(sample.points[places]), places, landmarks, things.image_shape)


def _measured(subject: Subject, sample: Sample, edges: JudgedEdges | None) -> Quality | None:
    """Measure the quality, if possible on the same points as the `quality` method."""
    size = sample_size(sample.n, sample.points.shape[1], sample.points.dtype.itemsize)
    size = min(size, len(sample.rows))
    if size < LEAST_SAMPLE:
        return None
    subject.progress("quality", 0, 1)
    part = np.random.default_rng(0).choice(len(sample.rows), size, replace=False)
    quality = assess(
        subject.fitted,
        dense(sample.points[part]),
        sample.coordinates[part],
        sample.rows[part],
        sample.n,
        subject.n_threads,
        edges=edges,
    )
    subject.progress("quality", 1, 1)
    return quality


def _derived(sample: Sample | None, quality: Quality | None) -> list[Column]:
    if sample is None:
        return []
    sizes = sample.cell_sizes[sample.cells]
    derived = [number_column("points in the cell", sizes, np.uint16)]
    if quality is not None:
        lost = [
            quality.distortion_of(dense(sample.points[part]), sample.coordinates[part])
            for part in row_blocks(len(sample.rows), block_rows(8 * sample.points.shape[1]))
        ]
        derived.append(number_column("neighbors lost", np.concatenate(lost), np.uint16))
    return derived


def _versions() -> dict[str, str]:
    versions = {name: version(name) for name in ("trigpoint", "numpy", "scipy", "scikit-learn")}
    return versions | {"Python": platform.python_version(), "written": time.strftime("%Y-%m-%d")}


def used_parameters(fitted: Any) -> dict[str, str]:
    """Return the parameters of a fit as text, by name, with automatic values resolved."""
    chosen = {
        "landmarks": len(fitted.landmarks.points),
        "extension": fitted.extended_by,
        **fitted.decided,
    }
    texts = {}
    for name, value in fitted.parameters.items():
        is_automatic = value is None or (isinstance(value, str) and value == "auto")
        if name == "random_state" and value is None:
            texts[name] = "not fixed"
        elif is_automatic and chosen.get(name) is not None:
            texts[name] = f"{_short(chosen[name])} (default)"
        else:
            texts[name] = "default" if value is None else _short(value)
    return texts


def _short(value: Any) -> str:
    """Describe a value briefly, an array by its shape."""
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return f"{value:.4g}"
    if np.ndim(value) > 0:
        return f"array of shape {np.shape(value)}"
    text = " ".join(repr(value).split())
    return text if len(text) <= _MOST_CHARACTERS else text[: _MOST_CHARACTERS - 3] + "..."
