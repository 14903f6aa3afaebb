"""Exchanging landmarks for candidates, in tables that a few dozen of both share.

For a Gaussian kernel K and landmarks J, the table ``A`` of t landmarks B and candidates C is

    [ -inverse(K_JJ)_BB                       inverse(K_JJ)_BJ K_JC               ]
    [  K_CJ inverse(K_JJ)_JB                  K_CC - K_CJ inverse(K_JJ) K_JC      ]

and ``H`` holds the inner products, over the points, of the functions that belong to them: for a
landmark, the weight with which it predicts each point; for a candidate, the residual of its kernel
function when predicted. Taking a landmark out or a candidate in is a pivot, which turns the tables
of one set into those of the other at the cost of t^2.
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
    """Exchange the pair that lowers the trace error most, until none does by `least`.

    `chosen` and `free` are places in the tables, brought up to date; a landmark whose variance
    given the others would fall below `floor` is not taken in. Returns the number of exchanges, at
    most `most`.
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
    """The exchange that lowers the trace error most; -1 where none does by `least`.

    Without landmark j, candidate c has the function ``R_c + u_j A_jc / M_jj``: its squared norm
    over its variance is what taking c in would explain.
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
def anneal(
    A: np.ndarray,
    chosen: np.ndarray,
    slots: np.ndarray,
    places: np.ndarray,
    thresholds: np.ndarray,
    diagonal: np.ndarray,
    zero: float,
    floor: float,
) -> tuple[int, int]:
    """Propose exchanges one by one, and make those that the determinant favors.

    Proposal t is to replace the landmark then at ``chosen[slots[t]]`` by ``places[t]`` of the
    table. Nothing happens if that is a landmark already; otherwise the ratio of determinants, new
    to old, must exceed ``thresholds[t]``. Variances count as parts of the kernel's `diagonal` at
    the places of the table: up to `zero` they are zero, and an exchange is refused if only one up
    to `floor`, too small to rely on, prevents it.

    Returns the number of exchanges and the number refused.
    """
    taken = np.zeros(len(A), dtype=np.bool_)
    for place in chosen:
        taken[place] = True
    accepted, refused = 0, 0
    for proposal in range(len(thresholds)):
        i, c = slots[proposal], places[proposal]
        if taken[c]:
            continue
        j = chosen[i]
        precision = -A[j, j]
        variance = A[c, c] + A[j, c] * A[j, c] / precision
        if variance <= zero * diagonal[c] or variance * precision <= thresholds[proposal]:
            continue
        # Symmetric in old and new, so that the chain stays reversible.
        if min(variance / diagonal[c], 1 / (precision * diagonal[j])) <= floor:
            refused += 1
            continue
        for p in (j, c):
            _pivot(A, A[p].copy(), p)
        chosen[i], taken[j], taken[c] = c, False, True
        accepted += 1
    return accepted, refused


@compiled
def _pivot(A: np.ndarray, a: np.ndarray, p: int) -> None:
    """Take the landmark in place `p` out, or the candidate in; `a` is a copy of its row."""
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
    """Inner products after the pivot with the row `a` that `A` had before."""
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
