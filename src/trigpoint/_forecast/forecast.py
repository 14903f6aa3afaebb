"""Forecast of the time and memory that a run will take."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike

from trigpoint._common.words import duration, html_table, size
from trigpoint._forecast.job import Job
from trigpoint._forecast.memory import COMPILER_BYTES, job_bytes
from trigpoint._forecast.speed import Speed, compilation
from trigpoint._forecast.work import map_work, stage_work


@dataclass(frozen=True)
class Forecast:
    """Time and memory of a run.

    Attributes
    ----------
    seconds : float
        Total time of all stages.
    bytes : float
        Peak memory beyond the points themselves, including the coordinates if they are kept.
    stages : dict of str to float
        Seconds of each stage: landmarks, graph, spectrum and the coordinates of all points; if
        asked for, the comparison of methods and the report; and compilation, where loops have to be
        compiled first.
    """

    seconds: float
    bytes: float
    stages: dict[str, float]

    def __str__(self) -> str:
        stages = ", ".join(f"{name} {seconds:,.1f} s" for name, seconds in self.stages.items())
        return f"about {self.seconds:,.1f} s ({stages}) and {self.bytes / 1e9:,.2f} GB"

    def _repr_html_(self) -> str:
        heading = f"about {duration(self.seconds)}, and {size(self.bytes)} of memory"
        return html_table(heading, {name: duration(spent) for name, spent in self.stages.items()})


def forecast(
    n: int,
    d: int,
    k: int,
    *,
    n_components: int = 2,
    n_neighbors: int | None = None,
    dtype: DTypeLike = np.float32,
    keep: bool = True,
    compare: bool = False,
    report: bool = False,
    n_jobs: int | None = None,
) -> Forecast:
    """Forecast the time and memory that `LaplacianEigenmaps` takes on this machine.

    Both are computed from the sizes; for time, how fast the machine is at the moment is measured,
    in a part of a second. Expect it to be right within a factor of 2 as long as the machine stays
    as busy as it is now.

    Parameters
    ----------
    n, d : int
        Number of points and dimensions.
    k : int
        Number of landmarks.
    n_components : int, default=2
        Number of coordinates.
    n_neighbors : int or None, default=None
        Size of the sampler's neighborhoods, m; ``None`` for ``4 n / k``.
    dtype : {float32, float64}, default=float32
        Type of the points.
    keep : bool, default=True
        Whether the coordinates are kept in memory, or written to a file.
    compare : bool, default=False
        Whether methods are compared first, as by `compare_methods` and ``trigpoint embed``.
    report : bool, default=False
        Whether a report of the points is written as well.
    n_jobs : int or None, default=None
        Number of threads; -1 for all cores.

    Returns
    -------
    Forecast

    Examples
    --------
    >>> import trigpoint as tp
    >>> expected = tp.forecast(10_000_000, 3, 2500)
    >>> expected.bytes < 1.5e9
    True
    """
    job = Job.checked(n, d, k, n_components, n_neighbors, dtype, n_jobs)
    stages = stage_seconds(job, compare, report)
    needed = job_bytes(job, keep)
    needed += ("compilation" in stages) * COMPILER_BYTES
    return Forecast(sum(stages.values()), needed, stages)


def stage_seconds(
    job: Job, compare: bool, report: bool, *, is_map: bool = False
) -> dict[str, float]:
    """Seconds of each stage, in order, at the speed of this moment."""
    work = (map_work if is_map else stage_work)(job, compare, report)
    compiling = compilation(job)
    if compiling.alone:
        work = {"compilation": compiling} | work
    speed = Speed.measured(job.n_threads)
    return {stage: speed.seconds(one) for stage, one in work.items()}
