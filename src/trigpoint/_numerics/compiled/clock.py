"""How long compiling has taken, so that it does not count as the time of what was compiled.

Nothing here imports the compiler: the loops say when one of them is compiled.
"""

import time
from threading import Lock
from typing import Any


class CompileClock:
    """Adds up the seconds in which at least one loop is being compiled."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._depth = 0
        self._start = 0.0
        self._seconds = 0.0

    @property
    def seconds(self) -> float:
        """Seconds so far in this process."""
        return self._seconds

    def on_start(self, event: Any) -> None:
        """Compiling begins, possibly of a loop that another one calls."""
        with self._lock:
            if self._depth == 0:
                self._start = time.perf_counter()
            self._depth += 1

    def on_end(self, event: Any) -> None:
        """Compiling ends."""
        with self._lock:
            self._depth -= 1
            if self._depth == 0:
                self._seconds += time.perf_counter() - self._start


COMPILE_CLOCK = CompileClock()
