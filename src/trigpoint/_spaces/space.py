"""Base class of spaces, and the space that leaves rows unchanged."""

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from trigpoint._common.checks import check_magnitude, refuse_non_finite, row_numbers
from trigpoint._common.errors import ParameterValueError
from trigpoint._neighbors.sparse import Points, dense_blocks
from trigpoint._numerics.blocks import Report, silent

# Function ``distances(first, others, out)`` that fills `out` (b, m) with the distances from b
# consecutive rows of the pool, starting at `first`, to the rows `others` (b, m).
PairDistances = Callable[[int, np.ndarray, np.ndarray], None]


class Space:
    """A map from the user's rows to rows whose Euclidean distance is the chosen metric."""

    name: str  # Value of the parameter `metric`.
    is_given = False  # Whether the user must pass the object or function `given` to `load`.
    takes_sparse = False  # Whether rows may be sparse; if so, they stay sparse.
    takes_tensors = True  # Whether `to` is available.
    # Whether Euclidean column j is a scaled or transformed version of column j.
    keeps_columns = True
    takes_gaps = False  # Whether missing values of tables are passed as NaN.
    learns = False  # Whether `fit` depends on the rows.
    # Kinds of blocks that it takes: "numbers", "bits" (packed, uint8) or "objects".
    takes: tuple[str, ...] = ("numbers",)
    # Share of the nearest neighbors of a sample that Euclidean rows preserve.
    preserved = 1.0
    # Maximum number of rows of a pool, and of rows to map at once, for slow distances.
    most_pooled: int | None = None
    most_at_once: int | None = None
    # Callback that receives progress during `fit`, and row numbers of the pool, for messages; None
    # for all rows.
    report: Report = staticmethod(silent)
    pool_rows: np.ndarray | None = None

    def reading(self, source: Any) -> Any:
        """Return the source with the columns that the space reads; called before `fit`."""
        return source

    def describe(self, columns: Any) -> None:
        """Record what the columns of a table hold, or reject them; called before `fit`."""
        for kind in columns.kinds or ():
            if kind.kind in ("category", "date"):
                what = "categories" if kind.kind == "category" else "dates"
                raise ParameterValueError(
                    f"column {kind.name!r} holds {what}, which metric={self.name!r} does not "
                    "compare: choose metric='table', or leave the column out with columns=[...]",
                    "metric",
                )

    def fit(self, rows: Points) -> Self:
        """Fit the map to the rows of the pool."""
        return self

    def __call__(self, block: Points, rows: Any = 0) -> Points:
        """Return the Euclidean rows of a block, all of them finite.

        `rows` identifies the rows of X in error messages: the number of the first row, or an array
        with the numbers of all rows.
        """
        found, name = self._map(block, rows), f"X under metric={self.name!r}"
        try:
            if isinstance(found, np.ndarray):
                refuse_non_finite(found, name, first_row=rows)
            elif not np.isfinite(found.data.sum()):
                for part in dense_blocks(found):
                    numbers = row_numbers(rows, part)
                    refuse_non_finite(found[part].toarray(), name, first_row=numbers)
            check_magnitude(found, name, may_be_tiny=True, rows=rows)
        except ParameterValueError as error:
            raise self._refused(error) from None
        return found

    def _refused(self, error: ParameterValueError) -> ParameterValueError:
        """Return the error to raise for unusable Euclidean rows."""
        return ParameterValueError(str(error), "metric")

    def _map(self, block: Points, rows: Any) -> Points:
        """Return the Euclidean rows of a block, which need not be finite."""
        raise NotImplementedError

    def exact(self, rows: Points) -> PairDistances | None:
        """Return exact distances between the rows of the pool, if Euclidean rows approximate them.

        `LandmarkMap` compares them where it searches the neighbors of all rows.
        """
        return None

    def in_units(self, values: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return values of some Euclidean columns in the units of the user's rows, if they differ.

        `columns` are the numbers of the columns of `values`.
        """
        del columns
        return values

    def named(self, names: Sequence[str] | None) -> Sequence[str] | None:
        """Return the names of the Euclidean columns, given those of the user's rows, if any."""
        return names if self.keeps_columns else None

    def width(self, n_columns: int) -> int:
        """Return the number of Euclidean columns for rows with `n_columns` columns."""
        return n_columns

    def bytes_read(self, columns: Any) -> int:
        """Return the number of bytes of a row as read; objects have an unknown size."""
        if columns.holds == "bits":
            return -(-columns.count // 8)
        count = columns.count if columns.chosen is None else len(columns.chosen)
        return count * int(columns.dtype.itemsize)

    def row_bytes(self, columns: Any) -> int:
        """Return the number of bytes of a row as read, and mapped."""
        return self.bytes_read(columns) + self.width(columns.count) * int(columns.dtype.itemsize)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the fitted arrays to save in a model file."""
        return {}

    def restored(self, arrays: dict[str, np.ndarray], n_columns: int) -> Self:
        """Return this space, fitted as in a model file."""
        return self.from_arrays(arrays, n_columns)

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], n_columns: int) -> Self:
        """Restore a fitted space from `arrays`, or raise a `DamagedFileError`."""
        del arrays, n_columns
        return cls()

    def to(self, device: Any) -> Callable[[Any, Any], Any]:
        """Return the same map for tensors on a PyTorch device; by default, it runs on the host."""
        from trigpoint._spaces.torch import mapped_on_host

        return mapped_on_host(self, device)


def refuse_values(bad: np.ndarray, block: np.ndarray, rows: Any, what: str) -> None:
    """Raise an error about the first True in a mask (b, d) of values of a block.

    The message states the value and its position, followed by `what`, which includes the remedy.
    """
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise ParameterValueError(
            f"X has {block[row, column]:g} in row {row_numbers(rows, row)}, column {column}: "
            f"{what}",
            "X",
        )


class Euclidean(Space):
    """Identity, which leaves rows unchanged."""

    name = "euclidean"
    takes_sparse = True

    def __call__(self, block: Points, rows: Any = 0) -> Points:
        return block

    def row_bytes(self, columns: Any) -> int:
        return self.bytes_read(columns)

    def to(self, device: Any) -> Callable[[Any, Any], Any]:
        def unchanged(block: Any, rows: Any = 0) -> Any:
            del rows
            return block

        return unchanged
