"""Durable writes: a new version of a file or folder is there as a whole or not at all.

It is written in a hidden folder beside its place, ``.NAME.partial-XXXXXXXX``, which the process
keeps locked. When it is complete, and has reached the disk, one rename puts it in place. The system
releases the locks of a process that dies, so the next one that writes to the same place can tell
what is left over, and removes it.
"""

import ctypes
import errno
import os
import re
import secrets
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

from trigpoint._common.warn import warn_user
from trigpoint._common.words import size

try:
    import fcntl
except ImportError:  # Windows: nothing is locked there, and so nothing left over is removed.
    fcntl = None  # type: ignore[assignment]

_LOCK, _OLD, _RUN = "lock", "old", "run.json"

# Most bytes of a name whose hidden folder has one of 255.
_LONGEST_NAME = 255 - len("..partial-XXXXXXXX")

# Flags of Linux' renameat2.
_NO_REPLACE, _EXCHANGE = 1, 2
_CURRENT_FOLDER = -100
_NOT_SUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)

# The name is taken, as the system says it of files and of folders.
_TAKEN = (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR, errno.EISDIR)


@contextmanager
def atomic_write(path: str | os.PathLike[str], *, replace: bool = True) -> Iterator[Path]:
    """Yield a path to write a file to, which is moved to `path` at the end; see `Staging`."""
    with Staging(path, replace=replace) as staging, staging.naming_errors():
        if staging.target.is_dir():
            raise IsADirectoryError(f"{staging.name} is a folder: write to another name")
        yield staging.new
        staging.commit()


class Staging:
    """A new version of a file or folder, beside its place until it is complete.

    Inside the ``with`` statement it is written to `new`, and `commit` puts it in place. Without
    that, after an error or Ctrl-C, it is removed, unless it is to be kept for a later run.

    Parameters
    ----------
    path : path
        Where it belongs. Of a link, the target is replaced and not the link.
    replace : bool, default=True
        Whether to replace what is there at the end.
    run : str or None, default=None
        What identifies the run. The folder that one with the same text has kept is used again.

    Attributes
    ----------
    name : str
        What messages call it.
    target : Path
        Where it belongs.
    folder : Path
        The hidden folder.
    new : Path
        Where to write.
    goes_on : bool
        Whether an earlier run has left the folder.
    keep : bool
        Whether the folder outlives the ``with`` statement unless `commit` is called.
    """

    folder: Path
    new: Path
    goes_on: bool

    def __init__(
        self, path: str | os.PathLike[str], *, replace: bool = True, run: str | None = None
    ) -> None:
        self.name = os.fspath(path)
        self.target = Path(os.path.realpath(path))
        self.keep = False
        self._replace, self._run = replace, run
        check_place(self.target, self.name)

    def __enter__(self) -> Self:
        kept = self._kept_by_same_run()
        # What was kept stays so, whatever happens before more is done.
        self.goes_on = self.keep = kept is not None
        try:
            self.folder, self._lock = kept or _locked_folder(self.target)
        except OSError as error:
            raise OSError(error.errno, error.strerror, self.name) from error
        self.new = self.folder / f"new{self.target.suffix}"
        if kept is None and self._run is not None:
            try:
                with self.naming_errors():
                    (self.folder / _RUN).write_text(self._run)
            except BaseException:
                self.__exit__()
                raise
        return self

    def __exit__(self, *error: object) -> None:
        if fcntl is None:
            os.close(self._lock)  # Windows removes no file that is open.
        if not self.keep:
            remove(self.folder)
        if fcntl is not None:
            os.close(self._lock)

    @contextmanager
    def naming_errors(self) -> Iterator[None]:
        """Let errors of the system name the target, not what is written meanwhile, or nothing."""
        try:
            yield
        except OSError as error:
            file = error.filename
            inside = file is None or Path(os.fsdecode(file)).is_relative_to(self.folder)
            if error.errno is None or not inside:
                raise
            self._refuse_if_removed()
            raise OSError(error.errno, os.strerror(error.errno), self.name) from error

    def commit(self) -> None:
        """Put what was written in place, once it is on the disk."""
        _sync(self.new)
        # Libraries that create folders as they need them would not notice.
        self._refuse_if_removed()
        if self._replace:
            self._move_over()
        else:
            self._move_beside()
        _sync_folder(self.target.parent)
        self.keep = False

    def _move_over(self) -> None:
        """Replace what is there, if anything."""
        if not self.target.is_dir():
            os.replace(self.new, self.target)
        elif not self.new.is_dir():
            raise IsADirectoryError(f"{self.name} has become a folder, and is kept")
        elif not _renamed(self.new, self.target, _EXCHANGE):
            # In two steps, where the system cannot exchange folders. If the run is killed between
            # them, the next one puts the old folder back.
            old = self.folder / _OLD
            os.rename(self.target, old)
            try:
                os.rename(self.new, self.target)
            except BaseException:
                os.rename(old, self.target)
                raise

    def _move_beside(self) -> None:
        """Fail if there is something in place; decided by the system in the same step."""
        try:
            if _renamed(self.new, self.target, _NO_REPLACE):
                return
            if self.new.is_dir():
                # Replaces an empty folder at most.
                os.rename(self.new, self.target)
            else:
                os.link(self.new, self.target)
                os.unlink(self.new)
        except OSError as error:
            if error.errno not in _TAKEN:
                raise
            raise FileExistsError(
                f"{self.name} appeared during the run, and is kept: name another file, or force "
                "its replacement"
            ) from error

    def _refuse_if_removed(self) -> None:
        if not _is_at(self._lock, self.folder / _LOCK):
            raise FileNotFoundError(
                f"{self.name} could not be written: its folder {self.target.parent} was removed, "
                "or emptied, during the run"
            )

    def _kept_by_same_run(self) -> tuple[Path, int] | None:
        """Remove what dead runs have left; a folder of the same run is returned instead."""
        found = None
        for folder in _partial_folders(self.target):
            lock = _locked(folder)
            if lock is None:
                continue
            _put_back(folder / _OLD, self.target)
            if found is None and self._run is not None and _run_of(folder) == self._run:
                found = folder, lock
            else:
                _clean(folder, self.target)
                os.close(lock)
        return found


def check_place(path: Path, name: str) -> None:
    """Reject a path that cannot be written; messages call it `name`."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{name} cannot be written: there is no folder {path.parent}")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise PermissionError(f"{name} cannot be written: no permission to write in {path.parent}")
    if len(os.fsencode(path.name)) > _LONGEST_NAME:
        raise OSError(f"{name} cannot be written: its name is longer than {_LONGEST_NAME} bytes")
    if path.exists() and not (path.is_file() or path.is_dir()):
        # A rename would put a file in the place of a device, for all programs.
        raise FileExistsError(f"{name} cannot be written: it is not a file")


def remove(path: Path) -> None:
    """Remove a file or folder if it exists."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _run_of(folder: Path) -> str | None:
    """What identifies the run that has kept a folder, if it has."""
    try:
        return (folder / _RUN).read_text()
    except OSError:
        return None


def kept_folder(path: str | os.PathLike[str], run: str | None = None) -> Path | None:
    """The folder that a run, or any, has kept that was to write `path`."""
    target = Path(os.path.realpath(path))
    for folder in _partial_folders(target):
        found = _run_of(folder)
        if found is not None and run in (None, found):
            return folder
    return None


def _partial_folders(target: Path) -> list[Path]:
    named = re.compile(re.escape(f".{target.name}.partial-") + "[0-9a-f]{8}")
    if not os.access(target.parent, os.R_OK):
        return []  # A folder that can be written to, but not looked into.
    with os.scandir(target.parent) as entries:
        return sorted(
            Path(entry.path)
            for entry in entries
            if named.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)
        )


def _locked_folder(target: Path) -> tuple[Path, int]:
    """A new hidden folder, and the lock that shows that its process is alive."""
    while True:
        folder = target.with_name(f".{target.name}.partial-{secrets.token_hex(4)}")
        folder.mkdir()
        try:
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o666)
        except FileNotFoundError:
            continue  # Taken for a leftover before it was locked.
        if fcntl is not None:
            with suppress(OSError):  # A file system without locks, where nothing is removed.
                fcntl.flock(lock, fcntl.LOCK_EX)
        if _is_at(lock, folder / _LOCK):
            return folder, lock
        os.close(lock)


def _locked(folder: Path) -> int | None:
    """The lock of a folder whose process has died, or None if it may be alive."""
    if fcntl is None:
        return None
    try:
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError:
        return None  # Removed meanwhile, or of another user.
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_at(lock, folder / _LOCK):
            return lock
    except OSError:
        pass
    os.close(lock)
    return None


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether a path still leads to an open file."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except OSError:
        return False


def _put_back(old: Path, target: Path) -> None:
    """Restore a folder whose run was killed between the two steps of replacing it."""
    if old.exists() and not target.exists():
        os.rename(old, target)
        _sync_folder(target.parent)
        warn_user(UserWarning(f"{target} was put back: a run was killed while it replaced it"))
    remove(old)


def _clean(folder: Path, target: Path) -> None:
    """Remove a folder that a dead run has left, and say so."""
    n_bytes = 0
    for path in folder.rglob("*"):
        with suppress(OSError):  # Someone else may be removing it, too.
            n_bytes += path.lstat().st_size
    remove(folder)
    warn_user(
        UserWarning(
            f"{size(n_bytes)} in {folder} were removed: they are what another run that was to "
            f"write {target.name} had done when it ended"
        )
    )


def _renamed(new: Path, target: Path, flag: int) -> bool:
    """Rename in a way that only Linux has; False if the system or the file system has not."""
    rename: Any = _RENAME
    if rename is None:
        return False
    places = _CURRENT_FOLDER, os.fsencode(new), _CURRENT_FOLDER, os.fsencode(target)
    if rename(*places, flag) == 0:
        return True
    number = ctypes.get_errno()
    if number in _NOT_SUPPORTED:
        return False
    raise OSError(number, os.strerror(number), str(target))


def _find_rename() -> Any:
    if sys.platform != "linux":
        return None
    function = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if function is not None:
        path = ctypes.c_char_p
        function.argtypes = [ctypes.c_int, path, ctypes.c_int, path, ctypes.c_uint]
    return function


_RENAME = _find_rename()


def _sync(path: Path) -> None:
    """Wait until a file, or everything in a folder, is on the disk."""
    if not path.is_dir():
        sync_file(path)
        return
    for folder, _, files in os.walk(path, topdown=False):
        for file in files:
            sync_file(Path(folder, file))
        _sync_folder(Path(folder))


def sync_file(path: Path) -> None:
    """Wait until a file is on the disk."""
    # Windows does not flush what was opened for reading.
    descriptor = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_folder(path: Path) -> None:
    """Wait until the names in a folder are on the disk."""
    if os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some file systems have nothing to wait for.
        if error.errno not in _NOT_SUPPORTED:
            raise
    finally:
        os.close(descriptor)
