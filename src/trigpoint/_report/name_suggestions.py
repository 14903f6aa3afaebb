"""Suggestions for misspelled parameter names."""

import inspect
from collections.abc import Callable
from difflib import get_close_matches
from functools import wraps
from typing import ParamSpec, TypeVar

from trigpoint._common.errors import ParameterTypeError

_Given = ParamSpec("_Given")
_Returned = TypeVar("_Returned")


def suggesting_names(function: Callable[_Given, _Returned]) -> Callable[_Given, _Returned]:
    """Make a function suggest the closest option if it is given an unknown one."""
    known = [
        name
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    ]

    @wraps(function)
    def checked(*args: _Given.args, **options: _Given.kwargs) -> _Returned:
        for name in options.keys() - known:
            alike = get_close_matches(name, known, n=1)
            remedy = f"did you mean {alike[0]!r}?" if alike else f"choose from {', '.join(known)}"
            raise ParameterTypeError(
                name,
                options[name],
                "{function}() has no parameter {name!r}",
                "{remedy}",
                function=function.__name__,
                name=name,
                remedy=remedy,
            )
        return function(*args, **options)

    return checked
