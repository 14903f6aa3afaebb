"""Quality of an embedding: all measures in one record."""

from dataclasses import dataclass, fields
from textwrap import fill
from typing import Any

import numpy as np

from trigpoint._common.words import counted, html_table, percent
from trigpoint.metrics._verdict import Advice, attainable, grade_of, verdict_on

# Number of characters in a line of the usual terminal.
_WIDTH = 80


@dataclass(frozen=True, eq=False, repr=False)
class Quality:
    """Quality of an embedding, as returned by the `quality` method of every estimator.

    Neighborhoods of a sample of the rows are compared among all rows, so shares are estimates for
    all rows.

    Attributes
    ----------
    grade : {"excellent", "good", "fair", "poor"}
        Grade of the share of neighbors preserved, relative to what can be attained; see Notes.
    remedy : str
        The change most likely to help, with the exact parameters; empty if none was found.
    verdict : str
        Sentences with the grade, its reasons, and the change most likely to improve the embedding.
    method : str
        Name of the estimator.
    unhelpful : frozenset of str
        Estimators and parameters that must not be recommended, such as the estimator itself.
    parameters : dict
        Parameters of the fit.
    n_points, n_features, n_components, n_landmarks : int
    n_queries : int
        Number of rows whose neighborhoods were compared.
    n_neighbors : int
        Size of the neighborhoods: 10, or less for few points.
    preserved : float
        Share of a row's nearest neighbors in the embedding that are among its nearest neighbors in
        the data, on average over the rows. Equal rows count as one neighbor.
    interval : (float, float)
        Confidence interval of `preserved`, with 95 % confidence.
    by_pca : float
        The same share for principal components of the same number.
    chance : float
        The same share after a random permutation of the rows of the embedding.
    torn : float
        Share of the nearest neighbors in the data that are far apart in the embedding: farther than
        the nearest 5 % of all points.
    false_neighbors : float
        Share of the nearest neighbors in the embedding that are far apart in the data.
    tears : float or None
        Share of landmarks that lie on a tear: at least 30 % of the landmarks around them are far
        away in the embedding. ``None`` if the data has more local dimensions than the embedding has
        coordinates, since such data cannot be embedded without tears.
    distance_correlation : float
        Rank correlation of the distances between random pairs of rows in the data and in the
        embedding.
    dimension : float
        Local dimension of the data, estimated from distances to the nearest rows; NaN if unknown.
    attainable : (float, float)
        Range in which the shares of the best known embeddings of such data lie.
    redundant : tuple of int
        Coordinates, counted from 1, that are functions of earlier ones.
    pieces : int or None
        Connected components of the landmark graph before bridges joined them; ``None`` without a
        graph.
    n_edges, shortcuts : int or None
        Number of edges in the graph, and of suspected shortcuts; the latter is ``None`` if the
        graph links all pairs.
    advice : Advice or None
        The change most likely to help, with its expected gain and cost.
    metric_kept : float
        Share of the nearest neighbors by the metric that are also nearest among the Euclidean rows,
        on which all other measures are based. It is 1 if the map to these rows is exact.
    rows : int64 ndarray of shape (n_queries,)
        Rows whose neighborhoods were compared.

    Notes
    -----
    The grade divides `preserved`, corrected for chance, by the share that the best known embeddings
    preserve for data of this local dimension and size and this number of coordinates. The module
    `trigpoint.metrics._verdict` defines this reference, the thresholds, and what rules out the
    grade "excellent".

    Examples
    --------
    >>> import trigpoint as tp
    >>> X, _ = tp.datasets.make_swiss_roll(5000, random_state=0)
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
    n_queries: int
    n_neighbors: int
    preserved: float
    interval: tuple[float, float]
    by_pca: float
    chance: float
    torn: float
    false_neighbors: float
    tears: float | None
    distance_correlation: float
    dimension: float
    redundant: tuple[int, ...]
    pieces: int | None
    n_edges: int | None
    shortcuts: int | None
    rows: np.ndarray
    metric_kept: float = 1.0
    advice: Advice | None = None

    @property
    def attainable(self) -> tuple[float, float]:
        """Range of the shares that the best known embeddings of such data preserve."""
        return attainable(self)

    @property
    def grade(self) -> str:
        """One-word grade of the embedding."""
        return grade_of(self)

    @property
    def remedy(self) -> str:
        """Change most likely to help; empty if none was found."""
        return "" if self.advice is None else self.advice.change

    @property
    def verdict(self) -> str:
        """Summary of the quality in a few sentences."""
        return verdict_on(self)

    def lines(self) -> dict[str, str]:
        """Return the measures as text, by name."""
        (low, high), (worse, better) = self.interval, self.attainable
        lines = {
            "neighbors preserved": f"{percent(self.preserved, 1)} of the nearest "
            f"{self.n_neighbors} ({percent(low, 1)} to {percent(high, 1)})",
            "by the best known maps": f"{percent(worse)} to {percent(better)}",
            "by PCA": percent(self.by_pca, 1),
            "torn neighbors": percent(self.torn, 1),
            "false neighbors": percent(self.false_neighbors, 1),
            **({} if self.tears is None else {"landmarks at tears": percent(self.tears, 1)}),
            "correlation of distances": f"{self.distance_correlation:.2f}",
            "local dimension": "unknown: most points coincide or are equally far apart"
            if np.isnan(self.dimension)
            else f"{self.dimension:.1f}",
            "redundant coordinates": ", ".join(map(str, self.redundant)) or "none",
        }
        if self.metric_kept < 1:
            lines["preserved by the metric"] = (
                f"{percent(self.metric_kept, 1)}, by its map to Euclidean rows"
            )
        if self.pieces is not None:
            lines["connected components"] = (
                "1" if self.pieces == 1 else f"{self.pieces}, joined by bridges"
            )
        if self.shortcuts is not None:
            lines["suspected shortcuts"] = f"{self.shortcuts:,} of {self.n_edges:,} edges"
        neighborhoods = f"{self.n_queries:,} neighborhoods"
        lines["measured on"] = f"{neighborhoods} among {counted(self.n_points, 'point')}"
        return lines

    def figures(self) -> dict[str, Any]:
        """Return the measures as numbers, by name, and the verdict."""
        names = [field.name for field in fields(self)]
        # Omit arrays and facts about the fit.
        left_out = {"parameters", "unhelpful", "rows", "advice"}
        names_of = ("grade", "verdict", "remedy", "attainable")
        words = {name: getattr(self, name) for name in names_of}
        numbers = {name: getattr(self, name) for name in names if name not in left_out}
        if np.isnan(self.dimension):
            numbers["dimension"] = None
        advice = None if self.advice is None else self.advice._asdict()
        return words | numbers | {"advice": advice}

    def __repr__(self) -> str:
        lines = self.lines()
        width = max(map(len, lines))
        body = "\n".join(f"  {name:<{width}}  {value}" for name, value in lines.items())
        wrapped = fill(self.verdict, _WIDTH, break_long_words=False, break_on_hyphens=False)
        return f"{wrapped}\n{body}"

    def _repr_html_(self) -> str:
        return html_table(self.verdict, self.lines())
