"""Errors and warnings about parameters and files.

Messages are written where an error is raised, and name the parameter, its value and the remedy.
"""

from typing import Any

# Most characters of a value in a message.
_LONGEST = 120


class ParameterError(Exception):
    """A parameter has a value that cannot be used.

    The subclasses that are raised are also a `ValueError` or a `TypeError`.

    Parameters
    ----------
    message : str
        What is wrong, and what to pass instead.
    parameter : str, default=""
        Name of the parameter.

    Attributes
    ----------
    parameter : str

    Examples
    --------
    >>> import numpy as np
    >>> import trigpoint as tp
    >>> try:
    ...     tp.Uniform(n_landmarks=50).fit(np.zeros((10, 2)))
    ... except tp.ParameterError as error:
    ...     print(error.parameter, error, sep=" | ")
    n_landmarks | n_landmarks=50 is too large: choose n_landmarks <= 10 (the data has 10 points)
    """

    # The default lets pickle and copy rebuild an error from its message; they restore attributes.
    def __init__(self, message: str, parameter: str = "") -> None:
        super().__init__(message)
        self.parameter = parameter


class ParameterValueError(ParameterError, ValueError):
    """A parameter has a value of the right type that cannot be used."""


class ParameterTypeError(ParameterError, TypeError):
    """A parameter is of a type that cannot be used."""


class ParameterWarning(UserWarning):
    """A result may not be what was wanted, and other parameters may help."""


class DamagedFileError(ValueError):
    """A file is truncated, altered, or of another kind."""


def short(value: Any) -> str:
    """A value as Python writes it; of a long one, both ends in at most 120 characters."""
    text = repr(value)
    if len(text) <= _LONGEST:
        return text
    half = (_LONGEST - len("...")) // 2
    return f"{text[:half]}...{text[-half:]}"
