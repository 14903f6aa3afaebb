"""Maps of all rows of a tensor, laid out by PyTorch, compared with those of the host.

The device is ``torch.device("cpu")``, on which PyTorch computes on the host.
"""

import numpy as np
import pytest
from scipy.spatial import procrustes
from sklearn.datasets import load_digits

import trigpoint as tp
from trigpoint._layout import PrincipalAxes, affinities, principal_start
from trigpoint._neighbors.cells import nearest_of, neighbors_of_all
from trigpoint._neighbors.nearest import nearest
from trigpoint._numerics.blocks import grouped_rows

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from trigpoint import _pool  # noqa: E402
from trigpoint._estimators import landmark_map, torch_layout  # noqa: E402
from trigpoint._estimators.torch_layout import Attraction, DeviceForces  # noqa: E402
from trigpoint._neighbors import torch_cells  # noqa: E402
from trigpoint._neighbors.torch_cells import TorchCells  # noqa: E402
from trigpoint._sources import torch as sources  # noqa: E402

HERE = torch.device("cpu")
DIGITS = load_digits().data.astype(np.float32)


@pytest.fixture
def there(monkeypatch):
    """Treat tensors as if they were on a GPU."""
    monkeypatch.setattr(sources, "resolve_device", lambda device, X=None: HERE)


def preserved(X, Y):
    """Return the share of the ten nearest neighbors that a map preserves."""
    near = [nearest(Z, Z, 11, 1)[1] for Z in (X.astype(np.float64), Y.astype(np.float64))]
    return np.mean([len(set(a) & set(b)) - 1 for a, b in zip(*near, strict=True)]) / 10


def some_forces(masses, neighbors=None, pulls=None):
    """Return the forces on rows in their order; each row is attracted by the given neighbors."""
    k = len(masses)
    neighbors = np.zeros((k, 0)) if neighbors is None else neighbors
    m = neighbors.shape[1]
    pairs = Attraction(
        torch.arange(k).repeat_interleave(m).int(),
        torch.tensor(neighbors.ravel()).int(),
        torch.tensor(np.zeros(0) if pulls is None else pulls.ravel()).float(),
        torch.arange(k + 1) * m,
    )
    shares = torch.tensor(masses / masses.sum()).float()
    return DeviceForces(torch.arange(k), shares, pairs)


@pytest.mark.parametrize("metric", ["euclidean", "seuclidean"])
@pytest.mark.parametrize("columns", [20, 64], ids=["all columns", "principal components"])
def test_whole_weights_give_the_map_of_repeated_rows(metric, columns, there):
    X, w = torch.tensor(DIGITS[:400, :columns]), np.arange(400) % 4
    rows = np.repeat(np.arange(400), w)
    emb = tp.LandmarkMap(n_iter=20, metric=metric)
    expected = emb.fit_transform(X[torch.tensor(rows)])
    indices = emb.landmark_indices_
    found = emb.fit_transform(X, sample_weight=w)
    np.testing.assert_array_equal(np.asarray(found)[rows], np.asarray(expected))
    np.testing.assert_array_equal(emb.landmark_indices_, rows[indices])


@pytest.mark.parametrize("n_components", [1, 2, 3])
def test_forces_are_those_of_all_pairs(n_components, rng, monkeypatch):
    monkeypatch.setattr(torch_layout, "_PAIRS", 700)
    monkeypatch.setattr(torch_layout, "_ROWS", 100)
    monkeypatch.setattr(torch_layout, "_MOST_NODES", {1: 1024, 2: 512, 3: 96})
    points, masses = 6 * rng.normal(size=(800, n_components)), rng.uniform(1, 4, size=800)
    neighbors, pulls = rng.integers(800, size=(800, 7)), rng.uniform(size=(800, 7))
    forces = some_forces(masses, neighbors, pulls)
    there = torch.tensor(points).float()
    steps = points[neighbors] - points[:, None]
    kernel = pulls / (1 + np.square(steps).sum(axis=2))
    expected = np.einsum("km,kml->kl", kernel, steps)
    parts = []
    for _ in forces.over_parts(lambda part: parts.append(forces.attraction(there, part))):
        pass
    assert len(parts) > 7
    np.testing.assert_allclose(torch.cat(parts), expected, rtol=1e-4, atol=1e-4)
    shares, away = masses / masses.sum(), points[:, None] - points
    kernel = 1 / (1 + np.square(away).sum(axis=2))
    np.fill_diagonal(kernel, 0)
    expected = np.einsum("j,ij,ijc->ic", shares, kernel**2, away) / (shares @ kernel @ shares)
    found = forces.repulsion(there).numpy()
    assert np.linalg.norm(found - expected) < 0.02 * np.linalg.norm(expected)
    # The grid scales with the map.
    far = forces.repulsion(1e3 * there)
    assert far.isfinite().all()
    np.testing.assert_array_equal(forces.repulsion(there), found)


def test_repulsion_does_not_depend_on_the_order_of_rows(rng):
    """Floating-point sums would depend on it, because a GPU adds in no fixed order."""
    points, masses = 9 * rng.normal(size=(3000, 2)), rng.uniform(1, 4, size=3000)
    there, order = torch.tensor(points).float(), rng.permutation(3000)
    first = some_forces(masses).repulsion(there)
    # The masses of the rows are normalized in another order.
    shuffled = some_forces(masses)
    shuffled._units, shuffled.masses = shuffled._units[order], shuffled.masses[order]
    np.testing.assert_array_equal(shuffled.repulsion(there[order]), first[order])


def test_affinities_are_those_of_the_host(rng):
    X, masses = rng.normal(size=(300, 8)), rng.integers(1, 5, size=300).astype(float)
    pool = _pool.DevicePool(X)
    pool.there = pool.inside = torch.tensor(X)
    forces = DeviceForces.of(pool, masses, 10, _pool_run())
    neighbors = neighbors_of_all(X, 20, rng, 1)
    joint = affinities(*nearest_of(X, neighbors, 20, 1), masses, 10, 1)
    expected = joint.toarray() / (masses / masses.sum())[:, None]
    order, (rows, columns, pulls, _) = forces.order.numpy(), forces._pairs
    found = np.zeros((300, 300))
    found[order[rows.numpy()], order[columns.numpy()]] = pulls
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


def _pool_run():
    from trigpoint._numerics.blocks import Run

    return Run(0, 1, False)


def test_equal_distances_have_equal_shares():
    """As on the host, more neighbors than the perplexity may be equally near."""
    points = torch.cat([torch.zeros(1, 30), torch.eye(30), 5 * torch.eye(30)[:5]])
    neighbors = torch.arange(1, 36).repeat(36, 1)
    _, squares = torch_layout._nearest_of(points, torch.arange(36), neighbors, neighbors.shape[1])
    shares = torch_layout._shares(squares, 15)[0]
    np.testing.assert_allclose(shares[:30], 1 / 30, rtol=1e-5)
    assert shares[30:].max() == 0


@pytest.mark.parametrize("apart", [0.0, 1e5])
def test_as_many_neighbors_are_found_as_on_the_host(apart, rng, monkeypatch):
    monkeypatch.setattr(torch_cells, "BLOCK_BYTES", 2**16)
    X = rng.normal(size=(4000, 20))
    X[2000:] += apart
    X[7] = 1e12
    cells = TorchCells(torch.tensor(X), np.random.default_rng(0))
    order = cells.order.numpy()
    found = np.empty((4000, 30), dtype=np.int64)
    found[order] = order[cells.neighbors(30)]
    rows = rng.choice(4000, 400, replace=False)
    exact = nearest(X, X[rows], 31, 1)[1]
    ours, hosts = (
        np.mean([len(set(a) & set(b)) for a, b in zip(some[rows], exact, strict=True)]) / 30
        for some in (found, neighbors_of_all(X, 30, np.random.default_rng(0), 1))
    )
    assert ours > hosts - 0.02
    assert all(len(set(near) - {i}) == 30 for i, near in enumerate(found))


def test_few_neighbors_are_exact(rng):
    X = rng.normal(size=(300, 5))
    cells = TorchCells(torch.tensor(X), rng)
    order, found = cells.order.numpy(), np.empty((300, 9), dtype=np.int64)
    found[order] = order[cells.neighbors(9)]
    expected = neighbors_of_all(X, 9, rng, 1)
    np.testing.assert_array_equal(np.sort(found), np.sort(expected))
    near = cells.nearest(torch.tensor(X[:50] + 1e-9), 1)
    np.testing.assert_array_equal(near[:, 0], np.arange(50))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_rows_are_grouped_as_on_the_host(dtype, rng, monkeypatch):
    X = rng.integers(-2, 3, size=(2000, 4)).astype(dtype)
    X[X == 0] *= rng.choice([-1, 1], size=(X == 0).sum())
    for expected, found in zip(grouped_rows(X), _pool.grouped_there(torch.tensor(X)), strict=True):
        np.testing.assert_array_equal(found, expected)
    # All rows have the same key.
    monkeypatch.setattr(_pool, "to_device", lambda array, device: torch.zeros(4).long())
    for expected, found in zip(grouped_rows(X), _pool.grouped_there(torch.tensor(X)), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_the_map_is_as_good_as_that_of_the_host(there):
    host = tp.LandmarkMap().fit_transform(DIGITS)
    emb = tp.LandmarkMap()
    found = emb.fit_transform(torch.tensor(DIGITS))
    assert found.dtype == torch.float32
    assert preserved(DIGITS, found.numpy()) > preserved(DIGITS, host) - 0.02
    assert procrustes(host, found.numpy())[2] < 0.1
    assert torch.equal(tp.LandmarkMap().fit_transform(torch.tensor(DIGITS)), found)
    assert torch.equal(emb.transform(torch.tensor(DIGITS)), found)
    np.testing.assert_array_equal(emb.transform(DIGITS, device="cpu"), found)


def test_the_host_lays_out_tensors_of_the_host():
    expected = tp.LandmarkMap(n_iter=5).fit_transform(DIGITS)
    found = tp.LandmarkMap(n_iter=5).fit_transform(torch.tensor(DIGITS))
    np.testing.assert_array_equal(found, expected)


def test_the_host_lays_out_what_does_not_fit(there, monkeypatch):
    monkeypatch.setattr(landmark_map, "free_memory", lambda device: 2**20)
    expected = tp.LandmarkMap(n_iter=5).fit_transform(DIGITS)
    emb = tp.LandmarkMap(n_iter=5).fit(torch.tensor(DIGITS))
    np.testing.assert_array_equal(emb.landmark_embedding_, expected)


@pytest.mark.parametrize("metric", ["cosine", "seuclidean"])
@pytest.mark.parametrize("init", ["pca", "spectral"])
def test_metrics_and_starts(there, metric, init):
    X = DIGITS[:900, 2:6] if init == "spectral" else DIGITS[:900]
    X = X + np.float32(0.5) + np.arange(900, dtype=np.float32)[:, None] % 7 / 99
    host = tp.LandmarkMap(metric=metric, init=init).fit_transform(X)
    emb = tp.LandmarkMap(metric=metric, init=init)
    found = emb.fit_transform(torch.tensor(X)).numpy()
    assert preserved(X, found) > preserved(X, host) - 0.05
    np.testing.assert_array_equal(emb.transform(X, device="cpu"), found)


def test_surfaces_are_unrolled(there, roll):
    X, _ = roll
    found = tp.LandmarkMap().fit_transform(torch.tensor(X)).numpy()
    assert procrustes(tp.LandmarkMap().fit_transform(X), found)[2] < 0.05


def test_given_start(there, rng):
    start = rng.normal(size=(len(DIGITS), 2))
    found = tp.LandmarkMap(init=start, n_iter=1).fit_transform(torch.tensor(DIGITS)).numpy()
    assert procrustes(start, found)[2] < 0.05


def test_a_metric_of_the_host_is_fitted_there(there):
    class Doubled:
        def fit(self, rows):
            return self

        def __call__(self, rows):
            return 2 * rows

    emb = tp.LandmarkMap(metric=Doubled(), n_iter=5).fit(torch.tensor(DIGITS))
    expected = tp.LandmarkMap(n_iter=5, metric=Doubled()).fit_transform(DIGITS)
    np.testing.assert_array_equal(emb.landmark_embedding_, expected)


def test_equal_rows_and_far_rows(there, rng):
    """Equal rows share a position, and far rows hardly change the map of the others."""
    X = np.concatenate([DIGITS, DIGITS[:300], DIGITS[:300]])
    X[:, 3] = 7
    near = np.arange(len(X)) != 9
    alone = tp.LandmarkMap().fit_transform(torch.tensor(X[near])).numpy()
    for far in (1e6, 1e12):
        X[9] = far
        emb = tp.LandmarkMap()
        found = emb.fit_transform(torch.tensor(X)).numpy()
        np.testing.assert_array_equal(found[10:300], found[-290:])
        assert emb.masses_.sum() == len(X)
        assert emb.masses_.max() == 3
        assert preserved(X[near][:1500], found[near][:1500]) > (
            preserved(X[near][:1500], alone[:1500]) - 0.02
        )


def test_bad_rows_are_named(there):
    X = torch.tensor(DIGITS)
    X[1234, 5] = np.nan
    with pytest.raises(ValueError, match="NaN in row 1234, column 5"):
        tp.LandmarkMap().fit(X)
    X[1234] = 0
    with pytest.raises(ValueError, match="only zeros in row 1234"):
        tp.LandmarkMap(metric="cosine").fit(X)
    with pytest.raises(ValueError, match="all 100 points coincide"):
        tp.LandmarkMap().fit(torch.ones(100, 5))


def test_axes_of_a_sample_project_arrays_and_tensors(rng):
    X = rng.normal(size=(500, 6)) * [9, 5, 1, 1, 1, 1]
    X[3] = 1e9
    axes = PrincipalAxes.of(X, np.ones(500), 2)
    there = PrincipalAxes(
        torch.tensor(axes.median),
        axes.longest,
        torch.tensor(axes.mean),
        torch.tensor(axes.directions),
    )
    np.testing.assert_allclose(there(torch.tensor(X)), axes(X), rtol=1e-9)
    start = principal_start(X, np.ones(500), 2, rng)
    assert procrustes(start, axes(X))[2] < 1e-6
