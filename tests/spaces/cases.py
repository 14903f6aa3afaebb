"""Estimators and rows that several tests of spaces share."""

import numpy as np
import pytest

import trigpoint as tp

ESTIMATORS = [
    tp.LaplacianEigenmaps(landmarks=40, random_state=0),
    tp.DiffusionMaps(landmarks=40, random_state=0),
    tp.Isomap(landmarks=40, random_state=0),
    tp.KernelPCA(landmarks=40, random_state=0),
    tp.LandmarkMap(n_iter=20),
]
each_estimator = pytest.mark.parametrize(
    "estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__
)


def groups(rng, n=400):
    """Positions along three curves in six columns, and the number of the curve."""
    group, along = rng.integers(3, size=n), rng.uniform(0, 3, n)
    X = np.cos(along[:, None] + np.arange(6)) + 4 * np.eye(3, 6)[group]
    return X + 0.02 * rng.normal(size=(n, 6)), group
