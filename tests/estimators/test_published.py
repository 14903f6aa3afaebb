"""The pipeline of the paper, compared with the slow reference in the documentation."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from tests.samplers.subset_statistics import (
    SIGNIFICANCE,
    algorithm_2_probabilities,
    p_value,
    repulsions,
    welsch,
)

import trigpoint as tp

REFERENCE = Path(__file__).parents[2] / "docs" / "paper" / "algorithms.py"


@pytest.fixture(scope="module")
def paper():
    """Return the module `algorithms.py` of the documentation."""
    spec = importlib.util.spec_from_file_location("algorithms", REFERENCE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module", name="X")
def roll_points():
    return tp.datasets.make_swiss_roll(600, random_state=3)[0]


@pytest.mark.filterwarnings("ignore::trigpoint.ParameterWarning")
def test_covariances_graph_and_coordinates_are_those_of_the_reference(paper, X):
    emb = tp.as_published(3, 60, m=40, sigma=4.0, n_neighbors=8, random_state=0).fit(X)
    sampler = tp.EfficientDPP(60, n_neighbors=40, bandwidth=4.0, pool=None, random_state=0)
    J = emb.landmark_indices_
    np.testing.assert_array_equal(J, sampler.fit(X).indices_)
    # Covariances of the points that each landmark repels.
    near = np.argsort(np.linalg.norm(X - X[J][:, None], axis=2), axis=1)[:, :40]
    C = np.array([np.cov(X[rows].T, bias=True) for rows in near])
    np.testing.assert_allclose(emb.covariances_, C, atol=1e-10)
    C += 0.01 * np.einsum("kii->k", C)[:, None, None] / 3 * np.eye(3)
    expected, W = paper.algorithm_3(X, J, C, sigma=4.0, n_neighbors=8, n_components=3)
    assert len(emb.bridges_) == 0
    np.testing.assert_allclose(emb.graph_.toarray(), W, rtol=1e-12, atol=1e-14)
    found = emb.transform(X)
    found *= np.sign((found * expected).sum(axis=0))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * np.abs(expected).max())


def test_landmarks_have_the_distribution_of_the_paper(paper):
    """Compare `fit` and the reference with the distribution of three of six points."""
    points, rng = np.random.default_rng(5).normal(size=(6, 2)), np.random.default_rng(1)
    expected = algorithm_2_probabilities(repulsions(points, 4, welsch, 1.0), 3)
    drawn = [paper.algorithm_2(points, 3, 4, 1.0, rng)[0] for _ in range(4000)]
    assert p_value(drawn, expected, ordered=True) > SIGNIFICANCE
    wrong = algorithm_2_probabilities(repulsions(points, 3, welsch, 1.0), 3)
    assert p_value(drawn, wrong, ordered=True) < SIGNIFICANCE


def test_one_bandwidth_is_needed(X):
    emb = tp.LaplacianEigenmaps(landmarks=50, extension="published", random_state=0)
    with pytest.raises(tp.ParameterError, match=r"needs one bandwidth.*KNNGraph\(bandwidth="):
        emb.fit(X)
