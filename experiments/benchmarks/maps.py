"""Maps in the plane beside UMAP, t-SNE and PaCMAP: what is kept of neighbors and classes."""

import base64
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy.spatial import procrustes
from sklearn.neighbors import NearestNeighbors

from experiments.benchmarks import point_sets
from experiments.benchmarks.measuring import apart, measure, timed
from experiments.benchmarks.methods import MAPPERS, Method, setups, warm_up
from experiments.pages import Page, grouped, mean, number, percent, score, size
from experiments.runner import Experiment, Row, Settings
from trigpoint.metrics import knn_accuracy, rank_correlation

# Title, and number of points; a sixth of them is not fitted (of MNIST, the test digits).
SETS = {
    "coil": ("COIL-20", 1_440),
    "cells": ("Blood cells", 700),
    "mnist": ("MNIST", 70_000),
    "patches": ("CT patches", 24_000),
    "mammoth": ("Mammoth", 30_000),
    "lidar": ("LiDAR", 30_000),
    "roll": ("Swiss roll", 6_000),
}
QUICK = {"roll": ("Swiss roll", 2_000)}
# Smaller sets are divided and mapped several times.
SMALL, SEEDS = 2_000, 4
# Slower maps are not made twice, seconds.
TWICE = 120.0

NEIGHBORS = 10
SAMPLE = 5_000
PAIRS = 20_000
# Points of each picture.
SHOWN = 800


def cases(settings: Settings) -> Iterator[Row]:
    """Every method on every data set."""
    for kind, (_, n) in QUICK.items() if settings.quick else SETS.items():
        for name in MAPPERS:
            yield {"data": kind, "n": n, "method": name}


def run(case: Row, settings: Settings) -> Row:
    """Means over several divisions of a small set, or the figures of one division."""
    X, labels = load(case["data"], case["n"], settings)
    method = MAPPERS[case["method"]]
    warm_up(method, X)[1](X[:50])
    runs = []
    for seed in range(SEEDS if len(X) < SMALL else 1):
        train, unseen = split(case["data"], len(X), seed)
        runs.append(_measured(method, X, labels, train, unseen, seed))
    found: Row = {name: mean(runs, name) for name in runs[0] if name not in _ONCE}
    return {**found, **{name: runs[0][name] for name in _ONCE}}


# What is not a mean over divisions.
_ONCE = ("picture",)


def _measured(
    method: Method,
    X: np.ndarray,
    labels: np.ndarray | None,
    train: np.ndarray,
    unseen: np.ndarray,
    seed: int,
) -> Row:
    """Map some points, place the others, and map once more with another seed."""
    fitted, new = X[train], X[unseen]
    (Y, place), cost = measure(lambda: method.run(fitted, seed))
    seconds, Z = timed(lambda: place(new))
    found: Row = {**cost, "seconds to place": seconds, **kept(fitted, Y, new, Z)}
    if labels is not None:
        for count in (1, NEIGHBORS):
            found[f"{count}-NN"] = knn_accuracy(
                Y, labels[train], Z, labels[unseen], n_neighbors=count
            )
    found["distances"] = distances_kept(fitted, Y)
    if cost["seconds"] < TWICE:
        again, _ = method.run(fitted, seed + 1000)
        found["stability"] = 1 - float(procrustes(Y, again)[2])
    rows = point_sets.sample_rows(len(Y), SHOWN)
    colors = _colors(fitted, labels, train)[rows]
    found["picture"] = {"map": packed(Y[rows]), "colors": _text(colors)}
    return found


def load(kind: str, n: int, settings: Settings) -> tuple[np.ndarray, np.ndarray | None]:
    """Points, and their classes where there are any."""
    if kind == "roll":
        return point_sets.swiss_roll(n)[0], None
    if kind == "coil":
        return point_sets.pixels(settings)
    if kind not in ("mammoth", "lidar"):
        return point_sets.real(kind, settings, n)
    is_lidar = kind == "lidar"
    X = point_sets.centered(kind, settings) if is_lidar else point_sets.real(kind, settings)[0]
    return X[point_sets.sample_rows(len(X), n)].astype(np.float32), None


def split(kind: str, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows that are fitted, and a sixth that is not; of MNIST, the digits for testing."""
    order = np.arange(n) if kind == "mnist" else np.random.default_rng(seed).permutation(n)
    fitted = n * 6 // 7 if kind == "mnist" else n * 5 // 6
    return order[:fitted], order[fitted:]


def kept(X: np.ndarray, Y: np.ndarray, new: np.ndarray, placed: np.ndarray) -> Row:
    """Share of the nearest fitted points that are nearest in the map, of fitted and new points."""
    rows = point_sets.sample_rows(len(X), SAMPLE)
    own = rows[:, None]
    return {
        "kept": _shared(neighbors(X, X[rows], own), neighbors(Y, Y[rows], own)),
        "kept of new": _shared(neighbors(X, new[:SAMPLE]), neighbors(Y, placed[:SAMPLE])),
    }


def neighbors(points: np.ndarray, queries: np.ndarray, own: np.ndarray | None = None) -> np.ndarray:
    """Nearest points of each query, without itself."""
    count = NEIGHBORS + (own is not None)
    found = NearestNeighbors(n_neighbors=count).fit(points).kneighbors(queries)[1]
    if own is None:
        return found
    # Among points in the same place, a query need not find itself.
    others = found != own
    others[others.all(axis=1), -1] = False
    return found[others].reshape(len(queries), NEIGHBORS)


def _shared(a: np.ndarray, b: np.ndarray) -> float:
    return float((a[:, :, None] == b[:, None, :]).any(axis=2).mean())


def distances_kept(X: np.ndarray, Y: np.ndarray) -> float:
    """Rank correlation of the distances of random pairs, most of which are large."""
    pairs = np.random.default_rng(0).integers(len(X), size=(2, PAIRS))
    first, second = pairs[:, pairs[0] != pairs[1]]
    there, here = (
        np.linalg.norm(points[first].astype(np.float64) - points[second], axis=1)
        for points in (X, Y)
    )
    return rank_correlation(there, here)


def _colors(X: np.ndarray, labels: np.ndarray | None, train: np.ndarray) -> np.ndarray:
    """Classes, or without any, 256 steps of the last coordinate, as uint8."""
    if labels is not None:
        return np.unique(labels, return_inverse=True)[1][train].astype(np.uint8)
    ranks = np.argsort(np.argsort(X[:, -1]))
    return (ranks * 256 // len(X)).astype(np.uint8)


def packed(Y: np.ndarray) -> str:
    """Coordinates as text, in 256 steps of the map's box."""
    low, high = np.quantile(Y, [0.001, 0.999], axis=0)
    scaled = np.clip((Y - low) / (high - low).max(), 0, 1)
    return _text((255 * scaled).astype(np.uint8))


def _text(values: np.ndarray) -> str:
    return base64.b64encode(zlib.compress(values.tobytes(), 9)).decode()


def unpacked(text: str) -> np.ndarray:
    """Numbers from 0 to 255."""
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), np.uint8)


def show(rows: Sequence[Row], settings: Settings, page: Page) -> None:
    """A table for each data set, and all maps."""
    page.text(
        f"""Every method maps five sixths of the points and then places the others, which it has not
        seen; of MNIST these are the 10,000 test digits. Accuracy is that of the nearest fitted
        points in the map (1, or the majority of {NEIGHBORS}) for the unseen ones. *Kept* is the
        share of the {NEIGHBORS} nearest points in space that are among the {NEIGHBORS} nearest in
        the map, for fitted and for unseen points (at most {SAMPLE:,}); *distances*, the rank
        correlation of distances in space and in the map, of {PAIRS:,} random pairs; *stability*,
        how much of one map a map from another seed explains after rotation and scaling
        (Procrustes), where those without a seed are just run again, if the first took less than
        {TWICE:.0f} s. Sets below
        {SMALL:,} points are divided {SEEDS} times, and figures are means. CT patches, mammoth and
        LiDAR are random parts of larger sets, so that no method takes longer than ten minutes.
        The best of a column is bold."""
    )
    _plot([row for row in rows if "picture" in row], page)
    for (kind, n), same in grouped(rows, "data", "n").items():
        page.heading(f"{SETS[kind][0]}, n = {n:,}")
        _table(same, page)
    page.text("Settings:")
    page.items(setups(MAPPERS))


def _table(rows: Sequence[Row], page: Page) -> None:
    labeled = any("1-NN" in row for row in rows)
    columns: Row = {"method": None, "seconds": min, "to place": min, "memory": min}
    columns |= {"1-NN": max, f"{NEIGHBORS}-NN": max} if labeled else {}
    columns |= {"kept": max, "kept, unseen": max, "distances": max, "stability": max}
    page.table(columns, [_line(row, labeled) for row in rows], fill="-")


def _line(row: Row, labeled: bool) -> list:
    if reason := row.get("error"):
        return [row["method"], reason]
    return [
        row["method"],
        number(row["seconds"]),
        number(row["seconds to place"]),
        size(row["peak"]),
        *([percent(row[f"{count}-NN"]) for count in (1, NEIGHBORS)] if labeled else []),
        percent(row["kept"]),
        percent(row["kept of new"]),
        score(row["distances"]),
        score(row["stability"]) if "stability" in row else "-",
    ]


def _plot(rows: Sequence[Row], page: Page) -> None:
    maps = {(row["data"], row["method"]): row for row in rows}
    kinds = list(dict.fromkeys(kind for kind, _ in maps))
    if not kinds:
        return
    shape = {"nrows": len(kinds), "ncols": len(MAPPERS), "squeeze": False}
    layout = {**shape, "figsize": (2.0 * len(MAPPERS), 2.0 * len(kinds))}
    describe = "Maps of every data set by every method, colored by class or by height"
    with page.picture(describe, dpi=110, **layout) as axes:
        for one, name in zip(axes[0], MAPPERS, strict=True):
            one.set_title(name, fontsize=9)
        for line, kind in zip(axes, kinds, strict=True):
            line[0].set_ylabel(SETS[kind][0])
            for one, name in zip(line, MAPPERS, strict=True):
                # Boxes of one size, whatever the shape of the map: titles stand on a line.
                one.set(xticks=[], yticks=[], aspect="equal", adjustable="datalim")
                one.spines[:].set_visible(False)
                if row := maps.get((kind, name)):
                    _scatter(one, row["picture"])


def _scatter(axes: Any, picture: Row) -> None:
    places, colors = unpacked(picture["map"]).reshape(-1, 2), unpacked(picture["colors"])
    few = colors.max() < 20
    axes.scatter(
        *places.T,
        c=colors,
        cmap=("tab10" if colors.max() < 10 else "tab20") if few else "viridis",
        s=1.5,
        linewidths=0,
    )


EXPERIMENT = Experiment("maps", "Maps", cases, apart(run), show)
