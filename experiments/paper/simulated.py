"""What table 1 of the paper leaves open, and errors simulated for readings of it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.spatial.distance import cdist

from experiments.framework.experiment import Row, Settings
from experiments.paper.table1 import COUNTS, EFFICIENT, KMEANS, KMEANS_PP, SEEDING, UNIFORM
from trigpoint import EfficientDPP
from trigpoint.datasets import make_fish_bowl, make_swiss_roll

# Readings of the samplers.
POWERS = (2, 1)  # seeding in proportion to the squared distance, or to the distance
CONVERGED, BEST_OF = 100, 3
STOPS = ("1", "3", "converged", f"best of {BEST_OF}")  # iterations, restarts of k-means
PLACES = ("centers", "points")  # where its landmarks are
NEIGHBORS = {  # the paper's m on the roll and on the bowl
    "as printed": (30, 150),
    "without the point": (31, 151),
    "twice": (60, 300),
    "the other way round": (150, 30),
    "150 for both": (150, 150),
}
SIGMAS = (0.71, 1.0, 1.41, 2.0, 4.0)  # bandwidth of the repulsion over that of the kernel

# Scales that errors are simulated at, relative to that of the shape.
FACTORS = (0.85, 0.95, 1.06, 1.18)

# Added to the diagonal of the landmarks' kernel, for points that nearly coincide.
_RIDGE = 1e-12


@dataclass(frozen=True)
class Shape:
    """A reading of a data set.

    Attributes
    ----------
    title, printed : str
        What it is, and the part of the table that it stands for.
    make : function of the number of points and the seed
        The points, of which all lengths will be multiplied by the scale.
    scale : float
        The middle one of the scales.
    """

    title: str
    printed: str
    make: Callable[[int, int], np.ndarray]
    scale: float


def _roll(sampling: str, height: float, noise: float) -> Shape:
    def make(n: int, seed: int) -> np.ndarray:
        options: dict[str, Any] = {"sampling": sampling, "height": height, "noise": noise}
        return make_swiss_roll(n, random_state=seed, **options)[0]

    by = "angle" if sampling == "angle" else "area"
    title = f"uniform in the {by}, height {height:g}, noise {noise:g}"
    # Errors depend on the area first of all.
    return Shape(title, "roll", make, 0.117 * float(np.sqrt(21 / height)))


def _bowl(radius: float, scale: float) -> Shape:
    def make(n: int, seed: int) -> np.ndarray:
        return make_fish_bowl(n, disc_radius=radius, random_state=seed)[0]

    return Shape(f"disc of radius {radius:g}", "bowl", make, scale)


_ROLLS = (_roll(*p) for p in product(("arc-length", "angle"), (21.0, 30.0), (0.0, 0.2, 0.5, 1.0)))
_BOWLS = (_bowl(2.0, 1.5), _bowl(2.5, 1.4), _bowl(3.0, 1.35))
SHAPES = {f"{shape.printed}, {shape.title}": shape for shape in (*_BOWLS, *_ROLLS)}

# Those of the page of table 1.
ASSUMED_SHAPES = {
    "roll": "roll, uniform in the area, height 21, noise 0",
    "bowl": "bowl, disc of radius 2.5",
}


def cases(settings: Settings) -> Iterator[Row]:
    """Every reading of every sampler on every shape; a case has all repetitions."""
    runs = settings.runs or (2 if settings.quick else 16)
    shared: Row = {"n": 200 if settings.quick else 1000, "runs": runs, "seed": settings.seed}
    blank: Row = dict.fromkeys(("power", "stop", "place", "m", "sigma"))
    for data, shape in SHAPES.items():
        if settings.quick and data not in ASSUMED_SHAPES.values():
            continue
        every: Row = {**shared, "data": data, **blank}
        yield {**every, "row": UNIFORM}
        for power in POWERS:
            yield {**every, "row": SEEDING, "power": power}
        for stop, place in product(STOPS, PLACES):
            yield {**every, "row": KMEANS, "stop": stop, "place": place}
            for power in POWERS:
                yield {**every, "row": KMEANS_PP, "power": power, "stop": stop, "place": place}
        for m, sigma in product(sorted(set(neighbors(shape))), SIGMAS):
            yield {**every, "row": EFFICIENT, "m": m, "sigma": sigma}


def neighbors(shape: Shape) -> list[int]:
    """Neighbors by each reading of m."""
    return [sizes[shape.printed == "bowl"] for sizes in NEIGHBORS.values()]


def run(case: Row, settings: Settings) -> Row:
    """Logarithm of the mean error, and the deviation of an error from it, by scale and k."""
    shape = SHAPES[case["data"]]
    found = []
    for seed in range(case["seed"], case["seed"] + case["runs"]):
        X = shape.make(case["n"], seed)
        found.append(_errors(case, X, shape.scale * np.array(FACTORS), seed))
    errors = np.array(found)
    means, deviations = errors.mean(axis=0), errors.std(axis=0, ddof=1)
    columns: Row = {}
    for i, factor in enumerate(FACTORS):
        for j, k in enumerate(COUNTS):
            columns[f"log_{factor:g}_{k}"] = round(float(np.log(means[i, j])), 4)
            columns[f"sd_{factor:g}_{k}"] = round(float(deviations[i, j] / means[i, j]), 3)
    return columns


def _errors(case: Row, X: np.ndarray, scales: np.ndarray, seed: int) -> np.ndarray:
    """Trace errors (scales, numbers of landmarks) of one run."""
    rng = np.random.default_rng(seed)
    if case["stop"] is not None:
        clusters = [landmarks_of(case, X, k, rng) for k in COUNTS]
        return np.array([trace_errors(X, points, scales)[:, -1] for points in clusters]).T
    # The others draw landmarks one after the other, so that the first k are a draw of k.
    places = np.array(COUNTS) - 1
    if case["row"] != EFFICIENT:
        points = X[start_rows(X, COUNTS[-1], case["power"], rng)]
        return trace_errors(X, points, scales)[:, places]
    m, found = min(case["m"], len(X)), []
    for scale in scales:
        sampler = EfficientDPP(COUNTS[-1], n_neighbors=m, bandwidth=case["sigma"] / scale, n_jobs=1)
        points = sampler.set_params(random_state=seed).fit(X).landmarks_
        found.append(trace_errors(X, points, [scale])[0, places])
    return np.array(found)


def landmarks_of(case: Row, X: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """Landmarks of k-means."""
    n_starts = BEST_OF if case["stop"] == STOPS[-1] else 1
    steps = int(case["stop"]) if str(case["stop"]).isdigit() else CONVERGED
    found = [
        lloyd(X, X[start_rows(X, k, case["power"], rng)], steps, case["place"] == "points")
        for _ in range(n_starts)
    ]
    return min(found, key=lambda pair: pair[1])[0]


def start_rows(X: np.ndarray, k: int, power: int | None, rng: np.random.Generator) -> np.ndarray:
    """Rows drawn uniformly, or by a power of the distance to the nearest one before."""
    if power is None:
        return rng.permutation(len(X))[:k]
    rows = [int(rng.integers(len(X)))]
    squares = np.square(X - X[rows[0]]).sum(axis=1)
    while len(rows) < k:
        weights = squares if power == 2 else np.sqrt(squares)
        cumulative = np.cumsum(weights)
        rows.append(int(np.searchsorted(cumulative, rng.random() * cumulative[-1], "right")))
        squares = np.minimum(squares, np.square(X - X[rows[-1]]).sum(axis=1))
    return np.array(rows)


def lloyd(X: np.ndarray, centers: np.ndarray, steps: int, snap: bool) -> tuple[np.ndarray, float]:
    """Centers, or the points nearest to them, after some iterations; and the sum of squares."""
    for _ in range(steps):
        labels = cdist(X, centers, "sqeuclidean").argmin(axis=1)
        sizes = np.bincount(labels, minlength=len(centers))
        sums = [np.bincount(labels, column, minlength=len(centers)) for column in X.T]
        # A center without points stays where it is.
        moved = np.where(
            sizes[:, None] > 0, np.transpose(sums) / np.maximum(sizes, 1)[:, None], centers
        )
        if np.array_equal(moved, centers):
            break
        centers = moved
    squares = cdist(X, centers, "sqeuclidean")
    landmarks = X[np.unique(squares.argmin(axis=0))] if snap else centers
    return landmarks, float(squares.min(axis=1).sum())


def trace_errors(
    X: np.ndarray, landmarks: np.ndarray, scales: Sequence[float] | np.ndarray
) -> np.ndarray:
    """Trace errors (equation 1) with sigma = 1 if all lengths are multiplied by a scale.

    Of shape (scales, k): those of the first landmark, the first two, and so on.
    """
    between, among = (cdist(landmarks, Y, "sqeuclidean") for Y in (X, landmarks))
    errors = []
    for scale in scales:
        kernel = np.exp(-(scale**2) / 2 * among) + _RIDGE * np.eye(len(among))
        factor = cholesky(kernel, lower=True, check_finite=False)
        columns = np.exp(-(scale**2) / 2 * between)
        explained = solve_triangular(factor, columns, lower=True, check_finite=False)
        errors.append(len(X) - np.cumsum(np.einsum("ij,ij->i", explained, explained)))
    return np.array(errors)
