"""The experiments of the paper, one file each, beside the paper's own numbers.

C. Wachinger and P. Golland, "Diverse landmark sampling from determinantal point processes for
scalable manifold learning", AISTATS 2015.
"""

from experiments.paper.catalogue import EXPERIMENTS, load_experiment
from experiments.paper.experiment import Experiment, MissingDataError, Settings
from experiments.paper.reproduction import Reproduction, reproduce

__all__ = [
    "EXPERIMENTS",
    "Experiment",
    "MissingDataError",
    "Reproduction",
    "Settings",
    "load_experiment",
    "reproduce",
]
