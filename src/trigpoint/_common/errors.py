"""Errors and warnings about parameters and files.

Messages are composed where errors are raised. They state the parameter, its value and the remedy.
"""

from typing import Any

# Maximum number of characters of a value in a message.
_LONGEST = 120


class ParameterError(Exception):
    """Base class of errors about parameters.

    Only subclasses are raised, each of which is also a `ValueError` or a `TypeError`.

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

    # The default allows pickle and copy to rebuild an error from its message before they restore
    # its attributes.
    def __init__(self, message: str, parameter: str = "") -> None:
        super().__init__(message)
        self.parameter = parameter


class ParameterValueError(ParameterError, ValueError):
    """A parameter has the right type but an invalid value."""


class ParameterTypeError(ParameterError, TypeError):
    """A parameter has an invalid type."""


class ParameterWarning(UserWarning):
    """Warning that a result may not be as intended, and that other parameters may help."""


class DamagedFileError(ValueError):
    """A file is truncated, altered or of the wrong kind."""


def short(value: Any) -> str:
    """Return the repr of a value, with the middle elided beyond 120 characters."""
    text = repr(value)
    if len(text) <= _LONGEST:
        return text
    half = (_LONGEST - len("...")) // 2
    return f"{text[:half]}...{text[-half:]}"
