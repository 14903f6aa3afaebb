"""Precomputed distances: a full matrix, or the distances to references."""

from typing import Any, Self

import numpy as np

from trigpoint._common.checks import row_numbers
from trigpoint._common.errors import ParameterValueError
from trigpoint._neighbors.sparse import Points
from trigpoint._spaces.references import ReferenceSpace, check_distances

# Larger matrices are checked in a sample of this many rows.
_CHECKED = 2048


class Precomputed(ReferenceSpace):
    """Precomputed distances between all rows, or from each row to reference rows.

    Only the columns of the references are read. `transform` takes the distances of new rows to the
    rows, or references, that were fitted.
    """

    name = "precomputed"

    def reading(self, source: Any) -> Any:
        if source.columns.sparse:
            raise ParameterValueError(
                f"{source.name} is sparse, and metric='precomputed' needs all distances: pass an "
                "array; for a graph of neighbors, distances along it are "
                "scipy.sparse.csgraph.shortest_path(X, directed=False)",
                "metric",
            )
        n, count = source.shape
        order = np.random.default_rng(0).permutation(count)
        numbers = np.arange(n) if n == count else _reference_rows(source)
        if n == count:
            checked = np.sort(order[:_CHECKED])
            whole = source.choosing(checked).take(checked)
            check_distances(whole, checked, source.name)
        chosen = np.sort(order[: self.most_references])
        read = source.choosing(chosen)
        between = read.take(np.sort(numbers[chosen])).astype(np.float64)
        # Rows in the order of the columns.
        between = between[np.argsort(np.argsort(numbers[chosen]))]
        check_distances(between, numbers[chosen], source.name)
        n_queries, among = self.measured
        self.references, some = numbers[chosen], np.sort(order[::-1][:among])
        if n == count:
            own = np.arange(0, len(some), max(1, len(some) // n_queries))
            known = source.choosing(some).take(some[own])
            sample = read.take(some)
        else:
            # Only the distances to the references are known.
            own = np.arange(0, len(chosen), max(1, len(chosen) // n_queries))
            known, sample = between[own], between
        self.fit_map(between, sample.astype(np.float64), known.astype(np.float64), own)
        return read

    def fit(self, rows: Points) -> Self:
        """Do nothing, since `reading` has already fitted the map."""
        return self

    def distances(self, block: Any, others: Any, rows: Any = 0) -> np.ndarray:
        found = np.asarray(block, dtype=np.float64)
        if (found < 0).any():
            row, column = np.argwhere(found < 0)[0]
            raise ParameterValueError(
                f"X has the negative distance {found[row, column]:g} in row "
                f"{row_numbers(rows, row)}, from row {others[column]}: distances are at least 0",
                "X",
            )
        return found

    def _restored_references(self, arrays: dict[str, np.ndarray], n_columns: int) -> Any:
        return arrays["references"]


def _reference_rows(source: Any) -> np.ndarray:
    """Return the row of each column of distances to references: the first with a distance of 0."""
    found = np.full(source.shape[1], -1)
    for first, block in source.blocks():
        rows, columns = np.nonzero(block[:, found < 0] == 0)
        places, where = np.unique(columns, return_index=True)
        found[np.flatnonzero(found < 0)[places]] = first + rows[where]
        if (found >= 0).all():
            return found
    column = int(np.argmax(found < 0))
    raise ParameterValueError(
        f"X has shape {source.shape} and no 0 in column {column}: metric='precomputed' takes all "
        "distances between the rows, of shape (n, n), or those to some of the rows, each of which "
        "is at distance 0 from itself",
        "X",
    )
