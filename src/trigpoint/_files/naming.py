"""Errors of the system that say which file they are about."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def naming_file(path: Path) -> Iterator[None]:
    """Let errors name a file that is read: those of reads name none, unlike those of opening."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error
