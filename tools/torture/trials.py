"""One run that is hit, and the next one: what must be there after each."""

import json
import os
import random
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tools.torture import shim
from tools.torture.operations import Operation, make_inputs

# What a child ends with: done, an error that users can understand, or one that they cannot.
DONE, REFUSED, BROKEN = 0, 3, 4
_SECONDS = 60

# What a run says if an earlier one has left something.
_REPORTS = ("removed:", "goes on from there", "was put back")

Content = dict[str, bytes] | None


class Laboratory:
    """Inputs, and what every operation writes if nothing happens.

    Parameters
    ----------
    folder : Path
        An empty one.
    operations : list of Operation
    """

    def __init__(self, folder: Path, operations: list[Operation]) -> None:
        self.folder, self.given, self.old = folder, folder / "given", folder / "old"
        self.given.mkdir()
        self.old.mkdir()
        self.said = folder / "said.txt"
        self._must(lambda: make_inputs(self.given, {one.reads for one in operations}))
        self.new: dict[str, Content] = {}
        self.seconds: dict[str, float] = {}
        for operation in operations:
            self._run_undisturbed(operation)

    def _run_undisturbed(self, operation: Operation) -> None:
        out = self.fresh(operation, old=False)
        start = time.perf_counter()
        self._must(lambda: operation.run(self.given, out))
        self.seconds[operation.name] = time.perf_counter() - start
        self.new[operation.name] = content(out / operation.target)
        self._must(lambda: self._make_old(operation))

    def _make_old(self, operation: Operation) -> None:
        path = self.old / operation.target
        if path.exists():
            return
        if path.suffix == ".zarr":
            import zarr

            zarr.create_array(store=str(path), data=np.zeros((5, 2)))
        else:
            path.write_bytes(b"the old version")

    def fresh(self, operation: Operation, old: bool) -> Path:
        """Make an empty folder for the output, or one with an old version."""
        out = self.folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        if old:
            source, target = self.old / operation.target, out / operation.target
            shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
        return out

    def start(self, work: Callable[[], object]) -> int:
        """Begin some work in a child, which has all libraries in memory."""
        pid = os.fork()
        if pid:
            return pid
        stream = os.open(self.said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(stream, 1)
        os.dup2(stream, 2)
        signal.alarm(_SECONDS)
        code = BROKEN
        try:
            work()
            code = DONE
        except (OSError, ValueError) as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
            code = REFUSED
        except BaseException:
            traceback.print_exc()
        finally:
            shim.disarm()
            sys.stderr.flush()
            os._exit(code)

    def wait(self, pid: int) -> tuple[int, str]:
        """How a child ended, and what it said."""
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        return code, self.said.read_text(errors="replace") if self.said.exists() else ""

    def run(self, work: Callable[[], object]) -> tuple[int, str]:
        """Do some work in a child, to its end."""
        return self.wait(self.start(work))

    def _must(self, work: Callable[[], object]) -> None:
        code, said = self.run(work)
        if code != DONE:
            raise RuntimeError(f"does not even work undisturbed: {said}")

    def judge(self, operation: Operation, old: bool, code: int, said: str) -> list[str]:
        """What is wrong after a run that was hit, and after the next one, which is not."""
        out = self.folder / "out"
        before = content(self.old / operation.target) if old else None
        new, found = self.new[operation.name], content(out / operation.target)
        wrong = []
        if found not in (before, new):
            wrong.append("partial" if found is not None else "lost")
        if code == DONE and found != new:
            wrong.append("success without the result")
        if code == BROKEN or code == -signal.SIGALRM:
            wrong.append(f"ended with {code}: {said[-600:]}")
        if code == REFUSED and not any(
            name in said for name in (operation.target, str(self.given), "out/", "out:")
        ):
            wrong.append(f"an error that names no file: {said[-300:]}")
        left = [name for name in os.listdir(out) if name != operation.target]
        code, said = self.run(lambda: operation.run(self.given, out))
        if code != DONE or content(out / operation.target) != new:
            wrong.append(f"the next run ended with {code}: {said[-600:]}")
        elif os.listdir(out) != [operation.target]:
            wrong.append(f"the next run left {os.listdir(out)}")
        elif left and not any(report in said for report in _REPORTS):
            wrong.append(f"the next run did not report {left}: {said!r}")
        return wrong

    def struck(
        self, operation: Operation, old: bool, mode: int, at: int, error: int, kind: int
    ) -> list[str]:
        """Run an operation of which one call is hit, and judge it."""
        out = self.fresh(operation, old)
        place = self.given if kind == shim.READS else out

        def work() -> None:
            shim.arm(place, mode, at, error, kind)
            operation.run(self.given, out)

        code, said = self.run(work)
        wrong = []
        if operation.resumes and code != DONE:
            # Hit again, as it goes on: what is kept must not become less.
            kept, at = kept_rows(out), random.Random(at).randint(1, at)
            code, said = self.run(work)
            if code == REFUSED and kept_rows(out) < kept:
                wrong.append(f"only {kept_rows(out)} of {kept} rows were kept: {said[-300:]}")
        return wrong + self.judge(operation, old, code, said)

    def count(self, operation: Operation, old: bool, kind: int) -> int:
        """How many calls an operation makes."""
        out = self.fresh(operation, old)
        place = self.given if kind == shim.READS else out

        def work() -> None:
            shim.arm(place, shim.COUNT, kind=kind)
            operation.run(self.given, out)
            shim.disarm()
            print(shim.calls(), flush=True)

        code, said = self.run(work)
        assert code == DONE, said
        return int(said.split()[-1])

    def killed(self, operation: Operation, old: bool, rng: random.Random) -> tuple[int, list[str]]:
        """Kill an operation at random moments, up to three times, and judge it."""
        out = self.fresh(operation, old)
        n_kills, code, said = 0, DONE, ""
        for _ in range(rng.choice((1, 1, 2, 3))):
            pid = self.start(lambda: operation.run(self.given, out))
            time.sleep(rng.random() * 1.1 * self.seconds[operation.name])
            os.kill(pid, signal.SIGKILL)
            code, said = self.wait(pid)
            n_kills += code == -signal.SIGKILL
        return n_kills, self.judge(operation, old, code, said)


def kept_rows(out: Path) -> int:
    """How many rows are kept for the next run."""
    records = out.glob(".*.partial-*/complete.json")
    return max((json.loads(record.read_text())[0] for record in records), default=0)


def content(path: Path) -> Content:
    """Bytes of a file, or of all files in a folder; None if there is nothing."""
    if not path.exists():
        return None
    if path.is_file():
        return {"": path.read_bytes()}
    return {
        str(file.relative_to(path)): file.read_bytes()
        for file in sorted(path.rglob("*"))
        if file.is_file()
    }
