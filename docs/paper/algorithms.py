"""Algorithms 1 to 3 of Wachinger and Golland (2015) in NumPy, slow and as printed."""

import numpy as np
from scipy.linalg import eigh
from scipy.spatial.distance import cdist


def kernel(A, B, sigma):
    """Gaussian kernel of all pairs of rows."""
    return np.exp(-cdist(A, B, "sqeuclidean") / (2 * sigma**2))


def algorithm_1(K, rng):
    """Draw a set of rows J from the determinantal point process with L = K."""
    values, vectors = eigh(K)
    B, J = vectors[:, rng.random(len(K)) < values / (values + 1)], []
    for _ in range(B.shape[1]):
        P = (B**2).sum(axis=1)
        J.append(rng.choice(len(K), p=P / P.sum()))
        direction = B[J[-1]] / np.linalg.norm(B[J[-1]])
        B = B - np.outer(B @ direction, direction)
    return J


def algorithm_2(X, k, m, sigma, rng):
    """Draw k landmarks J, and estimate the covariance C of the m points around each."""
    D, J, C = np.ones(len(X)), [], []
    for _ in range(k):
        J.append(rng.choice(len(X), p=D / D.sum()))
        distances = np.linalg.norm(X - X[J[-1]], axis=1)
        near = np.argsort(distances)[:m]
        D[near] *= 1 - np.exp(-(distances[near] ** 2) / (2 * sigma**2))
        C.append(np.cov(X[near].T, bias=True))
    return J, np.array(C)


def bhattacharyya(x, y, A, B):
    """Distance of two Gaussians, equation 7."""
    C, difference = (A + B) / 2, x - y
    volumes = np.linalg.det(C) / np.sqrt(np.linalg.det(A) * np.linalg.det(B))
    return difference @ np.linalg.solve(C, difference) / 8 + np.log(volumes) / 2


def algorithm_3(X, J, C, sigma, n_neighbors, n_components):
    """Embed all points X from landmarks J with invertible covariances C."""
    Z, k = X[J], len(J)
    distances = np.array(
        [[bhattacharyya(Z[i], Z[j], C[i], C[j]) for j in range(k)] for i in range(k)]
    )
    nearest = np.argsort(distances + np.diag(np.full(k, np.inf)), axis=1)[:, :n_neighbors]
    linked = np.eye(k, dtype=bool)
    linked[np.arange(k)[:, None], nearest] = True
    W = kernel(Z, Z, sigma) * (linked | linked.T)
    D = np.diag(W.sum(axis=0))
    eigenvalues, phi = eigh(D - W, D)
    eigenvalues, phi = eigenvalues[1 : n_components + 1], phi[:, 1 : n_components + 1]
    K = kernel(Z, X, sigma)
    normalized = K / (k * np.sqrt(np.outer(kernel(Z, Z, sigma).mean(axis=1), K.mean(axis=0))))
    return normalized.T @ phi / eigenvalues, W
