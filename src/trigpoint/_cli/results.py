"""Results, errors and messages of subcommands."""

import argparse
import json
import re
import shutil
import sys
import textwrap
from collections.abc import Mapping
from typing import Any, NamedTuple

from trigpoint._common.display import ProgressBars, ProgressLines, progress_display
from trigpoint._common.words import printable

# Nonzero exit codes: 2 is argparse's, and 130 the shell's code for Ctrl-C.
FAILED, USAGE, INTERRUPTED = 1, 2, 130

# Options whose names differ from the parameters that they set.
_OPTIONS = {
    "n_components": "--components",
    "n_jobs": "--jobs",
    "n_landmarks": "--landmarks",
    "n_neighbors": "--neighbors",
    "random_state": "--seed",
}


class CommandError(Exception):
    """An error that the user can fix, shown without a traceback."""


class Result(NamedTuple):
    """Result of a subcommand: text for display, and values for scripts (``--json``)."""

    text: str
    values: Mapping[str, Any]

    def show(self, as_json: bool) -> None:
        """Print the result to standard output."""
        print(json.dumps(self.values, indent=2) if as_json else printable(self.text))


def described(error: BaseException, parser: argparse.ArgumentParser) -> str:
    """Return the message of an error, preceded by the option concerned."""
    if isinstance(error, MemoryError):
        return f"out of memory: {str(error) or 'choose fewer columns or landmarks'}"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    message = str(error) or type(error).__name__
    message = re.sub(r"\bmetric='(\w+)'", r"--metric \1", message)
    parameter = getattr(error, "parameter", "")
    option = _OPTIONS.get(parameter, f"--{parameter}")
    return f"{option}: {message}" if option in parser._option_string_actions else message


def listing(values: Mapping[str, str]) -> str:
    """Format names and values in two columns that fit the terminal."""
    width = max(map(len, values), default=0)
    return "\n".join(
        item(value, f"  {name:<{width}}  ", " " * (width + 4)) for name, value in values.items()
    )


def item(text: str, first: str, others: str) -> str:
    """Wrap a paragraph that begins with `first` to the width of the terminal."""
    # Text with line breaks is already wrapped.
    if "\n" in text:
        return first + text.replace("\n", f"\n{others}")
    return textwrap.fill(
        text,
        shutil.get_terminal_size().columns,
        initial_indent=first,
        subsequent_indent=others,
        break_long_words=False,
        break_on_hyphens=False,
    )


def line(text: str, command: str = "trigpoint") -> str:
    """Format a message for standard error, wrapped if that is a terminal."""
    text = f"{command}: {printable(text)}"
    return item(text, "", "  ") if sys.stderr is not None and sys.stderr.isatty() else text


def say(options: argparse.Namespace, text: str) -> None:
    """Write a message to standard error, unless --quiet was given."""
    if not options.quiet:
        write(options, text)


def write(options: argparse.Namespace, text: str) -> None:
    """Write a message to standard error, above the progress bar if there is one."""
    if display := getattr(options, "display", None):
        display.write(line(text))
    elif sys.stderr is not None:
        print(line(text), file=sys.stderr)


def open_display(options: argparse.Namespace) -> ProgressBars | ProgressLines | None:
    """Open the progress display, which `main` closes, unless --quiet was given."""
    options.display = None
    if not options.quiet and sys.stderr is not None:
        options.display = progress_display(sys.stderr)
        options.display.keep_fresh()
    return options.display


def step(options: argparse.Namespace, stage: str) -> None:
    """Show a stage whose progress is not known, until the next one begins."""
    if options.display is not None:
        options.display(stage, 0, 1)


def progress(options: argparse.Namespace) -> Any:
    """Return the `verbose` argument of estimators."""
    return options.display or False
