"""The demonstration: a Swiss roll of a million points, unrolled from a thousand landmarks."""

import time
from pathlib import Path

import numpy as np

from trigpoint import plot
from trigpoint._estimators import LaplacianEigenmaps
from trigpoint._sources.atomic import atomic_write
from trigpoint.datasets import make_swiss_roll
from trigpoint.metrics import coordinate_recovery, coverage_radius, shortcut_rate

_DRAWN_IN_3D = 8_000


def run(n_points: int, n_landmarks: int, seed: int, out: Path) -> None:
    """Run the demonstration, print a one-screen summary and save a picture in the folder."""
    print(f"A Swiss roll of {n_points:,} points, embedded in 2-D from {n_landmarks:,} landmarks")
    print(
        "Loading inner loops; the first time they are compiled, in about half a minute", flush=True
    )
    X, intrinsic = make_swiss_roll(n_points, random_state=seed)
    emb = LaplacianEigenmaps(n_components=2, landmarks=n_landmarks, random_state=seed)
    # Fewer landmarks first, so that one-time compilation does not count as a slow stage. Of all
    # points: a small set is drawn by a loop of its own.
    start = time.perf_counter()
    LaplacianEigenmaps(landmarks=20, random_state=seed).fit(X).transform(X[:2000])
    print(f"Inner loops are ready after {time.perf_counter() - start:.1f} s")
    emb.fit(X)
    start = time.perf_counter()
    Y = emb.transform(X)
    seconds = emb.stage_seconds_ | {"extension": time.perf_counter() - start}

    print("\n  stage          seconds")
    for stage, spent in seconds.items():
        print(f"  {stage:<12} {spent:9.2f}")
    print(f"  {'all':<12} {sum(seconds.values()):9.2f}\n")
    _print_quality(emb, X, Y, intrinsic)

    out.mkdir(parents=True, exist_ok=True)
    path = out / "swiss_roll.png"
    _draw(emb, X, Y, intrinsic, path)
    print(f"\n  picture: {path}")


def _print_quality(
    emb: LaplacianEigenmaps, X: np.ndarray, Y: np.ndarray, intrinsic: np.ndarray
) -> None:
    length, height = coordinate_recovery(Y, intrinsic)
    print(f"  arc length recovered from the 2-D coordinates  R2 = {length:.4f}")
    print(f"  height recovered from the 2-D coordinates      R2 = {height:.4f}")
    rate = shortcut_rate(emb.graph_, intrinsic[emb.landmark_indices_], n_neighbors=15)
    print(f"  shortcuts among the edges of the graph         {rate:.2%}")
    radius = coverage_radius(X, emb.landmarks_)
    print(f"  farthest point from a landmark                 {radius:.2f} (the roll is 28 wide)")


def _draw(
    emb: LaplacianEigenmaps, X: np.ndarray, Y: np.ndarray, intrinsic: np.ndarray, path: Path
) -> None:
    import matplotlib

    # Draws to a file, even without a display.
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import NullFormatter

    arc = intrinsic[:, 0]
    shown = slice(None, None, max(1, len(X) // _DRAWN_IN_3D))
    figure = plt.figure(figsize=(13, 4.2), layout="constrained")
    axes = figure.add_subplot(1, 3, 1, projection="3d")
    axes.scatter(X[shown, 0], X[shown, 1], X[shown, 2], c=arc[shown], s=1, linewidths=0)
    axes.view_init(elev=8, azim=-75)
    # Empty lists of labels would make Matplotlib 3.10 give up the layout.
    for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
        axis.set_major_formatter(NullFormatter())
    axes.set_title(f"{len(X):,} points (some shown)")

    axes = figure.add_subplot(1, 3, 2)
    on_plane = intrinsic[emb.landmark_indices_]
    axes.scatter(on_plane[:, 0], on_plane[:, 1], c=on_plane[:, 0], s=7)
    axes.set(xlabel="arc length", ylabel="height")
    axes.set_title(f"{len(on_plane):,} landmarks on the unrolled plane")

    axes = figure.add_subplot(1, 3, 3)
    plot.embedding(Y, color=arc, ax=axes, title="Laplacian eigenmaps of every point")
    with atomic_write(path) as partial:
        figure.savefig(partial, dpi=130)
    plt.close(figure)
