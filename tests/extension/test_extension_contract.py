"""The contract of prepared extensions: pure, small functions of a block that can be pickled.

To test a new extension, or a new support of one, add a line to `ESTIMATORS`.
"""

import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError
from functools import cache

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

import trigpoint as tp
from trigpoint._extension.extensions import GeodesicExtension, extend
from trigpoint._extension.placing import MapExtension
from trigpoint._numerics.blocks import one_blas_thread
from trigpoint._numerics.connectivity import DisconnectedGraphWarning

pytestmark = pytest.mark.filterwarnings("ignore::trigpoint._spectrum.RedundantEigenvectorsWarning")

K = 150
FAR = np.arange(10, 500, 97)
ALONG = {"graph": tp.KNNGraph(12, metric="euclidean"), "eigenvectors": "leading"}
PLAIN = tp.KNNGraph(12, metric="euclidean", link="any", bandwidth=8.0)
ESTIMATORS = {
    "eigenmaps, all": tp.LaplacianEigenmaps(3, extension="all", **ALONG),
    "eigenmaps, published": tp.LaplacianEigenmaps(
        3, extension="published", graph=PLAIN, eigenvectors="leading"
    ),
    "eigenmaps, graph": tp.LaplacianEigenmaps(3, extension="graph", **ALONG),
    "diffusion, all": tp.DiffusionMaps(3, extension="all", graph=ALONG["graph"]),
    "diffusion, graph": tp.DiffusionMaps(3, extension="graph", graph=ALONG["graph"]),
    "kernel": tp.KernelPCA(3, bandwidth=4.0),
    "geodesic, graph": tp.Isomap(3, extension="graph", graph=ALONG["graph"]),
    "smooth": tp.LaplacianEigenmaps(3, extension="smooth", **ALONG),
    "map": tp.LandmarkMap(3, n_iter=5),
}
# Extensions that map landmarks to their own coordinates.
EXACT = {"eigenmaps, graph", "diffusion, graph", "geodesic, graph", "kernel", "smooth", "map"}


def fit(name, landmarks, X):
    """Fit an estimator with these points as landmarks."""
    return clone(ESTIMATORS[name]).set_params(landmarks=landmarks, random_state=0).fit(X)


# Nearest landmarks are found in cells up to 3 columns, by a tree up to 15, and by products above.
@pytest.fixture(scope="module", params=[3, 15, 16, 100], ids=lambda d: f"{d}-D", name="X")
def points(request):
    rng = np.random.default_rng(request.param)
    surface = rng.uniform(size=(700, 2)) * 10
    basis = np.linalg.qr(rng.normal(size=(request.param, 2)))[0]
    X = surface @ basis.T + 0.05 * rng.normal(size=(700, request.param))
    # Some points are far from all landmarks, and the last ones are the landmarks.
    X[FAR] += 1e3
    return X


@pytest.fixture(scope="module", params=ESTIMATORS)
def case(request, X):
    return request.param, fit(request.param, X[-K:], X)


@pytest.fixture
def extension(case):
    return case[1].model_.extension


@pytest.fixture(params=[np.float32, np.float64], ids=["float32", "float64"])
def dtype(request):
    return request.param


def test_pure(extension, X, dtype):
    """Threads and copies give the same bits, and no array is written to."""
    X = X.astype(dtype)
    X.flags.writeable = False
    stored = pickle.dumps(extension)
    with one_blas_thread():
        first, far = extension(X)
        extension(X[:3].astype(np.float64))
        extension(X[::-1].astype(np.float32))
        with ThreadPoolExecutor(4) as pool:
            results = list(pool.map(extension, [X, X, X]))
        for again, again_far in [extension(X), pickle.loads(stored)(X), *results]:
            np.testing.assert_array_equal(again, first)
            np.testing.assert_array_equal(again_far, far)
    assert pickle.dumps(extension) == stored
    with pytest.raises(FrozenInstanceError):
        extension.support = None


@pytest.mark.parametrize("n_threads", [1, 2])
def test_blocks_in_threads_give_identical_coordinates(extension, X, dtype, n_threads):
    X = X.astype(dtype)
    whole, far = extension(X)
    found, found_far = extend(extension, X, n_threads, rows=64)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found_far, far)
    np.testing.assert_array_equal(found, whole.astype(dtype))


def test_small(extension, X):
    """A few copies of the landmarks, graph and values, and one of the geodesics."""
    size = 8 * (K * X.shape[1] + 13 * K + K * 4)
    geodesics = 8 * K**2 if isinstance(extension, GeodesicExtension) else 0
    # This includes the lists of nearest landmarks, from which searches start.
    assert len(pickle.dumps(extension)) < 6 * size + geodesics + 4096


def test_landmarks_keep_their_coordinates(case, X):
    name, emb = case
    found, far = emb.model_.extension(X[-K:])
    coordinates = emb.landmark_embedding_
    assert not far.any()
    away = np.abs(found - coordinates).max() / np.abs(coordinates).max()
    assert (away < 1e-6) == (name in EXACT)


def test_knows_far_points(extension, X, dtype):
    found, far = extension(X.astype(dtype))
    np.testing.assert_array_equal(np.flatnonzero(far), FAR)
    assert np.isfinite(found).all()


@pytest.mark.parametrize("name", ["eigenmaps, graph", "geodesic, graph", "smooth"])
def test_continuous_across_the_cells_of_the_landmarks(name, rng):
    """Neighboring points on a line across the square, which crosses many cells, stay close."""
    landmarks = rng.uniform(size=(200, 2))
    extension = fit(name, landmarks, rng.uniform(size=(1000, 2))).model_.extension
    for start, end in rng.uniform(size=(5, 2, 2)):
        line = start + np.linspace(0, 1, 20_001)[:, None] * (end - start)
        steps = np.linalg.norm(np.diff(extension(line)[0], axis=0), axis=1)
        assert steps.max() < (10 if name == "smooth" else 20) * steps.mean()


@pytest.mark.parametrize("name", ["eigenmaps, graph", "geodesic, graph"])
def test_bridges_keep_their_weight(name, rng):
    landmarks = np.concatenate([rng.uniform(size=(30, 2)), rng.uniform(size=(30, 2)) + 50])
    with pytest.warns(DisconnectedGraphWarning):
        emb = fit(name, landmarks, landmarks)
    np.testing.assert_allclose(
        emb.transform(landmarks), emb.landmark_embedding_, atol=1e-9 * np.abs(landmarks).max()
    )


def made(values, d):
    """Return points in d columns, many of which are equally far from several landmarks."""
    rng = np.random.default_rng(d)
    if values == "normal":
        X = rng.normal(size=(600, d))
        X[::97] += 1e3
        return X
    if values == "0 and 1":
        return rng.integers(2, size=(600, d)).astype(float)
    if values == "counts":
        return rng.poisson(0.7, size=(600, d)).astype(float)
    # One-hot columns of several categories with four values each.
    chosen = 4 * np.arange(d // 4) + rng.integers(4, size=(600, d // 4))
    return (chosen[:, :, None] == np.arange(d)).any(axis=1).astype(float)


@cache
def extension_of(name, values, n_columns):
    """Return points, and an extension of some distinct ones."""
    X = made(values, n_columns)
    distinct = np.unique(X, axis=0)
    landmarks = distinct[np.random.default_rng(0).permutation(len(distinct))[:K]]
    return X, fit(name, landmarks, X).model_.extension


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("n_columns", [16, 37, 130])
@pytest.mark.parametrize("values", ["normal", "0 and 1", "counts", "one of four"])
@pytest.mark.parametrize("kind", [np.float32, np.float64, "sparse"])
@pytest.mark.filterwarnings("ignore:the landmark graph has")
def test_a_row_has_the_same_bits_in_every_block(name, n_columns, values, kind):
    """Neither the order of the rows nor that of memory matters."""
    X, extension = extension_of(name, values, n_columns)
    X = csr_array(X) if kind == "sparse" else X.astype(kind)
    whole, far = extension(X)
    rows = np.random.default_rng(1).permutation(600)
    parts = [part for size in (7, 64, 193) for part in np.split(rows, range(size, 600, size))]
    # Single rows, and all rows that are near.
    parts += [*rows[:20, None], np.flatnonzero(~far)]
    for part in parts:
        found, found_far = extension(X[part])
        np.testing.assert_array_equal(found, whole[part])
        np.testing.assert_array_equal(found_far, far[part])
    if kind != "sparse":
        np.testing.assert_array_equal(extension(np.asfortranarray(X))[0], whole)


def test_evaluated_by_torch(extension, X, dtype):
    """PyTorch evaluates the formulas of the host; blocks may be small, and a grid may be used."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    from trigpoint._extension.torch import on_device

    X = X.astype(dtype)
    expected, far = extension(X)
    near = np.delete(np.arange(len(X)), FAR)
    # Sums are in a different order: the largest difference in 20 random clouds with up to 64
    # columns was 7e-15. Up to 15 columns, sums for maps are in the same order, and only square
    # roots may differ.
    ordered = isinstance(extension, MapExtension) and X.shape[1] <= 15
    rounded = isinstance(extension, GeodesicExtension) and dtype == np.float32
    bound = 1e-6 if rounded else 1e-15 if ordered else 2e-14
    # The distance of a far row hides most digits of the differences between its landmarks.
    bound_of_far = 1e-9
    if isinstance(extension, GeodesicExtension) and X.shape[1] == 100:
        # With products alone, the distance of a landmark from itself is the root of a rounding
        # error.
        near, bound_of_far = near[near < len(X) - K], 1e-8
    whole, small = (on_device(extension, torch.device("cpu")) for _ in range(2))
    small._n_bytes, small._search._n_bytes = 2**17, 2**17
    small._search.expect(10**6)
    X = torch.tensor(X)
    parts = [small(X[rows]) for rows in (slice(7), slice(7, 300), slice(300, 700))]
    for found, there in (whole(X), map(torch.cat, zip(*parts, strict=True))):
        np.testing.assert_array_equal(there, far)
        assert (found.dtype, there.dtype) == (torch.float64, torch.bool)
        differences = np.abs(found.numpy() - expected) / np.abs(expected[near]).max()
        assert differences[near].max() < bound
        assert differences[FAR].max() < bound_of_far
    assert whole(X[:0])[0].shape == (0, extension.n_components)
