"""Quality of an embedding: all measures in one record."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from trigpoint._common.errors import ParameterValueError
from trigpoint._common.records import Fit
from trigpoint._common.words import counted, html_table
from trigpoint._neighbors.index import TREE_MAX_DIMENSION
from trigpoint._neighbors.nearest import nearest
from trigpoint._spectrum import regression_residual
from trigpoint.metrics._checks import as_matrix, check_same_length
from trigpoint.metrics._preserved import NEAREST, compare_neighborhoods, shared
from trigpoint.metrics._suspects import (
    SHORTCUT,
    JudgedEdges,
    is_complete,
    judge_edges,
    with_covariances,
)
from trigpoint.metrics._verdict import grade_of, remedy_for, verdict_on

# Share of points in the sample, and its minimum and maximum size, chosen so that measuring takes
# less time than fitting. With many columns, fitting takes longer, and a fair comparison of
# neighborhoods needs more points.
_SHARE = 0.1
_FEWEST, _MOST = 2_000, 10_000
_SAMPLE_BYTES = 2**27
_QUERIES = 500
# Neighborhoods of fewer points are meaningless.
LEAST_SAMPLE = 5

# A coordinate is redundant if earlier ones leave at most this share of its standard deviation
# unexplained. On Swiss rolls, the share is 0.01 to 0.15 for redundant coordinates, and more than
# 0.5 for others.
_UNEXPLAINED = 0.3
_REGRESSION_POINTS = 1_500
# With more coordinates, neighbors are too far apart for a local regression.
_MOST_COORDINATES = 10


@dataclass(frozen=True, eq=False, repr=False)
class Quality:
    """Quality of an embedding, as returned by the `quality` method of every estimator.

    Neighborhoods are compared within a sample: the nearest 10 of 10,000 sampled points span a
    region that holds a thousandth of all points.

    Attributes
    ----------
    grade : {"excellent", "good", "fair", "poor"}
        Grade of the share of neighbors preserved, relative to what can be expected; see Notes.
    verdict : str
        One sentence with the grade and the change most likely to improve the embedding.
    remedy : str
        The change most likely to help, with the exact parameter; empty if there is none.
    method : str
        Name of the estimator.
    unhelpful : frozenset of str
        Estimators and parameters that the verdict must not recommend, such as the estimator itself.
    parameters : dict
        Parameters of the fit.
    n_points, n_features, n_components, n_landmarks : int
    n_sampled, n_queries : int
        Number of points in the sample, and of neighborhoods compared.
    n_neighbors, n_wide : int
        Sizes of the neighborhoods: 10, and 1% of the sample if that is more; fewer in samples of
        up to 20 points.
    neighbors_kept, neighbors_kept_wide : float
        Share of the nearest `n_neighbors`, or `n_wide`, points that are also among the nearest in
        the embedding.
    pca_kept, pca_kept_wide : float
        The same for PCA with as many components, on the same points.
    trustworthiness, continuity : float
        Measured on the smaller neighborhoods: 1 if no false neighbors appear and no true ones are
        lost, about 0.5 for a random embedding. `trustworthiness` is defined as in scikit-learn.
    dimension : float
        Local dimension of the points, estimated from distances to the ten nearest sampled points.
    redundant : tuple of int
        Coordinates, counted from 1, that are functions of earlier ones.
    pieces : int or None
        Connected components of the landmark graph before bridges joined them; ``None`` without a
        graph.
    n_edges, shortcuts : int or None
        Number of edges in the graph, and of suspected shortcuts; the latter is ``None`` if the
        graph links all pairs.
    smoothed : bool
        Whether the extension smooths by averaging over all landmarks.
    rows : int64 ndarray of shape (n_sampled,)
        Rows of the sampled points. Neighborhoods of the first `n_queries` were compared.
    distortion : float32 ndarray of shape (n_sampled,)
        For each sampled point, the share of its nearest 10 queries that are not among its nearest
        in the embedding: 0 means no distortion, 1 that the embedding is torn or folded there.
    queries, embedded_queries : ndarray of shape (n_queries, n_features or n_components)
        Points whose neighborhoods were compared, and their coordinates, for `distortion_of`.
    metric_kept : float
        Share of the nearest neighbors by the metric that are nearest by the Euclidean rows, among
        which all other measures compare neighbors. It is 1 if the map to these rows is exact.

    Notes
    -----
    The grade compares the neighbors preserved with what can be expected of this many coordinates.
    The module `trigpoint.metrics._verdict` defines the thresholds and explains their choice.

    Examples
    --------
    >>> import trigpoint as tp
    >>> X, _ = tp.datasets.make_swiss_roll(5000, random_state=0)
    >>> tp.LaplacianEigenmaps(random_state=0).fit(X).quality(X).grade
    'good'
    >>> tp.Isomap(random_state=0).fit(X).quality(X).grade
    'excellent'
    >>> tp.KernelPCA(random_state=0).fit(X).quality(X).grade
    'fair'
    """

    method: str
    unhelpful: frozenset[str]
    parameters: dict[str, Any]
    n_points: int
    n_features: int
    n_components: int
    n_landmarks: int
    n_sampled: int
    n_queries: int
    n_neighbors: int
    n_wide: int
    neighbors_kept: float
    neighbors_kept_wide: float
    pca_kept: float
    pca_kept_wide: float
    trustworthiness: float
    continuity: float
    dimension: float
    redundant: tuple[int, ...]
    pieces: int | None
    n_edges: int | None
    shortcuts: int | None
    smoothed: bool
    rows: np.ndarray
    distortion: np.ndarray
    queries: np.ndarray
    embedded_queries: np.ndarray
    metric_kept: float = 1.0

    @property
    def grade(self) -> str:
        """One-word grade of the embedding."""
        return grade_of(self)

    @property
    def remedy(self) -> str:
        """Change most likely to help; empty if there is none."""
        return remedy_for(self)

    @property
    def verdict(self) -> str:
        """One-sentence summary of the quality."""
        return verdict_on(self)

    def distortion_of(self, X: Any, embedding: Any) -> np.ndarray:
        """Compute the distortion of any points, for example to color a plot of all points.

        Parameters
        ----------
        X : array-like of shape (n, d)
        embedding : array-like of shape (n, l)
            Coordinates of the points, as returned by `transform`.

        Returns
        -------
        float32 ndarray of shape (n,)
            For each point, the share of its nearest 10 queries that are not its nearest in the
            embedding. Queries count as their own neighbors.
        """
        X, Y = as_matrix("X", X), as_matrix("embedding", embedding)
        check_same_length("X", X, "embedding", Y)
        for name, points, queries in (
            ("X", X, self.queries),
            ("embedding", Y, self.embedded_queries),
        ):
            if points.shape[1] != queries.shape[1]:
                raise ParameterValueError(
                    f"{name} has {points.shape[1]} columns, but the sample had "
                    f"{queries.shape[1]}: pass points of the same kind and their coordinates",
                    name,
                )
        m = min(NEAREST, self.n_queries)
        of_x, of_y = nearest(self.queries, X, m)[1], nearest(self.embedded_queries, Y, m)[1]
        return (1 - shared(of_x, of_y, self.n_queries).mean(axis=1)).astype(np.float32)

    def lines(self) -> dict[str, str]:
        """Return the measures as text, by name."""
        near, wide = self.n_neighbors, self.n_wide
        kept, by_pca = f"{self.neighbors_kept:.1%} of the nearest {near}", f"{self.pca_kept:.1%}"
        if wide > near:
            kept += f", {self.neighbors_kept_wide:.1%} of the nearest {wide}"
            by_pca += f" and {self.pca_kept_wide:.1%}"
        lines = {
            "neighbors kept": kept,
            "kept by PCA": by_pca,
            "trustworthiness": f"{self.trustworthiness:.3f}",
            "continuity": f"{self.continuity:.3f}",
            "local dimension": "unknown: most points coincide"
            if np.isnan(self.dimension)
            else f"{self.dimension:.1f}",
            "redundant coordinates": ", ".join(map(str, self.redundant)) or "none",
        }
        if self.metric_kept < 1:
            lines["kept by the metric"] = f"{self.metric_kept:.1%}, by its map to Euclidean rows"
        if self.pieces is not None:
            lines["pieces"] = "1" if self.pieces == 1 else f"{self.pieces}, joined by bridges"
        if self.shortcuts is not None:
            lines["suspected shortcuts"] = f"{self.shortcuts:,} of {self.n_edges:,} edges"
        sampled = f"{self.n_sampled:,} of " if self.n_sampled < self.n_points else ""
        lines["measured on"] = (
            f"{sampled}{counted(self.n_points, 'point')}, {self.n_queries:,} neighborhoods"
        )
        return lines

    def figures(self) -> dict[str, Any]:
        """Return the measures as numbers, by name, and the verdict."""
        names = [field.name for field in fields(self)]
        # Omit arrays and facts about the fit.
        left_out = {"parameters", "unhelpful", "rows", "distortion", "queries", "embedded_queries"}
        words = {"grade": self.grade, "verdict": self.verdict, "remedy": self.remedy}
        numbers = {name: getattr(self, name) for name in names if name not in left_out}
        if np.isnan(self.dimension):
            numbers["dimension"] = None
        return words | numbers

    def __repr__(self) -> str:
        lines = self.lines()
        width = max(map(len, lines))
        body = "\n".join(f"  {name:<{width}}  {value}" for name, value in lines.items())
        return f"{self.verdict}\n{body}"

    def _repr_html_(self) -> str:
        return html_table(self.verdict, self.lines())


def sample_size(n: int, d: int, itemsize: int) -> int:
    """Return the size of the sample on which to measure an embedding of `n` points, `d` columns.

    This is a tenth of the points, within bounds, in few dimensions, and the maximum in many.
    """
    wanted = max(_FEWEST, int(_SHARE * n)) if d <= TREE_MAX_DIMENSION else _MOST
    affordable = max(_FEWEST, _SAMPLE_BYTES // (d * itemsize))
    return min(n, wanted, _MOST, affordable)


def assess(
    fitted: Fit,
    X: np.ndarray,
    Y: np.ndarray,
    rows: np.ndarray,
    n_points: int,
    n_threads: int = 1,
    *,
    edges: JudgedEdges | None = None,
) -> Quality:
    """Measure the quality of an embedding on a sample of points in random order.

    The sampled points `X` (r, d) have coordinates `Y` (r, l) and row numbers `rows` (r,) among
    `n_points`. `edges` are those of the landmark graph, if already classified.
    """
    if len(X) < LEAST_SAMPLE:
        raise ParameterValueError(
            f"sample={len(X)} points are too few to compare neighborhoods: pass at least "
            f"{LEAST_SAMPLE}",
            "sample",
        )
    n_queries = min(_QUERIES, len(X))
    graph = fitted.graph
    every_pair = graph is not None and is_complete(graph)
    if graph is not None and edges is None and not every_pair:
        edges = judge_edges(graph, with_covariances(fitted.landmarks, X, n_threads))
    return Quality(
        method=fitted.method,
        unhelpful=fitted.unhelpful,
        parameters=fitted.parameters,
        n_points=n_points,
        n_features=X.shape[1],
        n_components=Y.shape[1],
        n_landmarks=len(fitted.landmarks.points),
        n_sampled=len(X),
        n_queries=n_queries,
        **compare_neighborhoods(X, Y, n_queries, n_threads),
        redundant=redundant_coordinates(Y),
        pieces=None if graph is None else len(graph.bridges) + 1,
        n_edges=None if graph is None else graph.lengths.nnz // 2,
        shortcuts=None if edges is None or every_pair else edges.count(SHORTCUT),
        smoothed=fitted.extended_by == "all",
        rows=rows,
        queries=X[:n_queries].copy(),
        embedded_queries=Y[:n_queries].copy(),
        metric_kept=fitted.metric_kept,
    )


def redundant_coordinates(Y: np.ndarray) -> tuple[int, ...]:
    """Return the columns, counted from 1, that local regression predicts from earlier columns."""
    some = Y[:_REGRESSION_POINTS, :_MOST_COORDINATES].astype(np.float64)
    spread = some.std(axis=0)
    varies = spread > 1e-9 * np.abs(some).max(initial=0.0)
    some = some / np.where(varies, spread, 1.0)
    return tuple(
        column + 1
        for column in range(1, some.shape[1])
        if not varies[column]
        or regression_residual(some[:, :column], some[:, column]) <= _UNEXPLAINED
    )
