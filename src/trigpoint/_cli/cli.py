"""Entry point of ``trigpoint``: parse the arguments, run a subcommand, print the result."""

import argparse
import importlib
import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any

from trigpoint._cli.arguments import COMMANDS, make_parser
from trigpoint._cli.results import (
    FAILED,
    INTERRUPTED,
    USAGE,
    CommandError,
    Result,
    described,
    line,
    open_display,
    step,
    write,
)
from trigpoint._common.words import printable

__all__ = ["COMMANDS", "main"]

# Errors caused by bad input, a full disk or a missing library; anything else is a bug.
_EXPECTED = (CommandError, ValueError, TypeError, OSError, EOFError, ImportError, MemoryError)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code; wrong arguments raise `SystemExit`."""
    parser = make_parser()
    if not (sys.argv[1:] if arguments is None else arguments):
        parser.print_help(sys.stderr)
        return USAGE
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        options.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    usual = warnings.showwarning
    warnings.showwarning = partial(_show_warning, options)
    try:
        return _show(_run(options), options.json)
    except KeyboardInterrupt:
        print("\ntrigpoint: interrupted; no file was left half-written", file=sys.stderr)
        return INTERRUPTED
    except _EXPECTED as error:
        if options.debug:
            print(printable(traceback.format_exc()), file=sys.stderr, end="")
        print(line(f"error: {described(error, options.parser)}"), file=sys.stderr)
        return FAILED
    finally:
        warnings.showwarning = usual


def _run(options: argparse.Namespace) -> Result:
    """Run the subcommand, and always close the progress display."""
    display = open_display(options)
    # Importing takes a second or two.
    step(options, "starting")
    try:
        command = importlib.import_module(f"trigpoint._cli.{options.command}")
        result: Result = command.run(options)
        return result
    finally:
        if display:
            display.stop()
            options.display = None


def _show(result: Result, as_json: bool) -> int:
    try:
        result.show(as_json)
        sys.stdout.flush()
    except OSError as error:
        # Redirect standard output, since Python would flush it again at exit, and fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            print(f"trigpoint: error: standard output: {error.strerror}", file=sys.stderr)
        return FAILED
    return 0


def _show_warning(options: argparse.Namespace, message: Warning | str, *_: Any, **__: Any) -> None:
    """Show a warning without its source location, which means nothing to the user."""
    write(options, f"warning: {message}")


if __name__ == "__main__":
    sys.exit(main())
