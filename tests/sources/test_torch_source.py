"""Tensors: what is read, what is returned and what is refused.

The device is ``torch.device("cpu")``, which computes with PyTorch on the host.
"""

import numpy as np
import pytest
from scipy.sparse import csr_array

import trigpoint as tp
from trigpoint._sources import Columns
from trigpoint._spaces import space_for

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from trigpoint._sources import torch as sources  # noqa: E402
from trigpoint._sources.torch import TorchSource, mapped_on_device  # noqa: E402

HERE = torch.device("cpu")
X3 = np.random.default_rng(0).uniform(size=(700, 3)) * [9, 9, 1]


def eigenmaps(**options):
    return tp.LaplacianEigenmaps(
        landmarks=100, graph=tp.KNNGraph(10), extension="smooth", random_state=0, **options
    )


@pytest.fixture(scope="module")
def emb():
    return eigenmaps().fit(X3)


@pytest.mark.parametrize(
    "dtype", [torch.bfloat16, torch.float16, torch.float32, torch.int32, torch.float64]
)
@pytest.mark.parametrize("device", [None, HERE, "cpu"])
def test_a_tensor_gives_a_tensor_of_the_fitted_type(emb, dtype, device):
    """Whether PyTorch or the host computes."""
    X = torch.tensor(X3).to(dtype)
    found = emb.transform(X.requires_grad_(dtype.is_floating_point), device=device)
    assert isinstance(found, torch.Tensor)
    assert (found.dtype, found.device) == (torch.float64, HERE)
    expected = emb.transform(X.detach().double().numpy())
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    wanted = np.float64 if dtype in (torch.int32, torch.float64) else np.float32
    source = TorchSource(X)
    assert (source.dtype, source.take(None).dtype) == (wanted, wanted)


def test_landmarks_of_a_tensor_are_those_of_the_array(emb):
    same = tp.LaplacianEigenmaps(**emb.get_params(deep=False)).fit(torch.tensor(X3))
    np.testing.assert_array_equal(same.landmark_indices_, emb.landmark_indices_)


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
    """Of several blocks, on the device."""
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
    """Two at a time, as on a GPU: in order, and the same bits."""
    fitted = emb.model_
    blocks = [(start, X3[start : start + 90]) for start in range(0, 700, 90)]
    expected = fitted.to(HERE)(torch.tensor(X3), 0)[0]
    for streams in ([None], [None, None]):
        monkeypatch.setattr(sources, "_streams", lambda device, streams=streams: streams)
        found = list(mapped_on_device(blocks, fitted, HERE))
        assert [first for first, *_ in found] == [first for first, _ in blocks]
        np.testing.assert_array_equal(np.concatenate([part for _, part, _ in found]), expected)
        assert sum(count for *_, count in found) == 0


def test_files(emb, tmp_path):
    np.save(tmp_path / "X.npy", X3)
    path = emb.transform(tmp_path / "X.npy", out=tmp_path / "Y.npy", device=HERE)
    np.testing.assert_allclose(np.load(path), emb.transform(X3), rtol=1e-12, atol=1e-12)


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


def test_what_a_device_cannot_take(emb):
    sparse = csr_array(
        np.random.default_rng(0).normal(size=(300, 40))
        * (np.random.default_rng(1).random((300, 40)) < 0.1)
    )
    wide = eigenmaps().fit(sparse)
    with pytest.raises(tp.ParameterError, match=r"sparse points.*X.toarray\(\)"):
        wide.transform(sparse, device=HERE)


def test_dask_collections_are_computed_where_they_are(emb):
    da = pytest.importorskip("dask.array")
    with pytest.raises(tp.ParameterError, match="Dask collection, whose workers"):
        emb.transform(da.from_array(X3), device=HERE)


def test_pools_are_mapped_on_the_device(monkeypatch):
    """They have the bits of the host, and errors name rows of X."""
    monkeypatch.setattr(sources, "resolve_device", lambda device, X=None: HERE)
    X = X3.astype(np.float32) - 3
    rows = np.arange(3, 700, 5)
    for space in ("cosine", "euclidean", "seuclidean"):
        found, expected = (
            tp.open_source(Z).pooled(space_for(space), rows) for Z in (torch.tensor(X), X)
        )
        np.testing.assert_array_equal(found, expected)
    X[13] = 0
    with pytest.raises(ValueError, match="only zeros in row 13;"):
        TorchSource(torch.tensor(X)).pooled(space_for("cosine"), rows)
    X[23, 1] = np.inf
    with pytest.raises(ValueError, match=r"infinity \(inf\) in row 23, column 1"):
        TorchSource(torch.tensor(X)).pooled(space_for("euclidean"), rows)
