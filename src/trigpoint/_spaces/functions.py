"""User-defined distance functions between rows of numbers, texts or any other objects."""

import logging
import time
from typing import Any, Self

import numpy as np

from trigpoint._common.checks import row_numbers
from trigpoint._common.errors import DamagedFileError, ParameterTypeError, ParameterValueError
from trigpoint._common.words import duration
from trigpoint._neighbors.sparse import Points
from trigpoint._spaces.references import ReferenceSpace

logger = logging.getLogger(__name__)

# Number of evaluations to time before estimating the total duration.
_TIMED = 100


class FunctionSpace(ReferenceSpace):
    """Space of a function that returns the distance between two rows, or between two blocks.

    The function is called with two rows or objects. If it has the attribute ``takes_blocks =
    True``, it is called with two blocks, of b and m rows, and returns an array (b, m). It is called
    from a single thread, and must be symmetric. A model file stores its name and the references.
    """

    is_given = True
    takes = "numbers", "objects"
    takes_tensors = False
    # Functions in Python are slow, so there are fewer references, and fewer rows are measured.
    most_references = 128
    measured = 60, 300
    most_pooled = 10_000
    most_at_once = 64

    def __init__(self, given: Any) -> None:
        super().__init__()
        self.given = given
        self.name = str(getattr(given, "__name__", None) or type(given).__name__)
        self._done = self._expected = 0
        self._seconds = 0.0
        # The rows that were fitted last, and their distances to the references.
        self._fitted: tuple[Any, np.ndarray] | None = None

    def fit(self, rows: Points) -> Self:
        n = rows.shape[0]
        n_queries, some = (min(count, n) for count in self.measured)
        m = min(self.most_references, n)
        # This is an upper bound, since fewer references may be enough.
        self._expected = m * m + (m // 2) ** 2 + n * m + n_queries * some
        self._done, self._seconds = 0, 0.0
        super().fit(rows)
        self.report("distances", self._done, self._done)
        self._expected = 0
        return self

    def _of_sample(self, rows: Points, some: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        # All rows of the pool are mapped next.
        self._fitted = rows, self._to_references(rows, numbers)
        return self._fitted[1][some]

    def _to_references(self, block: Points, rows: Any) -> np.ndarray:
        fitted, self._fitted = self._fitted, None
        if fitted is not None and block is fitted[0]:
            return fitted[1]
        return super()._to_references(block, rows)

    def distances(self, block: Any, others: Any, rows: Any = 0) -> np.ndarray:
        found = np.empty((len(block), len(others)))
        step = self.most_at_once if getattr(self.given, "takes_blocks", False) else 1
        for first in range(0, len(block), step):
            start = time.perf_counter()
            part = slice(first, first + step)
            if getattr(self.given, "takes_blocks", False):
                found[part] = self._of_block(block[part], others)
            else:
                row = block[first]
                found[first] = [self.given(row, other) for other in others]
            if not (found[part] >= 0).all():
                self._refuse(found[part], row_numbers(rows, np.arange(len(block)))[part])
            self._count(found[part].size, time.perf_counter() - start)
        return found

    def _of_block(self, block: Any, others: Any) -> np.ndarray:
        values = np.asarray(self.given(block, others), dtype=np.float64)
        if values.shape != (len(block), len(others)):
            raise ParameterValueError(
                f"metric={self.name} returned an array of shape {values.shape} for blocks of "
                f"{len(block)} and {len(others)} rows: with takes_blocks = True, return shape "
                f"({len(block)}, {len(others)})",
                "metric",
            )
        return values

    def _refuse(self, found: np.ndarray, rows: np.ndarray) -> None:
        row, column = np.argwhere(~(found >= 0))[0]
        kind = "NaN" if np.isnan(found[row, column]) else f"{found[row, column]:g}"
        raise ParameterValueError(
            f"metric={self.name} returned {kind} for row {rows[row]} and another row: return a "
            "distance, which is at least 0",
            "metric",
        )

    def _count(self, evaluations: int, seconds: float) -> None:
        """Report progress; after the first evaluations, log the expected number and duration."""
        before, self._done = self._done, self._done + evaluations
        self._seconds += seconds
        if before < _TIMED <= self._done < self._expected:
            logger.info(
                "metric=%s: up to %s evaluations, about %s",
                self.name,
                f"{self._expected:,}",
                duration(self._seconds / self._done * self._expected),
            )
        if self._expected:
            self.report("distances", min(self._done, self._expected), self._expected)

    def _stored_references(self) -> dict[str, np.ndarray]:
        if isinstance(self.references, np.ndarray) and self.references.dtype != object:
            return {"references": self.references}
        return packed_objects(list(self.references), self.name)

    def _restored_references(self, arrays: dict[str, np.ndarray], n_columns: int) -> Any:
        if "references" in arrays:
            return super()._restored_references(arrays, n_columns)
        return unpacked_objects(arrays)

    def __getstate__(self) -> dict[str, Any]:
        # The callback may hold references to objects that cannot be pickled.
        return {name: value for name, value in vars(self).items() if name != "report"} | {
            "_fitted": None
        }


def object_array(items: Any) -> np.ndarray:
    """Return a 1-D array of objects, even if they are sequences."""
    found = np.empty(len(items), dtype=object)
    for place, item in enumerate(items):
        found[place] = item
    return found


def packed_objects(objects: list[Any], name: str) -> dict[str, np.ndarray]:
    """Return texts, or arrays of numbers with equal numbers of dimensions, as arrays to save."""
    if all(isinstance(item, str) for item in objects):
        texts = [item.encode() for item in objects]
        joined = np.frombuffer(b"".join(texts), dtype=np.uint8)
        return {"texts": joined, "ends": np.cumsum([len(text) for text in texts])}
    values = [
        item for item in objects if isinstance(item, np.ndarray) and item.dtype.kind in "biuf"
    ]
    kinds = {(item.ndim, item.dtype) for item in values}
    if len(values) < len(objects) or len(kinds) > 1:
        kind = next((type(i).__name__ for i in objects if not isinstance(i, (str, np.ndarray))), "")
        raise ParameterTypeError(
            f"metric={name} has references of type {kind or 'array, of different types'}, and a "
            "model file holds only texts and arrays of numbers: pickle the estimator, or fit it on "
            "texts or arrays",
            "metric",
        )
    shapes = np.array([item.shape for item in values], dtype=np.int64)
    return {"values": np.concatenate([item.ravel() for item in values]), "shapes": shapes}


def unpacked_objects(arrays: dict[str, np.ndarray]) -> np.ndarray:
    """Restore the objects of `packed_objects`."""
    is_text = "texts" in arrays
    values = arrays["texts" if is_text else "values"]
    ends = arrays["ends"] if is_text else np.cumsum(arrays["shapes"].prod(axis=1))
    if ends.ndim != 1 or (np.diff(ends, prepend=0) < 0).any() or ends[-1] != len(values):
        raise DamagedFileError("its references are inconsistent with the rest")
    parts = np.split(values, ends[:-1])
    if is_text:
        return object_array([part.tobytes().decode() for part in parts])
    pairs = zip(parts, arrays["shapes"], strict=True)
    return object_array([part.reshape(shape) for part, shape in pairs])
