"""Errors that libraries raise for damaged files, under the name of the file."""

from collections.abc import Iterator
from contextlib import contextmanager

from trigpoint._common.errors import DamagedFileError, Worded


@contextmanager
def name_damage(name: str, kind: str) -> Iterator[None]:
    """Name the file in every error that reading it raises.

    Libraries raise whatever they stumble over in a damaged file, and which type that is differs
    between their versions. Errors of our own name the file already, and so do those of the system.

    Parameters
    ----------
    name : str
        What messages call the file.
    kind : str
        What it is read as: "HDF5".
    """
    try:
        yield
    except (Worded, DamagedFileError, ImportError):
        raise
    except MemoryError as error:
        raise MemoryError(f"reading {name} as {kind}: {error}") from error
    except OSError as error:
        if error.filename is not None:
            raise
        raise OSError(f"{name} cannot be opened as {kind}: {error}") from error
    except Exception as error:
        reason = str(error) or type(error).__name__
        raise DamagedFileError(f"{name} cannot be read as {kind}: {reason}") from error
