"""Changes of the input that must not change a result, for random point clouds.

By default, a few fixed examples are tested; ``PROFILE=many EXAMPLES=10000`` tests many.
"""

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import trigpoint as tp
from trigpoint._common.errors import ParameterError

SHARED = {
    "deadline": None,
    "database": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.filter_too_much],
}
settings.register_profile("few", max_examples=6, derandomize=True, **SHARED)
settings.register_profile("many", max_examples=int(os.environ.get("EXAMPLES", "10000")), **SHARED)
settings.load_profile(os.environ.get("PROFILE", "few"))

# Graphs of small clouds in many dimensions are often disconnected, and some clouds are lines.
pytestmark = pytest.mark.filterwarnings("ignore")

# Coordinates are small multiples of this number, so that sums of squared differences are exact in
# any order and results can be compared exactly.
STEP = 2.0**-6


@st.composite
def clouds(draw):
    """Draw distinct float64 points of some shape."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(40, 150)), draw(st.sampled_from((1, 2, 3, 8, 17, 24)))
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
    # Keep the order, and drop duplicates.
    return X[np.sort(np.unique(X, axis=0, return_index=True)[1])]


def few_landmarks(X):
    """Draw a number of landmarks that suits a cloud."""
    return max(4, len(X) // 6)


# Every estimator and every kind of extension.
ESTIMATORS = [
    *(tp.LaplacianEigenmaps(extension=extension) for extension in ("auto", "all", "smooth")),
    *(tp.DiffusionMaps(), tp.Isomap(), tp.KernelPCA(), tp.LandmarkMap(n_iter=10)),
]


def fitted(estimator, X):
    """Fit an estimator; skip the example if its points cannot be fitted."""
    try:
        return clone(estimator).set_params(landmarks=few_landmarks(X), random_state=0).fit(X)
    except ParameterError:
        assume(False)


def drawn(X, **options):
    return tp.EfficientDPP(few_landmarks(X), random_state=0, **options).fit(X).indices_


@given(
    clouds(),
    st.sampled_from(ESTIMATORS),
    st.sampled_from(["Fortran", "backward", "every second", "swapped"]),
)
def test_memory_order(X, estimator, order):
    """The same values in another memory order give bitwise the same landmarks and coordinates."""
    other = {
        "Fortran": np.asfortranarray,
        "backward": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
        "every second": lambda X: np.repeat(X, 2, axis=0)[::2],
        "swapped": lambda X: X.astype(">f8"),
    }[order](X)
    here, there = fitted(estimator, X), fitted(estimator, other)
    np.testing.assert_array_equal(here.landmark_indices_, there.landmark_indices_)
    np.testing.assert_array_equal(here.transform(X), there.transform(other))


@given(clouds(), st.integers(-40, 40), st.sampled_from(["welsch", "sin2"]))
def test_translated_landmarks(X, shift, repulsion):
    """A shift that causes no rounding does not change the landmarks."""
    shifted = X + shift * (1 + np.arange(X.shape[1]) % 3)
    np.testing.assert_array_equal(
        drawn(shifted, repulsion=repulsion), drawn(X, repulsion=repulsion)
    )


@given(clouds(), st.integers(0, 2**32 - 1))
def test_rotated_landmarks(X, seed):
    """Permuting and flipping axes, which causes no rounding, does not change the landmarks."""
    rng = np.random.default_rng(seed)
    turned = X[:, rng.permutation(X.shape[1])] * rng.choice([-1.0, 1.0], size=X.shape[1])
    np.testing.assert_array_equal(drawn(turned), drawn(X))


@given(clouds(), st.sampled_from([2.0**-9, 2.0**-1, 2.0**3, 2.0**20]))
def test_scaled_landmarks(X, factor):
    """A change of units that causes no rounding does not change the landmarks."""
    np.testing.assert_array_equal(drawn(X * factor), drawn(X))


@given(clouds(), st.sampled_from(["welsch", "sin2"]))
def test_precision_of_landmarks(X, repulsion):
    """Points that float32 represents exactly have the same landmarks in float64."""
    single = X.astype(np.float32)
    np.testing.assert_array_equal(drawn(single, repulsion=repulsion), drawn(X, repulsion=repulsion))
