"""The rule for m and sigma of EfficientDPP, compared with others, on data of many shapes."""

from collections.abc import Iterator, Sequence

import numpy as np

import trigpoint as tp
from experiments.benchmarks import data
from experiments.benchmarks.plots import panels
from experiments.benchmarks.quality import points
from experiments.framework.experiment import Experiment, Row, Settings
from experiments.framework.page import Page
from experiments.framework.summary import grouped
from experiments.internals import MemoryStore, landmark_spacing, neighborhood_radius
from trigpoint.metrics import nystrom_error

SHAPES = {
    "roll": "Swiss roll",
    "bowl": "Fish bowl",
    "clusters": "Clusters",
    "lidar": "LiDAR",
    "coil": "COIL-20",
    "mnist": "MNIST",
}
# Neighbors in units of n / k, bandwidths in units of the median radius; the rule is (4, 1).
SHARES = (1, 2, 4, 8, 16)
FACTORS = (0.5, 0.75, 1.0, 1.5, 2.5)
# Bandwidths of the kernel, in units of the radius that holds a landmark's share of the points.
KERNELS = (1.0, 2.0, 4.0)
SIZE = 2000
PEERS = {"uniform": tp.Uniform, "k-means++ seeding": tp.KMeansPlusPlus}


def shape(kind: str, seed: int, settings: Settings) -> np.ndarray:
    """Points of one shape, at most 2,000 of them."""
    rng = np.random.default_rng(seed)
    if kind == "clusters":
        sizes = [1000, 500, 250, 125, 64, 32, 16, 8]
        centres, widths = 5 * rng.normal(size=(8, 3)), rng.uniform(0.1, 1.0, size=8)
        groups = zip(sizes, centres, widths, strict=True)
        return np.concatenate([rng.normal(c, w, size=(n, 3)) for n, c, w in groups])
    X = points(kind, seed, settings)
    if len(X) <= SIZE:
        return X
    return X[rng.choice(len(X), SIZE, replace=False)].astype(np.float64)


def cases(settings: Settings) -> Iterator[Row]:
    """Every shape, with few and with many landmarks."""
    for kind in ("roll", "bowl") if settings.quick else SHAPES:
        if data.missing(kind, settings):
            continue
        for k in (50,) if settings.quick else (25, 100):
            yield {"data": kind, "k": k, "seeds": 1 if settings.quick else 4}


def run(case: Row, settings: Settings) -> Row:
    """Mean error of every choice of m and sigma, and of peers, for every kernel."""
    kind, k = case["data"], case["k"]
    errors: dict[str, list] = {}
    for seed in range(case["seeds"]):
        X = shape(kind, seed, settings)
        spacing = landmark_spacing(X, k, np.random.default_rng(seed))

        def record(name: str, rows: np.ndarray, X=X, spacing=spacing) -> None:
            kernels = [nystrom_error(X, rows, c * spacing, relative=True) for c in KERNELS]
            errors.setdefault(name, []).append(kernels)

        for name, sampler in PEERS.items():
            record(name, sampler(k, random_state=seed).fit(X).indices_)
        for share in SHARES:
            m = min(len(X), max(2, share * len(X) // k))
            store = MemoryStore.of(X, m, k)
            radius = neighborhood_radius(store, m, 64, np.random.default_rng(seed))
            for factor in FACTORS:
                sampler = tp.EfficientDPP(
                    k, n_neighbors=m, bandwidth=factor * radius, random_state=seed
                )
                try:
                    rows = sampler.fit(X).indices_
                except ValueError:  # All points are repelled before there are k landmarks.
                    rows = np.empty(0, dtype=np.int64)
                if len(rows):
                    record(f"{share}, {factor}", rows)
    return {name: np.mean(runs, axis=0).tolist() for name, runs in errors.items()}


def show(rows: Sequence[Row], settings: Settings, page: Page) -> None:
    """The error of every choice, relative to k-means++ seeding."""
    seeds = rows[0]["seeds"]
    page.text(
        f"""By default, `EfficientDPP` lets a landmark repel the m = 4 n/k points nearest to it, and
        takes for sigma the median radius of these neighborhoods. Below is the trace error of this
        and of other choices, relative to that of k-means++ seeding (below 1 is better), averaged
        geometrically over {seeds} draws, numbers of landmarks from
        {min(row["k"] for row in rows)} to {max(row["k"] for row in rows)} and kernels
        of {", ".join(f"{c:g}" for c in KERNELS)} times the radius that holds a landmark's share of
        the points. Less repulsion leaves gaps where points are sparse; more drives landmarks to the
        rim and to outliers, which explain little, the more so in high dimension."""
    )
    table = {kind: _relative(same) for (kind,), same in grouped(rows, "data").items()}
    columns = ["shape", "rule", "uniform", "best choice", "worst"]
    page.table(columns, [[SHAPES[kind], *_cells(ratios)] for kind, ratios in table.items()])
    describe = "Error relative to k-means++ seeding over m and sigma, for every shape"
    with panels(page, "rule", describe, len(table)) as side_by_side:
        for axes, (kind, ratios) in zip(side_by_side, table.items(), strict=True):
            _heat_map(axes, SHAPES[kind], ratios)


def _relative(rows: Sequence[Row]) -> dict[str, float]:
    """Geometric mean of each choice's error over that of seeding."""
    logs: dict[str, list] = {}
    for row in rows:
        if "error" in row:
            continue
        seeding = np.log(row["k-means++ seeding"])
        for name, errors in row.items():
            if isinstance(errors, list):
                logs.setdefault(name, []).extend(np.log(errors) - seeding)
    full = max(map(len, logs.values()))
    return {name: float(np.exp(np.mean(v))) for name, v in logs.items() if len(v) == full}


def _cells(ratios: dict[str, float]) -> list[str]:
    choices = {name: ratio for name, ratio in ratios.items() if "," in name}
    best, worst = (choose(choices, key=choices.__getitem__) for choose in (min, max))
    cells = [f"{ratios['4, 1.0']:.2f}", f"{ratios['uniform']:.2f}"]
    return cells + [f"{choices[name]:.2f} ({name})" for name in (best, worst)]


def _heat_map(axes, title: str, ratios: dict[str, float]) -> None:
    values = np.array(
        [[ratios.get(f"{share}, {factor}", np.nan) for share in SHARES] for factor in FACTORS]
    )
    axes.imshow(np.log(values), cmap="RdBu_r", vmin=-1, vmax=1, origin="lower", aspect="auto")
    for i, j in np.ndindex(values.shape):
        bold = "bold" if (SHARES[j], FACTORS[i]) == (4, 1.0) else None
        text = f"{values[i, j]:.2f}" if np.isfinite(values[i, j]) else "-"
        axes.text(j, i, text, ha="center", va="center", fontsize=8, weight=bold)
    axes.set_xticks(range(len(SHARES)), [f"{share}" for share in SHARES])
    axes.set_yticks(range(len(FACTORS)), [f"{factor:g}" for factor in FACTORS])
    axes.set(xlabel="m, in n/k", ylabel="sigma, in radii", title=title)
    axes.grid(visible=False)


EXPERIMENT = Experiment("rule", "The rule for m and sigma", cases, run, show)
