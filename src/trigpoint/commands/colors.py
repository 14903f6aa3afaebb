"""``--color``: columns that the points of a report are coloured by."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from trigpoint.commands.common import CommandError
from trigpoint.files import PointSource
from trigpoint.files.kinds import is_table
from trigpoint.files.values import FORMATS, read_values


def read_colors(asked: Sequence[str], points: PointSource) -> dict[str, np.ndarray]:
    """Values to colour by, under names to show.

    Parameters
    ----------
    asked : sequence of str
        Columns of the file of the points, or files: ``FILE``, ``FILE::KEY``.
    points : PointSource
        The points, one for each value.
    """
    colors: dict[str, np.ndarray] = {}
    for text in asked:
        values = read_values(_place(text, points))
        n = points.shape[0]
        if len(values) != n:
            raise CommandError(f"--color {text} has {len(values):,} values for {n:,} points")
        name = _shown_name(text)
        # Two files may have a column of the same name.
        colors[text if name in colors else name] = values
    return colors


def _place(text: str, points: PointSource) -> str:
    """Where values are: in a file of their own, or in a column beside the points."""
    if "::" in text or Path(text).exists():
        return text
    if points.path is not None:
        if is_table(points.path):
            return f"{points.path}::{text}"
        if points.path.name.lower().endswith(".h5ad"):
            return f"{points.path}::obs/{text.removeprefix('obs/')}"
    raise CommandError(
        f"--color {text} is no file, and {points.name} has no columns to colour by: give {FORMATS}"
    )


def _shown_name(text: str) -> str:
    key = text.partition("::")[2]
    if key:
        return key.rpartition("/")[2]
    return Path(text).stem if Path(text).exists() else text
