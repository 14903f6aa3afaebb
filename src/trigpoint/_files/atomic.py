"""Atomic writes: files and folders that exist completely or not at all."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a path next to `path` to write a file to; the file replaces `path` at the end.

    An exception, including Ctrl-C, leaves `path` unchanged and no other file.
    """
    # Resolved, so that the target of a link is replaced and not the link.
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"{os.fspath(path)} is a folder: write to another name")
    check_place(target, os.fspath(path))
    partial = hidden_sibling(target, "partial")
    try:
        yield partial
        put_in_place(partial, target)
    finally:
        remove(partial)


def check_place(path: Path, name: str) -> None:
    """Reject a path that cannot be written; messages call it `name`."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{name} cannot be written: there is no folder {path.parent}")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise PermissionError(f"{name} cannot be written: no permission to write in {path.parent}")


def hidden_sibling(path: Path, what: str) -> Path:
    """Unique hidden path in the same folder as `path`."""
    return path.with_name(f".{path.name}.{what}-{secrets.token_hex(4)}")


def put_in_place(new: Path, path: Path) -> None:
    """Replace `path` with the file or folder `new`."""
    if not path.is_dir():
        os.replace(new, path)
        return
    # A folder cannot be replaced in one step, so the old one moves aside until the new one exists.
    old = hidden_sibling(path, "old")
    os.replace(path, old)
    try:
        os.replace(new, path)
    except BaseException:
        os.replace(old, path)
        raise
    remove(old)


def remove(path: Path) -> None:
    """Remove a file or folder if it exists."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
