"""Columns of values in two bytes each: numbers on a scale, or labels."""

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

# Kinds of labels that have a colour of their own; the rest share one.
MOST_LABELS = 14
MOST_COLORS = 24

_STEPS = 65534
MISSING = 65535

# Colours spread over the numbers without the outermost, which would leave all others alike.
_COLOR_QUANTILES = (0.01, 0.99)


@dataclass(frozen=True)
class Column:
    """Values of the sampled points.

    Attributes
    ----------
    name : str
    codes : uint16 ndarray of shape (s,)
        Numbers in steps from `low` to `high`, or places in `labels`; 65535 for missing values.
    low, high : float
        Smallest and largest number.
    color_low, color_high : float
        Numbers at the ends of the colour scale.
    labels : tuple of str or None
        The kinds, most frequent first; ``None`` for numbers.
    """

    name: str
    codes: np.ndarray
    low: float = 0.0
    high: float = 1.0
    color_low: float = 0.0
    color_high: float = 1.0
    labels: tuple[str, ...] | None = None


def number_column(name: str, values: np.ndarray) -> Column:
    """Numbers on a scale of their own; those that are not finite are missing."""
    values = np.asarray(values, dtype=np.float64)
    finite = np.isfinite(values)
    codes = np.full(len(values), MISSING, dtype=np.uint16)
    if not finite.any():
        return Column(name, codes)
    low, high = float(values[finite].min()), float(values[finite].max())
    # Halved, so that a range wider than the largest number does not overflow.
    width = high / 2 - low / 2
    share = (values[finite] / 2 - low / 2) / (width if width > 0 else 1.0)
    codes[finite] = np.round(_STEPS * share).astype(np.uint16)
    ends = np.quantile(values[finite], _COLOR_QUANTILES)
    if ends[0] == ends[1]:
        ends = np.array([low, high])
    return Column(name, codes, low, high, float(ends[0]), float(ends[1]))


def label_column(name: str, values: np.ndarray) -> Column:
    """Kinds of labels, most frequent first; those beyond the first 14 become one."""
    texts = np.array(["" if _is_missing(value) else str(value) for value in values], dtype=object)
    missing = np.array([_is_missing(value) for value in values], dtype=bool)
    kinds, places, counts = np.unique(
        texts[~missing].astype(str), return_inverse=True, return_counts=True
    )
    if len(kinds) <= MOST_LABELS:
        rank, labels = np.arange(len(kinds)), [str(kind) for kind in kinds]
    else:
        order = np.argsort(-counts, kind="stable")
        rank = np.empty(len(kinds), dtype=np.int64)
        rank[order] = np.minimum(np.arange(len(kinds)), MOST_LABELS - 1)
        labels = [str(kinds[place]) for place in order[: MOST_LABELS - 1]]
        labels.append(f"{len(kinds) - len(labels):,} others")
    codes = np.full(len(values), MISSING, dtype=np.uint16)
    codes[~missing] = rank[places.reshape(-1)]
    return Column(name, codes, labels=tuple(labels))


def named_colors(color: Any, n_points: int) -> dict[str, np.ndarray]:
    """What a user passes as ``color=``, by name; refused unless there is a value for each point."""
    if color is None:
        return {}
    named = {name: _unmasked(values) for name, values in _by_name(color).items()}
    if len(named) > MOST_COLORS:
        raise ValueError(
            f"color has {len(named)} columns: choose at most {MOST_COLORS}, or the page would "
            "become too large"
        )
    for name, values in named.items():
        if values.shape != (n_points,):
            raise ValueError(
                f"color {name!r} has shape {values.shape} and X has {n_points} rows: pass one "
                "value per row"
            )
        if values.dtype.kind in "mMc":
            raise TypeError(
                f"color {name!r} has dtype {values.dtype}: pass real numbers or labels, such as "
                "seconds for times"
            )
    return named


def color_column(name: str, values: np.ndarray) -> Column:
    """Values of the sampled points as numbers or labels; few whole numbers count as labels."""
    values = _numbers_with_gaps(values)
    if values.dtype.kind == "f":
        return number_column(name, values)
    if values.dtype.kind not in "iu":
        return label_column(name, values)
    kinds, places = np.unique(values, return_inverse=True)
    if len(kinds) > MOST_LABELS:
        return number_column(name, values)
    # In the order of the numbers, which sorted as texts would put 10 before 2.
    labels = tuple(str(kind) for kind in kinds.tolist())
    return Column(name, places.reshape(-1).astype(np.uint16), labels=labels)


def _unmasked(values: Any) -> np.ndarray:
    """Values as an array, masked ones missing."""
    if not isinstance(values, np.ma.MaskedArray):
        return np.asarray(values)
    filled = values.data.astype(object)
    filled[np.ma.getmaskarray(values)] = None
    return filled


def _by_name(color: Any) -> dict[str, Any]:
    if isinstance(color, Mapping):
        return {str(name): values for name, values in color.items()}
    if hasattr(color, "iloc") and hasattr(color, "columns"):
        named = {str(name): color.iloc[:, j] for j, name in enumerate(color.columns)}
        if len(named) < len(color.columns):
            raise ValueError(
                f"color has columns of the same name among {', '.join(map(str, color.columns))}: "
                "rename them"
            )
        return named
    if hasattr(color, "columns"):
        return {str(name): color[name] for name in color.columns}
    name = getattr(color, "name", None)
    return {"colour" if name is None else str(name): color}


def _numbers_with_gaps(values: np.ndarray) -> np.ndarray:
    """Objects that are numbers or missing as numbers, missing ones NaN; others as they are."""
    if values.dtype.kind != "O":
        return values
    missing = np.array([_is_missing(value) for value in values], dtype=bool)
    kinds = {type(value) for value in values[~missing]}
    if not kinds or not all(
        issubclass(kind, Real) and not issubclass(kind, bool) for kind in kinds
    ):
        return values
    numbers = np.full(len(values), np.nan)
    numbers[~missing] = values[~missing].astype(np.float64)
    return numbers


def _is_missing(value: Any) -> bool:
    # NaN, NaT and pandas' NA: none of them is equal to itself in a way that is true.
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return True
