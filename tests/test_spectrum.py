"""Spectra, compared with scikit-learn's, and the choice of independent eigenvectors."""

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from scipy.stats import spearmanr
from sklearn.neighbors import kneighbors_graph

import trigpoint._spectrum
from trigpoint._common.records import Landmarks
from trigpoint._graphs import KNNGraph
from trigpoint._numerics.gaussian import gaussian_kernel
from trigpoint._spectrum import (
    RedundantEigenvectorsWarning,
    classical_scaling,
    density_scale,
    diffusion_maps,
    hop_dimension,
    independent_columns,
    laplacian_eigenmaps,
)
from trigpoint.datasets import make_swiss_roll


@pytest.fixture(scope="module")
def weights(roll) -> csr_array:
    """Return a connected neighborhood graph of 800 points, without self-loops."""
    X = roll[0][:800]
    adjacency = kneighbors_graph(X, 12, mode="connectivity")
    adjacency = adjacency.maximum(adjacency.T)
    kernel = gaussian_kernel(X, 3.0)
    return csr_array(adjacency.multiply(kernel))


@pytest.fixture(params=["dense", "factorization", "Lanczos"])
def solver(request, monkeypatch):
    """Force each of the three solvers in turn, for any graph."""
    if request.param != "dense":
        monkeypatch.setattr(trigpoint._spectrum, "_DENSE_MAX", 10)
    limit = np.inf if request.param == "factorization" else 0.0
    monkeypatch.setattr(trigpoint._spectrum, "_LU_MAX_DIMENSION", limit)
    return request.param


@pytest.mark.usefixtures("solver")
def test_laplacian_eigenmaps_solve_the_generalised_problem(weights):
    found = laplacian_eigenmaps(weights, 5)
    degrees = np.diag(weights.toarray().sum(axis=1))
    expected, _ = eigh(degrees - weights.toarray(), degrees, subset_by_index=[1, 5])
    np.testing.assert_allclose(found.eigenvalues, expected, atol=1e-10)
    left = (degrees - weights.toarray()) @ found.coordinates
    np.testing.assert_allclose(left, degrees @ found.coordinates * expected, atol=1e-9)
    gram = found.coordinates.T @ degrees @ found.coordinates
    np.testing.assert_allclose(gram, np.eye(5), atol=1e-9)
    # Signs are arbitrary.
    largest = np.abs(found.coordinates).argmax(axis=0)
    assert (found.coordinates[largest, np.arange(5)] > 0).all()


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("time", [0, 1, 2.5])
def test_diffusion_maps_by_definition(weights, alpha, time):
    found = diffusion_maps(weights, 3, alpha=alpha, time=time)
    W = weights.toarray()
    density = W.sum(axis=1)
    W = W / np.outer(density**alpha, density**alpha)
    P = W / W.sum(axis=1, keepdims=True)
    stationary = W.sum(axis=1) / W.sum()
    psi = found.coordinates / found.eigenvalues**time
    np.testing.assert_allclose(P @ psi, psi * found.eigenvalues, atol=1e-9)
    np.testing.assert_allclose((psi**2 * stationary[:, None]).sum(axis=0), 1, atol=1e-9)
    np.testing.assert_allclose(density_scale(weights, alpha), density**-alpha)


def test_a_fractional_time_needs_positive_eigenvalues():
    """Without self-loops, a step between two landmarks has the eigenvalue -1."""
    weights = csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
    np.testing.assert_allclose(diffusion_maps(weights, 1, time=2).eigenvalues, [-1])
    with pytest.raises(ValueError, match=r"time=0\.5 needs positive eigenvalues"):
        diffusion_maps(weights, 1, time=0.5)


def test_too_many_principal_components_are_refused():
    points = np.arange(6.0)[:, None]
    with pytest.raises(
        ValueError, match=r"n_components=3.*only 1 eigenvalue is .*n_components <= 1"
    ):
        classical_scaling(cdist(points, points), 3)
    with pytest.raises(ValueError, match=r"only 0 eigenvalues are .*; choose more landmarks$"):
        classical_scaling(np.zeros((4, 4)), 1)


def test_independent_columns_skip_functions_of_earlier_ones(rng):
    """On a strip four times as long as wide, the first eigenvectors are cosines of the length."""
    s, h = rng.uniform(size=(2, 1000))
    columns = [np.cos(np.pi * s), np.cos(2 * np.pi * s), np.cos(3 * np.pi * s), np.cos(np.pi * h)]
    mixed = np.cos(np.pi * s) * np.cos(np.pi * h)
    vectors = np.column_stack([*columns, mixed])
    np.testing.assert_array_equal(independent_columns(vectors, 2)[0], [0, 3])
    # The last candidate is tested as well.
    np.testing.assert_array_equal(independent_columns(vectors[:, :4], 2)[0], [0, 3])


def test_independent_columns_say_when_there_are_too_few(rng):
    s = rng.uniform(size=500)
    vectors = np.column_stack([np.cos(j * np.pi * s) for j in range(1, 6)])
    chosen, (note,) = independent_columns(vectors, 2)
    assert isinstance(note, RedundantEigenvectorsWarning)
    assert "only 1 of the first 5 eigenvectors are independent" in str(note)
    assert len(chosen) == 2


@pytest.mark.parametrize(("d", "low", "high"), [(1, 0.8, 1.2), (2, 1.6, 2.4), (8, 3.5, 9)])
def test_hop_dimension_is_about_that_of_the_data(d, low, high, rng):
    links = kneighbors_graph(rng.uniform(size=(20_000, d)), 12)
    assert low < hop_dimension(csr_array(links.maximum(links.T))) < high


def test_20_000_landmarks_of_a_surface_are_factorized(calls):
    """Lanczos would take thousands of steps here, and minutes instead of seconds."""
    factorized = calls(trigpoint._spectrum, "splu")
    X, intrinsic = make_swiss_roll(20_000, random_state=0)
    graph = KNNGraph(15, metric="euclidean").build(Landmarks(X))
    spectrum = laplacian_eigenmaps(graph.weights, 3)
    assert [matrix.shape for matrix, *_ in factorized] == [(20_000, 20_000)]
    correlation = spearmanr(spectrum.coordinates[:, 0], intrinsic[:, 0]).statistic
    assert abs(correlation) > 0.999


def test_5_000_landmarks_in_high_dimension_are_iterated(rng, calls):
    """A factorization would have much fill-in here."""
    factorized = calls(trigpoint._spectrum, "splu")
    graph = KNNGraph(15, metric="euclidean").build(Landmarks(rng.uniform(size=(5000, 10))))
    spectrum = laplacian_eigenmaps(graph.weights, 3)
    assert not factorized
    # The first modes of a cube are cosines along its axes, with nearly equal eigenvalues.
    assert spectrum.eigenvalues[2] / spectrum.eigenvalues[0] < 1.3
