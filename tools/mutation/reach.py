"""A pytest plugin that writes down which functions of the library each test calls.

Compiled loops are not seen from Python: whoever imports them inside a function is taken to call
all loops of that module. What a test does in other processes is not seen either.
"""

import json
import os
import sys
import threading
import time
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = str(Path(os.environ.get("MUTATION_ROOT", ".")) / "src") + os.sep


class Reach:
    """Calls of each test, those of its file's fixtures among them."""

    def __init__(self) -> None:
        self._shared = defaultdict(set)
        self._tests = {}
        self._stop = float(os.environ.get("MUTATION_STOP", "inf"))
        self._is_cut = False

    def _watch(self, calls):
        def enter(frame, event, argument):
            code = frame.f_code
            if event == "call" and code.co_filename.startswith(ROOT):
                name = code.co_qualname.partition(".<locals>")[0]
                calls.add(f"{code.co_filename.removeprefix(ROOT)}:{name}")

        threading.setprofile(enter)
        sys.setprofile(enter)

    def _rest(self):
        threading.setprofile(None)
        sys.setprofile(None)

    def pytest_runtest_logfinish(self, nodeid):
        """Begin no test after the time is up."""
        if time.time() > self._stop and not self._is_cut:
            self._is_cut = self._session.shouldstop = "the time is up"

    def pytest_sessionstart(self, session):
        """Keep the session, which can be stopped."""
        self._session = session

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item):
        """Fixtures of a module run once, for whichever test comes first."""
        self._watch(self._shared[item.path])
        try:
            return (yield)
        finally:
            self._rest()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item):
        """The test itself."""
        calls = set()
        self._watch(calls)
        try:
            return (yield)
        finally:
            self._rest()
            self._tests[item.nodeid] = [item.path, calls, None]

    def pytest_runtest_logreport(self, report):
        """Only tests that pass can tell a mistake."""
        if report.when == "call" and report.passed:
            self._tests[report.nodeid][2] = report.duration

    def pytest_sessionfinish(self, session):
        """Write down, for each test that passed, its seconds and its calls."""
        tests = {
            name: [seconds, sorted(calls | self._shared[path])]
            for name, (path, calls, seconds) in self._tests.items()
            if seconds is not None
        }
        found = {"tests": tests, "all": not self._is_cut}
        Path(os.environ["MUTATION_REACH"]).write_text(json.dumps(found))


def pytest_configure(config):
    """Take part."""
    config.pluginmanager.register(Reach())
