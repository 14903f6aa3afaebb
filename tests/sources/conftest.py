"""Points to write and read."""

import numpy as np
import pytest


@pytest.fixture
def points(rng) -> np.ndarray:
    """Return points with many zeros, in a number that few block sizes divide."""
    X = rng.normal(size=(103, 5))
    X[rng.random(X.shape) < 0.3] = 0
    return X
