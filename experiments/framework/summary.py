"""Means, their errors, and whether two methods differ."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from experiments.framework.experiment import Row

# As in the paper's figures.
_LEVELS = {"***": 0.001, "**": 0.01, "*": 0.05}

PAIRED_TEST = "paired t-test, two-sided"
CORRECTED = "with Holm's correction for all comparisons of the table"
RESAMPLED_TEST = f"{PAIRED_TEST}, with the variance that Nadeau and Bengio give for repeated splits"


def grouped(rows: Sequence[Row], *columns: str) -> dict[tuple[Any, ...], list[Row]]:
    """Rows grouped by their values in some columns, in order of appearance."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in columns), []).append(row)
    return groups


def column(rows: Sequence[Row], name: str) -> np.ndarray:
    """One column as floats; NaN where it is empty."""
    return np.array([np.nan if row[name] is None else row[name] for row in rows], dtype=np.float64)


def median(rows: Sequence[Row], name: str) -> float:
    """Median of one column."""
    return float(np.median(column(rows, name)))


def mean(rows: Sequence[Row], name: str) -> float:
    """Mean of one column."""
    return statistics.fmean(column(rows, name))


def standard_error(values: np.ndarray) -> float:
    """Standard error of the mean; NaN for a single value."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.nan


def with_error(values: np.ndarray, scale: float = 1.0) -> str:
    """The mean, plus or minus its standard error, with the digits that the error leaves."""
    mean, error = scale * float(np.mean(values)), scale * standard_error(values)
    if not np.isfinite(error) or error == 0:
        return f"{mean:.3g}"
    decimals = max(0, 1 - int(np.floor(np.log10(error))))
    return f"{mean:.{decimals}f} ± {error:.{decimals}f}"


@dataclass(frozen=True)
class Comparison:
    """One method against another, on the runs with the same seed.

    Attributes
    ----------
    n_pairs : int
    difference : float
        Mean of the first minus the second.
    p_value : float
        Of a two-sided paired t-test; NaN where there are too few pairs for one.
    """

    n_pairs: int
    difference: float
    p_value: float

    @property
    def stars(self) -> str:
        """Level of significance, as the paper marks it; empty above 0.05."""
        return next((stars for stars, level in _LEVELS.items() if self.p_value < level), "")

    @property
    def points(self) -> str:
        """Difference of two shares in percentage points with its stars, as tables show it."""
        if not self.n_pairs:
            return "-"
        return f"{100 * self.difference:+.2f} {self.stars}".strip().replace("*", "\\*")


def compare(
    first: Sequence[Row], second: Sequence[Row], name: str, overlap: float = 0.0
) -> Comparison:
    """Compare one column of two methods over the seeds that both were run with.

    Parameters
    ----------
    first, second : sequence of Row
    name : str
        The column.
    overlap : float, default=0.0
        Where runs are repeated splits of the same points, which overlap and are not independent:
        points for testing over points for training, by which the variance of the mean grows.

    References
    ----------
    C. Nadeau and Y. Bengio, "Inference for the generalization error", Machine Learning, 2003.
    """
    from scipy.stats import t

    by_seed = [{row["seed"]: row[name] for row in rows} for rows in (first, second)]
    seeds = [seed for seed in by_seed[0] if seed in by_seed[1]]
    a, b = (np.array([values[seed] for seed in seeds], dtype=np.float64) for values in by_seed)
    difference = float(np.mean(a - b)) if seeds else np.nan
    p_value = np.nan
    if len(seeds) > 1 and np.ptp(a - b) > 0:
        variance = np.var(a - b, ddof=1) * (1 / len(seeds) + overlap)
        p_value = float(2 * t.sf(abs(difference) / np.sqrt(variance), len(seeds) - 1))
    return Comparison(len(seeds), difference, p_value)


def holm(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """The same comparisons, with p-values corrected for how many they are.

    References
    ----------
    S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
    Statistics, 1979.
    """
    p_values = np.array([found.p_value for found in comparisons])
    order = np.argsort(p_values)[: np.isfinite(p_values).sum()]
    factors = np.arange(len(order), 0, -1)
    # A smaller one that is not significant ends the search.
    p_values[order] = np.minimum(np.maximum.accumulate(factors * p_values[order]), 1)
    corrected = zip(comparisons, p_values.tolist(), strict=True)
    return [replace(found, p_value=p_value) for found, p_value in corrected]
