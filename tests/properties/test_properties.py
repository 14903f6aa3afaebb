"""What must not change a result, for any points; each test says what is equal, and how nearly.

``PROFILE=many EXAMPLES=10000`` tries many examples; here a few fixed ones are tried.
"""

import numpy as np
import pytest
from clouds import clouds, estimators, few_landmarks
from hypothesis import assume, given
from hypothesis import strategies as st

import trigpoint as tp
from trigpoint._common.errors import ParameterError

# Small clouds in many dimensions fall apart, and some are lines.
pytestmark = pytest.mark.filterwarnings("ignore")


def fitted(make, X, landmarks=None):
    """Fit an estimator, or leave the example out if the points do not allow it."""
    try:
        return make(few_landmarks(X) if landmarks is None else landmarks).fit(X)
    except ParameterError:
        assume(False)


def drawn(X, **options):
    return tp.EfficientDPP(few_landmarks(X), random_state=0, **options).fit(X).indices_


def assert_near(found, expected, share):
    """Equal up to a share of the spread of the coordinates."""
    spread = np.abs(expected - expected.mean(axis=0)).max()
    np.testing.assert_allclose(found, expected, rtol=0, atol=share * spread)


# Equal to the bit ------------------------------------------------------------------------------


@given(clouds(), estimators, st.sampled_from([2, 3, 5]))
def test_threads(X, make, n_jobs):
    """Any number of threads: the same landmarks and coordinates, to the bit."""
    one, many = make(few_landmarks(X)), make(few_landmarks(X))
    one = fitted(lambda k: one.set_params(n_jobs=1), X)
    many = fitted(lambda k: many.set_params(n_jobs=n_jobs), X)
    np.testing.assert_array_equal(one.landmark_indices_, many.landmark_indices_)
    np.testing.assert_array_equal(one.transform(X), many.transform(X))


@given(clouds(), estimators, st.sampled_from(["Fortran", "backward", "every second", "swapped"]))
def test_memory_order(X, make, order):
    """The same values anywhere in memory: the same landmarks and coordinates, to the bit."""
    other = {
        "Fortran": np.asfortranarray,
        "backward": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
        "every second": lambda X: np.repeat(X, 2, axis=0)[::2],
        "swapped": lambda X: X.astype(">f8"),
    }[order](X)
    here, there = fitted(make, X), fitted(make, other)
    np.testing.assert_array_equal(here.landmark_indices_, there.landmark_indices_)
    np.testing.assert_array_equal(here.transform(X), there.transform(other))


@given(clouds(), st.integers(-40, 40), st.sampled_from(["welsch", "sin2"]))
def test_translated_landmarks(X, shift, repulsion):
    """Points shifted without rounding: the same landmarks."""
    shifted = X + shift * (1 + np.arange(X.shape[1]) % 3)
    np.testing.assert_array_equal(
        drawn(shifted, repulsion=repulsion), drawn(X, repulsion=repulsion)
    )


@given(clouds(), st.integers(0, 2**32 - 1))
def test_rotated_landmarks(X, seed):
    """Axes exchanged and turned around, which rounds nothing: the same landmarks."""
    rng = np.random.default_rng(seed)
    turned = X[:, rng.permutation(X.shape[1])] * rng.choice([-1.0, 1.0], size=X.shape[1])
    np.testing.assert_array_equal(drawn(turned), drawn(X))


@given(clouds(), st.sampled_from([2.0**-9, 2.0**-1, 2.0**3, 2.0**20]))
def test_scaled_landmarks(X, factor):
    """Another unit, which rounds nothing: the same landmarks."""
    np.testing.assert_array_equal(drawn(X * factor), drawn(X))


@given(clouds(), st.sampled_from(["welsch", "sin2"]))
def test_precision_of_landmarks(X, repulsion):
    """Points that float32 represents: the same landmarks as in float64."""
    single = X.astype(np.float32)
    np.testing.assert_array_equal(drawn(single, repulsion=repulsion), drawn(X, repulsion=repulsion))


# Equal up to rounding --------------------------------------------------------------------------


@given(clouds(), estimators)
def test_precision_of_coordinates(X, make):
    """New points in float32: those of float64, up to 2e-3 of their spread if computed in float32.

    The fit decides which it is. Isomap takes roots of squared distances, and with them half of the
    digits.
    """
    model, single = fitted(make, X), X.astype(np.float32)
    expected = model.transform(X)
    np.testing.assert_array_equal(model.transform(single), expected)
    found, _ = model.model_.extension(model.model_.space(single))
    assert_near(found, expected, 2e-3)


@given(clouds(dimensions=(2, 3, 8, 17)), st.integers(0, 2**32 - 1), st.floats(0.01, 100))
def test_moved_coordinates(X, seed, factor):
    """Points rotated, shifted and scaled: kernel PCA of the same landmarks, up to 1e-6.

    Only where the eigenvalues are apart: others determine no single directions.
    """
    rng = np.random.default_rng(seed)
    rotation, _ = np.linalg.qr(rng.normal(size=(X.shape[1], X.shape[1])))
    moved = factor * (X @ rotation + rng.normal(size=X.shape[1]))
    rows = drawn(X)
    here, there = (
        fitted(lambda k: tp.KernelPCA(landmarks=k), Z, landmarks=rows) for Z in (X, moved)
    )
    first, second = here.eigenvalues_
    assume(first > 1.05 * second and second > 1e-3 * first)
    expected, found = here.transform(X), there.transform(moved)
    # A coordinate may point either way.
    found *= np.sign(np.einsum("ij,ij->j", found, expected))
    assert_near(found[:, 0], expected[:, 0], 1e-6)
