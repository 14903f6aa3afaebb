"""What the library says, in the words of the command."""

import ast
import re
import shlex
from collections.abc import Sequence

# What is an argument in a program is an option here.
_OPTIONS = {
    "n_landmarks": "--landmarks",
    "n_components": "--components",
    "n_neighbors": "--neighbors",
    "n_jobs": "--jobs",
    "random_state": "--seed",
}

# Remedies that a program has and the command has not, or has under another name.
_PHRASES = {
    r"read_points\(columns=\.\.\.\)": "--columns",
    r"\bcolumns=(?=$|[\s,;])": "--columns",
    r"\bchoose one with key=, or as in": "choose one as in",
    r"\bn_neighbors or radius\b": "--neighbors",
    r" or raise n_neighbors of the sampler": "",
    r'\beigenvectors="leading"': "--eigenvectors leading",
}
_CHOSEN_COLUMNS = re.compile(r"\bcolumns=(\[.*?\])(?=$|[\s,;:])")


def said(error: BaseException) -> str:
    """Message of an error for a person."""
    if isinstance(error, MemoryError):
        return f"out of memory: {error or 'choose fewer columns or landmarks'}"
    if isinstance(error, OSError) and error.errno is not None and error.strerror:
        name = f"{error.filename}: " if error.filename else ""
        return f"{name}{error.strerror}"
    return in_options(str(error)) or type(error).__name__


def in_options(text: str) -> str:
    """Message with options for the arguments that it names."""
    text = _CHOSEN_COLUMNS.sub(_pasted, text)
    for phrase, ours in _PHRASES.items():
        text = re.sub(phrase, ours, text)
    for name, option in _OPTIONS.items():
        text = re.sub(rf"\b{name}\b(?=[= ])", option, text)
    return text


def columns_option(columns: Sequence[str | int]) -> str:
    """Choice of columns, to be pasted into a shell."""
    return f"--columns {shlex.quote(','.join(map(str, columns)))}"


def _pasted(found: re.Match[str]) -> str:
    try:
        return columns_option(ast.literal_eval(found[1]))
    except (ValueError, SyntaxError):
        # A name with a bracket in it; the message is still true.
        return found[0]
