"""Machine code of the loops, kept on disk separately for each state of their sources.

numba's own cache looks at one file at a time: when a loop calls another that has changed in a
different file, the old one goes on running. Here everything compiled from one state of this package
lies in one folder named after a digest of all its sources, so that an edit anywhere compiles
everything again.

A cache saves time and must never cost a result: a file that is damaged or cannot be read or
written leads to a warning, and the loop is compiled as if there were no cache.
"""

import hashlib
import os
import pickle
import re
import shutil
import sys
import tempfile
import uuid
from collections.abc import Iterator
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps
from numba.core.sigutils import normalize_signature
from numba.misc.appdirs import AppDirs

from trigpoint._common.warn import warn_user

_FOLDER = re.compile(r"trigpoint-[0-9a-f]{16}")
# Folders of other states that are left alone: branches, environments, the version before.
_OTHERS_KEPT = 3


def source_digest() -> str | None:
    """Digest of the sources here and of what compiles them; None where only byte code is installed.

    Machine code calls into the interpreter, so another Python must not find it either.
    """
    files = [file for file in resources.files(__package__).iterdir() if file.name.endswith(".py")]
    if not files:
        return None
    interpreter = f"{sys.implementation.cache_tag} {getattr(sys, 'abiflags', '')}"
    digest = hashlib.sha256(f"{interpreter} {numba.__version__} {np.__version__}".encode())
    for file in sorted(files, key=lambda file: file.name):
        source = file.read_bytes()
        digest.update(f"{file.name} {len(source)} ".encode() + source)
    return digest.hexdigest()[:16]


# Taken at the first import: what is compiled later is compiled from these sources.
_DIGEST = source_digest()


class LoopCache(NullCache):
    """Where numba loads the machine code of one loop from, and saves it to."""

    def __init__(self, function: Any) -> None:
        self._name = f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}"

    @property
    def cache_path(self) -> str | None:
        """The folder, which numba shows among its statistics."""
        folder = cache_folder()
        return None if folder is None else str(folder)

    def load_overload(self, sig: Any, target_context: Any) -> CompileResult | None:
        """Machine code for arguments of these types, or None if it has to be compiled."""
        folder = cache_folder()
        if folder is None:
            return None
        target_context.refresh()
        try:
            content = self._path(folder, sig, target_context.codegen()).read_bytes()
            checksum, payload = content[:32], content[32:]
            if hashlib.sha256(payload).digest() != checksum:
                raise ValueError(f"{self._name} is damaged")
            result = CompileResult._rebuild(target_context, *pickle.loads(payload))
        except FileNotFoundError:
            return None
        # Whatever is wrong with the file, numba's reader included, compiling again is the answer.
        except Exception as error:
            _warn_once(folder, error)
            return None
        is_right = result.signature.args == tuple(normalize_signature(sig)[0])
        return result if is_right else None

    def save_overload(self, sig: Any, data: CompileResult) -> None:
        """Keep machine code for the next process."""
        folder = cache_folder()
        # If sources were edited since the import, this process may run a mixture of them.
        if folder is None or data.library.has_dynamic_globals or source_digest() != _DIGEST:
            return
        try:
            payload = dumps(data._reduce())
            path = self._path(folder, sig, data.codegen)
            _write(path, hashlib.sha256(payload).digest() + payload)
        # The loop has been compiled and runs: a result must not be lost for want of a copy.
        except Exception as error:
            _warn_once(folder, error)

    def _path(self, folder: Path, sig: Any, codegen: Any) -> Path:
        """One file for each loop, types of arguments and processor: processes never share one."""
        key = repr((normalize_signature(sig)[0], codegen.magic_tuple()))
        digest = hashlib.sha256(key.encode()).hexdigest()[:16]
        return folder / f"{self._name}-{_precision(key)}-{digest}.nbc"


def is_kept(loop: str, dtype: np.dtype) -> bool:
    """Whether machine code of a loop, such as "tree.split", is kept for points of this type."""
    folder = cache_folder()
    return folder is not None and any(folder.glob(f"{loop}-{dtype.name}-*.nbc"))


def _precision(types: str) -> str:
    """The type of points that a loop is compiled for, given the types of its arguments."""
    return "float32" if "float32" in types else "float64"


@cache
def cache_folder() -> Path | None:
    """The folder for this state of the sources, made if necessary; None if none can be written."""
    if _DIGEST is None:
        return None
    for parent in _parents():
        folder = parent / f"trigpoint-{_DIGEST}"
        try:
            is_new = not folder.is_dir()
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
            # The time of last use, by which old folders are chosen for removal.
            os.utime(folder)
        except OSError:
            continue
        if is_new:
            _remove_old_folders(parent, folder)
        return folder
    return None


def _parents() -> Iterator[Path]:
    """Where the folder may lie: where the user says, beside the sources, or in the home folder."""
    if numba.config.CACHE_DIR:
        yield Path(numba.config.CACHE_DIR)
    yield Path(__file__).parent / "__pycache__"
    yield Path(AppDirs("trigpoint", appauthor=False).user_cache_dir)


def _remove_old_folders(parent: Path, current: Path) -> None:
    """Remove folders of other states, except for the few used last.

    A process that still uses one only has to compile again.
    """
    others = []
    for path in parent.iterdir():
        if _FOLDER.fullmatch(path.name) and path != current and not path.is_symlink():
            try:
                others.append((path.stat().st_mtime, path))
            except FileNotFoundError:
                # Another process, which started at the same time, was faster.
                continue
    for _, path in sorted(others, reverse=True)[_OTHERS_KEPT:]:
        shutil.rmtree(path, ignore_errors=True)


def _write(path: Path, content: bytes) -> None:
    """Write a file that other processes see whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{uuid.uuid4().hex}.tmp")
    try:
        unfinished.write_bytes(content)
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


_warned: set[Path] = set()


def _warn_once(folder: Path, error: Exception) -> None:
    if folder in _warned:
        return
    _warned.add(folder)
    warn_user(
        RuntimeWarning(
            f"compiled loops cannot be kept in {folder} ({error}); they are compiled again, which "
            "takes some seconds. If this warning returns, free some disk space or delete that "
            "folder."
        )
    )
