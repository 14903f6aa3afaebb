"""How good landmarks, their graph and the embedding are."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf
from scipy.sparse import coo_array, csr_array, issparse
from scipy.sparse.csgraph import connected_components, dijkstra
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from trigpoint.checks import (
    as_generator,
    check_choice,
    check_count,
    check_magnitude,
    check_positive,
)
from trigpoint.kernels import gaussian, gaussian_kernel, squared_distances
from trigpoint.neighbors import TREE_MAX_DIMENSION
from trigpoint.points import BLOCK_BYTES, block_rows, row_blocks
from trigpoint.threads import thread_count

__all__ = [
    "coordinate_recovery",
    "coverage_radius",
    "knn_accuracy",
    "neighbor_recall",
    "nystrom_error",
    "optimal_error",
    "rank_correlation",
    "shortcut_rate",
]

# A landmark is left out when its squared distance, in the feature space of the kernel, from the
# span of the others falls below this. A few rounding errors of 1: any smaller distance is noise.
_SPAN_CUTOFF = 1e-15

# Distances on the manifold that differ by less than this count as equal, so that grids, where all
# neighbours are tied, are not judged by rounding errors.
_TIE = 1e-9


def nystrom_error(
    X: Any,
    landmarks: Any,
    bandwidth: float,
    *,
    relative: bool = False,
    block_bytes: int = BLOCK_BYTES,
) -> float:
    """Trace-norm error of the Nystrom approximation of the Gaussian kernel (equation 1).

    ``tr(K) - tr(K_XJ pinv(K_JJ) K_JX)``, where J are the landmarks: the sum over all points of
    the squared distance, in the feature space of the kernel, from the span of the landmarks.

    Parameters
    ----------
    X : array-like of shape (n, d)
        The points.
    landmarks : array-like of int of shape (k,), or of shape (k, d)
        Rows of `X`, or landmark points that need not be rows, such as the centres of k-means.
        Repeated landmarks add nothing.
    bandwidth : float
        Bandwidth sigma of ``exp(-|x - y|^2 / (2 sigma^2))``.
    relative : bool, default=False
        Divide by ``tr(K) = n``: from 0 (exact) to 1 (nothing explained).
    block_bytes : int, default=16 MiB
        Size of the block of the n x k kernel matrix that is held at once.

    Returns
    -------
    error : float
        Not negative; exactly 0 when every row is a landmark.

    See Also
    --------
    optimal_error : The least error that any approximation of that rank can have.

    Notes
    -----
    All in float64. The pseudo-inverse comes from a Cholesky factorisation of ``K_JJ`` with
    diagonal pivoting, cut off at a squared distance of 1e-15 from the span of the landmarks
    before (the kernel of a point with itself is 1). Eigenvalues would be rounded in proportion to
    the largest of them, each pivot only in proportion to 1. The result is good to about six digits
    up to condition numbers of ``K_JJ`` of 1e13. Beyond 1e15 float64 cannot hold all that crowded
    landmarks span; what it cannot hold is left out, and the error comes out larger than in exact
    arithmetic.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> round(nystrom_error(X, [1], bandwidth=1.0), 6)  # 2 (1 - exp(-1))
    1.264241
    >>> nystrom_error(X, [0, 1, 2], bandwidth=1.0)
    0.0
    """
    X = _as_matrix("X", X)
    check_magnitude(X)
    points, rows = _as_landmarks(X, landmarks)
    bandwidth = check_positive("bandwidth", bandwidth)
    block_bytes = check_count("block_bytes", block_bytes)
    basis, factor = _independent(points.astype(np.float64, copy=False), bandwidth)

    others = np.ones(len(X), dtype=bool)
    if rows is not None:
        others[rows] = False
    error = 0.0
    for block in row_blocks(len(X), block_rows(8 * len(basis), block_bytes)):
        x = X[block][others[block]].astype(np.float64, copy=False)
        if len(x) == 0:
            continue
        kernel = gaussian(squared_distances(x, basis), bandwidth)
        # Not the inverse of the factor: with pivoting, the solution loses fewer digits than its
        # condition number suggests.
        explained = solve_triangular(
            factor, kernel.T, trans="T", overwrite_b=True, check_finite=False
        )
        residuals = 1.0 - np.einsum("ij,ij->j", explained, explained)
        error += float(np.maximum(residuals, 0.0).sum())
    return error / len(X) if relative else error


def optimal_error(
    X: Any, bandwidth: float, n_landmarks: int | Sequence[int], *, relative: bool = False
) -> Any:
    """Least trace-norm error of any approximation of the Gaussian kernel of rank `n_landmarks`.

    The sum of the remaining eigenvalues: no choice of landmarks gets below it. Takes the whole
    kernel matrix, n^2 numbers, and O(n^3) time: meant for a few thousand points.

    Parameters
    ----------
    X : array-like of shape (n, d)
        The points.
    bandwidth : float
        Bandwidth sigma of ``exp(-|x - y|^2 / (2 sigma^2))``.
    n_landmarks : int or sequence of int
        Number of landmarks, from 0 to n, or several at the price of one.
    relative : bool, default=False
        Divide by ``tr(K) = n``.

    Returns
    -------
    error : float, or ndarray of one float for each of `n_landmarks`
        The lower bound.

    See Also
    --------
    nystrom_error : The error of given landmarks.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0]])  # eigenvalues 1 +- exp(-1/2)
    >>> optimal_error(X, 1.0, [0, 1, 2]).round(6)
    array([2.      , 0.393469, 0.      ])
    """
    X = _as_matrix("X", X).astype(np.float64, copy=False)
    check_magnitude(X)
    bandwidth = check_positive("bandwidth", bandwidth)
    n = len(X)
    counts = [n_landmarks] if np.ndim(n_landmarks) == 0 else list(n_landmarks)  # type: ignore[arg-type]
    for count in counts:
        check_count("n_landmarks", count, low=0, high=n, why=f"the data has {n} points")
    eigenvalues = np.linalg.eigvalsh(gaussian_kernel(X, bandwidth))
    smallest = np.concatenate([[0.0], np.cumsum(eigenvalues)])
    errors = np.maximum(smallest[n - np.array(counts, dtype=np.int64)], 0.0)
    if relative:
        errors /= n
    return float(errors[0]) if np.ndim(n_landmarks) == 0 else errors


def coverage_radius(
    X: Any,
    landmarks: Any,
    *,
    metric: str = "euclidean",
    n_neighbors: int = 10,
    quantile: float = 1.0,
) -> float:
    """Largest distance from any point to its nearest landmark.

    Parameters
    ----------
    X : array-like of shape (n, d)
        The points.
    landmarks : array-like of int of shape (k,), or of shape (k, d)
        Rows of `X`, or landmark points. Geodesic distances need rows.
    metric : {"euclidean", "geodesic"}, default="euclidean"
        Distance in a straight line, or the shortest path over the graph of nearest neighbours.
    n_neighbors : int, default=10
        Neighbours of each point in that graph, in which coincident points are one vertex. For
        geodesic distances only.
    quantile : float, default=1.0
        From 0 to 1. Less than 1 gives that quantile of the distances instead of the largest, and
        so leaves outliers aside.

    Returns
    -------
    radius : float
        The distance.

    Raises
    ------
    ValueError
        When the graph falls apart and some points cannot be reached from any landmark.

    Examples
    --------
    Around a right angle the way is longer than the line of sight.

    >>> import numpy as np
    >>> X = np.array([[0.0, 3.0], [0.0, 1.5], [0.0, 0.0], [2.0, 0.0], [4.0, 0.0]])
    >>> coverage_radius(X, [0])
    5.0
    >>> coverage_radius(X, [0], metric="geodesic", n_neighbors=2)
    7.0
    """
    X = _as_matrix("X", X)
    check_magnitude(X)
    points, rows = _as_landmarks(X, landmarks)
    check_choice("metric", metric, ("euclidean", "geodesic"))
    quantile = check_positive("quantile", quantile, zero=True)
    if quantile > 1:
        raise ValueError(f"quantile={quantile} is too large: choose quantile <= 1")
    if metric == "euclidean":
        distances = _nearest(points, X, 1)[0][:, 0]
    elif rows is None:
        raise ValueError(
            f"metric='geodesic' needs landmarks that are rows of X, got points of shape "
            f"{points.shape}: pass their row numbers"
        )
    else:
        distances = _geodesic_to_nearest(X, rows, n_neighbors)
    return float(np.quantile(distances, quantile))


def shortcut_rate(graph: Any, intrinsic: Any, n_neighbors: int) -> float:
    """Share of the edges of a landmark graph that are shortcuts across the manifold.

    An edge is a shortcut when it is longer on the manifold than twice the distance from either
    of its ends to that end's `n_neighbors`-th nearest landmark on the manifold.

    Parameters
    ----------
    graph : sparse array or array-like of shape (k, k)
        The graph. Every stored entry off the diagonal is an edge, in a dense array every nonzero
        one; an edge counts once, whether it is stored in one direction or both.
    intrinsic : array-like of shape (k, q) or (k,)
        True coordinates of the landmarks on the manifold, in which it is flat.
    n_neighbors : int
        Neighbours whose distance sets the scale, without the landmark itself.

    Returns
    -------
    rate : float
        From 0 to 1.

    See Also
    --------
    neighbor_recall : The opposite fault, neighbours that are not linked.

    Examples
    --------
    On a line of landmarks at equal distances, one of five edges leads from end to end.

    >>> import numpy as np
    >>> graph = np.zeros((5, 5))
    >>> graph[[0, 1, 2, 3, 4], [1, 2, 3, 4, 0]] = 1
    >>> shortcut_rate(graph, np.arange(5.0), n_neighbors=1)
    0.2
    """
    u = _as_matrix("intrinsic", intrinsic, column=True).astype(np.float64, copy=False)
    low, high = _as_edges(graph, len(u))
    reach = _ranked_distances(u, n_neighbors)[:, -1]
    lengths = np.linalg.norm(u[low] - u[high], axis=1)
    return float(np.mean(lengths > 2 * (1 + _TIE) * np.maximum(reach[low], reach[high])))


def neighbor_recall(graph: Any, intrinsic: Any, n_neighbors: int) -> float:
    """Share of the nearest landmarks on the manifold that the graph links.

    Parameters
    ----------
    graph : sparse array or array-like of shape (k, k)
        The graph. Every stored entry off the diagonal is an edge, in a dense array every nonzero
        one, and links both its ends.
    intrinsic : array-like of shape (k, q) or (k,)
        True coordinates of the landmarks on the manifold, in which it is flat.
    n_neighbors : int
        How many nearest landmarks of each landmark should be linked. Of landmarks at the same
        distance in the last place it does not matter which are.

    Returns
    -------
    recall : float
        From 0 to 1.

    See Also
    --------
    shortcut_rate : The opposite fault, links that should not be there.

    Examples
    --------
    On a line of four landmarks, two links are enough for every landmark to be linked to a nearest
    one.

    >>> import numpy as np
    >>> graph = np.zeros((4, 4))
    >>> graph[0, 1] = graph[2, 3] = 1
    >>> neighbor_recall(graph, np.arange(4.0), n_neighbors=1)
    1.0
    >>> neighbor_recall(graph, np.arange(4.0), n_neighbors=2)
    0.5
    """
    u = _as_matrix("intrinsic", intrinsic, column=True).astype(np.float64, copy=False)
    low, high = _as_edges(graph, len(u))
    ranked = _ranked_distances(u, n_neighbors)
    n_neighbors = ranked.shape[1]
    inner, outer = (1 - _TIE) * ranked[:, -1], (1 + _TIE) * ranked[:, -1]
    # Those nearer than the last place must all be linked; the places left go to any tied in it.
    n_nearer = np.sum(ranked < inner[:, None], axis=1)
    ends = np.concatenate([low, high])
    lengths = np.tile(np.linalg.norm(u[low] - u[high], axis=1), 2)
    linked_nearer = np.bincount(ends[lengths < inner[ends]], minlength=len(u))
    linked = np.bincount(ends[lengths <= outer[ends]], minlength=len(u))
    found = linked_nearer + np.minimum(linked - linked_nearer, n_neighbors - n_nearer)
    return float(found.mean() / n_neighbors)


def knn_accuracy(
    train: Any, train_labels: Any, test: Any, test_labels: Any, *, n_neighbors: int = 1
) -> float:
    """Accuracy of classification by the nearest neighbours.

    Parameters
    ----------
    train : array-like of shape (n, l)
        Points, such as an embedding, whose labels are known.
    train_labels : array-like of shape (n,)
        Their labels.
    test : array-like of shape (t, l)
        Points to classify.
    test_labels : array-like of shape (t,)
        Their true labels.
    n_neighbors : int, default=1
        How many nearest training points vote; a tied vote goes to the first label in order.

    Returns
    -------
    accuracy : float
        Share of the test points whose label is predicted.

    Examples
    --------
    >>> train, labels = [[0.0], [1.0], [5.0]], ["near", "near", "far"]
    >>> knn_accuracy(train, labels, [[0.2], [4.0], [6.0]], ["near", "far", "near"])
    0.6666666666666666
    """
    train, test = _as_matrix("train", train), _as_matrix("test", test)
    if train.shape[1] != test.shape[1]:
        raise ValueError(
            f"train has {train.shape[1]} columns and test has {test.shape[1]}: pass points of the "
            "same space"
        )
    train_labels = _as_labels("train_labels", train_labels, "train", len(train))
    test_labels = _as_labels("test_labels", test_labels, "test", len(test))
    kinds = {train_labels.dtype.kind, test_labels.dtype.kind}
    if kinds & set("SU") and kinds & set("biuf"):
        raise TypeError(
            f"train_labels are {train_labels.dtype} and test_labels {test_labels.dtype}, which "
            "never match: pass names for both or numbers for both"
        )
    n_neighbors = check_count(
        "n_neighbors", n_neighbors, high=len(train), why=f"train has {len(train)} points"
    )
    classes, codes = np.unique(train_labels, return_inverse=True)
    _, neighbors = _nearest(train, test, n_neighbors)
    predicted = np.empty(len(test), dtype=np.int64)
    for block in row_blocks(len(test), block_rows(8 * len(classes))):
        ballots = codes[neighbors[block]]
        ballots += len(classes) * np.arange(len(ballots))[:, None]
        votes = np.bincount(ballots.ravel(), minlength=len(ballots) * len(classes))
        predicted[block] = votes.reshape(len(ballots), len(classes)).argmax(axis=1)
    return float(np.mean(classes[predicted] == test_labels))


def coordinate_recovery(
    embedding: Any,
    intrinsic: Any,
    *,
    n_neighbors: int = 10,
    max_points: int = 20_000,
    random_state: Any = 0,
) -> np.ndarray:
    """How well each intrinsic coordinate can be read off the embedding.

    Half of the points predict the intrinsic coordinates of the other half, and the other way
    round, as the mean over the nearest neighbours in the embedding. It does not matter how the
    embedding bends or stretches the manifold, only whether it keeps the coordinate.

    Parameters
    ----------
    embedding : array-like of shape (n, l) or (n,)
        Embedded points. Each axis is scaled to unit variance first.
    intrinsic : array-like of shape (n, q) or (n,)
        Their true coordinates on the manifold.
    n_neighbors : int, default=10
        Neighbours in each prediction.
    max_points : int, default=20,000
        Of more points, that many are drawn at random.
    random_state : None, int, RandomState or Generator, default=0
        Seed of the draw and of the halves.

    Returns
    -------
    r2 : ndarray of shape (q,)
        R^2 of each coordinate: 1 for one that is recovered, 0 or a little below for one that is
        lost.

    Examples
    --------
    A curve that keeps the first coordinate and loses the second.

    >>> import numpy as np
    >>> u = np.random.default_rng(0).random((2000, 2))
    >>> coordinate_recovery(np.column_stack([np.cos(u[:, 0]), np.sin(u[:, 0])]), u).round(1)
    array([ 1. , -0.1])
    """
    Y = _as_matrix("embedding", embedding, column=True)
    u = _as_matrix("intrinsic", intrinsic, column=True)
    _check_same_length("embedding", Y, "intrinsic", u)
    max_points = check_count("max_points", max_points, low=2)
    chosen = as_generator(random_state).permutation(len(Y))[:max_points]
    half = len(chosen) // 2
    n_neighbors = check_count(
        "n_neighbors", n_neighbors, high=half, why=f"half of the {len(chosen)} points compared"
    )
    Y = _standardised(Y[chosen].astype(np.float64, copy=False))
    u = u[chosen].astype(np.float64, copy=False)
    deviations = np.square(u - u.mean(axis=0)).sum(axis=0)
    for column in np.flatnonzero(np.ptp(u, axis=0) == 0):
        raise ValueError(
            f"intrinsic is constant in column {column}: leave out coordinates that do not vary"
        )

    errors = np.zeros(u.shape[1])
    first, second = slice(None, half), slice(half, None)
    for known, predicted in ((first, second), (second, first)):
        _, neighbors = _nearest(Y[known], Y[predicted], n_neighbors)
        errors += np.square(u[known][neighbors].mean(axis=1) - u[predicted]).sum(axis=0)
    return np.asarray(1.0 - errors / deviations)


def rank_correlation(embedding_column: Any, coordinate: Any) -> float:
    """Absolute rank correlation (Spearman's) of one embedding axis with a true coordinate.

    Parameters
    ----------
    embedding_column, coordinate : array-like of shape (n,)
        The two to compare.

    Returns
    -------
    correlation : float
        From 0 to 1; 1 when one is a monotone function of the other, rising or falling.

    Examples
    --------
    >>> rank_correlation([1.0, 2.0, 3.0, 4.0], [0.0, -1.0, -8.0, -27.0])
    1.0
    """
    # Slow to import, and needed only here.
    from scipy.stats import rankdata

    columns = []
    for name, values in (("embedding_column", embedding_column), ("coordinate", coordinate)):
        column = _as_matrix(name, values, column=True)
        if column.shape[1] != 1:
            raise ValueError(f"{name} has shape {column.shape}: pass one column at a time")
        if np.ptp(column) == 0:
            raise ValueError(
                f"{name} is constant and has no ranks to compare: pass one that varies"
            )
        columns.append(column)
    _check_same_length("embedding_column", columns[0], "coordinate", columns[1])
    ranks = np.stack([rankdata(column[:, 0]) for column in columns])
    # Rounding may lift a perfect correlation a digit above 1.
    return min(1.0, float(abs(np.corrcoef(ranks)[0, 1])))


def _as_matrix(name: str, values: Any, *, column: bool = False) -> np.ndarray:
    """Check finite numbers, one point per row; with ``column``, a 1-D array is one column."""
    if issparse(values):
        raise TypeError(f"{name} is sparse: pass a dense array, for example {name}.toarray()")
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} must hold real numbers, got dtype {array.dtype}: convert it first")
    if column and array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2:
        raise ValueError(f"{name} has shape {array.shape}: pass a 2-D array, one point per row")
    if array.size == 0:
        raise ValueError(f"{name} is empty, its shape is {array.shape}: pass at least one point")
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    finite = np.isfinite(array).all(axis=1)
    if not finite.all():
        raise ValueError(
            f"{name} has NaN or infinity in {np.sum(~finite)} rows, the first of them row "
            f"{np.argmin(finite)}: remove or fill in those values"
        )
    return array


def _as_landmarks(X: np.ndarray, landmarks: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """Landmark points, and their rows in `X` where rows were given."""
    given = np.asarray(landmarks)
    if given.size == 0:
        raise ValueError(f"landmarks is empty, its shape is {given.shape}: pass at least one")
    if given.ndim == 2:
        points = _as_matrix("landmarks", given)
        if points.shape[1] != X.shape[1]:
            raise ValueError(
                f"landmarks has {points.shape[1]} columns and X has {X.shape[1]}: pass points of "
                "the same space, or a 1-D array of row numbers"
            )
        return points, None
    if given.ndim != 1 or given.dtype.kind not in "iu":
        raise TypeError(
            f"landmarks must be a 1-D array of row numbers or a 2-D array of points, got "
            f"{given.dtype} of shape {given.shape}"
        )
    if given.min() < 0 or given.max() >= len(X):
        raise ValueError(
            f"landmarks has row numbers from {given.min()} to {given.max()}: choose them from 0 "
            f"to {len(X) - 1} (X has {len(X)} points)"
        )
    rows = given.astype(np.int64)
    return X[rows], rows


def _as_edges(graph: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Both ends of every undirected edge, lower row first."""
    if not issparse(graph):
        graph = np.asarray(graph)
        if graph.dtype.kind not in "biuf" or graph.ndim != 2:
            raise TypeError(
                f"graph must be a sparse or a 2-D array, got {graph.dtype} of shape {graph.shape}"
            )
    entries = coo_array(graph)
    if entries.shape != (k, k):
        raise ValueError(
            f"graph has shape {entries.shape} and intrinsic has {k} rows: pass the {k} x {k} graph "
            "and the coordinates of the same landmarks"
        )
    row, col = (ends.astype(np.int64) for ends in entries.coords)
    code = np.unique(np.minimum(row, col)[row != col] * k + np.maximum(row, col)[row != col])
    if len(code) == 0:
        raise ValueError("graph has no edges: pass a graph that links some landmarks")
    return code // k, code % k


def _as_labels(name: str, labels: Any, points: str, n_points: int) -> np.ndarray:
    array = np.asarray(labels)
    if array.shape != (n_points,):
        raise ValueError(
            f"{name} has shape {array.shape} and {points} has {n_points} rows: pass one label "
            "per row"
        )
    return array


def _check_same_length(name: str, a: np.ndarray, other_name: str, b: np.ndarray) -> None:
    if len(a) != len(b):
        raise ValueError(
            f"{name} has {len(a)} rows and {other_name} has {len(b)}: pass the same points to both"
        )


def _standardised(Y: np.ndarray) -> np.ndarray:
    spread = Y.std(axis=0)
    # What is left of a constant axis after rounding must not be blown up to unit variance.
    constant = spread <= 4 * np.finfo(np.float64).eps * np.abs(Y).max(axis=0)
    return np.where(constant, 0.0, (Y - Y.mean(axis=0)) / np.where(constant, 1.0, spread))


def _independent(points: np.ndarray, bandwidth: float) -> tuple[np.ndarray, np.ndarray]:
    """Independent ones of the landmarks, and the upper Cholesky factor of their kernel."""
    # Distances by differences: the smallest pivots are what is left after nearly all digits of
    # the kernel have cancelled.
    kernel = gaussian(cdist(points, points, "sqeuclidean"), bandwidth)
    factor, order, rank, _ = dpstrf(kernel, tol=_SPAN_CUTOFF)
    return points[order[:rank] - 1], np.asfortranarray(factor[:rank, :rank])


def _nearest(points: np.ndarray, queries: np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Distances (float64) and rows of the `m` points nearest to each query, nearest first."""
    distances = np.empty((len(queries), m))
    rows = np.empty((len(queries), m), dtype=np.int64)
    if points.shape[1] <= TREE_MAX_DIMENSION:
        tree = cKDTree(points, balanced_tree=False)
        for block in row_blocks(len(queries), block_rows(8 * (points.shape[1] + 2 * m))):
            distances[block], rows[block] = tree.query(
                queries[block], k=np.arange(1, m + 1), workers=thread_count(-1)
            )
        return distances, rows

    from sklearn.neighbors import NearestNeighbors

    centre = points.mean(axis=0, dtype=np.float64).astype(points.dtype)
    search = NearestNeighbors(n_neighbors=m, algorithm="brute").fit(points - centre)
    for block in row_blocks(len(queries), block_rows(8 * points.shape[1] * (m + 1))):
        rows[block] = search.kneighbors(queries[block] - centre, return_distance=False)
        # By differences, since matrix products lose the digits of short distances.
        difference = points[rows[block]].astype(np.float64) - queries[block, None]
        distances[block] = np.sqrt(np.einsum("ijk,ijk->ij", difference, difference))
    return distances, rows


def _ranked_distances(u: np.ndarray, n_neighbors: Any) -> np.ndarray:
    """Distances from each landmark to its `n_neighbors` nearest others, in ascending order."""
    k = len(u)
    m = check_count("n_neighbors", n_neighbors, high=k - 1, why=f"there are {k} landmarks")
    # Each landmark finds itself, or one that coincides with it, at distance 0.
    return np.sort(_nearest(u, u, m + 1)[0], axis=1)[:, 1:]


def _geodesic_to_nearest(X: np.ndarray, rows: np.ndarray, n_neighbors: Any) -> np.ndarray:
    """Length of the shortest path from each point to a landmark over the neighbourhood graph."""
    n_neighbors = check_count(
        "n_neighbors", n_neighbors, high=max(1, len(X) - 1), why=f"the data has {len(X)} points"
    )
    # Were they separate, copies of one point would use up each other's places as neighbours.
    vertices, vertex_of = np.unique(X, axis=0, return_inverse=True)
    vertex_of = vertex_of.reshape(-1)
    n_vertices = len(vertices)
    m = min(n_neighbors + 1, n_vertices)
    lengths, found = _nearest(vertices, vertices, m)
    # Stored zeros are edges, of points whose distance rounds to zero; those to oneself do no harm.
    graph = csr_array(
        (lengths.ravel(), found.ravel(), np.arange(0, n_vertices * m + 1, m)),
        shape=(n_vertices, n_vertices),
    )
    paths = dijkstra(graph, directed=False, indices=np.unique(vertex_of[rows]), min_only=True)
    distances = np.asarray(paths)[vertex_of]
    unreached = np.isinf(distances).sum()
    if unreached:
        n_components = connected_components(graph, directed=False, return_labels=False)
        raise ValueError(
            f"{unreached} of the {len(X)} points cannot be reached from any landmark: the graph of "
            f"n_neighbors={n_neighbors} nearest neighbours has {n_components} components; raise "
            "n_neighbors or place a landmark in every component"
        )
    return distances
