"""Experiments of the paper, run and shown as the command does it."""

import json
from dataclasses import dataclass
from pathlib import Path

from threadpoolctl import threadpool_limits

from experiments.framework.rows import CsvTable
from experiments.paper import pages


@dataclass(frozen=True)
class Reproduction:
    """What an experiment left in a folder, and how many runs were new."""

    folder: Path
    name: str
    n_new: int

    @property
    def table(self) -> Path:
        """File of all runs."""
        return self.folder / f"{self.name}.csv"

    @property
    def rows(self) -> list:
        """All runs."""
        return CsvTable(self.table).rows

    @property
    def text(self) -> str:
        """Text of the page."""
        return (self.folder / f"{self.name}.md").read_text(encoding="utf-8")

    @property
    def picture(self) -> bytes:
        """File of the picture."""
        return (self.folder / f"{self.name}.png").read_bytes()

    @property
    def record(self) -> dict:
        """What the page rests on."""
        return json.loads((self.folder / f"{self.name}.json").read_text())


def reproduce(name, folder, settings):
    """Run what is missing, and show all of it."""
    # On data this small, threads of k-means wait for each other longer than they work.
    with threadpool_limits(1):
        n_new = pages.run(name, folder, settings, quiet=True)
    pages.show(name, folder, settings)
    return Reproduction(folder, name, n_new)


def render(name, folder, settings):
    """Show what is there."""
    pages.show(name, folder, settings)
    return Reproduction(folder, name, 0)
