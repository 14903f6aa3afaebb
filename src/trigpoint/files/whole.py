"""Files that are there whole or not at all."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a path beside `path` to write to; it takes its place at the end.

    An exception, Ctrl-C included, leaves `path` as it was and nothing beside it.
    """
    # Through a link, so that its target is replaced and not the link.
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder: name a file")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"the folder {target.parent} does not exist: make it first")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise PermissionError(f"no permission to write in {target.parent}: name another folder")
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")
    try:
        yield partial
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)
