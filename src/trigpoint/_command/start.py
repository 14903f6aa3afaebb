"""The start of ``trigpoint``: a sign of life while the libraries are imported."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

_SIGN = "trigpoint: loading libraries ..."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    try:
        with _sign_of_life(sys.argv[1:] if arguments is None else arguments):
            from trigpoint._command import cli
    except KeyboardInterrupt:
        print("\ntrigpoint: interrupted; nothing was left half-written", file=sys.stderr)
        return 130
    return cli.main(arguments)


@contextmanager
def _sign_of_life(arguments: Sequence[str]) -> Iterator[None]:
    """A line on the terminal, gone when the work begins."""
    terminal = sys.stderr
    if terminal is None or not terminal.isatty() or {"--quiet", "completion"} & set(arguments):
        yield
        return
    terminal.write(_SIGN)
    terminal.flush()
    yield
    terminal.write(f"\r{' ' * len(_SIGN)}\r")
    terminal.flush()
