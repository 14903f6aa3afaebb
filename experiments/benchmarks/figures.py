"""The figures of the README, measured again: ``make figures`` prints them as a Markdown table."""

from collections.abc import Iterator

import numpy as np

import trigpoint as tp
from experiments.framework.measuring import timed
from experiments.internals import Landmarks, bhattacharyya_matrix, thread_count
from trigpoint.metrics import coordinate_recovery, coverage_radius, shortcut_rate

THREADS = thread_count(-1)


def unrolled() -> Iterator[tuple[str, str]]:
    """A million points, all stages."""
    X, intrinsic = tp.datasets.make_swiss_roll(1_000_000, random_state=0)
    emb = tp.LaplacianEigenmaps(landmarks=1000, random_state=0)
    emb.fit_transform(X[:5000])  # Compiles the loops, once per machine.
    seconds, Y = timed(lambda: emb.fit_transform(X))
    yield "Swiss roll, 1,000,000 points, 1,000 landmarks: all stages", f"{seconds:.1f} s"
    length, height = coordinate_recovery(Y, intrinsic)
    yield "the same: arc length, height recovered (R²)", f"{length:.4f}, {height:.4f}"


def shortcuts() -> Iterator[tuple[str, str]]:
    """The Bhattacharyya graph against the Euclidean one."""
    X, intrinsic = tp.datasets.make_swiss_roll(100_000, random_state=0)
    sampler = tp.EfficientDPP(1000, covariance="full", random_state=0).fit(X)
    chosen = Landmarks(sampler.landmarks_, covariances=sampler.covariances_)
    on_plane = intrinsic[sampler.indices_]
    for count in (25, 50, 100, 200):
        euclidean, ours = (
            shortcut_rate(tp.KNNGraph(count, metric=m).build(chosen).weights, on_plane, count)
            for m in ("euclidean", "bhattacharyya")
        )
        yield (
            f"shortcuts with {count} neighbors (100,000 points): Euclidean, Bhattacharyya",
            f"{euclidean:.2%}, {ours:.2%}",
        )


def recovered() -> Iterator[tuple[str, str]]:
    """Leading and independent eigenvectors of the smaller roll."""
    X, intrinsic = tp.datasets.make_swiss_roll(100_000, random_state=0)
    for eigenvectors in ("leading", "independent"):
        emb = tp.LaplacianEigenmaps(landmarks=1000, eigenvectors=eigenvectors, random_state=0)
        length, height = coordinate_recovery(emb.fit_transform(X), intrinsic)
        yield (
            f"{eigenvectors} eigenvectors (100,000 points): arc length, height recovered (R²)",
            f"{length:.4f}, {height:.4f}",
        )


def fish_bowl() -> Iterator[tuple[str, str]]:
    """How often the sparse bottom is reached, and how far the farthest point is."""
    reached, radii = {"dpp": 0, "uniform": 0}, {"dpp": [], "uniform": []}
    for seed in range(200):
        X, _ = tp.datasets.make_fish_bowl(2000, random_state=seed)
        samplers = {"dpp": tp.EfficientDPP(50), "uniform": tp.Uniform(50)}
        for name, sampler in samplers.items():
            chosen = sampler.set_params(random_state=seed).fit(X)
            reached[name] += int((chosen.landmarks_[:, 2] < -0.8).any())
            radii[name].append(coverage_radius(X, chosen.landmarks_))
    yield (
        "fish bowl, 50 of 2,000 points: bottom reached in 200 runs, DPP and uniform",
        f"{reached['dpp']}, {reached['uniform']}",
    )
    yield (
        "fish bowl: mean covering radius, DPP and uniform",
        f"{np.mean(radii['dpp']):.2f}, {np.mean(radii['uniform']):.2f}",
    )


def work() -> Iterator[tuple[str, str]]:
    """Single stages at the sizes they were built for."""
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(2500, 3, 5))
    full = factors @ factors.transpose(0, 2, 1)
    points = rng.normal(size=(2500, 784))
    seconds, _ = timed(lambda: bhattacharyya_matrix(points[:, :3], full, THREADS))
    yield "Bhattacharyya, all pairs of 2,500 landmarks in 3-D, full covariances", f"{seconds:.1f} s"
    variances = rng.uniform(0.1, 1, size=points.shape)
    seconds, _ = timed(lambda: bhattacharyya_matrix(points, variances, THREADS))
    yield "the same in 784-D, diagonal covariances", f"{seconds:.1f} s"

    X, _ = tp.datasets.make_swiss_roll(200_000, random_state=0)
    emb = tp.LaplacianEigenmaps(landmarks=50_000, n_neighbors=15, random_state=0)
    emb.fit(X)
    seconds = emb.stage_seconds_["spectrum"]
    what = "independent eigenvectors and planes of 50,000 landmarks with 15 neighbors (Swiss roll)"
    yield what, f"{seconds:.1f} s"


def main() -> None:
    """Print every figure as it is ready."""
    print("| what | measured |\n|---|---|")
    for group in (unrolled, shortcuts, recovered, fish_bowl, work):
        for what, measured in group():
            print(f"| {what} | {measured} |", flush=True)


if __name__ == "__main__":
    main()
