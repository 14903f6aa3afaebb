"""A message before the end, where a file that is mapped to memory is cut while it is used.

The system then ends the process with a bus error, SIGBUS, and no exception can be raised: the
machine code that reads the points cannot go on. What can be had is a word about the reason.
"""

import ctypes
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from trigpoint._command.common import FAILED


@contextmanager
def last_words(name: str | None) -> Iterator[None]:
    """Let a bus error be explained, and end the process like other errors; `name` is read."""
    if name is None or sys.platform == "win32":
        yield
        return
    message = (
        f"trigpoint: {name} was cut, or its disk failed, while it was being read: do not change it "
        "during a run\n"
    ).encode()

    def explain(number: int) -> None:
        del number
        os.write(sys.__stderr__.fileno() if sys.__stderr__ is not None else 2, message)
        os._exit(FAILED)

    # Not by Python's `signal`, whose handlers wait until the code at fault goes on. This one is
    # called at once, in the thread that reads points, where nothing of Python is half done.
    handler = ctypes.CFUNCTYPE(None, ctypes.c_int)(explain)
    set_handler = ctypes.CDLL(None).signal
    set_handler.restype, set_handler.argtypes = ctypes.c_void_p, [ctypes.c_int, ctypes.c_void_p]
    before = set_handler(signal.SIGBUS, ctypes.cast(handler, ctypes.c_void_p))
    try:
        yield
    finally:
        set_handler(signal.SIGBUS, before)
