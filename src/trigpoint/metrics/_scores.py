"""Scores for the labels and true coordinates that an embedding preserves."""

from typing import Any

import numpy as np

from trigpoint._common.checks import as_generator, check_choice, check_count
from trigpoint._common.errors import ParameterTypeError, ParameterValueError
from trigpoint._common.words import counted
from trigpoint._neighbors.nearest import nearest
from trigpoint._numerics.blocks import block_rows, row_blocks
from trigpoint._spaces import Cosine
from trigpoint.metrics._checks import as_labels, as_matrix, check_same_length


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
        Share of test points whose label is predicted correctly.

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
    """Predict labels from nearest neighbors.

    Parameters
    ----------
    train, train_labels, test, n_neighbors
        As for `knn_accuracy`.

    Returns
    -------
    labels : ndarray of shape (t,)
    """
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


def neighbor_preservation(
    X: Any, embedding: Any, *, n_neighbors: int = 15, metric: str = "euclidean"
) -> float:
    """Share of each point's nearest neighbors that are also nearest in the embedding.

    Parameters
    ----------
    X : array-like of shape (n, d)
        The points.
    embedding : array-like of shape (n, l)
        Coordinates of the points in the embedding.
    n_neighbors : int, default=15
        Number of nearest neighbors of each point to compare.
    metric : {"euclidean", "cosine"}, default="euclidean"
        Distance between the points of `X`; in the embedding it is always Euclidean.

    Returns
    -------
    share : float
        From 0 to 1; a random embedding scores about ``n_neighbors / (n - 1)``.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> neighbor_preservation(X, 10 * X)
    1.0
    """
    X, Y = as_matrix("X", X), as_matrix("embedding", embedding)
    check_same_length("X", X, "embedding", Y)
    if check_choice("metric", metric, ("euclidean", "cosine")) == "cosine":
        X = Cosine()(X)
    n_neighbors = check_count(
        "n_neighbors", n_neighbors, high=len(X) - 1, why=f"there are {len(X)} points"
    )
    near, kept = (nearest(points, points, n_neighbors + 1)[1] for points in (X, Y))
    own = np.arange(len(X))[:, None]
    shared = np.zeros(len(X), dtype=np.int64)
    for column in near.T:
        shared += ((kept == column[:, None]) & (column[:, None] != own)).any(axis=1)
    # A point may be missing from its own neighbors if others coincide with it.
    return float(min(1.0, shared.mean() / n_neighbors))


def coordinate_recovery(
    embedding: Any,
    intrinsic: Any,
    *,
    n_neighbors: int = 10,
    max_points: int = 20_000,
    random_state: Any = 0,
) -> np.ndarray:
    """Accuracy with which each intrinsic coordinate is predicted from the embedding.

    Each half of the points predicts the intrinsic coordinates of the other half, as the mean over
    the nearest neighbors in the embedding. Bending or stretching the manifold does not change the
    score; only losing the coordinate does.

    Parameters
    ----------
    embedding : array-like of shape (n, l) or (n,)
        Embedded points. Each axis is scaled to unit variance first.
    intrinsic : array-like of shape (n, q) or (n,)
        True coordinates of the points on the manifold.
    n_neighbors : int, default=10
        Number of neighbors used for each prediction.
    max_points : int, default=20,000
        If there are more points, a random sample of this size is used.
    random_state : None, int, RandomState or Generator, default=0
        Seed for sampling and for splitting into halves.

    Returns
    -------
    r2 : ndarray of shape (q,)
        R^2 of each coordinate: 1 if it is recovered, 0 or slightly below if it is lost.

    Examples
    --------
    A curve that preserves the first coordinate and loses the second.

    >>> import numpy as np
    >>> u = np.random.default_rng(0).random((2000, 2))
    >>> coordinate_recovery(np.column_stack([np.cos(u[:, 0]), np.sin(u[:, 0])]), u).round(1)
    array([ 1. , -0.1])
    """
    Y = as_matrix("embedding", embedding, column=True)
    u = as_matrix("intrinsic", intrinsic, column=True)
    check_same_length("embedding", Y, "intrinsic", u)
    max_points = check_count("max_points", max_points, low=2)
    chosen = as_generator(random_state).permutation(len(Y))[:max_points]
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


def rank_correlation(embedding_column: Any, coordinate: Any) -> float:
    """Absolute rank correlation (Spearman's rho) of an embedding axis with a true coordinate.

    Parameters
    ----------
    embedding_column, coordinate : array-like of shape (n,)
        The two columns to compare.

    Returns
    -------
    correlation : float
        From 0 to 1; 1 if one is a monotone function of the other, increasing or decreasing.

    Examples
    --------
    >>> rank_correlation([1.0, 2.0, 3.0, 4.0], [0.0, -1.0, -8.0, -27.0])
    1.0
    """
    # Imported here because it is slow and needed only here.
    from scipy.stats import rankdata

    columns = []
    for name, values in (("embedding_column", embedding_column), ("coordinate", coordinate)):
        column = as_matrix(name, values, column=True)
        if column.shape[1] != 1:
            raise ParameterValueError(
                f"{name} has shape {column.shape}: pass one column at a time", name
            )
        if np.ptp(column) == 0:
            raise ParameterValueError(
                f"{name} is constant and has no ranks to compare: pass a column that varies", name
            )
        columns.append(column)
    check_same_length("embedding_column", columns[0], "coordinate", columns[1])
    ranks = np.stack([rankdata(column[:, 0]) for column in columns])
    # Rounding may push a perfect correlation slightly above 1.
    return min(1.0, float(abs(np.corrcoef(ranks)[0, 1])))


def _standardized(Y: np.ndarray) -> np.ndarray:
    spread = Y.std(axis=0)
    # Do not scale the rounding noise of a constant axis up to unit variance.
    constant = spread <= 4 * np.finfo(np.float64).eps * np.abs(Y).max(axis=0)
    return np.where(constant, 0.0, (Y - Y.mean(axis=0)) / np.where(constant, 1.0, spread))
