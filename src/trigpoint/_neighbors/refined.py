"""Nearest neighbors by a distance that Euclidean rows only approximate."""

from collections.abc import Callable

import numpy as np

from trigpoint._numerics.blocks import block_rows, row_blocks, thread_map

# Number of rounds in which neighbors of neighbors become candidates. On molecules, a tenth of the
# nearest neighbors is still missing after the first round, and the second round finds half of them.
_ROUNDS = 2

# Bytes per candidate: its row, distance and order.
_CANDIDATE_BYTES = 40


def refined_neighbors(
    candidates: np.ndarray,
    m: int,
    distances: Callable[[int, np.ndarray, np.ndarray], None],
    n_threads: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the m nearest rows among the candidates and their neighbors, with distances.

    `candidates` (n, c) are other rows that may be near, and ``distances(first, others, out)`` fills
    distances (b, m) from b rows, beginning with `first`, to the rows `others` (b, m), which are
    ascending and may be repeated. The result is in the order of the rows.

    References
    ----------
    W. Dong, C. Moses and K. Li, "Efficient k-nearest neighbor graph construction for generic
    similarity measures", WWW, 2011.
    """
    n = len(candidates)
    found, gaps = np.empty((n, m), dtype=np.int64), np.empty((n, m))

    def choose(part: slice, others: np.ndarray) -> None:
        others = np.sort(others, axis=1)
        all_gaps = np.empty(others.shape)
        distances(part.start, others, all_gaps)
        all_gaps[:, 1:][others[:, 1:] == others[:, :-1]] = np.inf
        all_gaps[others == np.arange(part.start, part.stop)[:, None]] = np.inf
        order = np.sort(np.argpartition(all_gaps, m - 1, axis=1)[:, :m], axis=1)
        found[part] = np.take_along_axis(others, order, axis=1)
        gaps[part] = np.take_along_axis(all_gaps, order, axis=1)

    def run(of: Callable[[slice], np.ndarray], width: int) -> None:
        parts = row_blocks(n, block_rows(_CANDIDATE_BYTES * width))
        for _ in thread_map(lambda part: choose(part, of(part)), parts, n_threads):
            pass

    run(lambda part: candidates[part], candidates.shape[1])
    for _ in range(_ROUNDS):
        known = found.copy()

        def around(part: slice, known: np.ndarray = known) -> np.ndarray:
            further = known[known[part]].reshape(part.stop - part.start, -1)
            return np.concatenate([known[part], further], axis=1)

        run(around, m * (m + 1))
    return found, gaps
