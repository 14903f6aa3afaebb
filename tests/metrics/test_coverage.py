"""How far the farthest point is from a landmark."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from trigpoint import metrics


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
