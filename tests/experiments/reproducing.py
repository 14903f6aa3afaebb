"""Experiments, run and shown as the command does it."""

from dataclasses import dataclass

from threadpoolctl import threadpool_limits

from experiments import runner
from experiments.runner import Results, Settings, load_experiment


class OneRun(Settings):
    """One repetition of everything."""

    def seeds(self, full, quick=2):
        return range(1)


@dataclass(frozen=True)
class Reproduction:
    """What an experiment left in a folder, and how many runs were new."""

    rows: list
    text: str
    n_new: int


def reproduce(experiment, folder, settings):
    """Run what is missing, and show all of it."""
    if isinstance(experiment, str):
        experiment = load_experiment("experiments.paper", experiment)
    results = Results(folder / f"{experiment.name}.csv", experiment.parameters)
    # On data this small, threads of k-means wait for each other longer than they work.
    with threadpool_limits(1):
        n_new = runner.run(experiment, results, list(experiment.cases(settings)), settings)
    written = runner.show(experiment, results, settings, f"make {experiment.name}")
    return Reproduction(results.rows, written.read_text("utf-8"), n_new)
