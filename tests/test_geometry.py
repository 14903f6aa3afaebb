"""Local covariances, the Bhattacharyya distance and the local dimension."""

import numpy as np
import pytest

import trigpoint as tp
from trigpoint._geometry import (
    SingularCovarianceWarning,
    bhattacharyya,
    bhattacharyya_matrix,
    local_dimension,
    regularize,
)
from trigpoint._neighbors import products
from trigpoint._neighbors.products import ProductIndex


def covariances_of(index, queries, m, mode):
    return index.covariances(index.search(queries, m), mode)


def random_covariances(rng: np.random.Generator, k: int, d: int) -> np.ndarray:
    factors = rng.normal(size=(k, d, d + 2))
    return factors @ factors.transpose(0, 2, 1) * rng.uniform(0.1, 10, size=(k, 1, 1))


def by_definition(x, y, cx, cy):
    """Evaluate the equation of the paper term by term."""
    c = (cx + cy) / 2
    determinants = np.linalg.det(c) / np.sqrt(np.linalg.det(cx) * np.linalg.det(cy))
    return (x - y) @ np.linalg.inv(c) @ (x - y) / 8 + np.log(determinants) / 2


@pytest.mark.parametrize("d", [1, 2, 3, 9, 17])
def test_bhattacharyya_full(d, rng):
    points, covariances = rng.normal(size=(12, d)), random_covariances(rng, 12, d)
    left, right = np.triu_indices(12, 0)
    expected = [
        by_definition(points[i], points[j], covariances[i], covariances[j])
        for i, j in zip(left, right, strict=True)
    ]
    found = bhattacharyya(points, covariances, left, right)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(found, bhattacharyya(points, covariances, right, left), atol=1e-12)


@pytest.mark.parametrize("d", [1, 5, 8, 30])
def test_bhattacharyya_diagonal_is_that_of_diagonal_matrices_in_any_units(d, rng):
    points, variances = rng.normal(size=(10, d)), rng.uniform(0.1, 5, size=(10, d))
    left, right = np.triu_indices(10, 1)
    expected = [
        by_definition(points[i], points[j], np.diag(variances[i]), np.diag(variances[j]))
        for i, j in zip(left, right, strict=True)
    ]
    for unit in (1e-60, 1, 1e60):
        found = bhattacharyya(points * unit, variances * unit**2, left, right)
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_bhattacharyya_of_variances_whose_ratios_overflow_when_multiplied():
    points, variances = np.zeros((2, 40)), np.stack([np.full(40, 1e-30), np.full(40, 1e30)])
    found = bhattacharyya(points, variances, np.array([0]), np.array([1]))
    expected = 0.5 * 40 * np.log(variances.sum(axis=0)[0] / 2)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_matrix_holds_the_distances_of_all_pairs(full, n_threads, rng):
    points, covariances = rng.normal(size=(300, 6)), random_covariances(rng, 300, 6)
    if not full:
        covariances = np.einsum("kii->ki", covariances)
    left, right = np.triu_indices(300, 1)
    matrix = bhattacharyya_matrix(points, covariances, n_threads)
    expected = bhattacharyya(points, covariances, left, right)
    np.testing.assert_allclose(matrix[left, right], expected, rtol=1e-6)
    np.testing.assert_array_equal(matrix, matrix.T)
    assert not matrix.diagonal().any()


def test_variances_within_far_clusters_keep_their_digits(rng):
    """Relative to the overall center, float32 squares lose the digits of a cluster's spread."""
    centers = 1e4 * rng.normal(size=(3, 40))
    points = np.concatenate([center + rng.normal(size=(50, 40)) for center in centers])
    points = points.astype(np.float32)
    diagonal = covariances_of(ProductIndex(points), points[[0, 50]], 50, "diag")
    for found, cluster in zip(diagonal, np.split(points.astype(float), 3), strict=False):
        np.testing.assert_allclose(found, cluster.var(axis=0), rtol=1e-9)


def test_variances_of_huge_values_do_not_overflow(rng):
    points = (rng.uniform(-1, 1, size=(2000, 17)) * 1e18).astype(np.float32)
    diagonal = covariances_of(ProductIndex(points), points[:3], 1900, "diag")
    np.testing.assert_allclose(diagonal, np.full((3, 17), 1e36 / 3), rtol=0.2)


def test_variances_of_more_landmarks_than_are_marked_together(rng, monkeypatch):
    points = rng.normal(size=(500, 20))
    index = ProductIndex(points)
    found = index.search(points[:7], 300)
    whole = index.covariances(found, "diag")
    monkeypatch.setattr(products, "_MARKED_TOGETHER", 3)
    np.testing.assert_allclose(index.covariances(found, "diag"), whole, rtol=1e-12)


def test_regularize_makes_fewer_neighbors_than_dimensions_invertible(rng):
    flat = np.cov(rng.normal(size=(4, 10)).T)
    assert np.linalg.matrix_rank(flat) == 3
    regular, _ = regularize(flat[None])
    assert np.linalg.cond(regular[0]) < 1e4
    # The caller's array is not modified.
    assert np.linalg.matrix_rank(flat) == 3


@pytest.mark.parametrize("shape", [(2,), (2, 2)])
def test_coinciding_neighbors_borrow_a_covariance_with_a_warning(shape):
    covariances = np.zeros((3, *shape))
    covariances[0] = 4 * (np.eye(2) if len(shape) == 2 else np.ones(2))
    covariances[1] = covariances[0] / 4
    regular, (note,) = regularize(covariances)
    assert isinstance(note, SingularCovarianceWarning)
    assert "1 of 3 landmarks" in str(note)
    np.testing.assert_allclose(regular[2], regular[1])


def ball(n, d, rng):
    directions = rng.normal(size=(n, d))
    return (
        directions
        / np.linalg.norm(directions, axis=1, keepdims=True)
        * rng.random((n, 1)) ** (1 / d)
    )


@pytest.mark.parametrize("dimension", [1, 2, 3, 5])
def test_balls_in_a_larger_space(dimension, rng):
    X = ball(20_000, dimension, rng) @ rng.normal(size=(dimension, 40))
    # Balls at the border hold fewer points, which lowers the estimate in high dimension.
    assert local_dimension(X, 2000) == pytest.approx(dimension, rel=0.15)


def test_noise_below_the_spacing_of_landmarks_does_not_count(rng):
    X, _ = tp.datasets.make_swiss_roll(20_000, random_state=0)
    noisy = np.hstack([X, np.zeros((len(X), 7))]) + 0.2 * rng.normal(size=(len(X), 10))
    few, many = local_dimension(noisy, 200), local_dimension(noisy, 20_000)
    assert few == pytest.approx(2, abs=0.4)
    assert many > 3.4


def test_scale_seed_and_copies_do_not_matter(rng):
    X = ball(5000, 3, rng)
    expected = local_dimension(X, 100)
    assert local_dimension(2.0**20 * X, 100) == expected
    copies = np.repeat(X, 2, axis=0)
    assert local_dimension(copies, 100) == pytest.approx(expected, rel=0.15)


@pytest.mark.parametrize("n", [2, 3, 5, 11])
def test_few_points(n, rng):
    X = rng.normal(size=(n, 2))
    assert 0 <= local_dimension(X, n) <= 2
    assert local_dimension(np.ones((n, 2)), n) == 0
