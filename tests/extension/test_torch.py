"""Extensions evaluated by PyTorch: the coordinates of the host.

The device is ``torch.device("cpu")``, which computes with PyTorch on the host;
`tools/gpu_check.py` does the same on a GPU.
"""

from types import SimpleNamespace

import numpy as np
import pytest

import trigpoint as tp
from trigpoint._neighbors.nearest import landmark_search
from trigpoint._spaces import Cosine

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from trigpoint._extension.torch import on_device  # noqa: E402
from trigpoint._extension.torch_search import TorchSearch  # noqa: E402
from trigpoint._spaces.torch import scaled, unit_rows  # noqa: E402

HERE = torch.device("cpu")
DTYPES = {np.float64: 1e-12, np.float32: 2e-5}


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
            expected = landmark_search(landmarks, count).nearest(X, count)
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


def test_an_extension_that_is_unknown():
    with pytest.raises(tp.ParameterError, match=r"SimpleNamespace cannot be computed.*'cpu'"):
        on_device(SimpleNamespace(n_components=2), HERE)
