"""Errors for invalid arguments of the metrics."""

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array

from trigpoint.metrics import (
    coordinate_recovery,
    coverage_radius,
    knn_accuracy,
    map_scores,
    neighbor_recall,
    neighborhood_agreement,
    nystrom_error,
    nystrom_factor,
    optimal_error,
    procrustes_r2,
    shortcut_rate,
)

GRID = np.arange(12.0).reshape(6, 2)
FEW, ONES = GRID[:5], [1] * 6
LINE = coo_array(np.eye(6, k=1))
MASKED = np.ma.masked_equal(GRID, 4)
HOLE = np.where(GRID == 4, np.nan, GRID)

VALUES = [
    (lambda: nystrom_error(HOLE, [0], 1.0), "X has NaN.* row 2"),
    (lambda: nystrom_error(GRID[0], [0], 1.0), r"X has shape \(2,\)"),
    (lambda: nystrom_error(GRID[:0], [0], 1.0), "X is empty"),
    (lambda: nystrom_error([[1], [1, 2]], [0], 1.0), "rows of 1 and of 2"),
    (lambda: nystrom_error(MASKED, [0], 1.0), "X has masked values"),
    (lambda: nystrom_error(GRID, MASKED, 1.0), "landmarks has masked"),
    (lambda: nystrom_error(1e200 * GRID, [0], 1.0), "rescale X"),
    (lambda: nystrom_error(GRID, [], 1.0), "landmarks is empty"),
    (lambda: nystrom_error(GRID, [0, 6], 1.0), "from 0 to 5"),
    (lambda: nystrom_error(GRID, [-1], 1.0), "from -1 to -1"),
    (lambda: nystrom_error(GRID, [[1.0]], 1.0), "landmarks has 1 column and X has 2"),
    (lambda: nystrom_error(GRID, HOLE, 1.0), "landmarks has NaN"),
    (lambda: nystrom_error(GRID, [0], 0.0), "bandwidth=0.0"),
    (lambda: nystrom_factor(HOLE, [0], 1.0), "X has NaN.* row 2"),
    (lambda: nystrom_factor(GRID, [0, 6], 1.0), "from 0 to 5"),
    (lambda: nystrom_factor(GRID, [0], -1.0), "bandwidth=-1.0"),
    (lambda: optimal_error(1e200 * GRID, 1.0, 1), "rescale X"),
    (lambda: optimal_error(GRID, 1.0, 7), "n_landmarks=7 is too large"),
    (lambda: optimal_error(GRID, 1.0, [2, -1]), "n_landmarks=-1"),
    (lambda: optimal_error(HOLE, 1.0, 2), "X has NaN"),
    (lambda: coverage_radius(1e200 * GRID, [0]), "rescale X"),
    (lambda: coverage_radius(GRID, [0], metric="angle"), "metric='angle' is not known"),
    (lambda: coverage_radius(GRID, [0], quantile=1.5), "quantile=1.5"),
    (lambda: shortcut_rate(LINE, GRID[:4], 1), r"shape \(6, 6\).*4 rows"),
    (lambda: shortcut_rate(LINE, HOLE, 1), "intrinsic has NaN"),
    (lambda: shortcut_rate(LINE, GRID, 6), "n_neighbors=6 is too large"),
    (lambda: shortcut_rate(np.eye(6), GRID, 1), "graph has no edges"),
    (lambda: neighbor_recall(LINE, GRID[:4], 1), "4 rows"),
    (lambda: neighbor_recall(LINE, GRID, 0), "n_neighbors=0"),
    (lambda: knn_accuracy(GRID, [1] * 5, GRID, ONES), r"train_labels has shape \(5,\) .*6 rows"),
    (lambda: knn_accuracy(GRID, ONES, GRID[:, :1], ONES), "train has 2 columns and test has 1"),
    (lambda: knn_accuracy(GRID, ONES, GRID, ONES, n_neighbors=7), "n_neighbors=7 is too large"),
    (lambda: knn_accuracy(HOLE, ONES, GRID, ONES), "train has NaN"),
    (lambda: coordinate_recovery(GRID, FEW, n_neighbors=2), "has 6 rows and intrinsic has 5"),
    (lambda: coordinate_recovery(GRID, GRID), "n_neighbors=10.*<= 3"),
    (lambda: coordinate_recovery(GRID, 0 * GRID, n_neighbors=2), "constant in column 0"),
    (lambda: coordinate_recovery(HOLE, GRID), "embedding has NaN"),
    (lambda: map_scores(GRID, FEW), "6 rows and embedding has 5"),
    (lambda: map_scores(GRID, GRID), "n_neighbors=10 is too large"),
    (lambda: map_scores(GRID[:3], GRID[:3]), "pass at least 4"),
    (lambda: map_scores(GRID, GRID, n_neighbors=2, n_queries=0), "n_queries=0 is too small"),
    (lambda: map_scores(GRID, GRID, n_neighbors=2, metric="angle"), "'angle'"),
    (lambda: procrustes_r2(GRID, FEW), "6 rows and other has 5"),
    (lambda: procrustes_r2(GRID, 0 * GRID), "other has all points in one place"),
    (lambda: neighborhood_agreement(GRID[:3], GRID[:3]), "X has 3 points"),
    (lambda: neighborhood_agreement(GRID, FEW), "6.*5|5.*6"),
    (lambda: neighborhood_agreement(GRID, GRID, n_neighbors=6), "n_neighbors"),
    (lambda: neighborhood_agreement(GRID, GRID, metric="hamming"), "metric"),
]
TYPES = [
    (lambda: nystrom_error([["a"]], [0], 1.0), "X must hold real numbers"),
    (lambda: nystrom_error(csr_array(GRID), [0], 1.0), "X is sparse"),
    (lambda: nystrom_error(GRID, [0.0], 1.0), "landmarks must be a 1-D"),
    (lambda: nystrom_error(GRID, GRID[:, 0] > 3, 1.0), "got bool"),
    (lambda: nystrom_error(GRID, 3, 1.0), "landmarks must be"),
    (lambda: nystrom_error(GRID, [0], None), "bandwidth"),
    (lambda: nystrom_error(GRID, [0], 1.0, relative="no"), "True or False"),
    (lambda: optimal_error(GRID, 1.0, 1, relative=2), "True or False"),
    (lambda: optimal_error(GRID, 1.0, 2.5), "n_landmarks"),
    (lambda: shortcut_rate("line", GRID, 1), "graph must be a sparse"),
    (lambda: knn_accuracy(GRID, ONES, GRID, ["1"] * 6), "never match"),
]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        *((call, ValueError, message) for call, message in VALUES),
        *((call, TypeError, message) for call, message in TYPES),
    ],
)
def test_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_whole_numbers_count_as_they_are():
    X = np.random.default_rng(0).integers(10, size=(60, 3))
    rows = np.arange(8)
    assert nystrom_error(X, rows, 2.0) == nystrom_error(X * 1.0, rows, 2.0)
