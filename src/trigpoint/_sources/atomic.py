"""Atomic output: a new file or folder appears complete or not at all.

It is written under an unpredictable name beside the target and then moved there. Nothing that was
found in the folder is ever opened.
"""

import errno
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PREFIX = ".trigpoint-"

# Errors of file systems that have no hard links.
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK)


@contextmanager
def atomic_write(
    path: str | os.PathLike[str], *, replace: bool = True, folder: bool = False
) -> Iterator[Path]:
    """Yield the path of an empty file, or folder, which becomes `path` at the end.

    Parameters
    ----------
    path : path
        Of a link, the target is replaced and not the link.
    replace : bool, default=True
        Whether to replace what exists at the end.
    folder : bool, default=False
        Whether to write a folder.
    """
    name, target = os.fspath(path), Path(os.path.realpath(path))
    check_place(target, name)
    if target.is_dir() and not folder:
        raise IsADirectoryError(f"{name} is a folder: write to another name")
    partial: Path | None = None
    try:
        # Created here and nowhere else: if the name exists, another is tried.
        if folder:
            partial = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=target.parent))
        else:
            descriptor, made = tempfile.mkstemp(target.suffix, _PREFIX, target.parent)
            partial = Path(made)
            os.close(descriptor)
        yield partial
        _sync(partial)
        partial.chmod((0o777 if folder else 0o666) & ~_umask())
        (_move_folder if folder else _move_file)(partial, target, replace)
        _sync_folder(target.parent)
    except FileExistsError as error:
        raise FileExistsError(errno.EEXIST, "a file or folder of this name exists", name) from error
    except OSError as error:
        if error.errno is None or (error.filename and Path(str(error.filename)) != partial):
            raise
        raise OSError(error.errno, error.strerror, name) from error
    finally:
        # What was moved is there no more.
        if partial is not None and partial.is_dir():
            shutil.rmtree(partial, ignore_errors=True)
        elif partial is not None:
            partial.unlink(missing_ok=True)


def check_place(path: Path, name: str) -> None:
    """Reject a place where nothing can be written; messages call it `name`."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent} to write {name} in")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise PermissionError(f"{name} cannot be written: no permission to write in {path.parent}")
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise FileExistsError(f"{name} is a pipe or a device: write to another name")


def _move_file(partial: Path, target: Path, replace: bool) -> None:
    if replace:
        os.replace(partial, target)
        return
    try:
        os.link(partial, target)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        # The name is taken first, so that no other file can be replaced.
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        os.replace(partial, target)


def _move_folder(partial: Path, target: Path, replace: bool) -> None:
    if not os.path.lexists(target):
        partial.rename(target)
        return
    if not replace:
        raise FileExistsError(target)
    old = target.with_name(f"{_PREFIX}{secrets.token_hex(8)}")
    target.rename(old)
    try:
        partial.rename(target)
    except BaseException:
        with suppress(OSError):
            old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _umask() -> int:
    # It can only be read by setting it. Files that other threads create meanwhile are private.
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _sync(path: Path) -> None:
    """Wait until a file, or everything in a folder, is on the disk."""
    if not path.is_dir():
        # Windows does not flush what was opened for reading.
        descriptor = os.open(path, os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        return
    for place in path.iterdir():
        _sync(place)
    _sync_folder(path)


def _sync_folder(path: Path) -> None:
    """Wait until the names in a folder are on the disk, where the system can."""
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
