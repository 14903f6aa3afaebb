"""Low-rank local covariances: measured, compared, kept."""

import tracemalloc

import numpy as np
import pytest

import trigpoint as tp
from trigpoint._common.records import LowRankCovariances
from trigpoint._geometry import (
    LocalCovariances,
    SingularCovarianceWarning,
    bhattacharyya,
    bhattacharyya_matrix,
    effective_rank,
    largest_variances,
    neighborhood_covariances,
    regularize,
)
from trigpoint._numerics.principal import MAX_RANK, SAMPLED, principal_directions, sampled
from trigpoint._numerics.products import ProductIndex
from trigpoint._points.memory import MemoryStore


def random_low_rank(rng, k, r, d, dtype=np.float64):
    """Covariances of random orthogonal directions, wider along these than elsewhere."""
    bases = np.linalg.qr(rng.normal(size=(k, d, d)))[0]
    directions = np.ascontiguousarray(bases[:, :r], dtype=dtype)
    variances = np.sort(rng.uniform(2, 9, size=(k, r)), axis=1)[:, ::-1]
    return LowRankCovariances(directions, variances, rng.uniform(0.05, 2, size=k))


def by_definition(x, y, cx, cy):
    """The paper's equation, with matrices of d x d."""
    c = (cx + cy) / 2
    logs = [np.linalg.slogdet(matrix)[1] for matrix in (c, cx, cy)]
    return (x - y) @ np.linalg.inv(c) @ (x - y) / 8 + (logs[0] - (logs[1] + logs[2]) / 2) / 2


def flat_cloud(rng, n, intrinsic, d, noise=0.0):
    """A sheet of a few dimensions, turned in many, so that no axis is special."""
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0][:intrinsic]
    return rng.uniform(-1, 1, size=(n, intrinsic)) @ turn + noise * rng.normal(size=(n, d))


@pytest.mark.parametrize(("r", "d"), [(1, 1), (1, 2), (2, 3), (3, 3), (5, 9), (8, 40), (16, 130)])
def test_distances_are_those_of_the_full_matrices(r, d, rng):
    points, covariances = rng.normal(size=(12, d)), random_low_rank(rng, 12, r, d)
    left, right = np.triu_indices(12, 0)
    full = [covariances.full(i) for i in range(12)]
    expected = [
        by_definition(points[i], points[j], full[i], full[j])
        for i, j in zip(left, right, strict=True)
    ]
    found = bhattacharyya(points, covariances, left, right)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("ratio", [1.0, 50.0, 1e7])
@pytest.mark.parametrize("spread", [1.0, 1e4])
def test_distances_of_float32_directions_keep_their_digits(ratio, spread, rng):
    """Products are float64 where variances are wide, or points far apart, for what is left."""
    centers = spread * rng.normal(size=(2, 50))
    points = np.repeat(centers, 5, axis=0) + rng.normal(size=(10, 50))
    base = random_low_rank(rng, 10, 3, 50, np.float32)
    covariances = LowRankCovariances(base.directions, base.variances * ratio, base.rest)
    full = np.array([covariances.full(i) for i in range(10)])
    np.testing.assert_allclose(
        bhattacharyya_matrix(points, covariances), bhattacharyya_matrix(points, full), rtol=1e-4
    )


@pytest.mark.parametrize("unit", [1e-60, 1e60])
def test_distances_do_not_change_with_the_units(unit, rng):
    points, covariances = rng.normal(size=(10, 30)), random_low_rank(rng, 10, 4, 30)
    other = LowRankCovariances(
        covariances.directions, covariances.variances * unit**2, covariances.rest * unit**2
    )
    np.testing.assert_allclose(
        bhattacharyya_matrix(points * unit, other),
        bhattacharyya_matrix(points, covariances),
        rtol=1e-9,
    )


def test_distances_are_symmetric_and_the_same_in_any_threads(rng):
    points, covariances = rng.normal(size=(90, 40)), random_low_rank(rng, 90, 5, 40)
    matrix = bhattacharyya_matrix(points, covariances)
    np.testing.assert_array_equal(matrix, matrix.T)
    np.testing.assert_array_equal(matrix, bhattacharyya_matrix(points, covariances, 2))
    assert not matrix.diagonal().any()
    left, right = np.triu_indices(90, 1)
    assert (matrix[left, right] > 0).all()
    for pair in (left, right), (right, left):
        found = bhattacharyya(points, covariances, *pair, n_threads=2)
        np.testing.assert_array_equal(found, matrix[left, right])


def test_full_matrices_are_positive_and_have_the_variances(rng):
    covariances = random_low_rank(rng, 6, 3, 12)
    for i in range(6):
        full = covariances.full(i)
        np.testing.assert_array_equal(full, full.T)
        expected = [*np.full(9, covariances.rest[i]), *covariances.variances[i]]
        np.testing.assert_allclose(np.linalg.eigvalsh(full), np.sort(expected))
        np.testing.assert_allclose(np.trace(full) / 12, covariances.mean_variance[i])
        np.testing.assert_allclose(covariances.among(np.array([4, 1]))[i], full[[4, 1]][:, [4, 1]])
    widest = [np.linalg.eigvalsh(covariances.full(i))[-1] for i in range(6)]
    np.testing.assert_allclose(largest_variances(covariances), widest)


def test_fewer_directions_leave_the_total_variance(rng):
    covariances = random_low_rank(rng, 6, 5, 12)
    fewer = covariances.leading(2)
    assert fewer.directions.shape == (6, 2, 12)
    np.testing.assert_allclose(fewer.mean_variance, covariances.mean_variance)
    np.testing.assert_array_equal(fewer.directions, covariances.directions[:, :2])
    assert covariances.leading(5) is covariances


@pytest.mark.parametrize(("m", "d"), [(60, 45), (40, 90), (SAMPLED, 200), (MAX_RANK + 1, 60)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_measured_ones_are_the_closest_to_the_full_ones(m, d, dtype, rng):
    """The eigenvectors of all neighbors' covariance, by products of coordinates or of points."""
    points = (rng.normal(size=(300, d)) * np.geomspace(5, 0.1, d) + 30).astype(dtype)
    index = ProductIndex(points)
    found = index.search(points[:5], m)
    measured = index.covariances(found, "low-rank")
    rank = MAX_RANK
    assert measured.directions.shape == (5, rank, d)
    assert measured.directions.dtype == dtype
    for i, rows in enumerate(found.members):
        full = np.cov(points[rows].T.astype(np.float64), bias=True)
        values = np.linalg.eigvalsh(full)[::-1]
        np.testing.assert_allclose(measured.variances[i], values[:rank], rtol=1e-9)
        np.testing.assert_allclose(measured.rest[i], values[rank:].mean(), rtol=1e-9, atol=1e-12)
        along = measured.directions[i].astype(np.float64)
        np.testing.assert_allclose(along @ along.T, np.eye(rank), atol=1e-6)
        np.testing.assert_allclose(
            along @ full @ along.T, np.diag(values[:rank]), atol=1e-5 * values[0]
        )


def test_a_turned_cloud_has_the_same_distances(rng):
    points = flat_cloud(rng, 1500, 3, 60, noise=0.02)
    turned = points @ np.linalg.qr(rng.normal(size=(60, 60)))[0]
    matrices = []
    for some in points, turned:
        store = MemoryStore(ProductIndex(some))
        _, covariances = neighborhood_covariances(store, some[:40], 300, "low-rank")
        assert covariances.rank == 3
        matrices.append(bhattacharyya_matrix(some[:40], regularize(covariances)))
    np.testing.assert_allclose(*matrices, rtol=1e-6, atol=1e-9)


def test_neither_threads_nor_groups_change_a_bit(rng):
    sheets = [flat_cloud(rng, n, d, 70, noise=0.05) + 9 * d for n, d in ((300, 1), (900, 4))]
    # The first group is all from a line, most landmarks are not.
    points = np.concatenate([sheets[0][:20], sheets[1], sheets[0][20:]]).astype(np.float32)
    results = []
    for n_threads, group in ((1, 150), (2, 7), (2, 1)):
        index = ProductIndex(points, n_threads)
        covariances = LocalCovariances(MemoryStore(index), "low-rank")
        found = index.search(points[:150], 200)
        for start in range(0, 150, group):
            covariances.add(found.take(range(start, min(start + group, 150))))
            if group > 1:
                covariances._measure()
        results.append(covariances.result())
    assert results[0].rank > 2
    for other in results[1:]:
        for part, values in vars(results[0]).items():
            np.testing.assert_array_equal(getattr(other, part), values)


def test_samples_are_subsets_that_do_not_depend_on_the_order(rng):
    rows = rng.choice(10_000, 700, replace=False)
    some = sampled(rows)
    assert len(some) == SAMPLED
    assert np.isin(some, rows).all()
    assert (np.diff(some) > 0).all()
    np.testing.assert_array_equal(some, sampled(rows[::-1]))
    np.testing.assert_array_equal(sampled(rows[:SAMPLED]), np.sort(rows[:SAMPLED]))
    # What two neighborhoods share is in the samples of both, where there is room for it.
    both = np.intersect1d(some, rows[:600])
    assert np.isin(both, sampled(rows[:600])).all()


@pytest.mark.parametrize("step", [1, 2, 64, 100])
def test_samples_are_spread_over_rows_in_any_rhythm(step):
    some = sampled(np.arange(0, 4000 * step, step)) / step
    # The mean of 64 of 0 to 3,999 has a standard deviation of 144.
    assert abs(some.mean() - 2000) < 430
    assert 0.3 < (some % 2).mean() < 0.7


@pytest.mark.parametrize(("intrinsic", "d"), [(1, 3), (2, 3), (2, 40), (3, 60)])
def test_the_rank_is_the_dimension_of_a_flat_cloud(intrinsic, d, rng):
    points = flat_cloud(rng, 4000, intrinsic, d)
    sampler = tp.EfficientDPP(100, covariance="low-rank", random_state=0).fit(points)
    assert sampler.covariances_.rank == intrinsic
    np.testing.assert_allclose(sampler.covariances_.rest, 0, atol=1e-12)


def test_the_rank_counts_narrow_directions_for_less():
    def spectra(*variances):
        d = 20
        directions = np.eye(d)[None, : len(variances)]
        return LowRankCovariances(directions, np.array([variances]), np.zeros(1))

    assert effective_rank(spectra(1.0, 1.0, 1.0, 0.0)) == 3
    assert effective_rank(spectra(1.0, 1.0, 0.1, 0.1)) == 2
    assert effective_rank(spectra(9.0, 1.0, 1.0, 1.0)) == 2
    assert effective_rank(spectra(0.0, 0.0)) == 1


def test_coinciding_neighbors_borrow_a_covariance_with_a_warning(rng):
    base = random_low_rank(rng, 3, 2, 6)
    still = np.array([1.0, 1.0, 0.0])
    covariances = LowRankCovariances(
        base.directions, base.variances * still[:, None], base.rest * still
    )
    with pytest.warns(SingularCovarianceWarning, match="1 of 3 landmarks"):
        regular = regularize(covariances, 0.01)
    mean = covariances.mean_variance[:2]
    np.testing.assert_allclose(regular.full(2), 1.01 * mean.min() * np.eye(6), atol=1e-12)
    expected = covariances.full(0) + 0.01 * mean[0] * np.eye(6)
    np.testing.assert_allclose(regular.full(0), expected)


def test_directions_without_variance_are_zero(rng):
    points = np.zeros((30, 50))
    points[:, :2] = rng.normal(size=(30, 2))
    measured = principal_directions(points, points[0])
    np.testing.assert_allclose(np.linalg.norm(measured.directions[0, :2], axis=1), 1)
    assert not measured.directions[0, 2:].any()
    assert not measured.variances[0, 2:].any()
    assert not principal_directions(points[:1].repeat(20, axis=0), points[0]).directions.any()


def test_no_matrix_of_all_dimensions_is_ever_made(rng):
    """One of 6,000 x 6,000 would take 288 MB."""
    points = rng.normal(size=(400, 6000)).astype(np.float32)
    small = points[:, :40].copy()
    tp.LaplacianEigenmaps(landmarks=30, covariance="low-rank", random_state=0).fit(small)
    tracemalloc.start()
    tp.LaplacianEigenmaps(landmarks=30, covariance="low-rank", random_state=0).fit(points)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6


def test_the_graph_of_a_turned_roll_takes_few_shortcuts(roll, rng):
    """In 60 dimensions that are all alike, diagonals know nothing of the sheet."""
    X, intrinsic = roll
    wide = np.pad(X, ((0, 0), (0, 57))) @ np.linalg.qr(rng.normal(size=(60, 60)))[0]
    rows = tp.EfficientDPP(300, random_state=0).fit(X).indices_
    rates = {}
    for covariance in "diag", "low-rank":
        emb = tp.LaplacianEigenmaps(landmarks=rows, n_neighbors=40, covariance=covariance)
        graph = emb.fit(wide).graph_
        rates[covariance] = tp.metrics.shortcut_rate(graph, intrinsic[rows], 40)
    assert emb.covariances_.rank == 2
    assert rates["low-rank"] < rates["diag"] / 3


@pytest.mark.parametrize("estimator", [tp.LaplacianEigenmaps, tp.DiffusionMaps, tp.Isomap])
def test_estimators_take_the_kind_of_covariance(estimator, roll):
    X = roll[0][:1000]
    kinds = {}
    for covariance in "auto", "full", "diag", "low-rank":
        emb = estimator(landmarks=60, covariance=covariance, random_state=0).fit(X)
        kinds[covariance] = emb.covariances_
    np.testing.assert_array_equal(kinds["auto"], kinds["full"])
    assert kinds["diag"].shape == (60, 3)
    assert kinds["low-rank"].directions.shape == (60, 2, 3)
    # Landmarks that are given are measured likewise.
    emb = estimator(landmarks=np.arange(0, 1000, 20), covariance="low-rank").fit(X)
    assert len(emb.covariances_) == 50


def test_the_choice_is_left_to_a_sampler_that_has_made_one(roll):
    X = roll[0][:600]
    sampler = tp.EfficientDPP(50, covariance="low-rank", random_state=0)
    emb = tp.LaplacianEigenmaps(landmarks=sampler).fit(X)
    assert isinstance(emb.covariances_, tp.LowRankCovariances)
    tp.LaplacianEigenmaps(landmarks=sampler, covariance="low-rank").fit(X)
    with pytest.raises(ValueError, match=r"covariance='diag' contradicts .*'low-rank'"):
        tp.LaplacianEigenmaps(landmarks=sampler, covariance="diag").fit(X)


@pytest.mark.parametrize("graph", ["euclidean", np.ones((3, 3))])
def test_a_graph_that_compares_none_refuses_them(graph, roll):
    emb = tp.LaplacianEigenmaps(landmarks=np.arange(3), graph=graph, covariance="low-rank")
    with pytest.raises(ValueError, match="covariance='low-rank' has no effect"):
        emb.fit(roll[0][:100])


def test_landmarks_left_out_take_their_covariances_along(roll):
    class Twice(tp.EfficientDPP):
        def _select(self, X, rng):
            chosen = super()._select(X, rng)
            twice = np.concatenate([np.arange(40), np.arange(40)])
            return type(chosen)(
                chosen.points[twice],
                chosen.indices[twice],
                chosen.radii[twice],
                chosen.covariances[twice],
            )

    sampler = Twice(40, covariance="low-rank", random_state=0)
    with pytest.warns(tp.CoincidingLandmarksWarning):
        emb = tp.LaplacianEigenmaps(landmarks=sampler).fit(roll[0][:800])
    assert len(emb.covariances_) == len(emb.landmarks_) == 40


def test_reports_and_plots_take_them(roll, tmp_path):
    from trigpoint.metrics._suspects import judge_edges

    X = roll[0][:1500]
    emb = tp.LaplacianEigenmaps(landmarks=120, covariance="low-rank", random_state=0).fit(X)
    judged = judge_edges(emb.fitted_.graph, emb.fitted_.landmarks)
    assert judged.count(1) < 0.05 * len(judged.ends)
    assert emb.report(tmp_path / "report.html", X).exists()
    axes = tp.plot.landmarks(emb, plane=(0, 2))
    assert len(axes.collections) == 2
