"""What an experiment is: cases to run, what a run measures, and what the rows say together."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from experiments.paper.page import Page

# Cells of the table of runs.
Value = str | int | float | None
Row = dict[str, Value]


class MissingDataError(FileNotFoundError):
    """The real data that an experiment needs is not there."""


@dataclass(frozen=True)
class Settings:
    """What a reproduction is asked for.

    Attributes
    ----------
    quick : bool
        Small sizes and few runs: to see that it works, not to compare with the paper.
    runs : int or None
        Number of runs; ``None`` takes the paper's, or few when quick.
    seed : int
        The runs have seeds from here on.
    data : Path or None
        Folder of the real data.
    """

    quick: bool = False
    runs: int | None = None
    seed: int = 0
    data: Path | None = None

    def seeds(self, full: int, quick: int = 2) -> range:
        """Seeds of the runs: as many as were asked for, or as the experiment has by itself."""
        count = self.runs or (quick if self.quick else full)
        return range(self.seed, self.seed + count)

    def folder(self, name: str) -> Path:
        """Folder of some real data."""
        if self.data is None:
            raise MissingDataError(
                f"this experiment reads the files of {name}: name the folder that holds {name}/ "
                "with --data, or in TRIGPOINT_DATA"
            )
        folder = self.data / name
        if not folder.exists():
            raise MissingDataError(f"{folder} does not exist: --data names the folder above it")
        return folder


@dataclass(frozen=True)
class Experiment:
    """One table or figure of the paper.

    Attributes
    ----------
    name, title : str
        The name on the command line, and what the result is headed by.
    cases : function of Settings
        Yields what is to be run, in order: flat rows with the same columns, one of them the seed,
        that say all that decides the result.
    run : function of a case and Settings
        What was measured: a flat row, with the same columns for every case.
    show : function of the finished rows, Settings and a Page
        Writes text, tables and pictures.
    parameters : mapping
        What all cases share, for the record.
    """

    name: str
    title: str
    cases: Callable[[Settings], Iterator[Row]]
    run: Callable[[Row, Settings], Row]
    show: Callable[[Sequence[Row], Settings, "Page"], None]
    parameters: Mapping[str, object] = field(default_factory=dict)
