"""Exchanges of landmarks for candidates, in tables of a few dozen of each.

For a Gaussian kernel K and landmarks J, the table ``A`` of t landmarks B and candidates C is

    [ -inverse(K_JJ)_BB                       inverse(K_JJ)_BJ K_JC               ]
    [  K_CJ inverse(K_JJ)_JB                  K_CC - K_CJ inverse(K_JJ) K_JC      ]

and ``H`` holds the inner products of their functions over the points. The function of a landmark is
the weight with which it predicts each point; that of a candidate is the residual of its kernel
function. Removing a landmark or adding a candidate is a pivot, which updates the tables at a cost
of t^2.
"""

import numpy as np

from trigpoint._kernels.jit import compiled


@compiled
def descend(
    A: np.ndarray,
    H: np.ndarray,
    chosen: np.ndarray,
    free: np.ndarray,
    least: float,
    floor: float,
    most: int,
) -> int:
    """Exchange the pair that lowers the trace error most, until no pair lowers it by `least`.

    `chosen` and `free` are positions in the tables, and are updated in place. Candidates with a
    conditional variance below `floor`, given the other landmarks, are not added. Returns the number
    of exchanges, at most `most`.
    """
    for done in range(most):
        i, j = _best(A, H, chosen, free, least, floor)
        if i < 0:
            return done
        leaving, entering = chosen[i], free[j]
        for p in (leaving, entering):
            a = A[p].copy()
            _pivot(A, a, p)
            _transform(H, a, p)
        chosen[i], free[j] = entering, leaving
    return most


@compiled
def _best(
    A: np.ndarray,
    H: np.ndarray,
    chosen: np.ndarray,
    free: np.ndarray,
    least: float,
    floor: float,
) -> tuple[int, int]:
    """Return the exchange that lowers the trace error most, or -1 if none lowers it by `least`.

    Without landmark j, the function of candidate c is ``R_c + u_j A_jc / M_jj``. Its squared norm
    divided by its variance is the error that adding c would explain.
    """
    lowest, best_i, best_j = -least, -1, -1
    for i in range(len(chosen)):
        j = chosen[i]
        precision, own = -A[j, j], H[j, j]
        lost = own / precision
        for at in range(len(free)):
            c = free[at]
            share = A[j, c] / precision
            variance = A[c, c] + share * A[j, c]
            if variance > floor:
                gained = (H[c, c] + 2 * share * H[j, c] + share * share * own) / variance
                if lost - gained < lowest:
                    lowest, best_i, best_j = lost - gained, i, at
    return best_i, best_j


@compiled
def _pivot(A: np.ndarray, a: np.ndarray, p: int) -> None:
    """Remove the landmark or add the candidate at `p`; `a` is a copy of its row."""
    q = a[p]
    for s in range(len(a)):
        factor = a[s] / q
        for t in range(len(a)):
            A[s, t] -= factor * a[t]
    for t in range(len(a)):
        A[p, t] = a[t] / abs(q)
        A[t, p] = A[p, t]
    A[p, p] = -1 / q


@compiled
def _transform(H: np.ndarray, a: np.ndarray, p: int) -> None:
    """Update the inner products after a pivot at `p`; `a` is the row of `A` before the pivot."""
    q, h = a[p], H[p].copy()
    for s in range(len(a)):
        factor = a[s] / q
        rest = (factor * h[p] - h[s]) / q
        for t in range(len(a)):
            H[s, t] += rest * a[t] - factor * h[t]
    for t in range(len(a)):
        H[p, t] = (h[t] - a[t] * h[p] / q) / abs(q)
        H[t, p] = H[p, t]
    H[p, p] = h[p] / (q * q)
