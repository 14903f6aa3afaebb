"""Errors and warnings that know which parameters they are about.

A message is built from templates, so that the library and the command can name parameters in
their own way: the library writes ``n_landmarks=5000``, the command writes ``--landmarks 5000``. In
a template,

- ``{most}`` stands for the value passed as ``most=...``, with an optional format: ``{most:,}``;
- ``{n_neighbors}``, if no such value is passed, for the name of that parameter;
- ``{columns=}`` for a parameter and the value passed under its name;
- ``{parameter}`` and ``{parameter=}`` for the parameter that an error is about.

Values are never treated as templates, so file names may contain braces.
"""

from collections.abc import Sequence
from functools import partial
from string import Formatter
from typing import Any

_formatter = Formatter()

# Most characters of a value in a message.
_LONGEST = 300


class Vocabulary:
    """How messages name parameters: in Python syntax, unless a subclass overrides it."""

    def knows(self, parameter: str) -> bool:
        """Whether the user has this parameter; remedies that need a missing one are left out."""
        del parameter
        return True

    def name(self, parameter: str) -> str:
        """The parameter alone."""
        return parameter

    def setting(self, parameter: str, value: Any) -> str:
        """The parameter with a value; columns with the call that takes them, for `fit` does not."""
        setting = f"{parameter}={_short(value)}"
        return f"tp.open_source(X, {setting})" if parameter == "columns" else setting


def _short(value: Any) -> str:
    """A value as Python writes it; of a long one, such as a list of rows, both ends."""
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]}...{text[-_LONGEST // 4 :]}"


PYTHON = Vocabulary()


class Worded(Exception):  # noqa: N818 - also a base of warnings
    """A problem and what to do about it, as templates.

    Parameters
    ----------
    problem : str
    remedy : str or sequence of str
        Several are alternatives.
    **values
        What the templates stand for.
    """

    def __init__(self, problem: str, remedy: str | Sequence[str] = (), /, **values: Any) -> None:
        self._problem = problem
        self._remedies = (remedy,) if isinstance(remedy, str) else tuple(remedy)
        self._values = values
        super().__init__(self.worded(PYTHON))

    @property
    def problem(self) -> str:
        """What is wrong."""
        return self._filled(self._problem, PYTHON)

    @property
    def remedy(self) -> str:
        """What to do about it; empty if there is no remedy."""
        return self._alternatives(PYTHON)

    def __reduce__(self) -> Any:
        return partial(type(self), **self._values), (self._problem, self._remedies)

    def worded(self, vocabulary: Vocabulary) -> str:
        """The message, with parameters named by `vocabulary`."""
        problem, remedy = self._filled(self._problem, vocabulary), self._alternatives(vocabulary)
        if not remedy:
            return problem
        return f"{problem}{'; ' if ': ' in self._problem else ': '}{remedy}"

    def _alternatives(self, vocabulary: Vocabulary) -> str:
        open_to_reader = [
            remedy
            for remedy in self._remedies
            if all(map(vocabulary.knows, self._parameters(remedy)))
        ]
        # A remedy in the wrong vocabulary is better than none.
        remedies = [self._filled(remedy, vocabulary) for remedy in open_to_reader or self._remedies]
        return " or ".join(part for part in (", ".join(remedies[:-1]), *remedies[-1:]) if part)

    def _setting(self, parameter: str) -> Any:
        return self._values[parameter]

    def _meant(self, field: str) -> str:
        return field

    def _parameters(self, template: str) -> list[str]:
        fields = [field for _, field, _, _ in _formatter.parse(template) if field is not None]
        return [
            self._meant(field.removesuffix("="))
            for field in fields
            if field.endswith("=") or field not in self._values
        ]

    def _filled(self, template: str, vocabulary: Vocabulary) -> str:
        parts = []
        for text, field, spec, conversion in _formatter.parse(template):
            parts.append(text)
            if field is None:
                continue
            name = self._meant(field.removesuffix("="))
            if field.endswith("="):
                parts.append(vocabulary.setting(name, self._setting(name)))
            elif field in self._values:
                value = _formatter.convert_field(self._values[field], conversion)
                parts.append(format(value, spec or ""))
            else:
                parts.append(vocabulary.name(name))
        return "".join(parts)


class ParameterError(Worded):
    """A parameter has a value that cannot be used.

    The subclasses that are raised are also a `ValueError` or a `TypeError`.

    Parameters
    ----------
    parameter : str
        Its name.
    value : object
        What was passed.
    problem : str
        What is wrong with it.
    remedy : str or sequence of str
        What to pass instead; several are alternatives.
    **values
        What the texts stand for.

    Attributes
    ----------
    parameter : str
    value : object
    problem : str
    remedy : str

    Examples
    --------
    >>> import numpy as np
    >>> import trigpoint as tp
    >>> try:
    ...     tp.Uniform(n_landmarks=50).fit(np.zeros((10, 2)))
    ... except tp.ParameterError as error:
    ...     print(error.parameter, error.value, error.remedy, sep=" | ")
    n_landmarks | 50 | choose n_landmarks <= 10 (the data has 10 points)
    """

    def __init__(
        self,
        parameter: str,
        value: Any,
        problem: str,
        remedy: str | Sequence[str] = (),
        /,
        **values: Any,
    ) -> None:
        self.parameter, self.value = parameter, value
        super().__init__(problem, remedy, **values)

    def __reduce__(self) -> Any:
        parts = self.parameter, self.value, self._problem, self._remedies
        return partial(type(self), **self._values), parts

    def about(self, parameter: str) -> "ParameterError":
        """The same error under the name that a caller has for the parameter."""
        return type(self)(parameter, self.value, self._problem, self._remedies, **self._values)

    def _setting(self, parameter: str) -> Any:
        if parameter == self.parameter and parameter not in self._values:
            return self.value
        return super()._setting(parameter)

    def _meant(self, field: str) -> str:
        return self.parameter if field == "parameter" else field


class ParameterValueError(ParameterError, ValueError):
    """A parameter has a value of the right type that cannot be used."""


class ParameterTypeError(ParameterError, TypeError):
    """A parameter is of a type that cannot be used."""


class ParameterWarning(Worded, UserWarning):
    """A result may not be what was wanted, and other parameters may help.

    Parameters
    ----------
    problem : str
        What was found.
    remedy : str or sequence of str
        What may help; several are alternatives.
    **values
        What the texts stand for.
    """


class DamagedFileError(ValueError):
    """A file is truncated, altered, or of another kind."""
