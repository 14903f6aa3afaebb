"""What an experiment is: cases to run, what a run measures, and what the rows say together."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from experiments.framework.page import Page

Row = dict[str, Any]


class MissingDataError(FileNotFoundError):
    """The real data that an experiment needs is missing."""


@dataclass(frozen=True)
class Settings:
    """Options of a run.

    Attributes
    ----------
    quick : bool
        Small sizes and few runs: to see that it works, not to compare with anything.
    runs : int or None
        Number of repetitions; ``None`` takes the experiment's own.
    seed : int
        Seed of the first repetition.
    data : Path or None
        Folder of the real data.
    """

    quick: bool = False
    runs: int | None = None
    seed: int = 0
    data: Path | None = None

    def seeds(self, full: int, quick: int = 2) -> range:
        """Seeds of the repetitions, as many as were asked for, or the experiment's own number."""
        count = self.runs or (quick if self.quick else full)
        return range(self.seed, self.seed + count)

    def has(self, name: str) -> bool:
        """Whether a file or folder of real data exists."""
        return self.data is not None and (self.data / name).exists()

    def find(self, name: str) -> Path:
        """Path of a file or folder of real data."""
        if self.data is None:
            raise MissingDataError(
                f"this experiment reads {name}: name the folder that holds it with DATA= or "
                "--data, or in TRIGPOINT_DATA"
            )
        if not self.has(name):
            raise MissingDataError(f"there is no {name} in {self.data}, the folder of the data")
        return self.data / name


@dataclass(frozen=True)
class Experiment:
    """One table or figure of the paper, or one group of benchmarks.

    Attributes
    ----------
    name, title : str
        Name of its module, and the heading of its results.
    cases : function of Settings
        Yields what to run, in order. A case is a row with everything that decides the result.
    run : function of a case and Settings
        Returns what was measured, as a row, or None where it cannot be run here.
    show : function of the rows, Settings and a Page
        Writes text, tables and pictures. A row has the columns of its case and of its result.
    parameters : mapping
        What all cases share. Rows with other parameters are ignored.
    brief : function of the rows, Settings and a Page, or None
        Writes the table that the overview of all experiments shows.
    """

    name: str
    title: str
    cases: Callable[[Settings], Iterable[Row]]
    run: Callable[[Row, Settings], Row | None]
    show: Callable[[Sequence[Row], Settings, "Page"], None]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    brief: Callable[[Sequence[Row], Settings, "Page"], None] | None = None


def load_experiment(package: str, name: str) -> Experiment:
    """Experiment of a module."""
    return import_module(f"{package}.{name}").EXPERIMENT
