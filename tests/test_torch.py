"""PyTorch: the same landmarks and coordinates as the host, and what is refused.

The device here is PyTorch's own "cpu"; `tools/gpu_check.py` runs the contracts on a GPU.
"""

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone

import trigpoint as tp
from trigpoint._common.records import Landmarks, LowRankCovariances
from trigpoint._geometry import bhattacharyya_matrix, neighborhood_covariances
from trigpoint._graph import neighbors as graph
from trigpoint._landmarks.efficient import resolve_n_neighbors
from trigpoint._numerics.compiled.distances import squares_to
from trigpoint._numerics.dimension import local_dimension
from trigpoint._points.memory import MemoryStore
from trigpoint._points.torch import device as device_module
from trigpoint._points.torch import eigen, neighbors

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

HERE = torch.device("cpu")


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def cloud(n, d, dtype=np.float64, seed=0):
    """Points around a surface, as real data of many columns are."""
    rng = np.random.default_rng(seed)
    flat = rng.uniform(size=(n, min(d, 3))) * 10
    basis = np.linalg.qr(rng.normal(size=(d, flat.shape[1])))[0]
    return (flat @ basis.T + 0.3 * rng.normal(size=(n, d))).astype(dtype)


def store(points, memory=None):
    from trigpoint._points.torch.store import TorchStore

    made = TorchStore(torch.tensor(points), HERE)
    made._memory = memory or made._memory
    return made


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("d", "n"), [(3, 4000), (15, 3000), (16, 3000), (100, 2000), (784, 1000)])
def test_the_landmarks_of_the_host(d, n, dtype):
    points = cloud(n, d, dtype)
    sampler = tp.EfficientDPP(60, covariance="full" if d <= 32 else "diag", random_state=0)
    here, there = clone(sampler), clone(sampler)
    here.fit(points)
    there.select(store(points))
    np.testing.assert_array_equal(there.indices_, here.indices_)
    np.testing.assert_array_equal(there.radii_, here.radii_)
    assert there.n_proposals_ == here.n_proposals_
    # The host takes variances of float32 points from float32 products.
    exact = MemoryStore.of(points.astype(np.float64), 10, 60)
    m = resolve_n_neighbors(None, n, 60)
    _, expected = neighborhood_covariances(exact, here.landmarks_, m, sampler.covariance)
    largest = np.abs(expected).max()
    np.testing.assert_allclose(there.covariances_, expected, rtol=1e-9, atol=1e-9 * largest)
    again = clone(sampler)
    again.select(store(points))
    np.testing.assert_array_equal(again.covariances_, there.covariances_)


@pytest.mark.parametrize("d", [3, 40])
def test_memory_changes_nothing(d):
    """Blocks of a few points, one query at a time, and a sample that misjudges."""
    points = cloud(1500, d, np.float32)
    queries, m = points[::50], 70
    expected = MemoryStore.of(points, m, len(queries)).search(queries, m)
    for memory in (2**14, 2**17, 2**28):
        found = store(points, memory).search(queries, m)
        np.testing.assert_array_equal(found.squared_radii, expected.squared_radii)
        np.testing.assert_array_equal(found.last_rows, expected.last_rows)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [3, 784])
def test_distances_of_neighbors_are_those_of_the_host(d, dtype):
    points = cloud(500, d, dtype)
    made = store(points, 2**20)
    found = made.search(points[:9], 200)
    for (rows, squares), query in zip(made.members(found), points, strict=False):
        np.testing.assert_array_equal(squares, squares_to(points, rows, query))


def clouds_for_cells():
    rng = np.random.default_rng(0)
    roll = tp.datasets.make_swiss_roll(9000, random_state=0)[0]
    yield "roll", roll.astype(np.float32)
    yield "line", rng.uniform(size=(6000, 1))
    yield "plane", rng.normal(size=(6000, 2))
    yield "twelve columns", cloud(6000, 12)
    yield "grid", rng.integers(0, 12, size=(8000, 3)).astype(np.float32)
    yield "outliers", np.concatenate([rng.normal(size=(6000, 3)), 1e6 * rng.normal(size=(3, 3))])
    yield "flat", np.column_stack([rng.normal(size=(6000, 2)), np.zeros(6000)])
    yield "copies", np.repeat(rng.normal(size=(1500, 3)), 4, axis=0)


@pytest.mark.parametrize(("name", "points"), list(clouds_for_cells()))
def test_cells_hold_the_neighbors_of_the_host(name, points):
    queries, m = points[::40], 25
    expected = MemoryStore.of(points, m, len(queries)).search(queries, m)
    made = store(points)
    found = made.search(queries, m)
    assert made._cells is not None
    np.testing.assert_array_equal(found.squared_radii, expected.squared_radii)
    np.testing.assert_array_equal(found.last_rows, expected.last_rows)
    for q, rows in enumerate(found.members):
        squares = ((points[rows.numpy()].astype(float) - queries[q]) ** 2).sum(axis=1)
        assert len(set(rows.tolist())) == m
        assert squares.max() <= expected.squared_radii[q] * (1 + 1e-9)


def test_cells_leave_most_points_out():
    points = tp.datasets.make_swiss_roll(20_000, random_state=0)[0]
    made = store(points)
    made.search(points[:2], 20)
    queries = torch.tensor(points[::100])
    squares = torch.full((len(queries),), 1.0, dtype=torch.float64)
    owners, places = made._cells.near(queries, squares)
    assert len(owners) < 0.1 * len(queries) * len(points)
    # None is left out that is near.
    true = torch.cdist(queries, made._cells.points).square() <= 1
    listed = torch.zeros_like(true)
    listed[owners, places] = True
    assert (listed | ~true).all()
    np.testing.assert_array_equal(points[made._cells.rows.numpy()], made._cells.points.numpy())


@pytest.mark.parametrize("d", [1, 2, 3])
def test_landmarks_of_cells_are_the_nearest(d):
    from trigpoint._extension.device_search import DeviceBlock, DeviceLandmarks
    from trigpoint._extension.search import landmark_search

    rng = np.random.default_rng(0)
    landmarks = rng.normal(size=(300, d))
    search = landmark_search(landmarks, np.ones(300), 6)
    there = DeviceLandmarks(search, HERE, 2**22)
    # Most points are where landmarks are, some on them, some at a distance from all.
    points = np.concatenate([rng.normal(size=(4000, d)), landmarks, 5 * rng.normal(size=(50, d))])
    distances = np.linalg.norm(points[:, None] - landmarks, axis=2)
    order = distances.argsort(axis=1, kind="stable")
    expected = np.take_along_axis(distances, order, axis=1) ** 2
    for count in (1, 4, 6, 12):
        block = DeviceBlock(there, torch.tensor(points), in_cells=True)
        found, squares = block.nearest(count, is_continuous=False)
        np.testing.assert_array_equal(found, order[:, :count])
        np.testing.assert_allclose(squares, expected[:, :count], 1e-9, 1e-12)
        _, are_enough = there.cells(count).listed(torch.tensor(points) - there.center)
        assert are_enough.double().mean() > 0.5


@pytest.mark.parametrize("d", [3, 40])
def test_a_sample_that_misjudges_changes_nothing(d, monkeypatch):
    from trigpoint._points.torch import store as module

    monkeypatch.setattr(module, "SAMPLE_SIZES", (64, 64))
    monkeypatch.setattr(module, "_DOUBT", -1.0)
    points = cloud(1500, d)
    # A dense spot, which the sample has no idea of.
    points[:200] = points[0] + 1e-3 * points[:200]
    queries, m = points[::60], 90
    expected = MemoryStore.of(points, m, len(queries)).search(queries, m)
    found = store(points).search(queries, m)
    np.testing.assert_array_equal(found.squared_radii, expected.squared_radii)
    np.testing.assert_array_equal(found.last_rows, expected.last_rows)
    for rows, radius, query in zip(found.members, found.squared_radii, found.points, strict=True):
        squares = ((points[rows.numpy()] - query) ** 2).sum(axis=1)
        assert len(set(rows.tolist())) == m
        assert squares.max() <= radius * (1 + 1e-9)


def test_bounds_of_the_screen_are_never_too_low():
    """A proposal that is screened out could not have been accepted."""
    from trigpoint._points.repulsion import Repulsion

    points = cloud(800, 30)
    for name in ("welsch", "sin2"):
        repulsion = Repulsion(name, 4.0)
        there = store(points)
        found = there.search(points[:40], 200)
        screen, weights = there.screen(repulsion), there.weights(repulsion)
        screen.repel(found)
        weights.repel(found)
        assert screen.passes(np.arange(800), weights._log_weights).all()
        assert not screen.passes(np.arange(800), np.full(800, 1e-6)).any()


# The first and the third try several graphs, of pictures and of features.
ESTIMATORS = [
    tp.LaplacianEigenmaps(landmarks=150, random_state=0),
    tp.LaplacianEigenmaps(landmarks=150, n_neighbors=10, extension="graph", random_state=0),
    tp.LaplacianEigenmaps(8, landmarks=150, random_state=0),
    tp.DiffusionMaps(landmarks=150, n_neighbors=10, extension=20, random_state=0),
    tp.Isomap(landmarks=150, random_state=0),
    tp.Isomap(landmarks=150, extension="graph", random_state=0),
    tp.KernelPCA(landmarks=150, random_state=0),
    tp.LaplacianEigenmaps(landmarks=150, n_neighbors=10, metric="cosine", random_state=0),
]


@pytest.mark.parametrize("d", [3, 20])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: f"{type(e).__name__}")
@pytest.mark.filterwarnings("ignore::trigpoint._spectrum.RedundantEigenvectorsWarning")
def test_estimators_agree_with_the_host(estimator, d, gpu):
    points = cloud(2500, d, np.float32) + np.float32(6)
    here = clone(estimator)
    expected = here.fit_transform(points)
    there = clone(estimator).set_params(device="cuda")
    found = there.fit_transform(points)
    np.testing.assert_array_equal(there.landmark_indices_, here.landmark_indices_)
    assert isinstance(found, np.ndarray)
    assert found.dtype == np.float32
    scale = np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4 * scale)
    as_tensor = there.transform(torch.tensor(points))
    assert isinstance(as_tensor, torch.Tensor)
    np.testing.assert_array_equal(as_tensor.numpy(), found)
    fitted_to_tensor = clone(there).fit(torch.tensor(points))
    np.testing.assert_array_equal(fitted_to_tensor.landmark_indices_, here.landmark_indices_)
    np.testing.assert_array_equal(fitted_to_tensor.transform(torch.tensor(points)).numpy(), found)


@pytest.mark.parametrize("estimator", [tp.LaplacianEigenmaps, tp.Isomap, tp.KernelPCA])
def test_eigenvectors_come_from_the_device(estimator, gpu, monkeypatch):
    """Unless there are so many landmarks that some eigenvectors on the host take less time."""
    points, asked = cloud(600, 3), []
    found = eigen.largest_eigenpairs

    def counted(matrix, count, device):
        asked.append((len(matrix), device))
        return found(matrix, count, device)

    monkeypatch.setattr(eigen, "largest_eigenpairs", counted)
    # More than a picture has, which would try several graphs.
    options = {"n_components": 4, "landmarks": 80, "random_state": 0}
    estimator(**options, device="cuda").fit(points)
    assert asked == [(80, HERE)]
    estimator(**options).fit(points)
    monkeypatch.setattr(eigen, "MOST_ROWS", 79)
    estimator(**options, device="cuda").fit(points)
    assert len(asked) == 1


def gaussians(k, d, kind, seed=0):
    """Landmarks with covariances of a kind; some of them tie, and some coincide but for those."""
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 4, size=(k, d)).astype(np.float64)
    points[: k // 2] += rng.normal(size=(k // 2, d))
    bases = np.linalg.qr(rng.normal(size=(k, d, d)))[0]
    variances = np.sort(rng.gamma(1.0, size=(k, d)) + 0.01)[:, ::-1].copy()
    variances[k // 2 :] = 1
    if kind == "diag":
        return Landmarks(points, covariances=variances)
    if kind == "full":
        full = np.einsum("kad,ka,kae->kde", bases, variances, bases)
        return Landmarks(points, covariances=full)
    low = LowRankCovariances(bases[:, :3], variances[:, :3], variances[:, 3:].mean(axis=1))
    return Landmarks(points, covariances=low)


@pytest.mark.parametrize("few", [False, True])
@pytest.mark.parametrize("kind", ["diag", "full", "low-rank", "euclidean"])
def test_the_graph_is_that_of_the_host(kind, few, monkeypatch):
    """The device finds candidates, of all pairs or of the nearest few, and the host chooses."""
    landmarks = gaussians(120, 20, "diag" if kind == "euclidean" else kind)
    if few:
        monkeypatch.setattr(graph, "MATRIX_MAX", 100)
        monkeypatch.setattr(graph, "_CANDIDATES_HELD", 60 * 120)
    metric = "euclidean" if kind == "euclidean" else "bhattacharyya"
    expected = tp.KNNGraph(9, metric=metric).build(landmarks)
    asked = []
    for name in ("bhattacharyya_candidates", "nearest_on_device"):
        found = getattr(graph, name)
        monkeypatch.setattr(graph, name, lambda *a, f=found, n=name: asked.append(n) or f(*a))
    monkeypatch.setattr(graph, "_MANY", 100)
    there = tp.KNNGraph(9, metric=metric).build(landmarks, device=HERE)
    assert asked == ["nearest_on_device"] * (few or kind == "euclidean") + [
        "bhattacharyya_candidates"
    ] * (kind != "euclidean")
    np.testing.assert_array_equal(there.weights.toarray(), expected.weights.toarray())


@pytest.mark.parametrize("kind", ["diag", "full", "low-rank"])
def test_bhattacharyya_distances_on_the_device(kind):
    landmarks = gaussians(40, 8, kind)
    expected = bhattacharyya_matrix(landmarks.points, landmarks.covariances)
    np.fill_diagonal(expected, np.inf)
    for near in (None, np.tile(np.arange(40), (40, 1))):
        columns, reach = neighbors.bhattacharyya_candidates(
            landmarks.points, landmarks.covariances, near, 6, HERE
        )
        if near is None:
            found = np.take_along_axis(expected, columns, axis=1)
            np.testing.assert_allclose(reach, np.sort(expected, axis=1)[:, 5], rtol=1e-9)
            np.testing.assert_allclose(found.max(axis=1), reach, rtol=1e-9)
        else:
            # Each landmark is listed too, at no distance.
            np.testing.assert_allclose(reach, np.sort(expected, axis=1)[:, 4], rtol=1e-9)


@pytest.mark.parametrize("d", [3, 60])
def test_the_dimension_is_that_of_the_host(d):
    points = cloud(30_000 if d == 3 else 3000, d)
    assert local_dimension(store(points), 100) == pytest.approx(local_dimension(points, 100))


@pytest.mark.parametrize("d", [3, 60])
def test_trace_errors_agree_with_the_host(d, monkeypatch):
    from trigpoint.metrics import _approximation

    points = cloud(900, d)
    # Rows, one of them twice, and points that are no rows.
    for landmarks in (np.r_[0:90:2, 0], points[:40] + 0.1):
        expected = tp.metrics.nystrom_error(points, landmarks, 3.0, block_bytes=2**16)
        with monkeypatch.context() as patched:
            patched.setattr(_approximation, "resolve_device", lambda device, X: HERE)
            there = torch.tensor(points)
            found = tp.metrics.nystrom_error(there, landmarks, 3.0, block_bytes=2**16)
        assert found == pytest.approx(expected, rel=1e-9)


MAPS = {
    "all points in the pool": {"landmarks": 150},
    "a pool of the points": {"landmarks": 20},
    "all distinct points": {},
    "rows": {"landmarks": np.arange(0, 500, 5)},
    "a number to be found": {"landmarks": "auto"},
    "refined": {"landmarks": 100, "refine": 5},
    "directions": {"landmarks": 100, "metric": "cosine"},
}


@pytest.mark.parametrize("d", [3, 60])
@pytest.mark.parametrize("options", MAPS.values(), ids=MAPS.keys())
def test_maps_are_those_of_the_host(options, d, gpu):
    """The layout is the host's to the bit, and so are places but for the last bit of a root."""
    points = cloud(500, d, np.float32) + np.float32(6)
    if isinstance(options.get("landmarks"), str):
        # Many draws are compared.
        points = points[::2]
    here = tp.LandmarkMap(**options, n_iter=20, random_state=0)
    expected = here.fit_transform(points)
    there = clone(here).set_params(device="cuda")
    found = there.fit_transform(torch.tensor(points))
    assert isinstance(found, torch.Tensor)
    assert found.dtype == torch.float32
    np.testing.assert_array_equal(there.landmark_indices_, here.landmark_indices_)
    np.testing.assert_array_equal(there.masses_, here.masses_)
    np.testing.assert_array_equal(there.landmark_embedding_, here.landmark_embedding_)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(there.transform(points[:7]), found[:7].numpy())


def test_landmarks_at_the_same_distance_are_found_in_order():
    """More of them than are looked at first, as on a grid: the host's, to the bit."""
    from trigpoint._extension.map_on_device import nearest_on_device
    from trigpoint._extension.placing import nearest_landmarks

    grid = np.stack(np.meshgrid(*[np.arange(4.0)] * 4), axis=-1).reshape(-1, 4)
    wide = np.concatenate([np.eye(40), -np.eye(40)])
    for landmarks, points in ((grid, grid[::2] + 0.5), (wide, np.zeros((3, 40)))):
        for count in (1, 9, 20):
            expected = next(nearest_landmarks(points, landmarks, count, 1))
            found = next(nearest_on_device(points, landmarks, count, HERE))
            for mine, theirs in zip(found, expected, strict=True):
                np.testing.assert_array_equal(mine, theirs)


def test_a_tensor_on_the_host_gives_a_tensor():
    points = cloud(800, 3)
    emb = tp.LaplacianEigenmaps(landmarks=80, n_neighbors=10, random_state=0)
    expected = emb.fit_transform(points)
    found = clone(emb).fit_transform(torch.tensor(points, requires_grad=True))
    assert isinstance(found, torch.Tensor)
    assert found.dtype == torch.float64
    np.testing.assert_array_equal(found.numpy(), expected)
    halves = clone(emb).fit_transform(torch.tensor(points).bfloat16())
    assert halves.dtype == torch.float64
    assert emb.device_ == "cpu"


@pytest.mark.parametrize("takes_device", [True, False])
def test_graphs_of_users_get_a_device_only_if_they_take_one(takes_device, gpu):
    passed = []

    class Links(tp.KNNGraph):
        def build(self, landmarks, n_threads=1, **options):
            passed.append(options)
            return super().build(landmarks, n_threads, **options)

    Links.takes_device = takes_device
    emb = tp.LaplacianEigenmaps(
        landmarks=60, graph=Links(8, metric="euclidean"), device="cuda", random_state=0
    )
    emb.fit(cloud(500, 3))
    assert passed == ([{"device": HERE}] if takes_device else [{}])


def test_points_that_do_not_fit_are_read_from_the_host(gpu, monkeypatch, tmp_path):
    from trigpoint._points.torch import tensors

    points = cloud(3000, 3)
    emb = tp.LaplacianEigenmaps(landmarks=100, n_neighbors=10, device="cuda", random_state=0)
    expected = clone(emb).fit_transform(points)
    monkeypatch.setattr(tensors, "fits", lambda n_bytes, device: False)
    np.testing.assert_array_equal(emb.fit_transform(points), expected)
    np.save(tmp_path / "points.npy", points)
    path = emb.fit_transform(tmp_path / "points.npy", out=tmp_path / "out.npy")
    np.testing.assert_array_equal(np.load(path), expected)


def test_blocks_that_are_copied_ahead():
    """As many as there are, in order, of read-only and of sliced arrays; no more than one ahead."""
    from trigpoint._numerics.blocks import row_blocks

    points, asked = cloud(10, 3), []
    points.flags.writeable = False

    def parts():
        for part in row_blocks(5, 2):
            asked.append(part.start)
            yield part

    found = []
    for part, block in device_module.blocks_ahead(points[::2], parts(), HERE):
        found.append(block)
        assert asked == list(range(0, 5, 2))[: len(found) + 1]
        assert part.start == 2 * (len(found) - 1)
    np.testing.assert_array_equal(torch.cat(found).numpy(), points[::2])
    found[0][:] = 0
    assert not (points == 0).any()
    assert list(device_module.blocks_ahead(points, [], HERE)) == []


def test_blocks_side_by_side(gpu, monkeypatch):
    """As on a GPU, where two are computed at a time: in order, and the same bits."""
    from trigpoint._estimators import on_device
    from trigpoint._points import inputs

    points = cloud(3000, 3)
    emb = tp.LandmarkMap(landmarks=100, n_iter=5, device="cuda", random_state=0).fit(points)
    expected = emb.transform(points)
    monkeypatch.setattr(on_device, "_streams", lambda device: [None, None])
    monkeypatch.setattr(inputs, "block_rows", lambda n_bytes: 70)
    np.testing.assert_array_equal(emb.transform(points), expected)


def test_a_sampler_with_a_device(gpu):
    points = cloud(2000, 3)
    here = tp.EfficientDPP(50, random_state=0).fit(points)
    there = tp.EfficientDPP(50, device="cuda", random_state=0)
    np.testing.assert_array_equal(clone(there).fit(points).indices_, here.indices_)
    assert clone(there).fit(points).search_ == "products on cpu"
    emb = tp.LaplacianEigenmaps(landmarks=there, random_state=1).fit(points)
    np.testing.assert_array_equal(emb.landmark_indices_, here.indices_)


def test_models_are_saved_without_a_device(gpu, tmp_path):
    points = cloud(1000, 3)
    sampler = tp.EfficientDPP(60, device="cuda", random_state=0)
    emb = tp.LaplacianEigenmaps(landmarks=sampler, device="cuda", random_state=0).fit(points)
    emb.save(tmp_path / "model.trig")
    loaded = tp.load(tmp_path / "model.trig")
    assert loaded.device is None
    assert loaded.landmarks.device is None
    expected = emb.transform(points)
    np.testing.assert_allclose(loaded.transform(points), expected, rtol=1e-6, atol=1e-9)


def test_far_points_are_counted(gpu):
    points = cloud(1000, 3)
    emb = tp.LaplacianEigenmaps(landmarks=60, device="cuda", random_state=0).fit(points)
    with pytest.warns(UserWarning, match="2 of 3 points are more than ten bandwidths"):
        emb.transform(np.array([[1e4, 0, 0], points[0], [0, -1e4, 0]]))
    with pytest.warns(UserWarning, match="1 of 1 points are more than ten bandwidths"):
        emb.transform(torch.tensor([[1e4, 0, 0]], dtype=torch.float64))


def test_points_beyond_float32(gpu):
    points = cloud(1000, 3)
    emb = tp.LaplacianEigenmaps(landmarks=60, device="cuda", random_state=0).fit(points)
    beyond = np.array([[1e80, -1e90, 0], [-1e45, 1e40, 1e45]])
    with pytest.warns(UserWarning, match="2 of 2 points"):
        found = emb.transform(beyond)
    # All landmarks are equally far, so any of them will do.
    assert np.abs(found).max() <= np.abs(emb.landmark_embedding_).max()


@pytest.mark.filterwarnings("ignore::trigpoint._numerics.connectivity.DisconnectedGraphWarning")
def test_clusters_that_float32_cannot_resolve(gpu):
    """Two of them, far apart compared with the landmarks in each."""
    points = np.concatenate([cloud(1000, 3), 1e6 + cloud(1000, 3, seed=1)])
    emb = tp.LaplacianEigenmaps(landmarks=100, extension="graph", random_state=0).fit(points)
    expected = emb.transform(points)
    found = emb.set_params(device="cuda").transform(points)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * scale)


# Arrays of other libraries ------------------------------------------------------------------------


class Foreign:
    """An array of a library that shares its memory through DLPack, and has its own functions."""

    def __init__(self, tensor):
        self.tensor = tensor
        self.shape = tuple(tensor.shape)

    def __dlpack__(self, **options):
        return self.tensor.__dlpack__()

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


class Standard(Foreign):
    """One that says which library it is of."""

    def __array_namespace__(self):
        return SimpleNamespace(from_dlpack=lambda other: Standard(torch.from_dlpack(other)))


@pytest.fixture
def foreign_gpu(gpu, monkeypatch):
    """Memory of the host in place of that of a GPU, also for DLPack."""
    from trigpoint._points.torch import dlpack

    monkeypatch.setattr(dlpack, "_CUDA", (1,))


@pytest.mark.parametrize("device", ["cuda", "cpu"])
@pytest.mark.parametrize("kind", [Foreign, Standard])
def test_arrays_on_a_gpu_come_back_as_what_they_are(kind, device, foreign_gpu, monkeypatch):
    library = SimpleNamespace(from_dlpack=lambda other: Foreign(torch.from_dlpack(other)))
    monkeypatch.setitem(sys.modules, Foreign.__module__, library)
    points = cloud(800, 3, np.float32)
    emb = tp.LaplacianEigenmaps(landmarks=60, n_neighbors=10, device=device, random_state=0)
    expected = clone(emb).fit_transform(torch.tensor(points))
    tensor = torch.tensor(points)
    found = emb.fit_transform(kind(tensor))
    assert type(found) is kind
    assert torch.equal(found.tensor, expected)
    sampler = tp.EfficientDPP(60, device=device, random_state=0)
    rows = clone(sampler).fit(points).indices_
    np.testing.assert_array_equal(sampler.fit(kind(tensor)).indices_, rows)
    assert emb.quality(kind(tensor)).verdict == emb.quality(points).verdict


def test_arrays_of_the_array_api(foreign_gpu):
    strict = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")
    points = cloud(400, 3)
    emb = tp.KernelPCA(landmarks=40, device="cuda", random_state=0)
    found = emb.fit_transform(strict.asarray(points))
    assert type(found) is type(strict.asarray(points))
    np.testing.assert_array_equal(np.asarray(found), emb.transform(points))


def test_arrays_of_a_library_that_takes_nothing_back(foreign_gpu, monkeypatch):
    monkeypatch.setitem(sys.modules, Foreign.__module__, SimpleNamespace())
    with pytest.raises(tp.ParameterError, match=r"an array of .* pass torch.from_dlpack\(X\)"):
        tp.LaplacianEigenmaps(landmarks=40).fit(Foreign(torch.tensor(POINTS)))


def test_arrays_on_a_gpu_that_pytorch_lacks(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(Standard, "__dlpack_device__", lambda self: (2, 0))
    for estimator in (tp.LaplacianEigenmaps(), tp.EfficientDPP(9, device="auto")):
        with pytest.raises(tp.ParameterError, match=r"needs a GPU, and PyTorch .* finds none"):
            estimator.fit(Standard(torch.tensor(POINTS)))


def test_other_arrays_on_the_host_are_arrays():
    strict = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")
    emb = tp.LaplacianEigenmaps(landmarks=40, random_state=0)
    found = emb.fit_transform(strict.asarray(POINTS))
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found, emb.transform(POINTS))


# What is refused ---------------------------------------------------------------------------------

POINTS = cloud(300, 3)


@pytest.mark.parametrize(
    ("device", "message"),
    [
        ("gpu", "device='gpu' is not understood: choose 'cpu', 'cuda'"),
        ("cuda:x", "is not understood"),
        (1, "device=1 is not understood"),
        ("mps", "device='mps' is not understood"),
    ],
)
def test_unknown_devices(device, message):
    for estimator in (tp.LaplacianEigenmaps(device=device), tp.EfficientDPP(9, device=device)):
        with pytest.raises(tp.ParameterError, match=message):
            estimator.fit(POINTS)


def test_no_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for device in ("cuda", "cuda:1", torch.device("cuda")):
        with pytest.raises(tp.ParameterError, match=r"finds none that it can use.*'cpu'"):
            tp.LaplacianEigenmaps(device=device).fit(POINTS)
    emb = tp.LaplacianEigenmaps(landmarks=40, random_state=0).fit(POINTS)
    emb.set_params(device="cuda")
    with pytest.raises(tp.ParameterError, match="needs a GPU"):
        emb.transform(POINTS)
    assert tp.LaplacianEigenmaps(landmarks=40, device="auto").fit(POINTS).device_ == "cpu"


def test_gpus_that_do_not_exist(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(tp.ParameterError, match=r"there are 1 GPUs.*choose 'cuda:0'"):
        device_module.resolve_device("cuda:1")
    assert device_module.resolve_device("cuda:0") == torch.device("cuda:0")
    assert device_module.resolve_device("auto") == torch.device("cuda")


def test_no_torch():
    """Nothing but a GPU asked for by name needs PyTorch, and nothing else imports it."""
    code = """
import sys
import numpy as np
import trigpoint as tp
X = np.random.default_rng(0).normal(size=(300, 3))
tp.LaplacianEigenmaps(landmarks=40, device="cpu").fit_transform(X)
assert "torch" not in sys.modules
sys.modules["torch"] = None
assert tp.EfficientDPP(9, device="auto").fit(X).device_ == "cpu"
try:
    tp.EfficientDPP(9, device="cuda").fit(X)
except tp.ParameterError as error:
    print(error)
"""
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert "needs PyTorch, which is not installed" in result.stdout
    assert "pip install torch" in result.stdout


def test_too_little_memory(gpu, monkeypatch):
    monkeypatch.setattr(device_module, "free_memory", lambda device: 10**6)
    with pytest.raises(tp.ParameterError, match=r"has 1 MB of free memory.*'cpu'"):
        tp.LaplacianEigenmaps(landmarks=40, device="cuda").fit(POINTS)


def test_memory_that_runs_out():
    with (
        pytest.raises(tp.ParameterError, match="which is not enough"),
        device_module.device_memory(HERE),
    ):
        raise torch.OutOfMemoryError


def test_what_runs_on_the_host_alone(gpu):
    from scipy.sparse import csr_array

    sparse = csr_array(cloud(300, 40) * (np.random.default_rng(1).random((300, 40)) < 0.1))
    with pytest.raises(tp.ParameterError, match=r"sparse points.*X.toarray\(\)"):
        tp.LaplacianEigenmaps(landmarks=40, device="cuda").fit(sparse)
    with pytest.raises(tp.ParameterError, match=r"adds up shares of all points.*device='cpu'"):
        tp.LaplacianEigenmaps(landmarks=40, graph="anchors", device="cuda").fit(POINTS)


@pytest.mark.parametrize(("k", "n_components"), [(40, 2), (2, 1)])
def test_shares_in_landmarks_of_the_host_place_points_on_a_device(k, n_components, gpu):
    """Of two landmarks, both take part."""
    emb = tp.LaplacianEigenmaps(n_components, landmarks=k, graph="anchors", random_state=0)
    expected = emb.fit_transform(POINTS)
    found = emb.set_params(device="cuda").transform(torch.tensor(POINTS))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-8)


def test_auto_takes_what_a_gpu_cannot(monkeypatch):
    from scipy.sparse import csr_array

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    sparse = csr_array(cloud(300, 40) * (np.random.default_rng(1).random((300, 40)) < 0.1))
    assert tp.EfficientDPP(9, device="auto", random_state=0).fit(sparse).device_ == "cpu"


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (torch.zeros(5), r"tensor of shape \(5,\)"),
        (torch.zeros((1, 3)), "at least 2 rows"),
        (torch.full((9, 2), torch.nan), "NaN in row 0, column 0; also in rows 1, 2"),
        (torch.tensor([[0.0, 1.0], [1.0, torch.inf]]), r"infinity \(inf\) in row 1, column 1"),
        (torch.full((9, 2), 1e30), "whose squared distances overflow float32"),
        (torch.zeros((9, 2), dtype=torch.complex64), "complex numbers"),
        (torch.eye(9).to_sparse(), "sparse layout"),
    ],
)
def test_tensors_that_cannot_be_used(points, message, gpu):
    with pytest.raises(tp.ParameterError, match=message):
        tp.LaplacianEigenmaps(landmarks=2, device="cuda").fit(points)


def test_tensors_of_other_columns(gpu):
    emb = tp.LaplacianEigenmaps(landmarks=40, device="cuda").fit(POINTS)
    with pytest.raises(tp.ParameterError, match=r"has 2 columns, but .* was fitted with 3"):
        emb.transform(torch.zeros((5, 2)))
