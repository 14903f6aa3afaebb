"""How long ``trigpoint embed`` will take in all, for its progress."""

import argparse
from collections.abc import Sequence

from trigpoint._command import common
from trigpoint._common.words import duration
from trigpoint._estimators.landmark_map import DEFAULT_LANDMARKS
from trigpoint._files import PointSource
from trigpoint._forecast import Job, stage_seconds
from trigpoint._landmarks.choice import default_n_landmarks

# Less is over before one has read it.
_WORTH_SAYING = 5.0


def expect(
    options: argparse.Namespace,
    points: PointSource,
    methods: Sequence[str],
    *,
    compare: bool = False,
) -> None:
    """Let the progress know what is to come, and say it once.

    Of several methods that may be taken after they are compared, the one that takes longest counts.
    """
    common.progress(options)
    display = getattr(options, "display", None)
    # Nothing is known of other machines and GPUs, nor of landmarks whose number is to be found.
    elsewhere = options.dask is not None or options.device not in (None, "cpu")
    if display is None or elsewhere or options.landmarks == "auto":
        return
    runs = [
        _stages(options, points, is_map, compare)
        for is_map in {method == "map" for method in methods}
    ]
    stages = max(runs, key=lambda run: sum(run.values()))
    compiling = stages.pop("compilation", 0.0)
    first = next(iter(stages))
    said, display.expected = bool(display.expected), stages | {first: stages[first] + compiling}
    seconds = sum(display.expected.values())
    if not said and seconds >= _WORTH_SAYING:
        why = f" (of which {duration(compiling)} to compile loops, the first time only)"
        common.say(options, f"about {duration(seconds)} in all{why if compiling else ''}")


def _stages(
    options: argparse.Namespace, points: PointSource, is_map: bool, compare: bool
) -> dict[str, float]:
    """Seconds of each stage, by the names that are reported."""
    n, d = points.shape
    k = options.landmarks or (min(n, DEFAULT_LANDMARKS) if is_map else default_n_landmarks(n))
    # What is refused is refused later.
    n, k = max(n, 3), min(max(k, 3), max(n, 3))
    job = Job.checked(n, d, k, min(options.components, k - 1), None, points.dtype, options.jobs)
    stages = stage_seconds(job, compare, options.report is not None, is_map=is_map)
    named = {"trying methods": stages.pop("comparison")} if compare else {}
    report = stages.pop("report", 0.0)
    compiling = stages.pop("compilation", 0.0)
    named |= stages
    if report:
        named |= {"report": report / 2, "quality": 0.0, "landmark curve": report / 2}
    return named | ({"compilation": compiling} if compiling else {})
