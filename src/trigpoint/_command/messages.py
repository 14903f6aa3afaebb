"""Messages of the library, with parameters named as command-line options."""

import csv
import io
import shlex
from collections.abc import Iterable
from typing import Any

from trigpoint._common.errors import Vocabulary, Worded

_OPTIONS = {
    "columns": "--columns",
    "device": "--device",
    "eigenvectors": "--eigenvectors",
    "extension": "--extension",
    "graph": "--graph",
    "landmarks": "--landmarks",
    "metric": "--metric",
    "n_components": "--components",
    "n_jobs": "--jobs",
    "n_landmarks": "--landmarks",
    "n_neighbors": "--neighbors",
    "random_state": "--seed",
    "refine": "--refine",
}


class _Options(Vocabulary):
    """Parameters as written on the command line."""

    def knows(self, parameter: str) -> bool:
        """Whether there is an option for a parameter."""
        return parameter in _OPTIONS

    def name(self, parameter: str) -> str:
        """The option alone."""
        return _OPTIONS.get(parameter, parameter)

    def setting(self, parameter: str, value: Any) -> str:
        """The option with its value, to be pasted into a shell."""
        if parameter not in _OPTIONS:
            return super().setting(parameter, value)
        text = join_names(value) if isinstance(value, (list, tuple)) else str(value)
        return f"{_OPTIONS[parameter]} {shlex.quote(text)}"


OPTIONS = _Options()


def join_names(names: Iterable[object]) -> str:
    """Names as an option takes them, separated by commas; those with commas in quotes."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return line.getvalue()


def explain(problem: BaseException) -> str:
    """The text of an error or warning for the user of the command."""
    if isinstance(problem, MemoryError):
        return f"out of memory: {str(problem) or 'choose fewer columns or landmarks'}"
    if isinstance(problem, OSError) and problem.errno is not None and problem.strerror:
        name = f"{problem.filename}: " if problem.filename else ""
        return f"{name}{problem.strerror}"
    if isinstance(problem, Worded):
        return problem.worded(OPTIONS)
    return str(problem) or type(problem).__name__
