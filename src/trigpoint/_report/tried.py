"""Small plots of the compared methods."""

from collections.abc import Mapping
from html import escape

import numpy as np

from trigpoint._common.palette import GRAY, PAGE_LABELS, graded
from trigpoint._report.given import color_column
from trigpoint.metrics._comparison import Attempt, Comparison
from trigpoint.plot._values import Given

_SIZE, _MARGIN, _DOT = 220, 10, 3
_LEVELS = 10


def tried_section(tried: Comparison, colors: Mapping[str, Given]) -> str:
    """Return a plot of each method with its score, best first.

    Points are colored by the first of `colors` or, if empty, the best method's first coordinate.
    """
    groups, palette = _groups(tried, colors)
    figures = "".join(
        f"<figure><figcaption><h3>{escape(attempt.method)}</h3><b>{attempt.score:.2f}</b>"
        f"</figcaption>{_picture(attempt, groups, palette)}</figure>"
        for attempt in tried.attempts
    )
    failed = "".join(
        f'<p class="note">{escape(name)} was not tried: {escape(reason)}</p>'
        for name, reason in tried.failures.items()
    )
    return (
        '<section id="tried" aria-labelledby="tried-title"><h2 id="tried-title">Methods tried</h2>'
        f"<p class=intro>Each was fitted to {tried.n_fitted:,} points with the same landmarks. The "
        "score compares neighborhoods of every size with those in the data: 1 is perfect, 0 is "
        "random. "
        f"Principal components score {tried.pca_score:.2f}.</p>"
        f"<div class=tried>{figures}</div>{failed}</section>"
    )


def _groups(tried: Comparison, colors: Mapping[str, Given]) -> tuple[np.ndarray, list[str]]:
    """Return the color group (r,) of each point, and the color of each group."""
    if not colors:
        values = tried.attempts[0].coordinates[:, 0]
    else:
        name, given = next(iter(colors.items()))
        column = color_column(name, given.take(tried.rows))
        if column.labels is not None:
            # Labels without their own color are gray, like missing values.
            count = column.n_colored
            return np.minimum(column.codes, count), [*PAGE_LABELS[:count], GRAY]
        values = np.where(column.is_missing, np.nan, column.codes)
    known = np.isfinite(values)
    ranks = np.argsort(np.argsort(values, kind="stable"), kind="stable")
    levels = np.minimum(_LEVELS * ranks // max(1, int(known.sum())), _LEVELS - 1)
    return np.where(known, levels, _LEVELS), [*graded(_LEVELS), GRAY]


def _picture(attempt: Attempt, groups: np.ndarray, palette: list[str]) -> str:
    """Draw points with equal axis scales, as SVG lines of zero length with round ends."""
    points = attempt.coordinates[:, :2]
    if points.shape[1] == 1:
        points = np.column_stack([points, np.zeros(len(points))])
    low, high = points.min(axis=0), points.max(axis=0)
    scale = (_SIZE - 2 * _MARGIN) / (float((high - low).max()) or 1.0)
    places = np.round(_SIZE / 2 + scale * (points - (low + high) / 2), 1)
    places[:, 1] = np.round(_SIZE - places[:, 1], 1)
    paths = []
    for group, color in enumerate(palette):
        dots = "".join(f"M{x:g} {y:g}h0" for x, y in places[groups == group])
        if dots:
            paths.append(f'<path d="{dots}" stroke="{color}"/>')
    return (
        f'<svg viewBox="0 0 {_SIZE} {_SIZE}" role="img" aria-label="{len(points):,} points by '
        f'{escape(attempt.method)}" fill="none" stroke-width="{_DOT}" stroke-linecap="round" '
        f'stroke-opacity=".75">{"".join(paths)}</svg>'
    )
