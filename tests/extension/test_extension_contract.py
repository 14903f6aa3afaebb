"""What every prepared extension promises: a pure, small function of a block that can be pickled.

A new extension, or a new support of one, is a line in `EXTENSIONS`.
"""

import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError, replace
from functools import partial

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from trigpoint._common.records import Landmarks
from trigpoint._extension.extensions import GeodesicExtension, extend, ordinary_edges
from trigpoint._extension.placing import MapExtension
from trigpoint._extension.smooth import SmoothExtension
from trigpoint._extension.weighted import (
    GraphNeighbors,
    KernelExtension,
    MarkovExtension,
    NearestLandmarks,
    support_of,
)
from trigpoint._graphs import KNNGraph
from trigpoint._numerics.blocks import one_blas_thread
from trigpoint._numerics.gaussian import gaussian_kernel
from trigpoint._spectrum import (
    classical_scaling,
    density_scale,
    diffusion_maps,
    kernel_pca,
    laplacian_eigenmaps,
)

K, L = 150, 3
FAR = np.arange(10, 500, 97)
KERNEL_BANDWIDTH = 4.0


def every(landmarks, graph):
    return support_of("all", landmarks, graph.bandwidths, None)


def nearest(landmarks, graph, count=6):
    return NearestLandmarks.prepare(landmarks, graph.bandwidths, count)


def along_graph(landmarks, graph):
    return GraphNeighbors.prepare(landmarks, graph)


def along_edges(landmarks, graph):
    return GraphNeighbors.prepare(landmarks, ordinary_edges(graph))


def wide(landmarks, graph):
    return support_of("all", landmarks, np.full(len(landmarks), KERNEL_BANDWIDTH), None)


def nearest_wide(landmarks, graph):
    return NearestLandmarks.prepare(landmarks, np.full(len(landmarks), KERNEL_BANDWIDTH), 40)


def eigenmaps(support, landmarks, graph):
    spectrum = laplacian_eigenmaps(graph.weights, L)
    mu = 1 - spectrum.eigenvalues
    prepared = MarkovExtension.prepare(support(landmarks, graph), spectrum.coordinates, mu)
    return prepared, spectrum


def diffusion(support, landmarks, graph):
    spectrum = diffusion_maps(graph.weights, L, alpha=1.0)
    prepared = MarkovExtension.prepare(
        support(landmarks, graph),
        spectrum.coordinates,
        spectrum.eigenvalues,
        density_scale(graph.weights, 1.0),
    )
    return prepared, spectrum


def projection(support, landmarks, graph):
    kernel = gaussian_kernel(landmarks, KERNEL_BANDWIDTH)
    spectrum = kernel_pca(kernel, L)
    prepared = KernelExtension.prepare(support(landmarks, graph), kernel.mean(axis=0), spectrum)
    return prepared, spectrum


def paths(support, landmarks, graph):
    lengths = dijkstra(graph.lengths, directed=False)
    spectrum = classical_scaling(lengths, L)
    prepared = GeodesicExtension.prepare(
        support(landmarks, graph), lengths, spectrum, graph.bandwidths
    )
    return prepared, spectrum


def planes(landmarks, graph):
    spectrum = laplacian_eigenmaps(graph.weights, L)
    prepared = SmoothExtension.prepare(landmarks, graph, spectrum.coordinates)
    # It has coordinates of its own for the landmarks.
    return prepared, replace(spectrum, coordinates=prepared(landmarks)[0])


def places(landmarks, graph):
    spectrum = laplacian_eigenmaps(graph.weights, L)
    return MapExtension.prepare(landmarks, spectrum.coordinates), spectrum


# How it is prepared, and whether landmarks get back their own coordinates.
EXTENSIONS = {
    "eigenmaps, all": (partial(eigenmaps, every), False),
    "eigenmaps, nearest": (partial(eigenmaps, nearest), False),
    "eigenmaps, graph": (partial(eigenmaps, along_graph), True),
    "diffusion, all": (partial(diffusion, every), False),
    "diffusion, graph": (partial(diffusion, along_graph), True),
    "kernel, all": (partial(projection, wide), True),
    "kernel, nearest": (partial(projection, nearest_wide), False),
    "geodesic, nearest": (partial(paths, nearest), True),
    "geodesic, graph": (partial(paths, along_edges), True),
    "smooth": (planes, True),
    "map": (places, True),
}


# Landmarks are found in cells, up to 3 columns, by a tree, up to 15, or by products.
@pytest.fixture(scope="module", params=[3, 15, 16], ids=lambda d: f"{d}-D")
def space(request):
    rng = np.random.default_rng(request.param)
    surface = rng.uniform(size=(700, 2)) * 10
    basis = np.linalg.qr(rng.normal(size=(request.param, 2)))[0]
    X = surface @ basis.T + 0.05 * rng.normal(size=(700, request.param))
    # Some are far from everything, and the last are the landmarks.
    X[FAR] += 1e3
    landmarks = X[-K:] * 1.0
    graph = KNNGraph(12, metric="euclidean").build(Landmarks(landmarks))
    return landmarks, graph, X


@pytest.fixture(scope="module", params=EXTENSIONS.values(), ids=EXTENSIONS.keys())
def case(request, space):
    landmarks, graph, X = space
    prepare, exact = request.param
    extension, spectrum = prepare(landmarks, graph)
    return extension, spectrum, landmarks, X, exact


@pytest.fixture(params=[np.float32, np.float64], ids=["float32", "float64"])
def dtype(request):
    return request.param


def test_pure(case, dtype):
    """Called again, after other blocks and from other threads, it gives the same bits."""
    extension, *_, X, _ = case
    X = X.astype(dtype)
    with one_blas_thread():
        first, far = extension(X)
        extension(X[:3].astype(np.float64))
        extension(X[::-1].astype(np.float32))
        with ThreadPoolExecutor(4) as pool:
            for again, again_far in [extension(X), *pool.map(extension, [X, X, X])]:
                np.testing.assert_array_equal(again, first)
                np.testing.assert_array_equal(again_far, far)


def test_does_not_write_to_the_points_or_to_itself(case, dtype):
    extension, *_, X, _ = case
    X = X.astype(dtype)
    before = pickle.dumps(extension), X.copy()
    X.flags.writeable = False
    extension(X)
    assert pickle.dumps(extension) == before[0]
    with pytest.raises(FrozenInstanceError):
        extension.support = None


@pytest.mark.parametrize("n_threads", [1, 2])
def test_running_it_over_blocks_in_threads(case, dtype, n_threads):
    extension, *_, X, _ = case
    X = X.astype(dtype)
    whole, far = extension(X)
    found, found_far = extend(extension, X, n_threads, rows=64)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found_far, far)
    np.testing.assert_array_equal(found, whole.astype(dtype))


def test_pickled(case, dtype):
    extension, *_, X, _ = case
    X = X.astype(dtype)
    again = pickle.loads(pickle.dumps(extension))
    with one_blas_thread():
        np.testing.assert_array_equal(again(X)[0], extension(X)[0])


@pytest.mark.parametrize("support", [every, nearest, along_graph])
def test_the_order_of_arrays_in_memory_changes_nothing(space, dtype, support):
    """It is another one after loading than after fitting."""
    landmarks, graph, X = space
    spectrum = laplacian_eigenmaps(graph.weights, L)
    X = X.astype(dtype)
    with one_blas_thread():
        one, other = (
            MarkovExtension.prepare(
                support(order(landmarks), graph), order(spectrum.coordinates), np.ones(L)
            )(order(X))[0]
            for order in (np.ascontiguousarray, np.asfortranarray)
        )
    np.testing.assert_array_equal(one, other)


def test_small(case):
    """A few copies of landmarks, graph and values; geodesics once."""
    extension, _, landmarks, *_ = case
    graph = 13 * K
    size = 8 * (landmarks.size + graph + K * (L + 1))
    geodesics = 8 * K**2 if isinstance(extension, GeodesicExtension) else 0
    # Among them lists of the nearest of each landmark, for points to start from.
    assert len(pickle.dumps(extension)) < 6 * size + geodesics + 4096


def test_landmarks_keep_their_coordinates(case):
    extension, spectrum, landmarks, _, exact = case
    found, far = extension(landmarks)
    scale = np.abs(spectrum.coordinates).max()
    assert not far.any()
    assert (np.abs(found - spectrum.coordinates).max() < 1e-6 * scale) == exact


def test_knows_far_points(case):
    extension, *_, X, _ = case
    found, far = extension(X)
    np.testing.assert_array_equal(np.flatnonzero(far), FAR)
    assert np.isfinite(found).all()


def made(values, d):
    """Points in d columns, of which many are equally far from several landmarks."""
    rng = np.random.default_rng(d)
    if values == "normal":
        X = rng.normal(size=(600, d))
        X[::97] += 1e3
        return X
    if values == "0 and 1":
        return rng.integers(2, size=(600, d)).astype(float)
    if values == "counts":
        return rng.poisson(0.7, size=(600, d)).astype(float)
    # One of four for each of several categories.
    chosen = 4 * np.arange(d // 4) + rng.integers(4, size=(600, d // 4))
    return (chosen[:, :, None] == np.arange(d)).any(axis=1).astype(float)


def among(X):
    """A few distinct rows as landmarks, and their graph."""
    distinct = np.unique(X, axis=0)
    landmarks = distinct[np.random.default_rng(0).permutation(len(distinct))[:K]]
    return landmarks, KNNGraph(12, metric="euclidean").build(Landmarks(landmarks))


class TestBlocks:
    """A row has the same bits in every block, and in every order of the rows and of memory."""

    @pytest.mark.parametrize(("prepare", "exact"), EXTENSIONS.values(), ids=EXTENSIONS.keys())
    @pytest.mark.parametrize("n_columns", [16, 37, 130])
    @pytest.mark.parametrize("values", ["normal", "0 and 1", "counts", "one of four"])
    @pytest.mark.parametrize("kind", [np.float32, np.float64, "sparse"])
    @pytest.mark.filterwarnings("ignore:the landmark graph has")
    def test_a_row_has_the_same_bits_in_every_block(self, prepare, exact, n_columns, values, kind):
        X = made(values, n_columns)
        extension, _ = prepare(*among(X))
        X = csr_array(X) if kind == "sparse" else X.astype(kind)
        whole, far = extension(X)
        rows = np.random.default_rng(1).permutation(600)
        blocks = {
            f"of {size} rows": np.split(rows, range(size, 600, size)) for size in (7, 64, 193)
        }
        blocks |= {
            "alone": [[row] for row in rows[:20]],
            "without far rows": [np.flatnonzero(~far)],
        }
        for name, parts in blocks.items():
            for part in parts:
                found, found_far = extension(X[part])
                np.testing.assert_array_equal(found, whole[part], err_msg=name)
                np.testing.assert_array_equal(found_far, far[part], err_msg=name)
        if kind != "sparse":
            np.testing.assert_array_equal(extension(np.asfortranarray(X))[0], whole)


def test_evaluated_by_torch(case, dtype):
    """The formulas of the host, on a device of PyTorch."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    from trigpoint._extension.torch import on_device

    extension, *_, X, _ = case
    X = X.astype(dtype)
    expected, far = extension(X)
    found, there = on_device(extension, torch.device("cpu"))(torch.tensor(X))
    np.testing.assert_array_equal(there, far)
    near = np.delete(np.arange(len(X)), FAR)
    differences = np.abs(found.numpy() - expected) / np.abs(expected[near]).max()
    # Sums in another order: 7e-15 at most with 20 random clouds in up to 64 columns. Up to 15
    # columns those of a map have one order, and only square roots may differ.
    ordered = isinstance(extension, MapExtension) and X.shape[1] <= 15
    rounded = isinstance(extension, GeodesicExtension) and dtype == np.float32
    bound = 1e-6 if rounded else 1e-15 if ordered else 2e-14
    assert differences[near].max() < bound
    # The distance of a far row hides most digits of the differences between its landmarks.
    assert differences[FAR].max() < 1e-9
