"""Run and show experiments as the command does."""

from dataclasses import dataclass

from threadpoolctl import threadpool_limits

from experiments import runner
from experiments.runner import Results, Settings, load_experiment


class OneRun(Settings):
    """Settings with a single repetition."""

    def seeds(self, full, quick=2):
        return range(1)


@dataclass(frozen=True)
class Reproduction:
    """Output folder of an experiment, and the number of new runs."""

    rows: list
    text: str
    n_new: int


def reproduce(experiment, folder, settings):
    """Run the missing cases of an experiment, and show all of them."""
    if isinstance(experiment, str):
        experiment = load_experiment("experiments.paper", experiment)
    results = Results(folder / f"{experiment.name}.csv", experiment.parameters)
    # With so little data, threads of k-means mostly wait for each other.
    with threadpool_limits(1):
        n_new = runner.run(experiment, results, list(experiment.cases(settings)), settings)
    written = runner.show(experiment, results, settings, f"make {experiment.name}")
    return Reproduction(results.rows, written.read_text("utf-8"), n_new)
