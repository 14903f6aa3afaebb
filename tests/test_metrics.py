"""Metrics, each against a case worked by hand or a slow and obvious version."""

import tracemalloc
from decimal import Decimal, localcontext

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array
from scipy.spatial.distance import cdist
from scipy.stats import spearmanr
from sklearn.neighbors import KNeighborsClassifier

from trigpoint import metrics


def swiss_roll(n, rng):
    """Points of a roll at the scale where a bandwidth of 1 spans a few of its windings' widths."""
    t = np.sqrt(rng.uniform((1.5 * np.pi) ** 2, (4.5 * np.pi) ** 2, n))
    return 0.115 * np.column_stack([t * np.cos(t), 21 * rng.random(n), t * np.sin(t)])


def kernel(A, B, bandwidth):
    return np.exp(-cdist(A, B, "sqeuclidean") / (2 * bandwidth**2))


def dense_error(X, points, bandwidth):
    cross = kernel(X, points, bandwidth)
    inverse = np.linalg.pinv(kernel(points, points, bandwidth), hermitian=True)
    return len(X) - np.trace(cross @ inverse @ cross.T)


# --- nystrom_error -----------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 3, 40])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_error_is_the_dense_formula(rng, d, dtype):
    X = rng.normal(size=(300, d)).astype(dtype)
    bandwidth = 0.3 * np.sqrt(d)
    rows = rng.choice(300, 12, replace=False)
    expected = dense_error(X.astype(np.float64), X[rows].astype(np.float64), bandwidth)
    error = metrics.nystrom_error(X, rows, bandwidth)
    assert isinstance(error, float)
    assert error == pytest.approx(expected, rel=1e-8)
    assert metrics.nystrom_error(X, X[rows], bandwidth) == pytest.approx(expected, rel=1e-8)
    relative = metrics.nystrom_error(X, rows.tolist(), bandwidth, relative=True)
    assert relative == pytest.approx(expected / 300, rel=1e-8)


def test_error_of_points_that_are_not_rows(rng):
    X, centres = rng.normal(size=(200, 2)), rng.normal(size=(7, 2))
    error = metrics.nystrom_error(X, centres, 1.5)
    assert error == pytest.approx(dense_error(X, centres, 1.5), rel=1e-9)


def test_repeated_and_coincident_landmarks_add_nothing(rng):
    X = rng.normal(size=(100, 3))
    X[90:] = X[:10]
    rows = np.arange(20)
    once = metrics.nystrom_error(X, rows, 1.0)
    assert once == pytest.approx(dense_error(X, X[rows], 1.0), rel=1e-9)
    for repeated in (np.tile(rows, 3), np.append(rows, np.arange(90, 100))):
        assert metrics.nystrom_error(X, repeated, 1.0) == pytest.approx(once, rel=1e-9)
        assert metrics.nystrom_error(X, X[repeated], 1.0) == pytest.approx(once, rel=1e-9)


def exact_error(X, points, bandwidth):
    """Equation 1 with 60 digits: what remains of each point after every landmark in turn."""
    with localcontext(prec=60):
        exact = np.vectorize(lambda value: Decimal(float(value)), otypes=[object])
        exp = np.vectorize(lambda value: value.exp(), otypes=[object])
        P, A = exact(points), exact(np.vstack([points, X]))
        squares = sum((A[:, None, j] - P[None, :, j]) ** 2 for j in range(X.shape[1]))
        K = exp(-squares / (2 * Decimal(float(bandwidth)) ** 2))
        remaining = exact(np.ones(len(A)))
        for j in range(len(P)):
            column = K[:, j] / remaining[j].sqrt()
            remaining = remaining - column * column
            K = K - np.outer(column, column[: len(P)])
        return float(remaining[len(P) :].sum())


def eigenvalue_error(X, points, bandwidth):
    """The pseudo-inverse from eigenvalues, cut off as is usual."""
    values, vectors = np.linalg.eigh(kernel(points, points, bandwidth))
    keep = values > len(points) * np.finfo(float).eps * values[-1]
    root = vectors[:, keep] / np.sqrt(values[keep])
    return len(X) - np.square(kernel(X, points, bandwidth) @ root).sum()


@pytest.mark.parametrize(
    ("scale", "condition", "tolerance"),
    [(0.55, 1e11, 1e-6), (0.45, 1e12, 1e-5), (0.4, 1e13, 1e-4)],
)
def test_error_of_ill_conditioned_landmarks(scale, condition, tolerance):
    k = 70
    X = scale * swiss_roll(160, np.random.default_rng(3))
    points = X[:k]
    assert np.linalg.cond(kernel(points, points, 1.0)) > condition
    expected = exact_error(X, points, 1.0)
    # Errors of a millionth of the trace, where most digits cancel: all, in the plain formula.
    assert expected < 1e-5 * len(X)
    assert dense_error(X, points, 1.0) != pytest.approx(expected, rel=1e-2)
    assert metrics.nystrom_error(X, np.arange(k), 1.0) == pytest.approx(expected, rel=tolerance)
    assert metrics.nystrom_error(X, points, 1.0) == pytest.approx(expected, rel=tolerance)


def test_error_does_not_depend_on_the_origin():
    X = 0.55 * swiss_roll(160, np.random.default_rng(3))
    # What is left of the points after the shift, so that both are the same points.
    X = (X + 2.0**10) - 2.0**10
    error = metrics.nystrom_error(X, np.arange(50), 1.0)
    assert error < 1e-4 * len(X)
    assert metrics.nystrom_error(X + 2.0**10, np.arange(50), 1.0) == pytest.approx(error, rel=1e-6)


def test_pivots_keep_more_than_eigenvalues():
    rng = np.random.default_rng(3)
    X = 0.45 * swiss_roll(120, rng)
    # Pairs of landmarks a hundred thousandth apart span a direction each.
    points = np.vstack([X[:15], X[:10] + 1e-5 * rng.normal(size=(10, 3))])
    assert np.linalg.cond(kernel(points, points, 1.0)) > 1e14
    expected = exact_error(X, points, 1.0)
    assert metrics.nystrom_error(X, points, 1.0) == pytest.approx(expected, rel=1e-2)
    assert eigenvalue_error(X, points, 1.0) > 1.5 * expected


@pytest.mark.parametrize("indices", [True, False])
def test_block_size_does_not_change_the_error(rng, indices):
    X = swiss_roll(500, rng)
    rows = rng.choice(500, 40, replace=False)
    landmarks = rows if indices else X[rows]
    whole = metrics.nystrom_error(X, landmarks, 1.0)
    for block_bytes in (1, 8 * 40, 8 * 40 * 7, 8 * 40 * 499):
        blocked = metrics.nystrom_error(X, landmarks, 1.0, block_bytes=block_bytes)
        assert blocked == pytest.approx(whole, rel=1e-10)


def test_memory_is_a_block_not_the_kernel(rng):
    X = rng.normal(size=(40_000, 2))
    rows = np.arange(100)
    metrics.nystrom_error(X[:200], rows, 1.0)
    tracemalloc.start()
    metrics.nystrom_error(X, rows, 1.0, block_bytes=2**18)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # The whole n x k kernel would take 32 MB.
    assert peak < 4e6


def test_no_error_when_every_point_is_a_landmark(rng):
    X = rng.normal(size=(80, 2))
    for bandwidth in (0.1, 1.0, 1e3):
        assert metrics.nystrom_error(X, rng.permutation(80), bandwidth) == 0
        assert 0 <= metrics.nystrom_error(X, X[::-1], bandwidth) < 1e-11


def test_error_is_never_negative_and_never_above_the_trace(rng):
    for bandwidth in (1e-6, 0.1, 1.0, 10.0, 1e3, 1e6):
        for k in (1, 5, 50):
            X = rng.normal(size=(60, 2))
            for landmarks in (np.arange(k), X[:k], X[:k] + 1e-8):
                assert 0 <= metrics.nystrom_error(X, landmarks, bandwidth) <= 60


def test_landmarks_far_away_explain_nothing(rng):
    assert metrics.nystrom_error(rng.normal(size=(50, 2)), [[1e3, 1e3]], 1.0) == 50


def test_inputs_are_left_alone(rng):
    X, rows = rng.normal(size=(50, 2)), np.arange(5)
    X.setflags(write=False)
    rows.setflags(write=False)
    metrics.nystrom_error(X, rows, 1.0)
    metrics.coverage_radius(X, rows, metric="geodesic", n_neighbors=20)
    metrics.coordinate_recovery(X, X)


# --- optimal_error -----------------------------------------------------------------------------


def test_optimal_error_is_the_sum_of_the_remaining_eigenvalues(rng):
    X = rng.normal(size=(70, 3))
    eigenvalues = np.linalg.svd(kernel(X, X, 0.8), compute_uv=False)
    counts = [0, 1, 10, 69, 70]
    bounds = metrics.optimal_error(X, 0.8, counts)
    np.testing.assert_allclose(bounds, [eigenvalues[k:].sum() for k in counts], atol=1e-12)
    assert bounds[0] == pytest.approx(70)
    single = metrics.optimal_error(X, 0.8, 10)
    assert isinstance(single, float)
    assert single == bounds[2]
    np.testing.assert_allclose(metrics.optimal_error(X, 0.8, counts, relative=True), bounds / 70)


def test_optimal_error_is_a_lower_bound(rng):
    X = swiss_roll(150, rng)
    for k in (1, 10, 40):
        bound = metrics.optimal_error(X, 1.0, k)
        assert bound > 0
        for _ in range(10):
            rows = rng.choice(150, k, replace=False)
            centres = X[rows] + 0.1 * rng.normal(size=(k, 3))
            assert metrics.nystrom_error(X, rows, 1.0) > bound
            assert metrics.nystrom_error(X, centres, 1.0) > bound
    # And nearly attained: one landmark in the middle of few close points.
    close = 0.1 * rng.normal(size=(30, 2))
    assert metrics.nystrom_error(close, [[0.0, 0.0]], 1.0) < 1.2 * metrics.optimal_error(
        close, 1.0, 1
    )


# --- coverage_radius ---------------------------------------------------------------------------


@pytest.mark.parametrize("d", [2, 30])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_euclidean_coverage(rng, d, dtype):
    X = (rng.normal(size=(400, d)) + 100).astype(dtype)
    rows = rng.choice(400, 15, replace=False)
    distances = cdist(X, X[rows]).min(axis=1)
    assert metrics.coverage_radius(X, rows) == pytest.approx(distances.max(), rel=1e-12)
    assert metrics.coverage_radius(X, X[rows]) == pytest.approx(distances.max(), rel=1e-12)
    for quantile in (0.0, 0.5, 0.9):
        assert metrics.coverage_radius(X, rows, quantile=quantile) == pytest.approx(
            np.quantile(distances, quantile), abs=1e-12
        )
    assert metrics.coverage_radius(X, np.arange(400)) == 0


def geodesic_by_relaxation(X, rows, n_neighbors):
    """Shortest paths from the landmarks by relaxing all edges until nothing changes."""
    D = cdist(X, X)
    linked = np.zeros_like(D, dtype=bool)
    for i in range(len(X)):
        linked[i, np.argsort(D[i], kind="stable")[: n_neighbors + 1]] = True
    lengths = np.where(linked | linked.T, D, np.inf)
    distances = np.full(len(X), np.inf)
    distances[rows] = 0
    for _ in range(len(X)):
        distances = np.minimum(distances, (distances[:, None] + lengths).min(axis=0))
    return distances


@pytest.mark.parametrize("d", [2, 20])
def test_geodesic_coverage(rng, d):
    X = rng.normal(size=(150, d))
    X[:, 0] *= 5
    rows = rng.choice(150, 4, replace=False)
    distances = geodesic_by_relaxation(X, rows, 6)
    assert np.isfinite(distances).all()
    radius = metrics.coverage_radius(X, rows, metric="geodesic", n_neighbors=6)
    assert radius == pytest.approx(distances.max(), rel=1e-12)
    assert radius > metrics.coverage_radius(X, rows)
    median = metrics.coverage_radius(X, rows, metric="geodesic", n_neighbors=6, quantile=0.5)
    assert median == pytest.approx(np.median(distances), rel=1e-12)


def test_geodesic_coverage_follows_a_circle():
    angle = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    assert metrics.coverage_radius(circle, [0]) == pytest.approx(2)
    radius = metrics.coverage_radius(circle, [0], metric="geodesic", n_neighbors=2)
    assert radius == pytest.approx(np.pi, rel=1e-4)


def test_coincident_points_are_one_vertex(rng):
    X = rng.normal(size=(120, 2))
    once = metrics.coverage_radius(X, [0, 1], metric="geodesic", n_neighbors=5)
    # More copies than neighbours: linked to each other only, they would be cut off.
    copies = np.vstack([np.repeat(X, 12, axis=0), X + 0.0])
    rows = [5, 120 * 12 + 1]
    copied = metrics.coverage_radius(copies, rows, metric="geodesic", n_neighbors=5)
    assert copied == once
    # Copies of one point only, with zeros of either sign.
    zeros = np.zeros((30, 2))
    zeros[::2] = -0.0
    assert metrics.coverage_radius(zeros, [3], metric="geodesic", n_neighbors=4) == 0
    # Distinct, though the square of their distance rounds to zero.
    tiny = np.array([[0.0], [1e-200], [2e-200], [1.0]])
    radius = metrics.coverage_radius(tiny, [0], metric="geodesic", n_neighbors=2)
    assert radius == pytest.approx(1.0)


def test_coverage_of_pieces_without_a_landmark(rng):
    X = np.vstack([rng.normal(size=(40, 2)), rng.normal(size=(30, 2)) + 100])
    message = (
        "30 of the 70 points cannot be reached.*n_neighbors=10 .* 2 components; raise n_neighbors"
    )
    with pytest.raises(ValueError, match=message):
        metrics.coverage_radius(X, [0, 1], metric="geodesic")
    # With a landmark in each piece every point is reached.
    radius = metrics.coverage_radius(X, [0, 40], metric="geodesic")
    assert radius == pytest.approx(geodesic_by_relaxation(X, [0, 40], 10).max())
    # And with enough neighbours the pieces are one.
    assert metrics.coverage_radius(X, [0], metric="geodesic", n_neighbors=60) > 100


# --- shortcut_rate, neighbor_recall ------------------------------------------------------------


def graph_of(edges, k, value=1.0):
    row, col = np.array(edges).T
    return coo_array((np.full(len(row), value), (row, col)), shape=(k, k))


def test_shortcuts_of_a_line_by_hand():
    # Landmarks at 0, 1, 3, 6, 10. Distance to the 1st neighbour: 1, 1, 2, 3, 4; to the 2nd: 3, 2,
    # 3, 4, 7.
    u = np.array([0.0, 1.0, 3.0, 6.0, 10.0])
    edges = [(0, 1), (0, 2), (0, 3), (1, 3), (3, 4), (0, 4), (1, 4)]
    # With 1: limits 2, 4, 6, 6, 8, 8, 8 for lengths 1, 3, 6, 5, 4, 10, 9: the last two.
    assert metrics.shortcut_rate(graph_of(edges, 5), u, 1) == pytest.approx(2 / 7)
    # With 2: limits 6, 6, 8, 8, 14, 14, 14: none.
    assert metrics.shortcut_rate(graph_of(edges, 5), u, 2) == 0
    assert metrics.shortcut_rate(graph_of([(0, 2), (2, 0), (1, 2)], 5), u, 1) == 0
    # Two close pairs: the edge between them is longer than twice the distance within either.
    u = np.array([0.0, 1.0, 5.0, 5.5])
    assert metrics.shortcut_rate(graph_of([(0, 1), (1, 2), (2, 3)], 4), u, 1) == pytest.approx(
        1 / 3
    )


def test_each_edge_counts_once_and_the_diagonal_never():
    u = np.arange(6.0)
    once = graph_of([(0, 1), (1, 2), (0, 5)], 6)
    twice = graph_of([(0, 1), (1, 0), (1, 2), (0, 5), (5, 0), (0, 5), (3, 3), (4, 4)], 6)
    assert metrics.shortcut_rate(once, u, 1) == pytest.approx(1 / 3)
    for graph in (twice, csr_array(twice), twice.toarray(), csr_array(twice).T):
        assert metrics.shortcut_rate(graph, u[:, None], 1) == pytest.approx(1 / 3)
    # Stored zeros are edges: of zero length, or with a weight too small for float64.
    assert metrics.shortcut_rate(graph_of([(0, 1), (0, 5)], 6, value=0.0), u, 1) == 0.5


def test_an_edge_of_twice_the_reach_is_no_shortcut_on_a_grid():
    # In tenths, not all of which are equally far apart in float64.
    u = np.arange(0, 50) / 10
    graph = graph_of([(i, i + 2) for i in range(48)], 50)
    assert metrics.shortcut_rate(graph, u, 1) == 0
    assert metrics.shortcut_rate(graph_of([(i, i + 3) for i in range(47)], 50), u, 1) == 1


def recall_by_sets(linked, u, n_neighbors):
    D = cdist(u, u)
    np.fill_diagonal(D, np.inf)
    shares = []
    for i in range(len(u)):
        true = np.argsort(D[i])[:n_neighbors]
        shares.append(np.mean((linked | linked.T)[i, true]))
    return np.mean(shares)


@pytest.mark.parametrize("n_neighbors", [1, 5, 30])
def test_recall_against_sets_of_neighbours(rng, n_neighbors):
    u = rng.random((60, 2))
    linked = np.triu(rng.random((60, 60)) < 0.3, 1)
    recall = metrics.neighbor_recall(csr_array(linked), u, n_neighbors)
    assert recall == pytest.approx(recall_by_sets(linked, u, n_neighbors), rel=1e-12)


def test_recall_of_the_true_and_of_a_wrong_graph(rng):
    u = rng.random((40, 2))
    D = cdist(u, u)
    true = np.sort(D, axis=1)[:, [5]] >= D
    assert metrics.neighbor_recall(true, u, 5) == 1
    farthest = np.sort(D, axis=1)[:, [-5]] <= D
    assert metrics.neighbor_recall(farthest, u, 5) == 0


def test_tied_neighbours_are_interchangeable_but_nearer_ones_are_not():
    # From the middle of a cross, four landmarks are tied in the second to fifth place.
    u = np.array([[0.0, 0.0], [0.3, 0.0], [0.0, 1.0], [0.0, -1.0], [-1.0, 0.0], [0.6, 0.8]])
    for tied in range(2, 6):
        found = metrics.neighbor_recall(graph_of([(0, 1), (0, tied)], 6), u, 2)
        # 0 finds both; 1 finds 0, tied finds 0 if it is among its nearest two.
        second = np.sort(cdist(u, u)[tied])[2]
        assert found == pytest.approx((2 + 1 + (second >= 1)) / 12)
    # Three tied ones do not make up for the one that is nearer than they are.
    found = metrics.neighbor_recall(graph_of([(0, 2), (0, 3), (0, 4)], 6), u[:, [0, 1]], 2)
    own = 1
    others = sum(np.sort(cdist(u, u)[i])[2] >= 1 for i in (2, 3, 4))
    assert found == pytest.approx((own + others) / 12)


# --- knn_accuracy ------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [2, 40])
@pytest.mark.parametrize("n_neighbors", [1, 4, 7])
def test_accuracy_is_scikit_learns(rng, d, n_neighbors):
    labels = rng.integers(0, 4, 500)
    X = rng.normal(size=(500, d)) + 0.8 * labels[:, None]
    train, test = slice(0, 350), slice(350, None)
    classifier = KNeighborsClassifier(n_neighbors, algorithm="brute").fit(X[train], labels[train])
    expected = classifier.score(X[test], labels[test])
    assert 0.3 < expected < 1
    for names in (labels, labels.astype(str), labels.astype(object)):
        accuracy = metrics.knn_accuracy(
            X[train], names[train], X[test], names[test], n_neighbors=n_neighbors
        )
        assert accuracy == expected


def test_accuracy_of_one_neighbour_by_brute_force_far_from_the_origin(rng):
    X = rng.normal(size=(300, 30)) + 1e6
    labels = np.arange(300)
    copies = X[::-1] + 1e-3 * rng.normal(size=(300, 30))
    assert metrics.knn_accuracy(X, labels, copies, labels[::-1]) == 1
    assert metrics.knn_accuracy(X, labels, copies, labels) == 0


# --- coordinate_recovery, rank_correlation -----------------------------------------------------


def test_recovery_of_monotone_and_bent_maps(rng):
    u = rng.random((4000, 2))
    for embedding in (u, u @ [[0, -3], [2, 0]], np.exp(2 * u) * [1.0, 1e6]):
        assert (metrics.coordinate_recovery(embedding, u) > 0.98).all()
    spiral = np.column_stack([u[:, 0] * np.cos(8 * u[:, 0]), u[:, 0] * np.sin(8 * u[:, 0])])
    recovery = metrics.coordinate_recovery(spiral, u)
    assert recovery.shape == (2,)
    assert recovery[0] > 0.98
    assert recovery[1] < 0.05


def test_recovery_of_shuffled_points_is_none(rng):
    u = rng.random((4000, 2))
    assert (metrics.coordinate_recovery(rng.permutation(u), u) < 0.05).all()


def test_recovery_of_a_folded_coordinate_is_none(rng):
    u = rng.uniform(-1, 1, 3000)
    assert metrics.coordinate_recovery(u**2, u)[0] < 0.05
    assert metrics.coordinate_recovery(u**3, u)[0] > 0.98


def test_recovery_against_the_obvious_version(rng):
    u, embedding = rng.random((101, 1)), rng.normal(size=(101, 2)) * [1, 50]
    embedding[:, 0] += 3 * u[:, 0]
    order = np.random.default_rng(7).permutation(101)
    halves = order[:50], order[50:]
    scaled = embedding / embedding.std(axis=0)
    residuals = []
    for known, asked in (halves, halves[::-1]):
        for i in asked:
            nearest = known[np.argsort(cdist(scaled[[i]], scaled[known])[0])[:3]]
            residuals.append(u[nearest, 0].mean() - u[i, 0])
    expected = 1 - np.sum(np.square(residuals)) / np.sum((u - u.mean()) ** 2)
    found = metrics.coordinate_recovery(embedding, u, n_neighbors=3, random_state=7)
    assert found[0] == pytest.approx(expected, rel=1e-10)


def test_recovery_ignores_constant_axes_and_takes_a_sample(rng):
    u = rng.random((3000, 1))
    padded = np.column_stack([u, np.full(3000, 0.1)])
    np.testing.assert_allclose(
        metrics.coordinate_recovery(padded, u), metrics.coordinate_recovery(u, u)
    )
    fewer = metrics.coordinate_recovery(u, u, max_points=100)
    assert fewer[0] < metrics.coordinate_recovery(u, u)[0]
    np.testing.assert_array_equal(fewer, metrics.coordinate_recovery(u, u, max_points=100))


def test_rank_correlation_is_spearmans(rng):
    a, b = rng.normal(size=200).round(1), rng.normal(size=200)
    b -= a
    expected = abs(spearmanr(a, b).statistic)
    assert 0.3 < expected < 1
    assert metrics.rank_correlation(a, b) == pytest.approx(expected)
    assert metrics.rank_correlation(a[:, None], np.exp(-a)) == 1


# --- what is refused ---------------------------------------------------------------------------

GRID = np.arange(12.0).reshape(6, 2)
LINE = graph_of([(i, i + 1) for i in range(5)], 6)
HOLE = np.where(GRID == 4, np.nan, GRID)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: metrics.nystrom_error(HOLE, [0], 1.0), ValueError, "X has NaN.* row 2"),
        (lambda: metrics.nystrom_error(GRID[0], [0], 1.0), ValueError, r"X has shape \(2,\)"),
        (lambda: metrics.nystrom_error(GRID[:0], [0], 1.0), ValueError, "X is empty"),
        (lambda: metrics.nystrom_error([["a"]], [0], 1.0), TypeError, "X must hold real numbers"),
        (lambda: metrics.nystrom_error(csr_array(GRID), [0], 1.0), TypeError, "X is sparse"),
        (lambda: metrics.nystrom_error(1e200 * GRID, [0], 1.0), ValueError, "rescale X"),
        (lambda: metrics.optimal_error(1e200 * GRID, 1.0, 1), ValueError, "rescale X"),
        (lambda: metrics.coverage_radius(1e200 * GRID, [0]), ValueError, "rescale X"),
        (lambda: metrics.nystrom_error(GRID, [], 1.0), ValueError, "landmarks is empty"),
        (lambda: metrics.nystrom_error(GRID, [0, 6], 1.0), ValueError, "from 0 to 5"),
        (lambda: metrics.nystrom_error(GRID, [-1], 1.0), ValueError, "from -1 to -1"),
        (lambda: metrics.nystrom_error(GRID, [0.0], 1.0), TypeError, "landmarks must be a 1-D"),
        (lambda: metrics.nystrom_error(GRID, GRID[:, 0] > 3, 1.0), TypeError, "got bool"),
        (lambda: metrics.nystrom_error(GRID, 3, 1.0), TypeError, "landmarks must be"),
        (lambda: metrics.nystrom_error(GRID, [[1.0]], 1.0), ValueError, "landmarks has 1 columns"),
        (lambda: metrics.nystrom_error(GRID, HOLE, 1.0), ValueError, "landmarks has NaN"),
        (lambda: metrics.nystrom_error(GRID, [0], 0.0), ValueError, "bandwidth=0.0"),
        (lambda: metrics.nystrom_error(GRID, [0], None), TypeError, "bandwidth"),
        (
            lambda: metrics.nystrom_error(GRID, [0], 1.0, block_bytes=0),
            ValueError,
            "block_bytes=0 is too small",
        ),
        (lambda: metrics.optimal_error(GRID, 1.0, 7), ValueError, "n_landmarks=7 is too large"),
        (lambda: metrics.optimal_error(GRID, 1.0, [2, -1]), ValueError, "n_landmarks=-1"),
        (lambda: metrics.optimal_error(GRID, 1.0, 2.5), TypeError, "n_landmarks"),
        (lambda: metrics.optimal_error(HOLE, 1.0, 2), ValueError, "X has NaN"),
        (
            lambda: metrics.coverage_radius(GRID, [0], metric="cosine"),
            ValueError,
            "metric='cosine' is not known",
        ),
        (lambda: metrics.coverage_radius(GRID, [0], quantile=1.5), ValueError, "quantile=1.5"),
        (
            lambda: metrics.coverage_radius(GRID, GRID[:2], metric="geodesic"),
            ValueError,
            "rows of X.*pass their row numbers",
        ),
        (
            lambda: metrics.coverage_radius(GRID, [0], metric="geodesic", n_neighbors=6),
            ValueError,
            "n_neighbors=6 is too large.*<= 5",
        ),
        (lambda: metrics.shortcut_rate(LINE, GRID[:4], 1), ValueError, r"shape \(6, 6\).*4 rows"),
        (lambda: metrics.shortcut_rate(LINE, HOLE, 1), ValueError, "intrinsic has NaN"),
        (lambda: metrics.shortcut_rate(LINE, GRID, 6), ValueError, "n_neighbors=6 is too large"),
        (lambda: metrics.shortcut_rate(np.eye(6), GRID, 1), ValueError, "graph has no edges"),
        (lambda: metrics.shortcut_rate("line", GRID, 1), TypeError, "graph must be a sparse"),
        (lambda: metrics.neighbor_recall(LINE, GRID[:4], 1), ValueError, "4 rows"),
        (lambda: metrics.neighbor_recall(LINE, GRID, 0), ValueError, "n_neighbors=0"),
        (
            lambda: metrics.knn_accuracy(GRID, [1] * 5, GRID, [1] * 6),
            ValueError,
            r"train_labels has shape \(5,\) and train has 6 rows",
        ),
        (
            lambda: metrics.knn_accuracy(GRID, [1] * 6, GRID[:, :1], [1] * 6),
            ValueError,
            "train has 2 columns and test has 1",
        ),
        (
            lambda: metrics.knn_accuracy(GRID, [1] * 6, GRID, ["1"] * 6),
            TypeError,
            "never match",
        ),
        (
            lambda: metrics.knn_accuracy(GRID, [1] * 6, GRID, [1] * 6, n_neighbors=7),
            ValueError,
            "n_neighbors=7 is too large",
        ),
        (lambda: metrics.knn_accuracy(HOLE, [1] * 6, GRID, [1] * 6), ValueError, "train has NaN"),
        (
            lambda: metrics.coordinate_recovery(GRID, GRID[:5], n_neighbors=2),
            ValueError,
            "embedding has 6 rows and intrinsic has 5",
        ),
        (lambda: metrics.coordinate_recovery(GRID, GRID), ValueError, "n_neighbors=10.*<= 3"),
        (
            lambda: metrics.coordinate_recovery(GRID, np.ones((6, 1)), n_neighbors=2),
            ValueError,
            "intrinsic is constant in column 0",
        ),
        (lambda: metrics.coordinate_recovery(HOLE, GRID), ValueError, "embedding has NaN"),
        (lambda: metrics.rank_correlation(GRID, GRID[:, 0]), ValueError, "one column at a time"),
        (lambda: metrics.rank_correlation(np.ones(6), GRID[:, 0]), ValueError, "constant"),
        (lambda: metrics.rank_correlation(GRID[:5, 0], GRID[:, 0]), ValueError, "5 rows"),
    ],
)
def test_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_every_public_name_is_a_function():
    assert all(callable(getattr(metrics, name)) for name in metrics.__all__)
