"""Values that go with the points: the targets of ``--color`` and ``--labels``."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from trigpoint._command.common import CommandError
from trigpoint._files import PointSource
from trigpoint._sources.tables import is_table, table_columns
from trigpoint._sources.choosing import split_place
from trigpoint._sources.tables import FORMATS, read_values
from trigpoint._report.given import named_colors
from trigpoint._report.things import read_things


def value_place(text: str, points: PointSource, option: str) -> str:
    """Locate values, as ``FILE`` or ``FILE::KEY``.

    Parameters
    ----------
    text : str
        A column of the points' file, or another file: ``FILE``, ``FILE::KEY``.
    points : PointSource
    option : str
        The option that asks for them.
    """
    if split_place(text)[1] is not None:
        return text
    own, path = points.path, Path(text)
    table = own if own is not None and is_table(own) else None
    # A column of the table comes first: a file of the same name is there by chance.
    if table is not None and text in {column.name for column in table_columns(table)}:
        return f"{table}::{text}"
    if path.is_file() or (path.is_dir() and is_table(path)):
        return text
    if table is not None:
        return f"{table}::{text}"
    if own is not None and own.name.lower().endswith(".h5ad"):
        return f"{own}::obs/{text.removeprefix('obs/')}"
    raise CommandError(
        f"{option} {text} is not a file, and {points.name} has no other columns: give {FORMATS}"
    )


def read_colors(places: Mapping[str, str], points: PointSource) -> dict[str, np.ndarray]:
    """Values to color by, under their display names; rejected if the page could not show them.

    Parameters
    ----------
    places : mapping of str to str
        Location of each requested column.
    points : PointSource
        The points, one for each value.
    """
    colors: dict[str, np.ndarray] = {}
    for text, place in places.items():
        values = read_values(place)
        n = points.shape[0]
        if len(values) != n:
            raise CommandError(f"--color {text} has {len(values):,} values for {n:,} points")
        name = _shown_name(text, place)
        # Two files may have columns of the same name.
        colors[text if name in colors else name] = values
    named_colors(colors, points.shape[0])
    return colors


def read_things_of(option: str, place: str, points: PointSource) -> dict[str, np.ndarray]:
    """Texts or addresses of images, one for each point, under their display name."""
    values = read_values(place)
    n = points.shape[0]
    if len(values) != n:
        raise CommandError(f"--{option} {place} has {len(values):,} values for {n:,} points")
    return {_shown_name(split_place(place)[0], place): np.asarray(values)}


def check_images(shape: tuple[int, ...], points: PointSource) -> None:
    """Reject a shape of images that the rows do not have."""
    read_things(shape, None, *points.shape)


def _shown_name(text: str, place: str) -> str:
    key = split_place(place)[1]
    return key.rpartition("/")[2] if key else Path(text).stem
