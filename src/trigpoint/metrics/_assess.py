"""Measure the quality of an embedding on the rows of a source."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from trigpoint._common.errors import ParameterValueError
from trigpoint._common.records import Fit
from trigpoint._neighbors.sparse import Points
from trigpoint._numerics.blocks import Report, block_rows, one_blas_thread, row_blocks, silent
from trigpoint._sources import Source
from trigpoint._spectrum import regression_residual
from trigpoint.metrics._map_scores import Squares
from trigpoint.metrics._pointwise import Judge, Recalled
from trigpoint.metrics._preserved import (
    NEAREST,
    PCA_ROWS,
    Neighbors,
    chance_level,
    far_radii,
    far_shares,
    local_dimension,
    preserved_shares,
    principal_axes,
    row_keys,
    search_all,
)
from trigpoint.metrics._quality import Quality
from trigpoint.metrics._suspects import (
    SHORTCUT,
    JudgedEdges,
    is_complete,
    judge_edges,
    with_covariances,
)
from trigpoint.metrics._verdict import is_manifold

# Number of rows whose neighborhoods are compared. Shares are then accurate to about two percentage
# points.
QUERIES = 500
# Maximum size of the sample in bytes, including the queries.
_SAMPLE_BYTES = 2**27
# Neighborhoods of fewer points are meaningless.
LEAST_SAMPLE = 5

# Maximum size in bytes, and maximum number, of the rows to search at once.
_PART_BYTES, _PART_ROWS = 2**24, 2**16

# Half-width of a 95 % confidence interval, in standard errors.
_WIDTH = 1.96

# Number of rows to which distances from all queries are measured.
_MEASURED = 1_000
# Number of these rows used for the correlation of distances, enough for two digits.
_COMPARED = 50

# A coordinate is redundant if earlier ones leave at most this fraction of its standard deviation
# unexplained. On Swiss rolls, the fraction is 0.01 to 0.15 for redundant coordinates and above 0.5
# for others.
_UNEXPLAINED = 0.3
_REGRESSION_POINTS = 1_500
# Rows this many times farther from the median than most would dominate the regression.
_OUTLYING = 10.0
# With more coordinates, neighbors are too far apart for a local regression.
_MOST_COORDINATES = 10


def assess(
    fitted: Fit,
    model: Any,
    source: Source,
    *,
    rng: np.random.Generator,
    n_threads: int = 1,
    edges: JudgedEdges | None = None,
    report: Report = silent,
) -> Quality:
    """Measure the quality of an embedding on the rows of a source, in two passes.

    `model` maps rows to coordinates, and `edges` holds the classified edges of the landmark graph,
    if available. Rows are sampled in proportion to their weights, if there are any.
    """
    n = source.n
    if n < LEAST_SAMPLE:
        raise ParameterValueError(
            f"X has {n} points, too few to compare neighborhoods: pass at least {LEAST_SAMPLE}", "X"
        )
    width = model.space.width(source.columns.count)
    size = max(QUERIES, min(PCA_ROWS, _SAMPLE_BYTES // (8 * width)))
    weights = source.weights
    if weights is None:
        rows = source.draw(size, rng)
    else:
        rows = rng.choice(n, min(n, size), p=weights / weights.sum())
    n_queries = min(QUERIES, len(rows))
    # The first rows in random order are the queries.
    read, places = np.unique(rows, return_inverse=True)
    places = places.ravel()
    points = model.space(source.take(read), read)
    d = points.shape[1]
    sample = _dense(points)[places].astype(np.float64)
    with one_blas_thread():
        axes = principal_axes(sample - sample.mean(axis=0), model.n_components)
    recalled = Recalled(model.extension)

    def embed(part: Points) -> np.ndarray:
        steps = row_blocks(part.shape[0], model.step)
        coordinates = np.concatenate([recalled(part[step]) for step in steps])
        return coordinates.astype(model.columns.dtype, copy=False)

    def project(part: Points) -> np.ndarray:
        projected: np.ndarray = part @ axes
        return projected

    m = min(NEAREST, (n - 1) // 2)
    pairs = ((0, 1), (1, 0), (2, 0))
    parts = _parts(source, model, d, report)
    # More coordinates are not needed.
    coordinates = embed(points[places[:_REGRESSION_POINTS]])
    asked = points[places[:n_queries]]
    queries = asked, coordinates[:n_queries], project(asked)
    in_x, in_y, in_pca = search_all(parts, queries, (embed, project), pairs, m, n_threads)
    m = _usable(in_x)
    radii = in_x.own[:, m - 1]
    wide = [
        np.sqrt(Squares(some[:_MEASURED])(np.arange(n_queries), n_threads))
        for some in (sample, coordinates)
    ]
    shares = preserved_shares(in_y.other[:, :m], radii)
    error = _WIDTH * np.sqrt((shares.var() + 1 / n_queries) / n_queries * (1 - n_queries / n))
    preserved = float(shares.mean())
    dimension = min(local_dimension(in_x.own[:, :m]), float(d))
    tears = None
    if is_manifold(dimension, model.n_components):
        tears = Judge(fitted, model.extension, n_threads).tears()
    graph = fitted.graph
    every_pair = graph is not None and is_complete(graph)
    if graph is not None and edges is None and not every_pair:
        edges = judge_edges(graph, with_covariances(fitted.landmarks, sample, n_threads))
    return Quality(
        method=fitted.method,
        unhelpful=fitted.unhelpful,
        parameters=fitted.parameters,
        n_points=n,
        n_features=d,
        n_components=model.n_components,
        n_landmarks=len(fitted.landmarks.points),
        n_queries=n_queries,
        n_neighbors=m,
        preserved=preserved,
        interval=(max(0.0, preserved - error), min(1.0, preserved + error)),
        by_pca=float(preserved_shares(in_pca.other[:, :m], radii).mean()),
        chance=chance_level(wide[0], radii),
        torn=float(far_shares(in_x.other[:, :m], far_radii(wide[1], m, n)).mean()),
        false_neighbors=float(far_shares(in_y.other[:, :m], far_radii(wide[0], m, n)).mean()),
        tears=tears,
        distance_correlation=_rank_correlation(*wide),
        dimension=dimension,
        redundant=redundant_coordinates(
            coordinates[np.unique(row_keys(sample[:_REGRESSION_POINTS]), return_index=True)[1]]
        ),
        pieces=None if graph is None else len(graph.bridges) + 1,
        n_edges=None if graph is None else graph.lengths.nnz // 2,
        shortcuts=None if edges is None or every_pair else edges.count(SHORTCUT),
        rows=rows[:n_queries],
        metric_kept=fitted.metric_kept,
    )


def _parts(source: Source, model: Any, d: int, report: Report) -> Iterator[Points]:
    """Yield Euclidean rows in parts of bounded size, leaving out rows that do not count.

    `d` is the number of Euclidean columns.
    """
    weights = source.weights
    for first, block in source.blocks():
        bytes_each = 8 * d if isinstance(block, np.ndarray) else _stored_bytes(block)
        step = min(block_rows(bytes_each, _PART_BYTES), _PART_ROWS)
        for part in row_blocks(block.shape[0], step):
            rows = block[part]
            kept = np.ones(rows.shape[0], dtype=bool)
            if weights is not None:
                kept = weights[first + part.start : first + part.stop] > 0
            if model.columns.missing == "drop":
                kept &= ~np.isnan(_dense(rows)).any(axis=1)
            if kept.any():
                numbers = first + part.start + np.flatnonzero(kept)
                yield model.space(rows[kept], numbers)
        report("quality", first + block.shape[0], source.n)


def _rank_correlation(distances: np.ndarray, others: np.ndarray) -> float:
    """Return the rank correlation of distances (q, s), in a few columns; 0 if one is constant."""
    from scipy.stats import rankdata

    ranks = np.stack([rankdata(some[:, -_COMPARED:]) for some in (distances, others)])
    ranks -= ranks.mean(axis=1, keepdims=True)
    spread = float(np.sqrt(np.prod(np.square(ranks).sum(axis=1))))
    return float(ranks[0] @ ranks[1] / spread) if spread > 0 else 0.0


def _usable(found: Neighbors) -> int:
    """Return the size of neighborhoods: less if there are few distinct rows."""
    count = int(np.isfinite(found.own).sum(axis=1).min())
    if count == 0:
        raise ParameterValueError(
            "all rows of X coincide, so they have no neighborhoods to compare: check how the data "
            "was prepared",
            "X",
        )
    return count if count == found.own.shape[1] else max(1, count // 2)


def _stored_bytes(block: csr_array) -> int:
    return max(1, 16 * block.nnz // block.shape[0])


def _dense(points: Points) -> np.ndarray:
    return points.toarray() if isinstance(points, csr_array) else points


def redundant_coordinates(Y: np.ndarray) -> tuple[int, ...]:
    """Return the columns, counted from 1, that local regression predicts from earlier columns."""
    some = Y[:_REGRESSION_POINTS, :_MOST_COORDINATES].astype(np.float64)
    away = np.abs(some - np.median(some, axis=0))
    some = some[(away <= _OUTLYING * np.quantile(away, 0.9, axis=0)).all(axis=1)]
    spread = some.std(axis=0)
    varies = spread > 1e-9 * np.abs(some).max(initial=0.0)
    some = some / np.where(varies, spread, 1.0)
    return tuple(
        column + 1
        for column in range(1, some.shape[1])
        if not varies[column]
        or regression_residual(some[:, :column], some[:, column]) <= _UNEXPLAINED
    )
