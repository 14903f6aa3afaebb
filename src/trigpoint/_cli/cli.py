"""The command ``trigpoint``: parse the arguments, run a subcommand, print the result."""

import argparse
import importlib
import os
import shutil
import sys
import textwrap
import traceback
import warnings
from collections.abc import Sequence
from typing import TextIO

from trigpoint._cli.arguments import COMMANDS, make_parser
from trigpoint._cli.results import FAILED, INTERRUPTED, USAGE, CommandError, Result, UsageError
from trigpoint._common.words import printable

__all__ = ["COMMANDS", "main"]

# Raised by bad input, a full disk or a missing library; anything else is a bug.
_EXPECTED = (CommandError, ValueError, TypeError, OSError, EOFError, ImportError, MemoryError)

# Options that are not called like the parameter that they set.
_OPTIONS = {
    "n_components": "--components",
    "n_jobs": "--jobs",
    "n_landmarks": "--landmarks",
    "n_neighbors": "--neighbors",
    "random_state": "--seed",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    parser = make_parser()
    if not (sys.argv[1:] if arguments is None else arguments):
        parser.print_help(sys.stderr)
        return USAGE
    options = parser.parse_args(arguments)
    usual = warnings.showwarning
    warnings.showwarning = _show_warning
    try:
        result = _run(options)
        return 0 if result is None else _show(result, options.json)
    except KeyboardInterrupt:
        print("\ntrigpoint: interrupted; no file was left half-written", file=sys.stderr)
        return INTERRUPTED
    except UsageError as error:
        print(options.parser.format_usage(), file=sys.stderr, end="")
        print(_line(f"{options.parser.prog}: error: {error}"), file=sys.stderr)
        return USAGE
    except _EXPECTED as error:
        if options.debug:
            print(printable(traceback.format_exc()), file=sys.stderr, end="")
        print(_line(f"trigpoint: error: {described(error, options.parser)}"), file=sys.stderr)
        return FAILED
    finally:
        warnings.showwarning = usual


def _run(options: argparse.Namespace) -> Result | None:
    """Run the subcommand; in any case, close the progress display."""
    try:
        result: Result | None = importlib.import_module(f"trigpoint._cli.{options.command}").run(
            options
        )
        return result
    finally:
        display = getattr(options, "display", None)
        if display is not None:
            display.close()


def _show(result: Result, as_json: bool) -> int:
    try:
        result.show(as_json)
        sys.stdout.flush()
    except OSError as error:
        # Python would flush, and complain, again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            print(f"trigpoint: error: standard output: {error.strerror}", file=sys.stderr)
        return FAILED
    return 0


def described(error: BaseException, parser: argparse.ArgumentParser | None = None) -> str:
    """Return the message of an error, preceded by the option that it is about."""
    if isinstance(error, MemoryError):
        return f"out of memory: {str(error) or 'choose fewer columns or landmarks'}"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    message = str(error) or type(error).__name__
    parameter = getattr(error, "parameter", "")
    option = _OPTIONS.get(parameter, f"--{parameter}")
    is_option = parser is not None and any(
        option in action.option_strings for action in parser._actions
    )
    return f"{option}: {message}" if is_option else message


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Show one line, without the source location, which means nothing to the user."""
    # Imported here because it is slow; it writes without breaking the bars.
    from tqdm import tqdm

    tqdm.write(_line(f"trigpoint: warning: {message}"), file=sys.stderr)


def _line(text: str) -> str:
    """Return a message for standard error; on a terminal, it is wrapped between words."""
    text = printable(text)
    if not sys.stderr.isatty():
        return text
    width = shutil.get_terminal_size().columns
    return textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    sys.exit(main())
