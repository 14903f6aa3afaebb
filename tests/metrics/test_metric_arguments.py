"""What the metrics refuse, and how they say so."""

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array

from trigpoint import metrics

GRID = np.arange(12.0).reshape(6, 2)
LINE = coo_array(np.eye(6, k=1))
MASKED = np.ma.masked_equal(GRID, 4)
HOLE = np.where(GRID == 4, np.nan, GRID)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: metrics.nystrom_error(HOLE, [0], 1.0), ValueError, "X has NaN.* row 2"),
        (lambda: metrics.nystrom_error(GRID[0], [0], 1.0), ValueError, r"X has shape \(2,\)"),
        (lambda: metrics.nystrom_error(GRID[:0], [0], 1.0), ValueError, "X is empty"),
        (lambda: metrics.nystrom_error([["a"]], [0], 1.0), TypeError, "X must hold real numbers"),
        (lambda: metrics.nystrom_error([[1], [1, 2]], [0], 1.0), ValueError, "rows of 1 and of 2"),
        (lambda: metrics.nystrom_error(MASKED, [0], 1.0), ValueError, "X has masked values"),
        (lambda: metrics.nystrom_error(GRID, MASKED, 1.0), ValueError, "landmarks has masked"),
        (lambda: metrics.nystrom_error(csr_array(GRID), [0], 1.0), TypeError, "X is sparse"),
        (lambda: metrics.nystrom_error(1e200 * GRID, [0], 1.0), ValueError, "rescale X"),
        (lambda: metrics.optimal_error(1e200 * GRID, 1.0, 1), ValueError, "rescale X"),
        (lambda: metrics.coverage_radius(1e200 * GRID, [0]), ValueError, "rescale X"),
        (lambda: metrics.nystrom_error(GRID, [], 1.0), ValueError, "landmarks is empty"),
        (lambda: metrics.nystrom_factor(HOLE, [0], 1.0), ValueError, "X has NaN.* row 2"),
        (lambda: metrics.nystrom_factor(GRID, [0, 6], 1.0), ValueError, "from 0 to 5"),
        (lambda: metrics.nystrom_factor(GRID, [0], -1.0), ValueError, "bandwidth=-1.0"),
        (lambda: metrics.nystrom_error(GRID, [0, 6], 1.0), ValueError, "from 0 to 5"),
        (lambda: metrics.nystrom_error(GRID, [-1], 1.0), ValueError, "from -1 to -1"),
        (lambda: metrics.nystrom_error(GRID, [0.0], 1.0), TypeError, "landmarks must be a 1-D"),
        (lambda: metrics.nystrom_error(GRID, GRID[:, 0] > 3, 1.0), TypeError, "got bool"),
        (lambda: metrics.nystrom_error(GRID, 3, 1.0), TypeError, "landmarks must be"),
        (
            lambda: metrics.nystrom_error(GRID, [[1.0]], 1.0),
            ValueError,
            "landmarks has 1 column and X has 2",
        ),
        (lambda: metrics.nystrom_error(GRID, HOLE, 1.0), ValueError, "landmarks has NaN"),
        (lambda: metrics.nystrom_error(GRID, [0], 0.0), ValueError, "bandwidth=0.0"),
        (lambda: metrics.nystrom_error(GRID, [0], None), TypeError, "bandwidth"),
        (lambda: metrics.nystrom_error(GRID, [0], 1.0, relative="no"), TypeError, "True or False"),
        (lambda: metrics.optimal_error(GRID, 1.0, 1, relative=2), TypeError, "True or False"),
        (lambda: metrics.optimal_error(GRID, 1.0, 7), ValueError, "n_landmarks=7 is too large"),
        (lambda: metrics.optimal_error(GRID, 1.0, [2, -1]), ValueError, "n_landmarks=-1"),
        (lambda: metrics.optimal_error(GRID, 1.0, 2.5), TypeError, "n_landmarks"),
        (lambda: metrics.optimal_error(HOLE, 1.0, 2), ValueError, "X has NaN"),
        (
            lambda: metrics.coverage_radius(GRID, [0], metric="angle"),
            ValueError,
            "metric='angle' is not known",
        ),
        (lambda: metrics.coverage_radius(GRID, [0], quantile=1.5), ValueError, "quantile=1.5"),
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
        (lambda: metrics.knn_accuracy(GRID, [1] * 6, GRID, ["1"] * 6), TypeError, "never match"),
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
    ],
)
def test_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_whole_numbers_count_as_they_are():
    X = np.random.default_rng(0).integers(10, size=(60, 3))
    rows = np.arange(8)
    assert metrics.nystrom_error(X, rows, 2.0) == metrics.nystrom_error(X * 1.0, rows, 2.0)
