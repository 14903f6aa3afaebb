"""Gather the content of a report, independently of how it is rendered."""

import platform
import time
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from trigpoint._common.checks import check_count
from trigpoint._common.errors import ParameterValueError
from trigpoint._common.records import ColumnKind
from trigpoint._common.words import counted
from trigpoint._numerics.blocks import block_rows, row_blocks
from trigpoint._report.columns import (
    Column,
    date_column,
    label_column,
    number_column,
    rounded_column,
)
from trigpoint._report.given import color_column, named_colors
from trigpoint._report.sample import MOST_COORDINATES, Sample, draw_sample
from trigpoint._report.subject import Subject
from trigpoint._report.things import Texts, Things, Tiles, make_tiles, read_things
from trigpoint._sources import Source
from trigpoint._sources.values import as_dense
from trigpoint.metrics._assess import LEAST_SAMPLE
from trigpoint.metrics._comparison import Comparison
from trigpoint.metrics._quality import Quality
from trigpoint.metrics._suspects import JudgedEdges, is_complete, judge_edges, with_covariances

# Default maximum number of points on a page, without texts and with texts to search.
SAMPLE = 100_000
_SAMPLE_OF_TEXTS = 1_000_000

_MOST_COLUMNS = 12

_MILLISECONDS_PER_DAY = 86_400_000

# Maximum number of characters of a parameter's value.
_MOST_CHARACTERS = 120

# Maximum bytes of points from which local covariances are estimated.
_COVARIANCE_BYTES = 2**24

# Maximum bytes of points for which thumbnails are made.
_TILED_BYTES = 2**26


@dataclass(frozen=True)
class Content:
    """Content of a report.

    Columns and coordinates hold the values of the sample; without a sample, only the landmarks are
    shown. The sample can be colored by the computed values in `derived` and by the user's values in
    `colors`. The page omits fields that are ``None``.
    """

    title: str
    fitted: Any
    sample: Sample | None
    coordinates: list[Column]
    columns: list[Column]
    columns_left_out: int  # Number of columns left out for lack of room.
    first_columns: tuple[int, int]
    derived: list[Column]
    colors: list[Column]
    tiles: Tiles | None
    addresses: list[str] | None
    texts: list[Texts]
    landmark_positions: np.ndarray  # Positions in the sample of those landmarks that it contains.
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
    ids: Any = None,
    title: str | None = None,
    sample: int | None = None,
    coordinates: Any = None,
    tried: Comparison | None = None,
) -> Content:
    """Compute the content of a report about a fitted embedding, with the options of `report`.

    `ids` holds the names of the rows. `coordinates` holds the coordinates of all points, or the
    path of a file with them, if they were already computed.
    """
    if sample is not None:
        sample = check_count("sample", sample)
    fitted, n = subject.fitted, None if source is None else source.n
    landmarks = fitted.landmarks.points
    what = counted(len(landmarks), "landmark") if n is None else counted(n, "point")
    if n is None and color is not None:
        raise ParameterValueError(
            "color needs one value per row of X, but X was not passed: pass both", "color"
        )
    given = {} if n is None else named_colors(color, n)
    n_columns = landmarks.shape[1] if source is None else source.columns.count
    things = read_things(images, text, n, n_columns, ids)
    names = _column_names(subject, source, n_columns)
    columns = subject.model.columns
    shown = np.arange(0)
    if columns.holds == "numbers" and columns.chosen is None:
        shown = _chosen_columns(landmarks, n_columns, names, things)
    drawn, texts, left_out = None, [], 0
    colors: list[Column] = []
    if source is not None:
        size = sample or (_SAMPLE_OF_TEXTS if things.texts or things.ids else SAMPLE)
        if sample is None and min(size, n or 0) > SAMPLE:
            left_out, shown = len(shown), shown[:0]
        drawn = draw_sample(subject, source, size, shown, coordinates)
        texts = things.shown_texts(drawn.rows)
        colors = [color_column(name, one.take(drawn.rows)) for name, one in given.items()]
    edges = _judged_edges(subject, drawn)
    quality = None
    if source is not None and source.n >= LEAST_SAMPLE:
        quality = subject.measure(source.matching(columns), edges)
    positions = _landmark_positions(subject, drawn)
    given_columns = _columns(subject, drawn, shown, names)
    return Content(
        title=title or f"{fitted.title} of {what}",
        fitted=fitted,
        sample=drawn,
        coordinates=_coordinates(subject, drawn),
        columns=given_columns,
        columns_left_out=left_out,
        first_columns=_first_columns(given_columns),
        derived=_derived(subject, drawn),
        colors=colors,
        tiles=_tiles(things, drawn, positions),
        addresses=None if drawn is None else things.shown_addresses(drawn.rows),
        texts=texts,
        landmark_positions=positions,
        edges=edges,
        quality=quality,
        tried={} if tried is None else tried.lines(),
        parameters=used_parameters(fitted),
        seconds=subject.seconds,
        versions=_versions(),
    )


def _judged_edges(subject: Subject, sample: Sample | None) -> JudgedEdges | None:
    """Classify the edges of the graph, unless it is complete and thus not worth drawing."""
    landmarks, graph = subject.fitted.landmarks, subject.fitted.graph
    if graph is None or is_complete(graph):
        return None
    if sample is not None:
        points = as_dense(sample.points[_evenly_spaced(sample, _COVARIANCE_BYTES)])
        landmarks = with_covariances(landmarks, points, subject.n_threads)
    return judge_edges(graph, landmarks)


def _evenly_spaced(sample: Sample, most_bytes: int) -> np.ndarray:
    """Return as many evenly spaced positions among the kept points as `most_bytes` allows."""
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
    drawn, drawn_rows = own, rows
    if sample is not None:
        drawn, drawn_rows = sample.coordinates, sample.rows
        own = subject.coordinates(landmarks.points)
    count = min(own.shape[1], MOST_COORDINATES)
    columns = [rounded_column(f"coordinate {j + 1}", drawn[:, j], own[:, j]) for j in range(count)]
    if count == 1:
        # A second, evenly filled axis keeps points from hiding each other. Its values depend on the
        # row, so that a landmark coincides with its own point.
        spread = [some * (np.sqrt(5) - 1) / 2 % 1 for some in (drawn_rows, rows)]
        columns.append(rounded_column("(spread out)", *spread))
    return columns


def _landmark_positions(subject: Subject, sample: Sample | None) -> np.ndarray:
    """Return the positions of landmarks in the sample, where the page draws labels first.

    The result is empty if the sample holds different rows under the landmarks' row numbers.
    """
    landmarks = subject.fitted.landmarks
    if sample is None or landmarks.indices is None:
        return np.arange(0)
    positions = sample.positions(landmarks.indices)
    _, own, kept = np.intersect1d(positions, sample.kept, return_indices=True)
    if not np.allclose(as_dense(sample.points[kept]), landmarks.points[own]):
        return np.arange(0)
    return positions[positions >= 0]


def _column_names(
    subject: Subject, source: Source | None, n_columns: int
) -> tuple[str, ...] | None:
    names = subject.model.columns.names
    if names is None and source is not None:
        names = source.columns.names
    if source is None:
        names = subject.model.space.named(names)
    return tuple(map(str, names)) if names is not None and len(names) == n_columns else None


def _chosen_columns(
    landmarks: np.ndarray, n_columns: int, names: tuple[str, ...] | None, things: Things
) -> np.ndarray:
    """Return all columns or, if there are many, those in which landmarks vary most.

    Columns that have no meaning of their own, such as pixels and components of texts, are left out.
    """
    if things.image_shape is not None:
        return np.arange(0)
    if n_columns <= _MOST_COLUMNS:
        return np.arange(n_columns if names or not things.texts else 0)
    if things.texts:
        return np.arange(0)
    if landmarks.shape[1] != n_columns:
        return np.arange(_MOST_COLUMNS)
    variances = landmarks.var(axis=0, dtype=np.float64)
    return np.sort(np.argsort(-variances, kind="stable")[:_MOST_COLUMNS])


def _first_columns(columns: list[Column]) -> tuple[int, int]:
    """Return the two numeric columns to plot initially, by their positions."""
    marks = [column.landmarks for column in columns if column.labels is None]
    spread = [0.0 if one is None else float(one.astype(np.float64).var()) for one in marks]
    order = np.argsort(-np.array(spread), kind="stable")[:2].tolist() or [0]
    return min(order), max(order)


def _columns(
    subject: Subject, sample: Sample | None, shown: np.ndarray, names: tuple[str, ...] | None
) -> list[Column]:
    """Return the chosen columns of the sample and, if they have the same columns, of landmarks."""
    own: np.ndarray | None = None
    if sample is None or subject.model.space.keeps_columns:
        own = subject.fitted.landmarks.points[:, shown].astype(np.float64)
        own = subject.model.space.in_units(own, shown)
    values = own if sample is None else sample.columns
    assert values is not None
    kinds = None if sample is None else subject.model.columns.kinds
    columns = []
    for place, j in enumerate(shown):
        name = f"column {j}" if names is None else names[j]
        marks = None if own is None else own[:, place]
        kind = None if kinds is None else kinds[j]
        columns.append(_column(name, values[:, place], marks, kind))
    return columns


def _column(
    name: str, values: np.ndarray, landmarks: np.ndarray | None, kind: ColumnKind | None
) -> Column:
    """Encode a column of a table by the meaning of its numbers."""
    if kind is None or kind.kind == "number":
        return number_column(name, values, landmarks)
    if kind.kind == "date":
        milliseconds = np.where(np.isnan(values), np.nan, np.rint(values * _MILLISECONDS_PER_DAY))
        return date_column(name, milliseconds.astype("datetime64[ms]"))
    levels = ("False", "True") if kind.kind == "boolean" else kind.levels
    codes = np.where(values >= 0, values, len(levels)).astype(np.int64)
    return label_column(name, np.array([*levels, None], dtype=object)[codes], levels)


def _tiles(things: Things, sample: Sample | None, landmarks: np.ndarray) -> Tiles | None:
    if things.image_shape is None or sample is None:
        return None
    some = _evenly_spaced(sample, _TILED_BYTES)
    return make_tiles(as_dense(sample.raw[some]), sample.kept[some], things.image_shape, landmarks)


def _derived(subject: Subject, sample: Sample | None) -> list[Column]:
    """Return the quality at single points, for the points of which all columns are kept."""
    if sample is None:
        return []
    judge = subject.judge()
    shares = np.full((len(sample.rows), 3), np.nan, dtype=np.float32)
    for part in row_blocks(len(sample.kept), block_rows(8 * sample.points.shape[1])):
        kept = sample.kept[part]
        shares[kept] = judge(sample.points[part], sample.coordinates[kept])
    names = ("neighbors preserved", "torn neighbors", "false neighbors")
    return [number_column(name, shares[:, place]) for place, name in enumerate(names)]


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
