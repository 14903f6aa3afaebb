"""The whole pipeline of trigpoint, measured the same way in every group."""

import time
from typing import Any

import numpy as np

import trigpoint as tp
from experiments.framework.cells import Cell, number
from experiments.framework.experiment import Row
from experiments.framework.measuring import measure

# Few points are drawn by one compiled loop, more than 200,000 by another.
WARM_UP_ROWS = 5000, 250_000


def warm_up(emb: tp.LaplacianEigenmaps, X: np.ndarray) -> None:
    """Compile all that is timed afterwards."""
    for rows in WARM_UP_ROWS:
        emb.fit(X[:rows]).transform(X[:rows])


def fit_and_transform(
    emb: tp.LaplacianEigenmaps,
    X: Any,
    points: Any,
    *,
    before: int | None = None,
    **options: Any,
) -> tuple[Any, dict]:
    """Embedding of `points` after a fit to `X`; seconds of both and of the stages, and memory."""

    def both() -> tuple[Any, float]:
        emb.fit(X)
        fitted = time.perf_counter()
        Y = emb.transform(points, **options)
        return Y, time.perf_counter() - fitted

    (Y, transform), cost = measure(both, before=before)
    times = {"fit": cost["seconds"] - transform, "transform": transform}
    return Y, {**cost, **times, "stages": emb.stage_seconds_}


def stage_rows(row: Row) -> list[list]:
    """Rows of a table of seconds."""
    rows = [[f"fit: {name}", number(seconds)] for name, seconds in row["stages"].items()]
    rows += [["fit", number(row["fit"])], ["transform", number(row["transform"])]]
    return [*rows, ["**total**", Cell(f"**{number(row['seconds']).text}**")]]
