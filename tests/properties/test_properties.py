"""What must not change a result, for any points; each test says what is equal, and how nearly.

``PROFILE=many EXAMPLES=10000`` tries many examples; here a few fixed ones are tried.
"""

import tempfile
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zarr
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


@given(clouds(), estimators, st.sampled_from([np.float32, np.float64]))
def test_save_and_load(X, make, dtype):
    """A loaded model: the same coordinates, to the bit."""
    X = X.astype(dtype)
    model = fitted(make, X)
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder, "model.trig"))
        again = tp.load(Path(folder, "model.trig"))
    np.testing.assert_array_equal(again.transform(X), model.transform(X))


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


@given(clouds(), st.integers(1, 60), st.sampled_from(["h5", "zarr", "parquet"]), st.data())
def test_chunks(X, chunk, kind, data):
    """Files stored in chunks of any size: the same rows in order, to the bit, some or all."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"a.{kind}")
        if kind == "h5":
            with h5py.File(path, "w") as file:
                file.create_dataset("X", data=X, chunks=(min(chunk, len(X)), 1))
        elif kind == "zarr":
            zarr.create_array(store=str(path), data=X, chunks=(min(chunk, len(X)), X.shape[1]))
        else:
            columns = {f"c{j}": X[:, j] for j in range(X.shape[1])}
            pq.write_table(pa.table(columns), path, row_group_size=chunk)
        source = tp.open_source(path)
        firsts, blocks = zip(*source.blocks(), strict=True)
        assert list(firsts) == np.cumsum([0, *map(len, blocks[:-1])]).tolist()
        np.testing.assert_array_equal(np.concatenate(blocks), X)
        rows = np.array(sorted(data.draw(st.sets(st.integers(0, len(X) - 1), min_size=1))))
        np.testing.assert_array_equal(source.take(rows), X[rows])


# Equal up to rounding --------------------------------------------------------------------------


@given(clouds(), estimators, st.integers(0, 2**32 - 1))
def test_row_order(X, make, seed):
    """Rows in another order: each has its coordinates, up to 1e-10 of their spread."""
    model = fitted(make, X)
    order = np.random.default_rng(seed).permutation(len(X))
    assert_near(model.transform(X[order]), model.transform(X)[order], 1e-10)


@given(clouds(), estimators, st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_subset_of_rows(X, make, count, seed):
    """Some of the rows: each has the coordinates it has among all, up to 1e-10 of their spread."""
    model = fitted(make, X)
    rows = np.random.default_rng(seed).choice(len(X), min(count, len(X)), replace=False)
    everywhere = model.transform(X)
    spread = np.abs(everywhere - everywhere.mean(axis=0)).max()
    found = model.transform(X[rows])
    np.testing.assert_allclose(found, everywhere[rows], rtol=0, atol=1e-10 * spread)


@given(clouds(dimensions=(1, 2, 3, 17)), st.integers(0, 2**32 - 1))
def test_subset_of_rows_of_a_map(X, seed):
    """A map says that `transform` does not depend on the batch: to the bit."""
    model = fitted(lambda k: tp.LandmarkMap(landmarks=k, n_iter=10, random_state=0), X)
    rows = np.random.default_rng(seed).permutation(len(X))[: len(X) // 2]
    np.testing.assert_array_equal(model.transform(X[rows]), model.transform(X)[rows])


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
