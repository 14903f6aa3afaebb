"""Scores of an embedding by labels and by true coordinates."""

from typing import Any

import numpy as np

from trigpoint._common.checks import as_generator, check_count
from trigpoint._common.errors import ParameterTypeError, ParameterValueError
from trigpoint._common.words import counted
from trigpoint._neighbors.nearest import nearest
from trigpoint._numerics.blocks import block_rows, row_blocks
from trigpoint.metrics._checks import as_labels, as_matrix, check_same_length

# Largest number of points from which coordinates are recovered.
_RECOVERED_POINTS = 20_000


def knn_accuracy(
    train: Any, train_labels: Any, test: Any, test_labels: Any, *, n_neighbors: int = 1
) -> float:
    """Accuracy of nearest-neighbor classification.

    Parameters
    ----------
    train : array-like of shape (n, l)
        Points with known labels, such as an embedding.
    train_labels : array-like of shape (n,)
        Known labels.
    test : array-like of shape (t, l)
        Points to classify.
    test_labels : array-like of shape (t,)
        True labels of the points to classify.
    n_neighbors : int, default=1
        Number of nearest training points that vote; ties go to the first label in sorted order.

    Returns
    -------
    accuracy : float
        Fraction of test points whose label is predicted correctly.

    Examples
    --------
    >>> train, labels = [[0.0], [1.0], [5.0]], ["near", "near", "far"]
    >>> knn_accuracy(train, labels, [[0.2], [4.0], [6.0]], ["near", "far", "near"])
    0.6666666666666666
    """
    train, test = as_matrix("train", train), as_matrix("test", test)
    test_labels = as_labels("test_labels", test_labels, "test", len(test))
    train_labels = as_labels("train_labels", train_labels, "train", len(train))
    kinds = {train_labels.dtype.kind, test_labels.dtype.kind}
    if kinds & set("SU") and kinds & set("biuf"):
        raise ParameterTypeError(
            f"train_labels are {train_labels.dtype} and test_labels {test_labels.dtype}, which "
            "never match: pass names for both or numbers for both",
            "test_labels",
        )
    predicted = knn_labels(train, train_labels, test, n_neighbors=n_neighbors)
    return float(np.mean(predicted == test_labels))


def knn_labels(train: Any, train_labels: Any, test: Any, *, n_neighbors: int = 1) -> np.ndarray:
    """Predict labels (t,) from nearest neighbors; see `knn_accuracy` for the parameters."""
    train, test = as_matrix("train", train), as_matrix("test", test)
    if train.shape[1] != test.shape[1]:
        raise ParameterValueError(
            f"train has {counted(train.shape[1], 'column')} and test has {test.shape[1]}: pass "
            "points from the same space",
            "test",
        )
    train_labels = as_labels("train_labels", train_labels, "train", len(train))
    n_neighbors = check_count(
        "n_neighbors", n_neighbors, high=len(train), why=f"train has {len(train)} points"
    )
    classes, codes = np.unique(train_labels, return_inverse=True)
    _, neighbors = nearest(train, test, n_neighbors)
    predicted = np.empty(len(test), dtype=np.int64)
    for block in row_blocks(len(test), block_rows(8 * len(classes))):
        ballots = codes[neighbors[block]]
        ballots += len(classes) * np.arange(len(ballots))[:, None]
        votes = np.bincount(ballots.ravel(), minlength=len(ballots) * len(classes))
        predicted[block] = votes.reshape(len(ballots), len(classes)).argmax(axis=1)
    return np.asarray(classes[predicted])


def coordinate_recovery(
    embedding: Any,
    intrinsic: Any,
    *,
    n_neighbors: int = 10,
    random_state: Any = 0,
) -> np.ndarray:
    """Accuracy with which each intrinsic coordinate is predicted from the embedding.

    Each half of the points, or of a random sample of 20,000 if there are more, predicts the
    intrinsic coordinates of the other half, as the mean over the nearest neighbors in the
    embedding. Bending or stretching the manifold does not change the score; only losing the
    coordinate does.

    Parameters
    ----------
    embedding : array-like of shape (n, l) or (n,)
        Embedded points. Each axis is first scaled to unit variance.
    intrinsic : array-like of shape (n, q) or (n,)
        True coordinates of the points on the manifold.
    n_neighbors : int, default=10
        Number of neighbors used for each prediction.
    random_state : None, int, RandomState or Generator, default=0
        Seed for sampling and for splitting into halves.

    Returns
    -------
    r2 : ndarray of shape (q,)
        R^2 of each coordinate: 1 if it is recovered, 0 or slightly below if it is lost.

    Examples
    --------
    This curve preserves the first coordinate and loses the second.

    >>> import numpy as np
    >>> u = np.random.default_rng(0).random((2000, 2))
    >>> coordinate_recovery(np.column_stack([np.cos(u[:, 0]), np.sin(u[:, 0])]), u).round(1)
    array([ 1. , -0.1])
    """
    Y = as_matrix("embedding", embedding, column=True)
    u = as_matrix("intrinsic", intrinsic, column=True)
    check_same_length("embedding", Y, "intrinsic", u)
    chosen = as_generator(random_state).permutation(len(Y))[:_RECOVERED_POINTS]
    half = len(chosen) // 2
    n_neighbors = check_count(
        "n_neighbors", n_neighbors, high=half, why=f"half of the {len(chosen)} points compared"
    )
    Y = _standardized(Y[chosen].astype(np.float64, copy=False))
    u = u[chosen].astype(np.float64, copy=False)
    deviations = np.square(u - u.mean(axis=0)).sum(axis=0)
    for column in np.flatnonzero(np.ptp(u, axis=0) == 0):
        raise ParameterValueError(
            f"intrinsic is constant in column {column}: omit coordinates that do not vary",
            "intrinsic",
        )

    errors = np.zeros(u.shape[1])
    first, second = slice(None, half), slice(half, None)
    for known, predicted in ((first, second), (second, first)):
        _, neighbors = nearest(Y[known], Y[predicted], n_neighbors)
        errors += np.square(u[known][neighbors].mean(axis=1) - u[predicted]).sum(axis=0)
    return np.asarray(1.0 - errors / deviations)


def _standardized(Y: np.ndarray) -> np.ndarray:
    spread = Y.std(axis=0)
    # Do not scale the rounding noise of a constant axis up to unit variance.
    constant = spread <= 4 * np.finfo(np.float64).eps * np.abs(Y).max(axis=0)
    return np.where(constant, 0.0, (Y - Y.mean(axis=0)) / np.where(constant, 1.0, spread))
