"""Processes that start as copies of one which has imported the libraries: that takes no time."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Self

# Copies itself whenever it is given a line. A copy leaves the loop, runs its code and ends as any
# interpreter does, while the original goes on and tells how copies end.
SERVER = """
import gc, json, os, signal, sys
exec(sys.argv[1])
# Copies look for no garbage here, which would make pages their own.
gc.freeze()
for line in iter(sys.stdin.readline, ""):
    request = json.loads(line)
    if "wait" in request:
        pid, status = os.waitpid(request["wait"], request["options"])
        print(json.dumps(os.waitstatus_to_exitcode(status) if pid else None), flush=True)
        continue
    # Before the answer, after which a terminal may be closed on the other side.
    names = os.devnull, *request["streams"]
    streams = [os.open(name, (os.O_WRONLY if i else os.O_RDONLY) | os.O_NOCTTY)
               for i, name in enumerate(names)]
    pid = os.fork()
    if not pid:
        break
    for stream in streams:
        os.close(stream)
    print(pid, flush=True)
else:
    sys.exit()
# One that hangs is ended.
signal.alarm(240)
# Under some launchers the signal is ignored, and children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
os.chdir(request["folder"])
sys.path[:0] = request["path"]
sys.argv[1:] = request["arguments"]
for number, stream in enumerate(streams):
    os.dup2(stream, number)
    os.close(stream)
exec(request["code"], {"__name__": "__main__"})
"""

# The first function is what the compiler gets ready at.
COMPILER = "import numba; numba.njit(lambda x: x)(1)"

# As `python -m trigpoint` does.
COMMAND = "import runpy; runpy.run_module('trigpoint', run_name='__main__', alter_sys=True)"


class Copies:
    """Copies of one process.

    Parameters
    ----------
    before : str
        Code that it runs before it is copied: imports, above all.
    folder : Path
        For what copies write to streams that are not named.
    environment : dict, optional
    """

    def __init__(self, before: str, folder: Path, environment: dict | None = None) -> None:
        command = [sys.executable, "-c", SERVER, before]
        environment = {**(os.environ if environment is None else environment)}
        # What a stream holds back until the end may fail there.
        environment.pop("PYTHONUNBUFFERED", None)
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self._server = subprocess.Popen(command, text=True, env=environment, **pipes)
        self._folder, self._n_started = folder, 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error) -> None:
        self._server.stdin.close()
        assert self._server.wait() == 0
        self._server.stdout.close()

    def ask(self, **request):
        """What the original answers."""
        self._server.stdin.write(json.dumps(request) + "\n")
        self._server.stdin.flush()
        return json.loads(self._server.stdout.readline())

    def start(self, code: str, *arguments: str, path=(), stdout=None, stderr=None) -> "Copy":
        """Start a copy in this folder; streams are names of files or devices."""
        self._n_started += 1
        streams = [stdout, stderr]
        for number, name in enumerate(streams):
            if name is None:
                streams[number] = self._folder / f"{self._n_started}-{number}.txt"
                streams[number].touch()
        pid = self.ask(
            code=code,
            arguments=arguments,
            folder=os.getcwd(),
            path=list(map(str, path)),
            streams=list(map(os.path.abspath, streams)),
        )
        return Copy(self, pid, *streams)

    def run(self, code: str, *arguments: str, **options) -> "Copy":
        """Run a copy to its end."""
        copy = self.start(code, *arguments, **options)
        copy.wait()
        return copy


class Copy:
    """One of them, with the names of a `subprocess.Popen`."""

    returncode = None

    def __init__(self, copies: Copies, pid: int, stdout, stderr) -> None:
        self._copies, self.pid, self._streams = copies, pid, (stdout, stderr)

    def poll(self, options: int = os.WNOHANG) -> int | None:
        if self.returncode is None:
            self.returncode = self._copies.ask(wait=self.pid, options=options)
        return self.returncode

    def wait(self) -> int:
        return self.poll(0)

    def send_signal(self, number: int) -> None:
        # Until it is waited for, the number is its own.
        if self.returncode is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)
        self.wait()

    @property
    def stdout(self) -> str:
        return Path(self._streams[0]).read_text()

    @property
    def stderr(self) -> str:
        return Path(self._streams[1]).read_text()
