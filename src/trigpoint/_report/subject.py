"""The fitted embedding that a report describes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from trigpoint._neighbors.sparse import Points
from trigpoint._numerics.blocks import Report, block_rows, row_blocks, thread_map
from trigpoint._sources import Source


@dataclass(frozen=True)
class Subject:
    """A fitted embedding, and everything else that its report requires."""

    fitted: Any  # The `Fit`.
    model: Any  # The fitted map from rows to coordinates.
    seconds: dict[str, float]  # Duration of each stage of the fit.
    n_threads: int
    progress: Report  # Callback that receives progress.
    # Function that measures the quality on a source, given the classified edges of the graph, if
    # any.
    measure: Callable[[Source, Any], Any]
    # Function that prepares the comparison of neighborhoods at single points.
    judge: Callable[[], Any]

    def points(self, source: Source, rows: np.ndarray) -> Points:
        """Read rows, given in ascending order, as Euclidean coordinates."""
        points: Points = self.model.space(source.matching(self.model.columns).take(rows))
        return points

    def coordinates(self, points: Points) -> np.ndarray:
        """Embed Euclidean points; return float64 coordinates (b, l)."""
        extension = self.model.extension
        parts = row_blocks(points.shape[0], block_rows(extension.row_bytes))
        found = thread_map(lambda part: extension(points[part])[0], parts, self.n_threads)
        return np.concatenate(list(found)).astype(np.float64, copy=False)
