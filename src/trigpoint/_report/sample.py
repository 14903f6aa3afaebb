"""Sample of points that a page shows."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from trigpoint._common.errors import ParameterValueError
from trigpoint._neighbors.sparse import Points
from trigpoint._report.subject import Subject
from trigpoint._sources import Source, open_source
from trigpoint._sources.values import as_dense

# Maximum number of coordinates shown.
MOST_COORDINATES = 6

# Maximum number and size in bytes of the rows of which all columns are kept, to compute quality and
# images.
_MOST_KEPT = 40_000
_KEPT_BYTES = 2**29

# Bytes of rows that are read at once.
_READ_BYTES = 2**29


@dataclass(frozen=True)
class Sample:
    """A uniform random sample of points."""

    n: int  # Total number of points.
    n_columns: int  # Number of columns of the data.
    usable: int  # Number of points that are not excluded for missing values.
    rows: np.ndarray  # Row numbers (s,) of the sampled points, ascending.
    coordinates: np.ndarray  # Sampled points (s, l) in the embedding.
    columns: np.ndarray  # Values (s, q) of the chosen columns, as in the data.
    kept: np.ndarray  # Ascending positions (m,) in the sample of the points in `raw` and `points`.
    raw: Points  # Rows (m, d) of these points, as in the data.
    points: Points  # The same rows as Euclidean coordinates.

    def positions(self, rows: np.ndarray) -> np.ndarray:
        """Return the positions in the sample of row numbers, -1 for those outside it."""
        found = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        return np.where(self.rows[found] == rows, found, -1)


def draw_sample(
    subject: Subject, source: Source, size: int, chosen: np.ndarray, coordinates: Any = None
) -> Sample:
    """Draw a sample of `size` points, with the values of the `chosen` columns.

    `coordinates` holds the coordinates of all points, or the path of a file with them, if they were
    already computed.
    """
    n = source.n
    given = None if coordinates is None else _given(coordinates, n)
    source = source.matching(subject.model.columns)
    rows = np.sort(source.draw(size, np.random.default_rng(0))).astype(np.int64)
    size = len(rows)
    columns = source.columns
    row_bytes = columns.count * (1 if columns.sparse else columns.dtype.itemsize)
    n_kept = max(1, min(size, _MOST_KEPT, _KEPT_BYTES // row_bytes))
    kept = np.linspace(0, size - 1, n_kept).astype(np.int64)
    step = max(1, _READ_BYTES // row_bytes)
    own, values, raws, points = [], [], [], []
    for first in range(0, size, step):
        part = rows[first : first + step]
        raw = source.take(part)
        mapped = subject.model.space(raw)
        if given is None:
            own.append(subject.coordinates(mapped))
        values.append(as_dense(raw[:, chosen]) if len(chosen) else np.zeros((len(part), 0)))
        inside = kept[(kept >= first) & (kept < first + step)] - first
        raws.append(raw[inside])
        points.append(mapped[inside])
        subject.progress("sample", first + len(part), size)
    if given is not None:
        own.append(as_dense(given.take(rows)))
    return Sample(
        n,
        columns.count,
        source.usable if isinstance(source.usable, int) else len(source.usable),
        rows,
        np.concatenate(own),
        np.concatenate(values),
        kept,
        _stacked(raws),
        _stacked(points),
    )


def _stacked(parts: list[Any]) -> Any:
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    from scipy.sparse import vstack

    return vstack(parts, format="csr")


def _given(coordinates: Any, n: int) -> Source:
    given = open_source(coordinates)
    if given.n != n:
        raise ParameterValueError(
            f"coordinates has {given.n:,} rows, and X has {n:,}: pass what `transform` returned "
            "for X",
            "coordinates",
        )
    return given
