"""Files that cannot be read: missing, not a file, or damaged; errors name them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trigpoint._common.errors import DamagedFileError, ParameterValueError, Worded


def check_is_file(path: Path) -> None:
    """Reject what does not exist, and what is neither a file nor a folder.

    Opening a pipe would wait for someone to write to it, and files are read more than once.
    """
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    if not (path.is_file() or path.is_dir()):
        raise ParameterValueError(
            "X",
            str(path),
            "{path} is a pipe or a device, which can be read only once",
            "write what it delivers to a file first",
            path=path,
        )


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
    # A damaged file may raise anything, and its reader knows neither the name nor the format.
    except Exception as error:
        reason = str(error) or type(error).__name__
        raise DamagedFileError(f"{name} cannot be read as {kind}: {reason}") from error
