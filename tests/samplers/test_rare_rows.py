"""What the docs promise of rare rows, outliers and coverage, on real data."""

import h5py
import numpy as np
import pytest
from scipy.spatial import cKDTree

import trigpoint as tp
from trigpoint.metrics._outliers import outlying_rows


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


def test_a_rare_type_is_found_where_it_lies_apart(cells):
    X, types = cells
    found = {
        name: np.array([np.bincount(types[rows], minlength=10) > 0 for rows in chosen_rows(s, X)])
        for name, s in (("farthest", tp.FarthestPoint(100)), ("cholesky", tp.RPCholesky(100)))
    }
    # The 13 blood stem cells lie apart; the 8 naive helper cells lie among other T cells.
    assert np.bincount(types)[[7, 1]].tolist() == [13, 8]
    assert found["farthest"][:, 7].all()
    assert not found["farthest"][:, 1].any()
    assert found["cholesky"][:, 1].mean() > 0.6


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


def test_diverse_landmarks_include_outliers_more_often_than_a_uniform_draw(scan):
    diverse, uniform = (
        sum(scan[1][rows].sum() for rows in chosen_rows(sampler, scan[0], 3))
        for sampler in (tp.EfficientDPP(300), tp.Uniform(300))
    )
    assert diverse > 2 * uniform


def test_landmarks_cover_a_scan_better_than_a_uniform_draw(data_dir):
    X = np.load(data_dir / "points" / "lidar_lonestar.npz")["xyz"][::5]
    diverse, uniform, farthest = (
        sampler(1000, random_state=0).fit(X).landmarks_
        for sampler in (tp.EfficientDPP, tp.Uniform, tp.FarthestPoint)
    )
    for share in (0.99, 0.999):
        radii = [
            tp.metrics.coverage_radius(X, chosen, quantile=share)
            for chosen in (farthest, diverse, uniform)
        ]
        assert radii == sorted(radii)


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
