"""Point clouds and estimators for properties."""

import numpy as np
from hypothesis import strategies as st

import trigpoint as tp

# Coordinates are multiples of this, and small, so that sums of squared differences are exact in
# any order: what a property says of decisions is then equality, not nearness.
STEP = 2.0**-6

DIMENSIONS = (1, 2, 3, 8, 17, 24)


@st.composite
def clouds(draw, dimensions=DIMENSIONS):
    """Distinct points of some shape, float64."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(40, 150)), draw(st.sampled_from(dimensions))
    shape = draw(st.sampled_from(["normal", "uniform", "groups", "curve"]))
    if shape == "normal":
        X = rng.normal(size=(n, d))
    elif shape == "uniform":
        X = rng.random((n, d)) * draw(st.sampled_from([1, 10, 100]))
    elif shape == "groups":
        X = rng.normal(size=(n, d)) / 4 + 3 * rng.integers(0, 3, size=(n, 1))
    else:
        X = np.outer(np.sort(rng.random(n)) * 20, np.ones(d)) + rng.normal(size=(n, d)) / 8
    X = np.round(X / STEP) * STEP
    # In their order, without repetitions.
    return X[np.sort(np.unique(X, axis=0, return_index=True)[1])]


def few_landmarks(X):
    """A number of landmarks for a cloud."""
    return max(4, len(X) // 6)


# Every estimator, and every kind of extension.
ESTIMATORS = {
    "eigenmaps": lambda k: tp.LaplacianEigenmaps(landmarks=k, random_state=0),
    "eigenmaps, all": lambda k: tp.LaplacianEigenmaps(landmarks=k, extension="all", random_state=0),
    "eigenmaps, smooth": lambda k: tp.LaplacianEigenmaps(
        landmarks=k, extension="smooth", random_state=0
    ),
    "diffusion": lambda k: tp.DiffusionMaps(landmarks=k, random_state=0),
    "Isomap": lambda k: tp.Isomap(landmarks=k, random_state=0),
    "kernel PCA": lambda k: tp.KernelPCA(landmarks=k, random_state=0),
    "map": lambda k: tp.LandmarkMap(landmarks=k, n_iter=10, random_state=0),
}
estimators = st.sampled_from(list(ESTIMATORS.values()))
