"""What is a class and what a value: one rule for pictures and reports."""

from datetime import date

import numpy as np
import pandas as pd
import pytest

from trigpoint._common.labels import MOST_CLASSES, are_classes

FEW, MANY = np.arange(50) % MOST_CLASSES, np.arange(50) % (MOST_CLASSES + 1)


def with_gap(values, dtype):
    values = values.astype(dtype)
    values[3] = None if values.dtype == object else np.nan
    return values


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (FEW, True),
        (FEW.astype(np.uint8), True),
        (MANY, False),
        # The last value is the one that is too many.
        (np.append(np.arange(100_000) % MOST_CLASSES, 99), False),
        (FEW.astype(float), False),
        (with_gap(FEW, float), True),
        (with_gap(MANY, float), False),
        (with_gap(FEW + 0.5, float), False),
        (np.append(with_gap(FEW, float), np.inf), False),
        (with_gap(FEW, object), True),
        (with_gap(MANY, object), False),
        (np.array([1, 2.0, None], dtype=object), True),
        (np.array([1, 2.5, None], dtype=object), False),
        (np.asarray(pd.array([1, 2, None], dtype="Int64")), True),
        (np.array(["a", "b"]), True),
        (np.array([f"{i}" for i in range(50)]), True),
        (np.array([b"a", b"b"]), True),
        (np.array([True, False]), True),
        (np.array([True, None], dtype=object), True),
        (np.array(["a", 1, None], dtype=object), True),
        (np.array(["2020-01-01"], dtype="M8[s]"), False),
        (np.array([date(2020, 1, 1), None], dtype=object), False),
        (np.full(3, np.nan), False),
        (np.full(3, None), False),
    ],
)
def test_classes(values, expected):
    assert are_classes(values) is expected
