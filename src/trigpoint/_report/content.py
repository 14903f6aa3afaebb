"""Everything that a report shows, gathered before any of it is drawn."""

import platform
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from trigpoint._common.errors import ParameterValueError
from trigpoint._common.progress import Report
from trigpoint._common.records import Landmarks
from trigpoint._common.words import counted
from trigpoint._extension.extensions import extend
from trigpoint._files import PointSource
from trigpoint._landmarks import LandmarkCurve, landmark_curve
from trigpoint._landmarks.count import distinct_points
from trigpoint._report.columns import Column, number_column
from trigpoint._report.density import DensityImage
from trigpoint._report.given import Given, color_column, named_colors
from trigpoint._report.neighborhoods import Neighborhoods, compare_neighborhoods
from trigpoint._report.parameters import used_parameters
from trigpoint._report.streaming import MOST_COORDINATES, Streamed, stream
from trigpoint._report.subject import Subject
from trigpoint._report.things import Things, read_things, shown_texts
from trigpoint._report.tiles import Tiles, make_tiles
from trigpoint._report.tried import tried_section
from trigpoint.metrics._comparison import Comparison
from trigpoint.metrics._quality import LEAST_SAMPLE, Quality, assess, sample_size
from trigpoint.metrics._suspects import (
    JudgedEdges,
    is_complete,
    judge_edges,
    with_covariances,
)
from trigpoint.plot._eigenvalues import Eigenvalues, leading_eigenvalues

SAMPLE = 40_000
NEIGHBORHOODS = (10, 20, 50, 100)

_MOST_COLUMNS = 12

_CURVE_NUMBERS = 6
_CURVE_FEWEST, _CURVE_LAST = 10, 2000
# Points on which the curve is measured: few enough to take seconds.
_CURVE_BYTES = 2**24


@dataclass(frozen=True)
class Content:
    """What a report shows.

    Attributes
    ----------
    title : str
    method : str
        Name of the estimator.
    n_points : int or None
        Number of points; ``None`` if only the landmarks are shown.
    n_features, n_components, n_landmarks : int
    tiles : Tiles or None
        Pictures of points and landmarks.
    addresses : list of str or None
        Where the images of the sampled points lie.
    text : tuple of str and list of str, or None
        Name of the text, and that of each sampled point.
    rows : int64 ndarray of shape (s,) or None
        Row numbers of the sampled points, if they have any.
    coordinates : list of Column
        Coordinates of the sample, followed by those of the landmarks.
    columns : list of Column
        Original values of the same points.
    first_columns : (int, int)
        The two of them in which the landmarks vary most.
    derived : list of Column
        Derived values to color the sample by.
    colors : list of Column
        Values that the user gave to color the sample by.
    cells : int64 ndarray of shape (s,)
        Nearest landmark of each sampled point.
    images : list of DensityImage
    edges : JudgedEdges or None
    quality : Quality or None
        ``None`` without points, or with too few.
    tried : str
        The section about methods that were tried; empty if none were.
    covariances : str
        Where the local covariances come from; empty if there are none.
    eigenvalues : Eigenvalues or None
    curve : LandmarkCurve or None
    curve_wanted : bool
        Whether the curve was requested.
    neighborhoods : Neighborhoods
    covering_radius : float or None
    cell_sizes : int64 ndarray of shape (k,) or None
    parameters, versions : dict of str
    seconds : dict
        By stage, without compiling.
    compile_seconds : float
    """

    title: str
    method: str
    n_points: int | None
    n_features: int
    n_components: int
    n_landmarks: int
    tiles: Tiles | None
    addresses: list[str] | None
    text: tuple[str, list[str]] | None
    rows: np.ndarray | None
    coordinates: list[Column]
    columns: list[Column]
    first_columns: tuple[int, int]
    derived: list[Column]
    colors: list[Column]
    cells: np.ndarray
    images: list[DensityImage]
    edges: JudgedEdges | None
    quality: Quality | None
    tried: str
    covariances: str
    eigenvalues: Eigenvalues | None
    curve: LandmarkCurve | None
    curve_wanted: bool
    neighborhoods: Neighborhoods
    covering_radius: float | None
    cell_sizes: np.ndarray | None
    parameters: dict[str, str]
    seconds: dict[str, float]
    compile_seconds: float
    versions: dict[str, str]


def gather(
    subject: Subject,
    source: PointSource | None,
    *,
    color: Any = None,
    images: Any = None,
    text: Any = None,
    title: str | None = None,
    sample: int = SAMPLE,
    neighborhoods: Sequence[int] | None = NEIGHBORHOODS,
    curve: bool = True,
    tried: Comparison | None = None,
) -> Content:
    """Compute the content of a report on a fitted embedding; see `write_report`."""
    fitted, report = subject.fitted, subject.progress
    landmarks, graph = fitted.landmarks, fitted.graph
    shown = _chosen_columns(landmarks.points)
    if source is None and color is not None:
        raise ParameterValueError(
            "color",
            color,
            "{parameter} needs one value per row of X, and X was not passed",
            "pass both",
        )
    n = None if source is None else source.shape[0]
    colors = {} if n is None else named_colors(color, n)
    things = read_things(images, text, n, landmarks.points.shape[1])
    if things.image_shape is not None:
        # One pixel against another says nothing.
        shown = shown[:0]
    streamed = None if source is None else stream(subject, source, shown, sample)
    known, origin = with_covariances(
        landmarks, None if streamed is None else streamed.points, subject.n_threads
    )
    names = _column_names(subject, source)
    own = _landmark_coordinates(subject, streamed)
    values = landmarks.points[:, shown].astype(np.float64)
    if streamed is not None:
        own = np.concatenate([streamed.coordinates, own])
        values = np.concatenate([streamed.columns, values])
    if subject.scales is not None:
        values *= subject.scales[shown]
    edges = None if graph is None else judge_edges(graph, known)
    quality, lost = _measured(subject, streamed, n, edges)
    axes = [f"coordinate {j + 1}" for j in range(own.shape[1])]
    if own.shape[1] == 1:
        own = np.column_stack([own, _spread(landmarks, streamed)])
        axes.append("(spread out)")
    return Content(
        title=title or _title(subject, n),
        method=fitted.method,
        n_points=n,
        n_features=landmarks.points.shape[1],
        n_components=fitted.extension.n_components,
        n_landmarks=len(landmarks.points),
        tiles=_tiles(things, landmarks, streamed),
        addresses=_addresses(things, streamed),
        text=_text(things, streamed),
        rows=landmarks.indices if streamed is None else streamed.rows,
        coordinates=_numbers(axes, own),
        columns=_numbers([names[j] for j in shown], values),
        first_columns=_first_columns(landmarks.points[:, shown]),
        derived=_derived(streamed, lost),
        colors=_sampled(colors, streamed),
        cells=np.arange(len(values)) if streamed is None else streamed.cells,
        images=[] if streamed is None else streamed.images,
        # A drawing of all pairs shows nothing.
        edges=None if graph is None or is_complete(graph) else edges,
        quality=quality,
        tried="" if tried is None else tried_section(tried, colors),
        covariances=origin,
        eigenvalues=leading_eigenvalues(fitted) if len(fitted.spectrum.eigenvalues) else None,
        curve=_curve(streamed, len(landmarks.points), report) if curve else None,
        curve_wanted=curve,
        neighborhoods=compare_neighborhoods(subject, known, neighborhoods),
        covering_radius=None if streamed is None else streamed.covering_radius,
        cell_sizes=None if streamed is None else streamed.cell_sizes,
        parameters=used_parameters(fitted, subject.decided),
        seconds=_seconds(subject, streamed),
        compile_seconds=subject.compile_seconds,
        versions=_versions(),
    )


def _landmark_coordinates(subject: Subject, streamed: Streamed | None) -> np.ndarray:
    """Coordinates of the landmarks; with points, computed by the extension, like theirs.

    In high dimension the extension smooths, and the landmarks' own coordinates would lie outside
    the cloud.
    """
    fitted = subject.fitted
    own = fitted.landmark_coordinates
    if streamed is not None:
        own, _ = extend(fitted.extension, fitted.landmarks.points, subject.n_threads)
    return np.asarray(own[:, :MOST_COORDINATES], dtype=np.float64)


def _chosen_columns(points: np.ndarray) -> np.ndarray:
    """The first columns; if there are many, those in which the landmarks vary most."""
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


def _column_names(subject: Subject, source: PointSource | None) -> list[str]:
    names = subject.feature_names
    if names is None and source is not None:
        names = source.feature_names
    if names is None:
        return [f"column {j}" for j in range(subject.fitted.landmarks.points.shape[1])]
    return [str(name) for name in names]


def _numbers(names: list[str], values: np.ndarray) -> list[Column]:
    return [number_column(name, values[:, j]) for j, name in enumerate(names)]


def _spread(landmarks: Landmarks, streamed: Streamed | None) -> np.ndarray:
    """A second axis for one-dimensional data: evenly filled, so that points do not hide each other.

    The position depends on the row, so that a landmark coincides with its own point.
    """
    rows = landmarks.indices
    if rows is None:
        rows = np.arange(len(landmarks.points))
    if streamed is not None:
        rows = np.concatenate([streamed.rows, rows])
    return rows * (np.sqrt(5) - 1) / 2 % 1


def _tiles(things: Things, landmarks: Landmarks, streamed: Streamed | None) -> Tiles | None:
    if things.image_shape is None or streamed is None:
        return None
    return make_tiles(streamed.points, streamed.whole, landmarks.points, things.image_shape)


def _addresses(things: Things, streamed: Streamed | None) -> list[str] | None:
    if things.addresses is None or streamed is None:
        return None
    # A shortened address leads nowhere.
    return shown_texts(things.addresses, streamed.rows, whole=True)


def _text(things: Things, streamed: Streamed | None) -> tuple[str, list[str]] | None:
    if things.texts is None or streamed is None:
        return None
    return things.text_name, shown_texts(things.texts, streamed.rows)


def _measured(
    subject: Subject, streamed: Streamed | None, n: int | None, edges: JudgedEdges | None
) -> tuple[Quality | None, np.ndarray | None]:
    """The verdict, and the distortion of the sampled points.

    Points whose whole rows were not kept have the mean distortion of those in their cell, which is
    missing if there are none.
    """
    if streamed is None or n is None or len(streamed.points) < LEAST_SAMPLE:
        return None, None
    fitted, points = subject.fitted, streamed.points
    subject.progress("quality", 0, 1)
    own, _ = extend(fitted.extension, points, subject.n_threads)
    size = min(len(points), sample_size(n, points.shape[1], points.dtype.itemsize))
    # Drawn as by `quality` of the estimators: the same points where all of them were kept.
    part = np.random.default_rng(0).choice(len(points), size, replace=False)
    rows = streamed.rows[streamed.whole]
    quality = assess(fitted, points[part], own[part], rows[part], n, subject.n_threads, edges=edges)
    known, k = streamed.cells[streamed.whole], len(fitted.landmarks.points)
    distortion = quality.distortion_of(points, own)
    with np.errstate(invalid="ignore"):
        means = np.bincount(known, distortion, k) / np.bincount(known, minlength=k)
    lost = means[streamed.cells]
    lost[streamed.whole] = distortion
    subject.progress("quality", 1, 1)
    return quality, lost


def _derived(streamed: Streamed | None, lost: np.ndarray | None) -> list[Column]:
    if streamed is None:
        return []
    derived = [number_column("points in the cell", streamed.cell_sizes[streamed.cells])]
    if lost is not None:
        derived.append(number_column("neighbors lost", lost))
    return derived


def _sampled(colors: dict[str, Given], streamed: Streamed | None) -> list[Column]:
    if streamed is None:
        return []
    return [color_column(name, given.take(streamed.rows)) for name, given in colors.items()]


def _curve(streamed: Streamed | None, k: int, report: Report) -> LandmarkCurve | None:
    """Error curve on part of the sample, including the number of landmarks if within reach."""
    if streamed is None:
        return None
    points = streamed.points
    points = points[:: -(-points.nbytes // _CURVE_BYTES)]
    most = min(_CURVE_LAST, len(points) // 2)
    last = distinct_points(points, most) if most >= _CURVE_FEWEST else 0
    if last < _CURVE_FEWEST:
        return None
    numbers = set(np.geomspace(_CURVE_FEWEST, last, _CURVE_NUMBERS).round().astype(int).tolist())
    if k < last:
        numbers.add(k)
    report("landmark curve", 0, len(numbers))
    return landmark_curve(points, sorted(numbers), random_state=0, callback=report)


def _seconds(subject: Subject, streamed: Streamed | None) -> dict[str, float]:
    seconds = dict(subject.seconds)
    if streamed is not None:
        seconds["extension"] = streamed.transform_seconds
    return seconds


def _title(subject: Subject, n: int | None) -> str:
    k = len(subject.fitted.landmarks.points)
    what = counted(k, "landmark") if n is None else counted(n, "point")
    words = {
        "LaplacianEigenmaps": "Laplacian eigenmaps",
        "DiffusionMaps": "Diffusion maps",
        "KernelPCA": "Kernel PCA",
        "LandmarkMap": "Map",
    }
    return f"{words.get(subject.fitted.method, subject.fitted.method)} of {what}"


def _versions() -> dict[str, str]:
    versions = {name: version(name) for name in ("trigpoint", "numpy", "scipy", "scikit-learn")}
    return versions | {"Python": platform.python_version(), "written": time.strftime("%Y-%m-%d")}
