"""Atomic output: a new file appears complete or not at all.

The file is written under an unpredictable name in the same folder and then renamed.
"""

import errno
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from trigpoint._common.errors import ParameterValueError

_PREFIX = ".trigpoint-"

# Errors raised by file systems without hard links.
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK)


@contextmanager
def atomic_write(path: str | os.PathLike[str], *, replace: bool = True) -> Iterator[Path]:
    """Yield the path of an empty temporary file, which is moved to `path` at the end.

    Links are followed. `replace` says whether to replace a file that exists by then.
    """
    name, target = os.fspath(path), check_target(path)
    partial: Path | None = None
    try:
        descriptor, made = tempfile.mkstemp(target.suffix, _PREFIX, target.parent)
        partial = Path(made)
        os.close(descriptor)
        yield partial
        # Windows does not flush files opened for reading only.
        _sync(partial, os.O_RDWR)
        partial.chmod(0o666 & ~_umask())
        _move(partial, target, replace)
        with suppress(OSError):
            _sync(target.parent, os.O_RDONLY)
    except FileExistsError as error:
        raise FileExistsError(errno.EEXIST, "a file of this name exists", name) from error
    except OSError as error:
        if error.errno is None or (error.filename and Path(str(error.filename)) != partial):
            raise
        raise OSError(error.errno, error.strerror, name) from error
    finally:
        if partial is not None:
            partial.unlink(missing_ok=True)


def followed(path: str | os.PathLike[str]) -> Path:
    """Resolve the links of a path; refuse a link that another user may have planted.

    In a sticky folder, such as /tmp, anyone can create a link to a file that only we can write.
    """
    link = Path(path)
    # Windows has neither sticky folders nor user ids.
    is_shared = link.is_symlink() and link.parent.stat().st_mode & stat.S_ISVTX
    if is_shared and link.lstat().st_uid != os.geteuid():
        raise PermissionError(f"{path} is a link created by another user: write to another name")
    return Path(os.path.realpath(path))


def check_target(path: str | os.PathLike[str], reading: Iterable[Path] = ()) -> Path:
    """Return the resolved path, or reject one that cannot be written.

    `reading` lists files and folders that are being read and must not be overwritten.
    """
    name, target = os.fspath(path), followed(path)
    folder = target.parent
    for source in map(os.path.realpath, reading):
        if target == Path(source):
            raise ParameterValueError(f"{name} is being read: write to another file", "out")
        if target.is_relative_to(source):
            raise ParameterValueError(
                f"{name} is in the folder that is being read: write to another folder", "out"
            )
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {Path(name).parent} to write {name} in")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"{name} cannot be written: no permission to write in {folder}")
    if target.is_dir():
        raise IsADirectoryError(f"{name} is a folder: write to another name")
    if target.exists() and not target.is_file():
        raise FileExistsError(f"{name} is a pipe or a device: write to another name")
    return target


def _move(partial: Path, target: Path, replace: bool) -> None:
    if replace:
        os.replace(partial, target)
        return
    try:
        os.link(partial, target)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        # Claim the name first, so that no existing file can be replaced.
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        os.replace(partial, target)


def _umask() -> int:
    # The umask can only be read by setting it. Use a strict one, so that files created by other
    # threads in the meantime are private.
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _sync(path: Path, mode: int) -> None:
    """Flush the content of a file, or the entries of a folder, to disk."""
    descriptor = os.open(path, mode)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
