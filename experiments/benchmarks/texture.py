"""How even maps of surfaces are between landmarks: the local area of the map, by extension."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.spatial import cKDTree

import trigpoint as tp
from experiments.framework.experiment import Experiment, Row, Settings
from experiments.framework.page import Page
from experiments.framework.summary import grouped, mean

ESTIMATORS: dict[str, Any] = {
    "LaplacianEigenmaps": tp.LaplacianEigenmaps,
    "DiffusionMaps": tp.DiffusionMaps,
    "Isomap": tp.Isomap,
    "KernelPCA": tp.KernelPCA,
}
# The reference has this many times as many landmarks.
FINER = 8

# Points from which an area is measured: far fewer than there are for each landmark.
_NEIGHBORS = 8
# Points where it is measured.
_CENTERS = 20_000


@dataclass(frozen=True)
class Surface:
    """Points of a surface on a chart.

    Attributes
    ----------
    X : ndarray of shape (n, 3)
    chart : ndarray of shape (n, 2)
        Coordinates on the surface in which the points are uniform, or nearly so.
    inside : ndarray of shape (n,)
        Distance to the border of the chart.
    area : float
        Area of the chart.
    """

    X: np.ndarray
    chart: np.ndarray
    inside: np.ndarray
    area: float


def roll(n: int, rng: np.random.Generator) -> Surface:
    """A Swiss roll."""
    return _rectangle(*tp.datasets.make_swiss_roll(n, random_state=rng))


def wave(n: int, rng: np.random.Generator) -> Surface:
    """A sheet bent to two periods of a sine."""
    x = np.linspace(0, 4 * np.pi, 20_001)
    length = np.append(0, np.cumsum(np.hypot(np.diff(x), np.diff(np.sin(x)))))
    chart = rng.uniform(size=(n, 2)) * [length[-1], 10]
    along = np.interp(chart[:, 0], length, x)
    return _rectangle(np.column_stack([along, chart[:, 1], np.sin(along)]), chart)


def torus(n: int, rng: np.random.Generator) -> Surface:
    """Three quarters of a torus in both directions."""
    angles = rng.uniform(size=(4 * n, 2)) * 1.5 * np.pi
    around, across = angles[rng.uniform(size=4 * n) < (3 + np.cos(angles[:, 1])) / 4][:n].T
    radius = 3 + np.cos(across)
    X = np.column_stack([radius * np.cos(around), radius * np.sin(around), np.sin(across)])
    return _rectangle(X, np.column_stack([3 * around, across]))


def hemisphere(n: int, rng: np.random.Generator) -> Surface:
    """Half of a sphere, on a chart that keeps areas."""
    radius, angle = np.sqrt(2 * rng.uniform(size=n)), rng.uniform(size=n) * 2 * np.pi
    chart = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    flatter = np.sqrt(1 - radius**2 / 4)[:, None]
    return _disc(np.column_stack([chart * flatter, 1 - radius**2 / 2]), chart)


def bowl(n: int, rng: np.random.Generator) -> Surface:
    """A fish bowl, most of whose points are near its hole."""
    return _disc(*tp.datasets.make_fish_bowl(n, random_state=rng))


def _rectangle(X: np.ndarray, chart: np.ndarray) -> Surface:
    low, high = chart.min(axis=0), chart.max(axis=0)
    inside = np.minimum(chart - low, high - chart).min(axis=1)
    return Surface(X, chart, inside, float(np.prod(high - low)))


def _disc(X: np.ndarray, chart: np.ndarray) -> Surface:
    radii = np.linalg.norm(chart, axis=1)
    return Surface(X, chart, radii.max() - radii, np.pi * radii.max() ** 2)


SURFACES: dict[str, Callable[[int, np.random.Generator], Surface]] = {
    "Swiss roll": roll,
    "wave": wave,
    "torus": torus,
    "hemisphere": hemisphere,
    "fish bowl": bowl,
}


class LocalAreas:
    """Areas of a map of a surface around some of its points, against their mean nearby."""

    def __init__(self, surface: Surface, k: int, seed: int = 0) -> None:
        """Prepare for maps from `k` landmarks."""
        chart = surface.chart
        rng = np.random.default_rng(seed)
        centers = np.sort(rng.choice(len(chart), min(len(chart), _CENTERS), replace=False))
        self._near = cKDTree(chart).query(chart[centers], _NEIGHBORS)[1]
        around = chart[self._near]
        self._inverse = np.linalg.pinv(around - around.mean(axis=1, keepdims=True))
        spacing = np.sqrt(surface.area / k)
        tree = cKDTree(chart[centers])
        pairs = tree.query_pairs(5 * spacing, output_type="ndarray")
        lengths = np.linalg.norm(chart[centers[pairs[:, 0]]] - chart[centers[pairs[:, 1]]], axis=1)
        weights = np.exp(-((lengths / (2 * spacing)) ** 2) / 2)
        upper = csr_array((weights, tuple(pairs.T)), shape=(len(centers), len(centers)))
        self._pairs = upper + upper.T
        self._away_from_border = surface.inside[centers] > spacing

    def measure(self, Y: np.ndarray) -> Row:
        """Unevenness of the coordinates Y (n, 2), and the share of the points where they fold."""
        around = Y[self._near].astype(np.float64)
        areas = np.linalg.det(self._inverse @ (around - around.mean(axis=1, keepdims=True)))
        smooth, signed = (self._mean(values) for values in (np.abs(areas), areas))
        unevenness = np.std((np.abs(areas) / smooth)[self._away_from_border])
        folded = areas * np.sign(signed) < 0
        return {
            "unevenness": float(unevenness),
            "folded": float(folded[self._away_from_border].mean()),
            "folded with border": float(folded.mean()),
        }

    def _mean(self, areas: np.ndarray) -> np.ndarray:
        return (self._pairs @ areas + areas) / (self._pairs.sum(axis=1) + 1)


def cases(settings: Settings) -> Iterator[Row]:
    """Every surface and estimator."""
    n, k = (20_000, 200) if settings.quick else (200_000, 800)
    for surface in list(SURFACES)[:1] if settings.quick else SURFACES:
        for estimator in ESTIMATORS:
            for seed in settings.seeds(2, 1):
                yield {"surface": surface, "estimator": estimator, "n": n, "k": k, "seed": seed}


def run(case: Row, settings: Settings) -> Row:
    """Unevenness, folds and time of each extension, and of finer landmarks."""
    name, n, k, seed = case["estimator"], case["n"], case["k"], case["seed"]
    surface = SURFACES[case["surface"]](n, np.random.default_rng(seed))
    areas = LocalAreas(surface, k, seed)
    options = {} if name in ("Isomap", "KernelPCA") else {"eigenvectors": "independent"}
    extensions = ("all",) if name == "KernelPCA" else ("smooth", "graph")
    if options:
        extensions += ("all",)
    rows: Row = {}
    fitted = ESTIMATORS[name](landmarks=k, random_state=seed, **options).fit(surface.X)
    for extension in extensions:
        emb = ESTIMATORS[name](landmarks=fitted.landmark_indices_, extension=extension, **options)
        emb.fit(surface.X).transform(surface.X[:1000])
        start = time.perf_counter()
        Y = emb.transform(surface.X)
        rows[extension] = {"seconds": time.perf_counter() - start, **areas.measure(Y)}
    # Isomap of as many landmarks would keep their distances in gigabytes.
    if options:
        finer = ESTIMATORS[name](
            landmarks=FINER * k, extension="smooth", random_state=seed, **options
        )
        rows["finer"] = areas.measure(finer.fit_transform(surface.X))
    return rows


def show(rows: Sequence[Row], settings: Settings, page: Page) -> None:
    """Unevenness, folds and time by surface, estimator and extension."""
    first = rows[0]
    page.text(
        f"""Maps of surfaces with {first["n"]:,} points from {first["k"]} landmarks into the plane.
        The area that the map gives to the points around a point, fitted to its {_NEIGHBORS} nearest
        on the surface, is divided by its mean over two landmark spacings (a Gaussian); *unevenness*
        is the standard deviation of that ratio, more than one spacing away from the border. A good
        map has some, because its area changes smoothly; "finer" has {FINER} times as many landmarks
        and shows how much. *Folded* is the share of points where the map is a mirror image of its
        surroundings, away from the border, and in brackets everywhere: maps of eigenfunctions are
        level at the border, and any error folds them there."""
    )
    lines = []
    for (surface, estimator), runs in grouped(rows, "surface", "estimator").items():
        good = [row for row in runs if "error" not in row]
        for extension in ("smooth", "graph", "all", "finer"):
            found = [row[extension] for row in good if extension in row]
            if found:
                seconds = "-" if extension == "finer" else f"{mean(found, 'seconds'):.2f}"
                shares = [mean(found, field) for field in ("folded", "folded with border")]
                folded = "{:.2f} % ({:.2f} %)".format(*(100 * share for share in shares))
                cells = f"{mean(found, 'unevenness'):.3f}", folded, seconds
                lines.append([surface, estimator, extension, *cells])
    page.table(["surface", "estimator", "extension", "unevenness", "folded", "seconds"], lines)


EXPERIMENT = Experiment("texture", "Texture of the map", cases, run, show)
