"""PyTorch: the coordinates of the host, and what is refused.

The device is ``torch.device("cpu")``, which computes with PyTorch on the host;
`tools/gpu_check.py` does the same on a GPU.
"""

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from trigpoint._extension.search import TreeSearch, landmark_search

import trigpoint as tp
from trigpoint._common import device as device_module
from trigpoint._common.device import device_memory, resolve_device
from trigpoint._sources.base import Columns

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from trigpoint._extension.torch import on_device  # noqa: E402
from trigpoint._extension.torch_search import TorchSearch  # noqa: E402
from trigpoint._sources.torch import TorchSource, is_on_torch, map_blocks_on_device  # noqa: E402
from trigpoint._spaces.torch import scaled, unit_rows  # noqa: E402

HERE = torch.device("cpu")
DTYPES = {np.float64: 1e-12, np.float32: 2e-5}
# PyTorch has no CUDA where tests run without a GPU.
NO_GPU = not torch.cuda.is_available()


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def cloud(n, d, dtype=np.float64, seed=0):
    """Rows around a surface, away from the origin."""
    rng = np.random.default_rng(seed)
    flat = rng.uniform(size=(n, min(d, 3))) * 10
    basis = np.linalg.qr(np.random.default_rng(1).normal(size=(d, flat.shape[1])))[0]
    return (flat @ basis.T + 0.3 * rng.normal(size=(n, d)) + 6).astype(dtype)


def laplacian(*components, **options):
    return tp.LaplacianEigenmaps(
        *components, landmarks=100, graph=tp.KNNGraph(10), random_state=0, **options
    )


ESTIMATORS = {
    "smooth": laplacian(extension="smooth"),
    "graph": laplacian(extension="graph"),
    "all": laplacian(5, extension="all"),
    "nearest": tp.DiffusionMaps(landmarks=100, graph=tp.KNNGraph(10), extension=20, random_state=0),
    "kernel": tp.KernelPCA(landmarks=100, random_state=0),
    "geodesic": tp.Isomap(landmarks=100, extension="graph", random_state=0),
    "geodesic, nearest": tp.Isomap(landmarks=100, extension=5, random_state=0),
    "map": tp.LandmarkMap(landmarks=100, n_iter=20, random_state=0),
}
# By cells or products, by products and differences, by products alone; the last map is projected.
COLUMNS = [2, 10, 20, 100]


@pytest.fixture(scope="module", params=[(n, d) for n in ESTIMATORS for d in COLUMNS], ids=str)
def fitted(request):
    name, d = request.param
    return ESTIMATORS[name].fit(cloud(1200, d)), cloud(400, d, seed=2)


def is_far(far):
    """The number of far rows, whether an extension of the host counts or marks them."""
    return int(np.sum(far))


@pytest.mark.parametrize(("dtype", "tolerance"), DTYPES.items(), ids=["float64", "float32"])
@pytest.mark.filterwarnings("ignore::trigpoint._spectrum.RedundantEigenvectorsWarning")
def test_extensions_agree_with_the_host(fitted, dtype, tolerance):
    emb, X = fitted
    X = np.concatenate([X, 1e4 + X[:3]]).astype(dtype)
    expected, far = emb.fitted_.extension(X)
    there = on_device(emb.fitted_.extension, HERE)
    found, mask = there(torch.tensor(X))
    assert found.dtype == torch.float64
    assert mask.dtype == torch.bool
    assert mask.nonzero()[:, 0].tolist() == [400, 401, 402]
    assert is_far(far) == 3
    scale = np.abs(expected[:400]).max()
    np.testing.assert_allclose(found[:400], expected[:400], rtol=tolerance, atol=tolerance * scale)
    # Coordinates of far rows mean little, and products round the distances to their landmarks.
    np.testing.assert_allclose(found[400:], expected[400:], rtol=1e-3, atol=1e-3 * scale)


def test_blocks_and_memory_change_nothing(fitted):
    """Neither small blocks, nor a grid once there are many rows."""
    emb, X = fitted
    X = torch.tensor(X)
    expected, _ = on_device(emb.fitted_.extension, HERE)(X)
    there = on_device(emb.fitted_.extension, HERE)
    there._n_bytes, there._search._n_bytes = 2**17, 2**17
    there._search.expect(10**6)
    parts = [there(X[:7])[0], there(X[7:300])[0], there(X[300:])[0]]
    np.testing.assert_allclose(torch.cat(parts), expected, rtol=1e-11, atol=1e-13)
    assert there(X[:0])[0].shape == (0, emb.fitted_.extension.n_components)


@pytest.mark.parametrize("metric", ["cosine", "seuclidean"])
@pytest.mark.parametrize("d", [3, 40])
@pytest.mark.parametrize(("dtype", "tolerance"), DTYPES.items(), ids=["float64", "float32"])
def test_metrics_agree_with_the_host(metric, d, dtype, tolerance):
    X = cloud(900, d, dtype) * np.linspace(1, 5, d, dtype=dtype)
    emb = laplacian(extension="smooth", metric=metric).fit(X)
    expected = emb.transform(X)
    for given in (torch.tensor(X), X):
        found = emb.transform(given, device=HERE)
        assert type(found) is type(given)
        np.testing.assert_allclose(np.asarray(found), expected, rtol=tolerance, atol=tolerance)


def test_unit_rows_of_any_magnitude():
    X = torch.tensor([[3.0, 4.0], [3e-200, -4e-200], [3e200, 4e200], [0.0, 1e-310]]).double()
    X[1:] = torch.tensor([[3e-200, -4e-200], [3e200, 4e200], [0.0, 1e-310]], dtype=X.dtype)
    expected = torch.tensor([[0.6, 0.8], [0.6, -0.8], [0.6, 0.8], [0, 1]], dtype=X.dtype)
    torch.testing.assert_close(unit_rows(X), expected, rtol=1e-15, atol=0)
    assert unit_rows(X[:1].float()).dtype == torch.float32
    scales = torch.tensor([2.0, 4.0], dtype=torch.float64)
    assert scaled(X[:1].float(), scales).tolist() == [[1.5, 1.0]]
    X[2] = 0
    with pytest.raises(tp.ParameterError, match="only zeros in row 12;"):
        unit_rows(X, first_row=10)


def test_the_nearest_landmarks_are_those_of_the_host_to_the_bit():
    """On grids, more landmarks are at the same distance than products select at first."""
    rng = np.random.default_rng(0)
    grid = np.stack(np.meshgrid(*[np.arange(5.0)] * 3), axis=-1).reshape(-1, 3)
    wide = np.concatenate([np.eye(12), -np.eye(12)])
    some = rng.normal(size=(300, 2))
    for landmarks, X in (
        (grid, np.concatenate([grid + 0.5, 9 * rng.normal(size=(40, 3))])),
        (wide, np.zeros((3, 12))),
        (some, np.concatenate([some, rng.normal(size=(500, 2)), 50 * rng.normal(size=(9, 2))])),
    ):
        for count in (1, 4, 9):
            host = landmark_search(landmarks, np.ones(len(landmarks)), count)
            assert isinstance(host, TreeSearch)
            expected = host.nearest(X, count)
            for n_rows in (0, 10**6):
                search = TorchSearch(landmarks, HERE, 2**22)
                search.expect(n_rows)
                found = search.nearest(torch.tensor(X), count)
                for mine, theirs in zip(found, expected, strict=True):
                    np.testing.assert_array_equal(mine, theirs)


@pytest.mark.filterwarnings("ignore::trigpoint._numerics.connectivity.DisconnectedGraphWarning")
def test_groups_far_apart():
    """Two groups, whose distance swamps that of the landmarks within them."""
    X = np.concatenate([cloud(600, 3), 1e6 + cloud(600, 3, seed=1)])
    emb = laplacian(extension="graph").fit(X)
    expected = emb.transform(X)
    found = emb.transform(X, device=HERE)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())


# Sources ------------------------------------------------------------------------------------------

X3 = cloud(700, 3)
EMB = laplacian(extension="smooth")


@pytest.fixture(scope="module")
def emb():
    return EMB.fit(X3)


def test_a_tensor_gives_a_tensor(emb):
    """Of the fitted type, whether PyTorch or the host computes."""
    expected = emb.transform(X3)
    for device in (None, HERE, "cpu"):
        found = emb.transform(torch.tensor(X3, requires_grad=True), device=device)
        assert isinstance(found, torch.Tensor)
        assert (found.dtype, found.device) == (torch.float64, HERE)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    same = tp.LaplacianEigenmaps(**emb.get_params()).fit(torch.tensor(X3))
    np.testing.assert_array_equal(same.landmark_indices_, emb.landmark_indices_)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.int32])
@pytest.mark.parametrize("device", [None, HERE])
def test_types(emb, dtype, device):
    X = torch.tensor(X3).to(dtype)
    found = emb.transform(X, device=device)
    assert found.dtype == torch.float64
    np.testing.assert_allclose(found, emb.transform(X.double().numpy()), rtol=1e-12, atol=1e-12)
    wanted = np.float64 if dtype == torch.int32 else np.float32
    source = TorchSource(X)
    assert (source.dtype, source.take(None).dtype) == (wanted, wanted)


def model(emb, device=None):
    from trigpoint._estimators.on_device import model_of

    return model_of(emb)


def test_reading(emb):
    tensor = torch.tensor(X3)
    source = TorchSource(tensor)
    assert source.shape == (700, 3)
    rows = np.array([0, 5, 699])
    np.testing.assert_array_equal(source.take(rows), X3[rows])
    np.testing.assert_array_equal(source.take(None), X3)
    np.testing.assert_array_equal(np.concatenate([block for _, block in source.blocks()]), X3)
    assert np.shares_memory(source.array(), tensor.numpy())
    assert TorchSource(tensor.half()).array() is None
    assert TorchSource(tensor[:, :2]).array() is None
    single = source.matching(Columns(("a", "b", "c"), 3, np.dtype(np.float32), False))
    assert single.take(rows).dtype == np.float32
    tensor[5, 1] = torch.inf
    with pytest.raises(tp.ParameterError, match=r"infinity \(inf\) in row 5, column 1"):
        source.take(rows)


@pytest.mark.parametrize("device", [None, HERE])
def test_empty_tensors(emb, device):
    found, n_far = TorchSource(torch.empty((0, 3)).double()).map(model(emb), device=device)
    assert found.shape == (0, 2)
    assert n_far == 0


@pytest.mark.parametrize("value", [torch.nan, torch.inf, -torch.inf])
@pytest.mark.parametrize("device", [None, HERE])
def test_rows_that_are_not_finite(emb, value, device, monkeypatch):
    from trigpoint._sources import torch as module

    X = torch.tensor(X3)
    X[431, 2] = value
    X[650, 0] = value
    monkeypatch.setattr(module, "_THERE_BYTES", 100 * 24)
    with pytest.raises(tp.ParameterError, match="in row 431, column 2"):
        emb.transform(X, device=device)


def test_rows_of_zeros_under_cosine(monkeypatch):
    from trigpoint._sources import torch as module

    emb = laplacian(metric="cosine", extension="smooth").fit(X3)
    X = torch.tensor(X3)
    X[431] = 0
    monkeypatch.setattr(module, "_THERE_BYTES", 100 * 24)
    with pytest.raises(tp.ParameterError, match="only zeros in row 431;"):
        emb.transform(X, device=HERE)


def test_progress_and_far_rows(emb, monkeypatch):
    from trigpoint._sources import torch as module

    monkeypatch.setattr(module, "_THERE_BYTES", 100 * 24)
    said, X = [], torch.cat([torch.tensor(X3), torch.tensor(X3[:2]) + 1e4])
    _, n_far = TorchSource(X).map(model(emb), device=HERE, report=lambda *a: said.append(a))
    assert n_far == 2
    assert said[-1] == ("points", 702, 702)
    with pytest.warns(UserWarning, match="2 of 702 points are more than ten bandwidths"):
        emb.transform(X, device=HERE)


def test_blocks_of_the_host(emb, monkeypatch):
    """Two at a time, as on a GPU: in order, and the same bits."""
    from trigpoint._sources import torch as module

    fitted = model(emb)
    blocks = [(start, X3[start : start + 90]) for start in range(0, 700, 90)]
    expected = fitted.to(HERE)(torch.tensor(X3), 0)[0]
    for streams in ([None], [None, None]):
        monkeypatch.setattr(module, "_streams", lambda device, streams=streams: streams)
        found = list(map_blocks_on_device(blocks, fitted, HERE))
        assert [first for first, *_ in found] == [first for first, _ in blocks]
        np.testing.assert_array_equal(np.concatenate([part for _, part, _ in found]), expected)
        assert sum(count for *_, count in found) == 0


def test_files(emb, tmp_path):
    np.save(tmp_path / "X.npy", X3)
    path = emb.transform(tmp_path / "X.npy", out=tmp_path / "Y.npy", device=HERE)
    np.testing.assert_allclose(np.load(path), emb.transform(X3), rtol=1e-12, atol=1e-12)


# Arrays of other libraries ------------------------------------------------------------------------


class Foreign:
    """An array of a library that shares its memory through DLPack."""

    def __init__(self, tensor, place=None):
        self.tensor, self.place = tensor, place

    def __dlpack__(self, **options):
        return self.tensor.__dlpack__()

    def __dlpack_device__(self):
        return self.place or self.tensor.__dlpack_device__()


class Standard(Foreign):
    """One that says which library it is of."""

    def __array_namespace__(self):
        return SimpleNamespace(from_dlpack=lambda other: Standard(torch.from_dlpack(other)))


@pytest.mark.parametrize("kind", [Foreign, Standard])
def test_arrays_come_back_as_what_they_are(kind, emb, monkeypatch):
    library = SimpleNamespace(from_dlpack=lambda other: Foreign(torch.from_dlpack(other)))
    monkeypatch.setitem(sys.modules, Foreign.__module__, library)
    expected = emb.transform(torch.tensor(X3), device=HERE)
    found, _ = TorchSource(kind(torch.tensor(X3))).map(model(emb), device=HERE)
    assert type(found) is kind
    assert torch.equal(found.tensor, expected)


def test_which_arrays_are_shared(monkeypatch):
    tensor = torch.tensor(X3)
    assert is_on_torch(tensor)
    assert is_on_torch(Foreign(tensor, (2, 0)))
    assert not is_on_torch(Foreign(tensor))
    assert not is_on_torch(X3)
    monkeypatch.setitem(sys.modules, Foreign.__module__, SimpleNamespace())
    with pytest.raises(tp.ParameterError, match=r"an array of .* pass torch.from_dlpack\(X\)"):
        TorchSource(Foreign(tensor))


@pytest.mark.skipif(not NO_GPU, reason="there is a GPU")
def test_arrays_on_a_gpu_that_pytorch_lacks(emb):
    with pytest.raises(tp.ParameterError, match=r"needs a GPU, and PyTorch .* finds none"):
        emb.transform(Standard(torch.tensor(X3), (2, 0)))


# What is refused ----------------------------------------------------------------------------------


def test_devices(monkeypatch):
    assert resolve_device(None) is resolve_device("cpu") is resolve_device(None, X3) is None
    assert resolve_device(HERE) == HERE
    for wrong in ("gpu", "cuda:x", "mps", 1):
        with pytest.raises(tp.ParameterError, match="is not understood: choose 'cpu', 'cuda'"):
            resolve_device(wrong)
    with pytest.raises(tp.ParameterError, match="is not supported"):
        resolve_device(torch.device("meta"))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert resolve_device("auto") is None
    with pytest.raises(tp.ParameterError, match=r"finds none that it can use.*'cpu'"):
        resolve_device(torch.device("cuda"))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert resolve_device("auto") == torch.device("cuda")
    assert resolve_device("cuda:0") == torch.device("cuda:0")
    with pytest.raises(tp.ParameterError, match=r"there are 1 GPUs.*choose 'cuda:0'"):
        resolve_device("cuda:1")


def test_no_torch():
    """Nothing but a GPU asked for by name needs PyTorch, and nothing else imports it."""
    code = """
import sys
import numpy as np
import trigpoint as tp
X = np.random.default_rng(0).normal(size=(300, 3))
emb = tp.LaplacianEigenmaps(landmarks=40, graph=tp.KNNGraph(9)).fit(X)
emb.transform(X, device="cpu")
assert "torch" not in sys.modules
sys.modules["torch"] = None
emb.transform(X, device="auto")
try:
    emb.transform(X, device="cuda")
except tp.ParameterError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "needs PyTorch, which is not installed: pip install torch" in done.stdout


def test_memory_that_runs_out(emb, monkeypatch):
    with pytest.raises(tp.ParameterError, match="which is not enough"), device_memory(HERE):
        raise torch.OutOfMemoryError
    monkeypatch.setattr(device_module, "free_memory", lambda device: 10**6)
    with pytest.raises(tp.ParameterError, match=r"has 1 MB of free memory.*'cpu'"):
        emb.transform(X3, device=HERE)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (torch.zeros(5), r"tensor of shape \(5,\)"),
        (torch.zeros((5, 0)), r"tensor of shape \(5, 0\)"),
        (torch.zeros((5, 2)), "has 2 columns, but .* was fitted with 3"),
        (torch.full((9, 3), 1e200, dtype=torch.float64), "whose squared distances overflow"),
        (torch.zeros((9, 3), dtype=torch.complex64), "complex numbers"),
        (torch.eye(3).to_sparse(), "sparse layout"),
    ],
)
def test_tensors_that_cannot_be_used(X, message, emb):
    with pytest.raises(tp.ParameterError, match=message):
        emb.transform(X, device=HERE)


def test_what_a_device_cannot_take(emb):
    from scipy.sparse import csr_array

    sparse = csr_array(cloud(300, 40) * (np.random.default_rng(1).random((300, 40)) < 0.1))
    wide = laplacian(extension="smooth").fit(sparse)
    with pytest.raises(tp.ParameterError, match=r"sparse points.*X.toarray\(\)"):
        wide.transform(sparse, device=HERE)
    with pytest.raises(tp.ParameterError, match=r"SimpleNamespace cannot be computed.*'cpu'"):
        on_device(SimpleNamespace(n_components=2), HERE)
