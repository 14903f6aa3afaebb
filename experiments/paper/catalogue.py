"""The experiments by name; each is imported when it is asked for."""

from importlib import import_module

from experiments.paper.experiment import Experiment
from trigpoint._common.checks import check_choice

# In the order of the paper, with what each is about.
EXPERIMENTS = {
    "sampling": "figure 1: standard, geodesic and efficient sampling of the roll",
    "repulsion": "figure 2: sin^2 against the Welsch function",
    "kmeanspp": "figure 3: where k-means++ is indifferent and Algorithm 2 is not",
    "table1": "table 1: errors of five samplers on the roll and the bowl",
    "neighbors": "the figure of ten million points: Euclidean against Bhattacharyya graphs",
    "mnist": "classification of digits from 100 coordinates",
    "headneck": "classification of CT patches from 50 coordinates",
    "graphs": "the setting in which the Bhattacharyya graph pays on images",
    "runtime": "Algorithm 2 against k-means at an equal number of landmarks",
}


def load_experiment(name: str) -> Experiment:
    """Experiment of that name."""
    check_choice("name", name, tuple(EXPERIMENTS))
    experiment = import_module(f"experiments.paper.{name}").EXPERIMENT
    assert isinstance(experiment, Experiment)
    return experiment
