"""Claims about speed, guarded by counting instead of by a clock, and about rare rows."""

import sys
from pathlib import Path

import h5py
import numba
import numpy as np
import pytest
from scipy.spatial import cKDTree

import trigpoint as tp
from trigpoint import _kernels as compiled
from trigpoint._kernels import candidates, tree_search
from trigpoint._neighbors import tree
from trigpoint.datasets import make_swiss_roll
from trigpoint.metrics._outliers import outlying_rows


@pytest.fixture
def searches(monkeypatch):
    """A list that grows by one for each neighborhood searched, by any caller.

    Loops that search run as Python here, and call the compiled search through a counter.
    """
    found = []

    def nearest(*arguments, search=tree_search.nearest):
        found.append("tree")
        search(*arguments)

    def narrow(*arguments, search=candidates.narrow):
        reached = search(*arguments)
        if reached[1] >= 0:
            found.append("products")
        return reached

    for module, name in ((tree, "reaches"), (tree_search, "race")):
        monkeypatch.setattr(module, name, getattr(tree_search, name).py_func)
    monkeypatch.setattr(tree_search, "nearest", nearest)
    monkeypatch.setattr(candidates, "narrow", narrow)
    return found


# With up to 200,000 points one compiled loop draws, with more of them threads search.
@pytest.mark.parametrize(
    ("n", "k", "for_bandwidth"),
    [
        *[(10_000, 200, 25), (220_000, 200, 25)],
        *[(20_000, 100, 16), (20_000, 400, 50), (20_000, 1600, 64)],
    ],
)
def test_searches_do_not_grow_with_the_number_of_points(n, k, for_bandwidth, searches):
    """Nor do they grow faster than the landmarks."""
    X, _ = make_swiss_roll(n, random_state=0)
    sampler = tp.EfficientDPP(k, pool=None, random_state=0).fit(X)
    assert sampler.n_distance_rows_ == searches.count("tree") == len(searches)
    # One neighborhood for each landmark, some for the bandwidth, and few wasted.
    needed = k + for_bandwidth
    assert needed <= len(searches) < 1.3 * needed


def test_in_high_dimension_few_searches_are_in_vain(rng, searches):
    """A twelfth of all points around each landmark: without foresight it was half of them."""
    X = rng.normal(size=(6000, 50)).astype(np.float32)
    sampler = tp.EfficientDPP(200, n_neighbors=500, random_state=0).fit(X)
    assert sampler.n_distance_rows_ == searches.count("products")
    assert 200 < len(searches) < 1.3 * 264


class Steps:
    """Counts the lines that compiled loops run through, which run as Python meanwhile."""

    def __init__(self, monkeypatch) -> None:
        self._folder = str(Path(compiled.__file__).parent)
        self._count = 0
        for name, module in list(sys.modules.items()):
            if name.startswith(f"{compiled.__name__}."):
                for loop_name, loop in list(vars(module).items()):
                    if numba.extending.is_jitted(loop):
                        monkeypatch.setattr(module, loop_name, loop.py_func)

    def of(self, call, *arguments) -> int:
        """Lines run through during a call."""
        self._count = 0
        before = sys.gettrace()
        sys.settrace(self._enter)
        try:
            # Compiled, a division by zero gives infinity and says nothing.
            with np.errstate(all="ignore"):
                call(*arguments)
        finally:
            sys.settrace(before)
        return self._count

    def _enter(self, frame, event, argument):
        return self._line if frame.f_code.co_filename.startswith(self._folder) else None

    def _line(self, frame, event, argument):
        self._count += 1
        return self._line


def test_a_search_looks_at_little_more_than_the_neighbors(monkeypatch):
    """Steps for each further landmark: hardly more in a tree of eight times as many points."""
    steps = Steps(monkeypatch)
    m, fewer, more = 40, 10, 40
    for_each = []
    for n in (1000, 8000):
        X, _ = make_swiss_roll(n, random_state=0)
        # The tree is the same for both, so its steps cancel.
        counts = [
            steps.of(
                tp.EfficientDPP(k, n_neighbors=m, bandwidth=1e-3, random_state=0, n_jobs=1).fit, X
            )
            for k in (fewer, more)
        ]
        for_each.append((counts[1] - counts[0]) / (more - fewer))
    assert for_each[0] > 10 * m
    assert for_each[1] < 1.3 * for_each[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sampler", "n", "most"),
    [
        # A tree's copy of the points and their rows, and the weights.
        (tp.EfficientDPP(500, pool=None, random_state=0), 500_000, 40 * 500_000 + 130e6),
        # The factor alone would take 480 MB.
        (tp.RPCholesky(200, random_state=0, n_jobs=2), 300_000, 60e6),
    ],
)
def test_samplers_memory_is_a_few_numbers_a_point(sampler, n, most, peak_memory):
    X = make_swiss_roll(n, dtype=np.float32, random_state=0)[0]
    sampler.fit(X[:1000])
    _, peak = peak_memory(sampler.fit, X)
    assert peak < most


@pytest.fixture
def cells(data_dir):
    """Cells in 50 principal components, and the type of each."""
    with h5py.File(data_dir / "points" / "10x_pbmc68k_reduced.h5ad") as file:
        return file["obsm"]["X_pca"], file["obs"]["bulk_labels"].astype(np.int64)


@pytest.fixture
def scan(data_dir):
    """20,000 points of a scan with 30 more far from it, and which these are."""
    rng = np.random.default_rng(0)
    xyz = np.load(data_dir / "points" / "lidar_lonestar.npz")["xyz"]
    xyz = xyz[rng.choice(len(xyz), 20_000, replace=False)] - xyz.mean(axis=0)
    low, high = xyz.min(axis=0), xyz.max(axis=0)
    span = high - low
    noise = rng.uniform(low - span, high + span, size=(200, 3))
    far = cKDTree(xyz).query(noise)[0] > 0.1 * np.linalg.norm(span)
    noise = noise[far][:30]
    is_noise = np.r_[np.zeros(len(xyz), dtype=bool), np.ones(len(noise), dtype=bool)]
    return np.concatenate([xyz, noise]).astype(np.float32), is_noise


def chosen_rows(sampler, X, runs=10):
    return [sampler.set_params(random_state=seed).fit(X).indices_ for seed in range(runs)]


def rare_share(cells, sampler):
    X, types = cells
    counts = np.bincount(types)
    rare = counts[types] < 0.05 * len(types)
    return np.mean([rare[rows].mean() for rows in chosen_rows(sampler, X)]), rare.mean()


def test_samplers_take_rare_cells_in_the_order_that_the_recipe_gives(cells):
    uniform, in_data = rare_share(cells, tp.Uniform(100))
    plain, _ = rare_share(cells, tp.EfficientDPP(100))
    # 16 n / k, four times the default.
    wide, _ = rare_share(cells, tp.EfficientDPP(100, n_neighbors=112))
    farthest, _ = rare_share(cells, tp.FarthestPoint(100))
    assert abs(uniform - in_data) < 0.02
    assert 1.2 * in_data < plain < 1.7 * in_data
    assert 1.9 * in_data < wide < 2.7 * in_data
    assert farthest > 2.8 * in_data


def left_at(scan, sampler):
    """Farthest that an outlier is left from a landmark, in the mean over seeds."""
    X, is_noise = scan
    found = [cKDTree(X[rows]).query(X[is_noise])[0].max() for rows in chosen_rows(sampler, X, 3)]
    return np.mean(found)


def test_outliers_are_reached_by_far_points_and_wide_neighborhoods(scan):
    n = len(scan[0])
    assert left_at(scan, tp.FarthestPoint(300)) == 0
    assert left_at(scan, tp.EfficientDPP(300, n_neighbors=16 * n // 300)) < 1
    assert left_at(scan, tp.EfficientDPP(300)) > 20
    assert left_at(scan, tp.Uniform(300)) > 20


def test_outliers_of_a_scan_are_found_and_ordinary_data_has_none(scan, data_dir):
    X, is_noise = scan
    rows = outlying_rows(X)
    assert is_noise[rows].all()
    assert len(rows) > 0.8 * is_noise.sum()
    for name in ("lidar_lonestar.npz", "mammoth_50000x3_f32.npy", "coil20_1440x1024.npz"):
        points = np.load(data_dir / "points" / name)
        if name.endswith(".npz"):
            points = points[points.files[0]]
        assert len(outlying_rows(np.asarray(points, dtype=np.float64))) == 0
