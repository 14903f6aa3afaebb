"""``trigpoint transform``: apply a saved model to other points."""

import argparse
import time
from typing import Any

from trigpoint._cli.points import check_outputs, open_points, points_facts, read_beside
from trigpoint._cli.results import Result, progress, step
from trigpoint._common.words import counted, duration
from trigpoint._estimators import load
from trigpoint._sources import Output


def run(options: argparse.Namespace) -> Result:
    """Load the model, transform the points, and write the coordinates."""
    model: Any = load(options.model)
    model.set_params(n_jobs=options.jobs, verbose=progress(options))
    source = open_points(options, model)
    check_outputs(options, [source.path, options.model], {"--output": options.output})
    start = time.perf_counter()
    output = Output(options.output, options.force, beside=read_beside(options, source))
    step(options, "preparing to transform")
    model.transform(source, out=output, device=options.device)
    seconds = time.perf_counter() - start
    n_components = int(model.landmark_embedding_.shape[1])
    values = {
        "model": str(options.model),
        "input": points_facts(source),
        "components": n_components,
        "seconds": round(seconds, 3),
        "written": [str(options.output)],
    }
    coordinates = counted(n_components, "coordinate")
    text = f"{counted(source.n, 'point')} to {coordinates} in {duration(seconds)}"
    return Result(f"{text}\n  {options.output}", values)
