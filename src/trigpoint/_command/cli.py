"""The command ``trigpoint``: reads its arguments, calls the library, prints the result."""

import argparse
import errno
import logging
import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import TextIO

import trigpoint
from trigpoint._command import completion, demo, embed, evaluate, info, select, transform
from trigpoint._command.common import (
    FAILED,
    INTERRUPTED,
    USAGE,
    CommandError,
    Interrupted,
    Result,
    UsageError,
    add_diagnostics,
)
from trigpoint._command.interruption import remembered_interrupts
from trigpoint._command.last_words import last_words
from trigpoint._command.messages import explain
from trigpoint._command.parsing import Parser
from trigpoint._common.words import printable
from trigpoint._files.atomic import kept_folder

# The last one completes the words of the others.
COMMANDS = (embed, select, transform, evaluate, info, demo, completion)

# Raised by bad input, a full disk or a missing library; anything else is a bug.
_EXPECTED = (CommandError, ValueError, TypeError, OSError, EOFError, ImportError, MemoryError)

_EXIT_CODES = """
exit codes:
  0    done
  1    failed; the reason is on standard error, and no output was left half-written
  2    wrong arguments
  130  interrupted (Ctrl-C)
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    parser = _parser()
    if not (sys.argv[1:] if arguments is None else arguments):
        parser.print_help(sys.stderr)
        return USAGE
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        options.parser.refuse(unknown)
    _set_up_logging(logging.INFO if options.log else logging.WARNING)
    try:
        with warnings.catch_warnings(), remembered_interrupts():
            # One line, without the source location, which means nothing to the user.
            warnings.showwarning = _show_warning
            result = _run(options)
        if not isinstance(result, Result):
            return int(result)
        _show(result, options)
    except KeyboardInterrupt as stopped:
        state = "nothing was left half-written"
        if isinstance(stopped, Interrupted) and stopped.written:
            state = f"complete: {', '.join(map(str, stopped.written))}"
        print(printable(f"\ntrigpoint: interrupted; {state}"), file=sys.stderr)
        _tell_of_kept_work(options)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of the output closed the pipe.
        return FAILED
    except UsageError as error:
        options.parser.error(printable(str(error)))
    except _EXPECTED as error:
        if options.debug:
            print(printable(traceback.format_exc()), file=sys.stderr, end="")
        print(printable(f"trigpoint: {explain(error)}"), file=sys.stderr)
        _tell_of_kept_work(options)
        return FAILED
    return 0


def _show(result: Result, options: argparse.Namespace) -> None:
    if sys.stdout is None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF), "standard output")
    try:
        result.show(as_json=options.json)
        sys.stdout.flush()
    except OSError as error:
        # Python would complain again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            raise
        raise OSError(error.errno, error.strerror, "standard output") from error


def _tell_of_kept_work(options: argparse.Namespace) -> None:
    """Say what is left of a run that can go on."""
    output = getattr(options, "output", None)
    folder = kept_folder(output) if output is not None and output.parent.is_dir() else None
    if folder is not None:
        print(
            f"trigpoint: what was done so far is in {printable(str(folder))}: the command that has "
            "done it goes on from there when it is given again",
            file=sys.stderr,
        )


class _PrintableFormatter(logging.Formatter):
    """Formatter for a terminal, which must not obey what is in the name of a column."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


def _set_up_logging(level: int) -> None:
    logging.basicConfig(level=level)
    for handler in logging.getLogger().handlers:
        handler.setFormatter(_PrintableFormatter("%(name)s: %(message)s"))


def _run(options: argparse.Namespace) -> Result | int:
    """Run the subcommand; in any case, close the progress display."""
    try:
        with last_words(getattr(options, "input", None)):
            return options.run(options)
    finally:
        display = getattr(options, "display", None)
        if display is not None:
            display.close()


def _parser() -> Parser:
    parser = Parser(
        prog="trigpoint",
        description="Embed millions of points from a few diverse landmarks.",
        epilog=f"'trigpoint COMMAND --help' shows options and examples.\n{_EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"trigpoint {trigpoint.__version__}")
    add_diagnostics(parser)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add(commands)
    return parser


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    # Imported here because it is slow; it writes without breaking the bars.
    from tqdm import tqdm

    text = explain(message) if isinstance(message, Warning) else message
    tqdm.write(printable(f"trigpoint: warning: {text}"), file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
