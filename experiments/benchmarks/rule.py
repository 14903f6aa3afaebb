"""The rule for m and sigma of EfficientDPP, beside others, on data of many shapes."""

from collections.abc import Iterator

import numpy as np

import trigpoint as tp
from experiments.benchmarks import data
from experiments.benchmarks.quality import points
from experiments.benchmarks.report import Report, by_case
from trigpoint._landmarks.efficient import neighborhood_radius
from trigpoint._numerics.kernels import landmark_spacing
from trigpoint._numerics.neighbors import neighbor_index
from trigpoint.metrics import nystrom_error

TITLE = "The rule for m and sigma"
SHAPES = {
    "roll": "Swiss roll",
    "bowl": "Fish bowl",
    "clusters": "Clusters",
    "lidar": "LiDAR",
    "coil": "COIL-20",
    "mnist": "MNIST",
}
# Neighbours in units of n / k, bandwidths in units of the median radius; the rule is (4, 1).
SHARES = (1, 2, 4, 8, 16)
FACTORS = (0.5, 0.75, 1.0, 1.5, 2.5)
# Bandwidths of the kernel, in units of the radius that holds a landmark's share of the points.
KERNELS = (1.0, 2.0, 4.0)
SIZE = 2000
PEERS = {"uniform": tp.Uniform, "k-means++ seeding": tp.KMeansPlusPlus}


def shape(kind: str, seed: int) -> np.ndarray:
    """Points of one shape, at most 2,000 of them."""
    rng = np.random.default_rng(seed)
    if kind == "clusters":
        sizes = [1000, 500, 250, 125, 64, 32, 16, 8]
        centres, widths = 5 * rng.normal(size=(8, 3)), rng.uniform(0.1, 1.0, size=8)
        groups = zip(sizes, centres, widths, strict=True)
        return np.concatenate([rng.normal(c, w, size=(n, 3)) for n, c, w in groups])
    X = points(kind, seed)
    if len(X) <= SIZE:
        return X
    return X[rng.choice(len(X), SIZE, replace=False)].astype(np.float64)


def specs(quick: bool) -> Iterator[dict]:
    """Every shape, with few and with many landmarks."""
    for kind in ("roll", "bowl") if quick else SHAPES:
        if kind in ("lidar", "coil", "mnist") and data.missing(kind):
            continue
        for k in (50,) if quick else (25, 100):
            yield {"data": kind, "k": k, "seeds": 1 if quick else 4}


def work(spec: dict) -> dict:
    """Mean error of every choice of m and sigma, and of peers, for every kernel."""
    kind, k = spec["data"], spec["k"]
    errors: dict[str, list] = {}
    for seed in range(spec["seeds"]):
        X = shape(kind, seed)
        spacing = landmark_spacing(X, k, np.random.default_rng(seed))

        def record(name: str, rows: np.ndarray, X=X, spacing=spacing) -> None:
            kernels = [nystrom_error(X, rows, c * spacing, relative=True) for c in KERNELS]
            errors.setdefault(name, []).append(kernels)

        for name, sampler in PEERS.items():
            record(name, sampler(k, random_state=seed).fit(X).indices_)
        for share in SHARES:
            m = min(len(X), max(2, share * len(X) // k))
            index = neighbor_index(X, m, k)
            radius = neighborhood_radius(index, m, 64, np.random.default_rng(seed))
            for factor in FACTORS:
                sampler = tp.EfficientDPP(
                    k, n_neighbors=m, bandwidth=factor * radius, random_state=seed
                )
                try:
                    rows = sampler.fit(X).indices_
                except ValueError:  # Everything is repelled before there are k landmarks.
                    rows = np.empty(0, dtype=np.int64)
                if len(rows):
                    record(f"{share}, {factor}", rows)
    return {name: np.mean(runs, axis=0).tolist() for name, runs in errors.items()}


def render(records: list[dict], report: Report) -> None:
    """The error of every choice, relative to k-means++ seeding."""
    seeds = records[0]["spec"]["seeds"]
    report.text(
        f"""By default, `EfficientDPP` lets a landmark repel the m = 4 n/k points nearest to it, and
        takes for sigma the median radius of these neighbourhoods. Below is the trace error of this
        and of other choices, relative to that of k-means++ seeding (below 1 is better), averaged
        geometrically over {seeds} draws, numbers of landmarks from
        {min(r["spec"]["k"] for r in records)} to {max(r["spec"]["k"] for r in records)} and kernels
        of {", ".join(f"{c:g}" for c in KERNELS)} times the radius that holds a landmark's share of
        the points. Less repulsion leaves gaps where points are sparse; more drives landmarks to the
        rim and to outliers, which explain little, the more so in high dimension."""
    )
    table = {kind: _relative(rows) for (kind,), rows in by_case(records, "data").items()}
    columns = {"shape": None, "rule": None, "uniform": None, "best choice": None, "worst": None}
    report.table(columns, [[SHAPES[kind], *_cells(ratios)] for kind, ratios in table.items()])
    describe = "Error relative to k-means++ seeding over m and sigma, for every shape"
    with report.plot("rule", describe, panels=len(table)) as panels:
        for axes, (kind, ratios) in zip(panels, table.items(), strict=True):
            _heat_map(axes, SHAPES[kind], ratios)


def _relative(records: list[dict]) -> dict[str, float]:
    """Geometric mean of each choice's error over that of seeding."""
    logs: dict[str, list] = {}
    for record in records:
        result = record["result"]
        if "error" in result:
            continue
        for name, errors in result.items():
            if name != "anonymous_peak":
                seeding = np.log(result["k-means++ seeding"])
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
