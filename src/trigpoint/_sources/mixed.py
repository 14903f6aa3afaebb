"""Tables with numbers, categories, booleans, dates and missing values.

Columns that are not numeric are converted to numbers: categories to the positions of their levels,
booleans to 0 or 1, and dates to days since 1970. `Columns.kinds` describes what the numbers mean.
Levels, medians and scales are computed in one pass over all rows when they are first needed. A
model stores them, so that other tables are encoded like the fitted one.
"""

from collections import Counter
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow
import pyarrow.compute

from trigpoint._common.errors import ParameterValueError
from trigpoint._common.labels import natural_order
from trigpoint._common.records import ColumnKind
from trigpoint._common.words import counted
from trigpoint._numerics.robust import center_and_scale
from trigpoint._sources.arrow import ArrowSource, stored_kind
from trigpoint._sources.base import Source
from trigpoint._sources.choosing import listed_names
from trigpoint._sources.values import Columns

# A text column is categorical if it has at most this many distinct values, except if it has more
# than a few and most of them are unique.
MOST_LEVELS, _FEW_LEVELS = 100, 10

# Maximum number of rows from which medians and scales are computed. Larger tables are sampled at
# every second, fourth, ... row.
_MEASURED_ROWS = 2**18

# Maximum number of levels that a description lists.
_LISTED = 4

# Code of a category that is not one of the levels.
UNSEEN = -1.0

_MICROSECONDS_PER_DAY = 86_400e6


@dataclass(frozen=True)
class Summary:
    """Summary of all rows of a table, from a single pass."""

    n: int  # Number of rows.
    kinds: tuple[ColumnKind, ...]
    left_out: dict[str, str]  # Columns that are not used, with the reasons.
    gaps: np.ndarray  # Ascending numbers of the rows with missing values in the used columns.

    @property
    def is_mixed(self) -> bool:
        """Whether there are missing values, categories, dates, or columns of several kinds."""
        several = len({kind.kind for kind in self.kinds}) > 1
        return several or any(kind.gaps or kind.kind in ("category", "date") for kind in self.kinds)

    def lines(self) -> dict[str, str]:
        """Return how ``metric="table"`` compares each column, by name."""
        left_out = {name: f"left out: {why}" for name, why in self.left_out.items()}
        return {kind.name: _line(kind) for kind in self.kinds} | left_out


class TableSource(Source):
    """Rows of a table with columns of any kind; `table` reads all columns of interest."""

    def __init__(self, table: ArrowSource, missing: str | None) -> None:
        self.name, self.path = table.name, table.path
        self._table, self._missing = table, missing or "error"
        labels = table.labels
        if twice := [name for name, times in Counter(labels).items() if times > 1]:
            raise ParameterValueError(
                f"{self.name} has several columns named {twice[0]!r}: rename them", "X"
            )

    @cached_property
    def summary(self) -> Summary:
        """Kinds, levels, medians, scales and gaps of all columns, from one pass over all rows."""
        return _summarized(self._table)

    @cached_property
    def columns(self) -> Columns:  # type: ignore[override]  # An attribute of other sources.
        """Kinds of the columns that are used; `matching` replaces them by those of a model."""
        kinds = self.summary.kinds
        if not kinds:
            reasons = "; ".join(f"{name}: {why}" for name, why in self.summary.left_out.items())
            raise ParameterValueError(f"{self.name} has no column to compare ({reasons})", "X")
        if self._missing == "error" and (gaps := [kind for kind in kinds if kind.gaps]):
            raise ParameterValueError(
                f"column {gaps[0].name!r} of {self.name} has "
                f"{counted(gaps[0].gaps, 'missing value')}{_others(len(gaps) - 1)}, the first in "
                f"row {self.summary.gaps[0]}, counted from 0: pass tp.open_source(X, "
                "missing='median') to fill them in, or missing='drop' to leave out these rows",
                "X",
            )
        if self._missing != "median":
            kinds = tuple(replace(kind, gaps=0) for kind in kinds)
        names = tuple(kind.name for kind in kinds)
        return Columns(names, len(kinds), np.dtype(np.float64), False, kinds, self._missing)

    @property
    def usable(self) -> int | np.ndarray:
        if self.columns.missing != "drop":
            return self.n
        return self.n if len(self._complete) == self.n else self._complete

    @cached_property
    def _complete(self) -> np.ndarray:
        """Numbers of the rows without missing values in the columns that are used."""
        found = []
        for first, block in self.blocks():
            found.append(first + np.flatnonzero(~np.isnan(np.asarray(block)).any(axis=1)))
        return np.concatenate(found)

    def under(self, space: Any) -> Source:
        space.describe(self.columns)
        if not space.takes_gaps or self.columns.missing != "median":
            return self
        marked = copy(self)
        marked.columns = replace(self.columns, missing="mark")
        return marked

    def matching(self, columns: Columns) -> Source:
        """Return this source with the kinds and levels of fitted columns, found by name."""
        if columns.kinds is None:
            # The model was fitted to numeric columns only.
            numbers = super().matching(columns)
            own = self.columns
            numbers.columns = replace(columns, kinds=own.kinds, missing=own.missing)
            return numbers
        known = self._table.labels
        if absent := [kind.name for kind in columns.kinds if kind.name not in known]:
            raise ParameterValueError(
                f"{self.name} has no column {absent[0]!r}, which the model was fitted to: add it; "
                f"the columns are {listed_names(known)}",
                "columns",
            )
        matched = copy(self)
        matched.__dict__.pop("_complete", None)
        matched.columns = columns
        return matched

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of all columns, or their numbers if they have no names."""
        return tuple(self._table.labels)

    def map(self, model: Any, *, device: Any = None, **options: Any) -> tuple[Any, int]:
        """Apply a model to all rows; see `Source.map`."""
        if device is not None and model.columns.missing == "drop":
            raise ParameterValueError(
                f"{device=} cannot be used with missing='drop': leave device None", "device"
            )
        return super().map(model, device=device, **options)

    def _counted(self) -> int:
        return self._table.n

    def _pieces(self, rows: np.ndarray | None) -> Iterator[tuple[int, Any]]:
        assert self.columns.kinds is not None
        places = [self._table.labels.index(kind.name) for kind in self.columns.kinds]
        yield from self._table.batches_of(places, rows)

    def _cut(self, piece: Any, part: Any) -> Any:
        return self._table._cut(piece, part)

    def _values(self, piece: Any, rows: int | np.ndarray) -> np.ndarray:
        kinds = self.columns.kinds
        assert kinds is not None
        values = np.empty((piece.num_rows, len(kinds)))
        for j, (kind, column) in enumerate(zip(kinds, piece.columns, strict=True)):
            values[:, j] = _encoded(column, kind, self.name)
            if kind.kind != "category" and self.columns.missing == "median":
                values[np.isnan(values[:, j]), j] = kind.center
        return values


def _line(kind: ColumnKind) -> str:
    filled = "filled in by the median"
    if kind.kind == "category":
        filled = "a category of their own"
        most = ", ".join(kind.levels[:_LISTED]) + ", ..." * (len(kind.levels) > _LISTED)
        text = f"{len(kind.levels)} categories: {most}"
    elif kind.kind == "boolean":
        text = "true or false"
    elif kind.kind == "date":
        middle = np.datetime64(round(kind.center * 86400), "s").astype("datetime64[D]")
        text = f"dates around {middle}, in units of {kind.scale:.3g} days"
    else:
        text = f"numbers around {kind.center:.4g}, in units of {kind.scale:.3g}"
    return text + (f"; {kind.gaps:,} missing, {filled}" if kind.gaps else "")


def _others(count: int) -> str:
    return f" (and {counted(count, 'other column')} also)" if count else ""


def _encoded(column: Any, kind: ColumnKind, source: str) -> np.ndarray:
    """Return the values of a column as float64, with NaN for missing values."""
    try:
        if kind.kind == "category":
            text = _as_text(column)
            levels = pyarrow.array(kind.levels, pyarrow.string())
            found = pyarrow.compute.index_in(text, levels).to_numpy(zero_copy_only=False)
            codes = np.where(np.isnan(found.astype(np.float64)), UNSEEN, found)
            codes[np.asarray(text.is_null())] = np.nan
            return np.asarray(codes, dtype=np.float64)
        if kind.kind == "date":
            if stored_kind(column.type) != "date":
                column = _plain(column).cast(pyarrow.timestamp("us"))
            # Nanoseconds are cut off.
            unit = pyarrow.timestamp("us", getattr(column.type, "tz", None))
            moments = column.cast(unit, safe=False)
            days = moments.cast(pyarrow.int64()).cast(pyarrow.float64(), safe=False)
            return np.asarray(days.to_numpy(zero_copy_only=False) / _MICROSECONDS_PER_DAY)
        numbers = column.cast(pyarrow.float64(), safe=False)
    except pyarrow.ArrowInvalid as error:
        raise ParameterValueError(
            f"column {kind.name!r} of {source} was fitted as a {kind.kind} and has other values "
            f"({error}): correct them",
            "X",
        ) from error
    return np.asarray(numbers.to_numpy(zero_copy_only=False), dtype=np.float64)


def _plain(column: Any) -> Any:
    return pyarrow.compute.utf8_trim_whitespace(column.cast(pyarrow.string()))


def _as_text(column: Any) -> Any:
    if pyarrow.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.cast(pyarrow.string())


@dataclass
class _Seen:
    """Running summary of a column."""

    name: str
    kind: str = ""  # As in `ColumnKind`, or "other" for values that are not compared.
    gaps: int = 0
    levels: Counter[str] = field(default_factory=Counter)
    values: list[np.ndarray] = field(default_factory=list)  # Some of the numbers.
    type: Any = None

    def add(self, column: Any, first: int, stride: int) -> np.ndarray:
        """Add the values of a batch; return which are missing."""
        if not self.kind or self.kind == "empty":
            self.kind, self.type = _kind_of(column), column.type
        if self.kind in ("category", "empty", "other"):
            gone = np.asarray(column.is_null())
            if self.kind == "category" and len(self.levels) <= 2 * MOST_LEVELS:
                for pair in _as_text(column).value_counts().to_pylist():
                    if pair["values"] is not None:
                        self.levels[pair["values"]] += pair["counts"]
        else:
            values = _encoded(column, ColumnKind(self.name, self.kind), "the table")
            gone = np.isnan(values)
            self.values.append(values[-first % stride :: stride])
        self.gaps += int(gone.sum())
        return np.asarray(gone)

    def result(self, n: int) -> ColumnKind | str:
        """Return the summary of the column, or the reason why it is left out."""
        n_levels, present = len(self.levels), n - self.gaps
        if self.kind == "empty" or not present:
            return "no values"
        if self.kind == "other":
            return f"values of type {self.type}"
        if self.kind == "category":
            if n_levels == 1 and not self.gaps:
                return f"always {next(iter(self.levels))}"
            if n_levels > MOST_LEVELS or _FEW_LEVELS < n_levels > present / 2:
                most = f"more than {MOST_LEVELS}" if n_levels > MOST_LEVELS else f"{n_levels:,}"
                return f"{most} different texts"
            levels = tuple(sorted(self.levels, key=natural_order))
            return ColumnKind(self.name, "category", levels=levels, gaps=self.gaps)
        center, scale = center_and_scale(np.concatenate(self.values))
        if self.kind == "boolean":
            scale = 1.0
        return ColumnKind(self.name, self.kind, center, scale, gaps=self.gaps)


def _kind_of(column: Any) -> str:
    kind = column.type
    if column.null_count == len(column):
        return "empty" if len(column) else ""
    if pyarrow.types.is_dictionary(kind):
        kind = kind.value_type
        return "category" if not pyarrow.types.is_nested(kind) else "other"
    found = stored_kind(kind)
    if found != "text":
        return "number" if found == "decimal" else found
    try:
        _plain(column).cast(pyarrow.timestamp("us"))
    except pyarrow.ArrowInvalid:
        return "category"
    return "date"


def _summarized(table: ArrowSource) -> Summary:
    seen = [_Seen(name) for name in table.labels]
    n, stride, gaps = 0, 1, []
    for first, batch in table.batches_of(list(range(len(seen))), None):
        n = first + batch.num_rows
        gone = np.column_stack(
            [of.add(column, first, stride) for of, column in zip(seen, batch.columns, strict=True)]
        )
        some = np.flatnonzero(gone.any(axis=1))
        gaps.append((first + some, gone[some]))
        while n > _MEASURED_ROWS * stride:
            stride *= 2
            for of in seen:
                of.values = [np.concatenate(of.values)[::2]] if of.values else []
    results = [of.result(n) for of in seen]
    used = np.array([isinstance(result, ColumnKind) for result in results])
    rows = [some[gone[:, used].any(axis=1)] for some, gone in gaps]
    return Summary(
        n,
        tuple(result for result in results if isinstance(result, ColumnKind)),
        {of.name: why for of, why in zip(seen, results, strict=True) if isinstance(why, str)},
        np.concatenate(rows) if rows else np.empty(0, dtype=np.int64),
    )
