"""Tensors, extensions evaluated by PyTorch, and the device of the computation.

The device is ``torch.device("cpu")``, on which PyTorch computes on the host; `tools/gpu_check.py`
runs similar checks on a GPU.
"""

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_array

import trigpoint as tp
from trigpoint._common import device as device_module
from trigpoint._common.device import device_memory, resolve_device
from trigpoint._neighbors.nearest import landmark_search
from trigpoint._sources import Columns
from trigpoint._spaces import Cosine, space_for

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from trigpoint._extension.torch import on_device  # noqa: E402
from trigpoint._extension.torch_search import TorchSearch  # noqa: E402
from trigpoint._sources import torch as sources  # noqa: E402
from trigpoint._sources.torch import TorchSource, mapped_on_device  # noqa: E402
from trigpoint._spaces.torch import scaled, unit_rows  # noqa: E402

HERE = torch.device("cpu")
X3 = np.random.default_rng(0).uniform(size=(700, 3)) * [9, 9, 1]


def eigenmaps(extension="smooth", **options):
    graph = tp.KNNGraph(10)
    return tp.LaplacianEigenmaps(
        landmarks=100, graph=graph, extension=extension, random_state=0, **options
    )


@pytest.fixture(scope="module")
def emb():
    return eigenmaps().fit(X3)


@pytest.mark.parametrize(
    "dtype", [torch.bfloat16, torch.float16, torch.float32, torch.int32, torch.float64]
)
@pytest.mark.parametrize("device", [None, HERE, "cpu"])
def test_a_tensor_gives_a_tensor_of_the_fitted_type(emb, dtype, device):
    """The type does not depend on whether PyTorch or NumPy computes."""
    X = torch.tensor(X3).to(dtype)
    found = emb.transform(X.requires_grad_(dtype.is_floating_point), device=device)
    assert isinstance(found, torch.Tensor)
    assert (found.dtype, found.device) == (torch.float64, HERE)
    expected = emb.transform(X.detach().double().numpy())
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    wanted = np.float64 if dtype in (torch.int32, torch.float64) else np.float32
    source = TorchSource(X)
    assert (source.dtype, source.take(None).dtype) == (wanted, wanted)


def test_reading_in_place_and_in_the_fitted_precision():
    tensor = torch.tensor(X3)
    source = TorchSource(tensor)
    assert np.shares_memory(source.array(), tensor.numpy())
    assert TorchSource(tensor.half()).array() is None
    assert TorchSource(tensor[:, :2]).array() is None
    rows = np.array([0, 5, 699])
    single = source.matching(Columns(("a", "b", "c"), 3, np.dtype(np.float32), False))
    assert single.take(rows).dtype == np.float32
    tensor[5, 1] = torch.inf
    with pytest.raises(tp.ParameterError, match=r"infinity \(inf\) in row 5, column 1"):
        source.take(rows)


@pytest.mark.parametrize("value", [torch.nan, torch.inf, -torch.inf])
@pytest.mark.parametrize("device", [None, HERE])
def test_rows_that_are_not_finite(emb, value, device, monkeypatch):
    """The invalid rows are in different blocks, on the device."""
    X = torch.tensor(X3)
    X[431, 2] = value
    X[650, 0] = value
    monkeypatch.setattr(sources, "_THERE_BYTES", 100 * 24)
    with pytest.raises(tp.ParameterError, match="in row 431, column 2"):
        emb.transform(X, device=device)


def test_rows_of_zeros_under_cosine(monkeypatch):
    emb = eigenmaps(metric="cosine").fit(X3)
    X = torch.tensor(X3)
    X[431] = 0
    monkeypatch.setattr(sources, "_THERE_BYTES", 100 * 24)
    with pytest.raises(tp.ParameterError, match="only zeros in row 431;"):
        emb.transform(X, device=HERE)


def test_progress_and_far_rows(emb, monkeypatch):
    monkeypatch.setattr(sources, "_THERE_BYTES", 100 * 24)
    said, X = [], torch.cat([torch.tensor(X3), torch.tensor(X3[:2]) + 1e4])
    _, n_far = TorchSource(X).map(emb.model_, device=HERE, report=lambda *a: said.append(a))
    assert n_far == 2
    assert said[-1] == ("points", 702, 702)
    with pytest.warns(UserWarning, match="2 of 702 points are more than ten bandwidths"):
        emb.transform(X, device=HERE)


def test_blocks_of_the_host(emb, monkeypatch):
    """Two blocks are processed at a time, as on a GPU; results are in order, bit for bit."""
    fitted = emb.model_
    blocks = [(start, X3[start : start + 90]) for start in range(0, 700, 90)]
    expected = fitted.to(HERE)(torch.tensor(X3), 0)[0]
    for streams in ([None], [None, None]):
        monkeypatch.setattr(sources, "_streams", lambda device, streams=streams: streams)
        found = list(mapped_on_device(blocks, fitted, HERE))
        assert [first for first, *_ in found] == [first for first, _ in blocks]
        np.testing.assert_array_equal(np.concatenate([part for _, part, _ in found]), expected)
        assert sum(count for *_, count in found) == 0


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (torch.zeros(5), r"X has shape \(5,\)"),
        (torch.zeros((0, 3)), r"X has 0 sample\(s\)"),
        (torch.zeros((5, 2)), "has 2 features, but .* is expecting 3"),
        (torch.full((9, 3), 1e200, dtype=torch.float64), "whose squared distances overflow"),
        (torch.zeros((9, 3), dtype=torch.complex64), "complex numbers"),
        (torch.eye(3).to_sparse(), "sparse layout"),
    ],
)
def test_tensors_that_cannot_be_used(X, message, emb):
    with pytest.raises(tp.ParameterError, match=message):
        emb.transform(X, device=HERE)


def test_what_a_device_cannot_take(emb, rng):
    sparse = csr_array(np.maximum(rng.normal(size=(300, 40)) - 1, 0))
    wide = eigenmaps().fit(sparse)
    with pytest.raises(tp.ParameterError, match=r"sparse points.*X.toarray\(\)"):
        wide.transform(sparse, device=HERE)
    da = pytest.importorskip("dask.array")
    with pytest.raises(tp.ParameterError, match="Dask collection, whose workers"):
        emb.transform(da.from_array(X3), device=HERE)


DTYPES = {np.float64: 1e-12, np.float32: 2e-5}


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def cloud(n, d, dtype=np.float64, seed=0):
    """Return rows near a surface that is away from the origin."""
    rng = np.random.default_rng(seed)
    flat = rng.uniform(size=(n, min(d, 3))) * 10
    basis = np.linalg.qr(np.random.default_rng(1).normal(size=(d, flat.shape[1])))[0]
    return (flat @ basis.T + 0.3 * rng.normal(size=(n, d)) + 6).astype(dtype)


@pytest.mark.parametrize("metric", ["cosine", "seuclidean"])
@pytest.mark.parametrize("d", [3, 40])
@pytest.mark.parametrize(("dtype", "tolerance"), DTYPES.items(), ids=["float64", "float32"])
def test_metrics_agree_with_the_host(metric, d, dtype, tolerance):
    X = cloud(900, d, dtype) * np.linspace(1, 5, d, dtype=dtype)
    emb = eigenmaps(metric=metric).fit(X)
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
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(500, 70)) * 10 ** rng.uniform(-30, 30, size=(500, 1))
    np.testing.assert_allclose(unit_rows(torch.tensor(rows)), Cosine()(rows), rtol=1e-15)
    rows = rows.astype(np.float32)
    np.testing.assert_array_equal(unit_rows(torch.tensor(rows)), Cosine()(rows))
    scales = torch.tensor([2.0, 4.0], dtype=torch.float64)
    assert scaled(X[:1].float(), scales).tolist() == [[1.5, 1.0]]
    X[2] = 0
    with pytest.raises(tp.ParameterError, match="only zeros in row 12;"):
        unit_rows(X, 10)


def test_the_nearest_landmarks_are_those_of_the_host_to_the_bit():
    """On grids, more landmarks are equally near than products select at first."""
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
            expected = landmark_search(landmarks, count).nearest(X, count)
            for n_rows in (0, 10**6):
                search = TorchSearch(landmarks, HERE, 2**22)
                search.expect(n_rows)
                found = search.nearest(torch.tensor(X), count)
                for mine, theirs in zip(found, expected, strict=True):
                    np.testing.assert_array_equal(mine, theirs)


@pytest.mark.filterwarnings("ignore::trigpoint._numerics.connectivity.DisconnectedGraphWarning")
def test_groups_far_apart():
    """The distance between two groups swamps the distances within them."""
    X = np.concatenate([cloud(600, 3), 1e6 + cloud(600, 3, seed=1)])
    emb = eigenmaps("graph").fit(X)
    expected = emb.transform(X)
    found = emb.transform(X, device=HERE)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())


def test_an_extension_that_is_unknown():
    with pytest.raises(tp.ParameterError, match=r"SimpleNamespace cannot be computed.*'cpu'"):
        on_device(SimpleNamespace(n_components=2), HERE)


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
    """PyTorch is imported only if a GPU is requested by name."""
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


def test_pools_are_mapped_on_the_device(monkeypatch):
    """Pools have the bits of the host, and errors name rows of X."""
    monkeypatch.setattr(sources, "resolve_device", lambda device, X=None: HERE)
    X = X3.astype(np.float32) - 3
    rows = np.arange(3, 700, 5)
    for space in ("cosine", "euclidean", "seuclidean"):
        found, expected = (
            tp.open_source(Z).pooled(space_for(space), rows)[0] for Z in (torch.tensor(X), X)
        )
        np.testing.assert_array_equal(found, expected)
    X[13] = 0
    with pytest.raises(ValueError, match="only zeros in row 13;"):
        TorchSource(torch.tensor(X)).pooled(space_for("cosine"), rows)
    X[23, 1] = np.inf
    with pytest.raises(ValueError, match=r"infinity \(inf\) in row 23, column 1"):
        TorchSource(torch.tensor(X)).pooled(space_for("euclidean"), rows)


def test_memory_that_runs_out(emb, monkeypatch):
    with pytest.raises(tp.ParameterError, match="which is not enough"), device_memory(HERE):
        raise torch.OutOfMemoryError
    monkeypatch.setattr(device_module, "free_memory", lambda device: 10**6)
    with pytest.raises(tp.ParameterError, match=r"has 1 MB of free memory.*'cpu'"):
        emb.transform(X3, device=HERE)
