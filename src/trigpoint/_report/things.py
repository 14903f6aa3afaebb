"""The things that points stand for: images, or addresses of images, and text."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from trigpoint._common.errors import ParameterTypeError, ParameterValueError
from trigpoint._common.labels import is_missing
from trigpoint._report.columns import label_text
from trigpoint._report.given import named_colors

# Bytes of text on a page, all points together, and characters of one point.
_TEXT_BYTES = 1_500_000
_MOST_CHARACTERS = 400


@dataclass(frozen=True)
class Things:
    """What to show of a point.

    Attributes
    ----------
    image_shape : tuple of int or None
        Shape of the image that the columns of a point are.
    addresses : ndarray of shape (n,) or None
        Paths or URLs of images.
    texts : ndarray of shape (n,) or None
    text_name : str
        Name of the text.
    """

    image_shape: tuple[int, ...] | None = None
    addresses: np.ndarray | None = None
    texts: np.ndarray | None = None
    text_name: str = ""


def read_things(images: Any, text: Any, n_points: int | None, n_features: int) -> Things:
    """Check what was passed as ``images=`` and ``text=``."""
    for name, given in (("images", images), ("text", text)):
        if given is not None and n_points is None:
            raise ParameterValueError(
                name, given, "{parameter} belongs to the rows of X, and X was not passed", "pass X"
            )
    shape = _shape(images)
    addresses = None
    if shape is not None:
        _check_shape(shape, n_features)
    elif images is not None:
        addresses = _texts("images", images, n_points)[1]
    name, texts = ("", None) if text is None else _texts("text", text, n_points)
    return Things(shape, addresses, texts, name)


def _shape(images: Any) -> tuple[int, ...] | None:
    """The shape of an image, if that is what was passed."""
    few = isinstance(images, tuple | list) and 0 < len(images) <= 3
    if not few or not all(isinstance(side, Integral) and int(side) > 0 for side in images):
        return None
    return tuple(map(int, images))


def _check_shape(shape: tuple[int, ...], n_features: int) -> None:
    if len(shape) < 2 or int(np.prod(shape)) != n_features:
        raise ParameterValueError(
            "images",
            shape,
            "{parameter=} does not have the {columns} values of a row",
            "pass height and width of an image, such as (28, 28) for 784 columns, or (32, 32, 3) "
            "with colors",
            columns=n_features,
        )
    if len(shape) == 3 and not {shape[0], shape[2]} & {1, 3, 4}:
        raise ParameterValueError(
            "images",
            shape,
            "{parameter=} has neither 1, 3 nor 4 channels",
            "put them first or last, as in (32, 32, 3)",
        )


def _texts(parameter: str, values: Any, n_points: int | None) -> tuple[str, np.ndarray]:
    """One text per point, and the name of the column."""
    if isinstance(values, str):
        raise ParameterTypeError(
            parameter,
            values,
            "{parameter=} is one text",
            "pass one for each row of X",
        )
    assert n_points is not None
    if not hasattr(values, "shape") and isinstance(values, Sequence):
        values = np.array(values, dtype=object)
    given = named_colors(values, n_points, parameter=parameter)
    name, found = next(iter(given.items()))
    return name, found.values


def shown_texts(values: np.ndarray, rows: np.ndarray, *, whole: bool = False) -> list[str]:
    """Texts of some of the points, shortened so that the page stays small."""
    texts = ["" if is_missing(value) else label_text(value) for value in values[rows]]
    if whole:
        return texts
    most = _MOST_CHARACTERS
    while most > 20 and sum(min(len(text), most) for text in texts) > _TEXT_BYTES:
        most = most * 3 // 4
    return [text if len(text) <= most else text[: most - 1] + "…" for text in texts]
