"""Which rows are in which shard."""

from collections.abc import Sequence

import numpy as np


class Layout:
    """Partitions in the order of their rows, and the shards that hold them.

    Parameters
    ----------
    sizes : int64 ndarray of shape (partitions,)
        Their numbers of points; some may be empty.
    shards : sequence of int64 ndarrays
        The partitions of each shard, ascending.
    """

    def __init__(self, sizes: np.ndarray, shards: Sequence[np.ndarray]) -> None:
        self.n_points = int(sizes.sum())
        self._ends = np.cumsum(sizes)
        self._starts = self._ends - sizes
        self._sizes = sizes
        self._of_shard = list(shards)
        self._shards, self._places = np.full((2, len(sizes)), -1)
        # Where each partition starts within its shard.
        self._local = np.zeros(len(sizes), dtype=np.int64)
        for shard, parts in enumerate(shards):
            self._shards[parts] = shard
            self._places[parts] = np.arange(len(parts))
            self._local[parts] = np.cumsum(sizes[parts]) - sizes[parts]

    def runs(self) -> list[tuple[int, int, int]]:
        """Consecutive rows in one shard: it, and the first and last places of their partitions."""
        runs: list[tuple[int, int, int]] = []
        for part in np.flatnonzero(self._sizes).tolist():
            shard, place = int(self._shards[part]), int(self._places[part])
            if runs and runs[-1][0] == shard:
                runs[-1] = shard, runs[-1][1], place
            else:
                runs.append((shard, place, place))
        return runs

    def parts_at(self, targets: np.ndarray, ends: np.ndarray | None = None) -> np.ndarray:
        """Partitions that hold rows; or that hold targets, given where the targets of each end."""
        return np.searchsorted(self._ends if ends is None else ends, targets, side="right")

    def parts(self, parts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Shards of some partitions, and their places in them."""
        return self._shards[parts], self._places[parts]

    def locate(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Shards of some rows, and their rows in them."""
        parts = self.parts_at(rows)
        return self._shards[parts], rows - self._starts[parts] + self._local[parts]

    def to_rows(self, shard: int, local: np.ndarray) -> np.ndarray:
        """Rows among all points of some rows of a shard."""
        parts = self._of_shard[shard]
        places = parts[np.searchsorted(np.cumsum(self._sizes[parts]), local, side="right")]
        return np.asarray(local - self._local[places] + self._starts[places])

    def last_rows(self, rows: np.ndarray) -> list[np.ndarray]:
        """For each shard, the last of its rows up to some of all rows; -1 if there is none."""
        result = []
        for parts in self._of_shard:
            place = np.searchsorted(self._starts[parts], rows, side="right") - 1
            part = parts[np.maximum(place, 0)]
            last = self._local[part] + np.minimum(rows - self._starts[part] + 1, self._sizes[part])
            result.append(np.where(place < 0, 0, last) - 1)
        return result

    def by_part(self, of_shards: Sequence[np.ndarray]) -> np.ndarray:
        """Sums over partitions in the order of their rows, from values (..., parts) of shards."""
        shape = of_shards[0].shape[:-1]
        values = np.zeros((*shape, len(self._sizes)), dtype=np.int64)
        for parts, some in zip(self._of_shard, of_shards, strict=True):
            values[..., parts] = some
        return np.asarray(np.cumsum(values, axis=-1))
