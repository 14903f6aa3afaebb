"""Hit everything that writes a file, and look at what is left: the old version or the new one.

Every operation runs in a child of one process that has all libraries in memory, above a shim that
sees the calls of all of them (`shim.c`). It is killed at every call and at random moments; every
call fails once, by an error of the disk or for lack of space; the disk is full from every call on;
reads of the input fail; and power is lost after every call, as far as what the shim has recorded
allows. After each, the target must be the old version or the new one, whole; errors must name a
file; and the next run must succeed, report what it found, and leave nothing but the target.
"""

import argparse
import errno
import os
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

from tools.torture import shim

ERRORS = ((shim.FAIL, errno.EIO), (shim.FAIL, errno.ENOSPC), (shim.FULL, errno.ENOSPC))
NAMES = {shim.KILL: "killed", shim.FAIL: "failed", shim.FULL: "full"}


def main() -> int:
    """Run the trials, print counts, and return 1 if something was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tools.torture", description=__doc__)
    parser.add_argument("--kills", type=int, default=1000, help="at random moments (1000)")
    parser.add_argument("--every", type=int, default=1, help="hit every so many calls (1); 0: none")
    parser.add_argument("--states", type=int, default=20, help="random disks after each call (20)")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="operations with such a name")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if not shim.can_build():
        sys.exit("a C compiler named cc is needed, and Linux")
    shim.restart_below()
    # Imported below the shim.
    from tools.torture import operations
    from tools.torture.trials import Laboratory

    shim.remove_build()

    def chosen(some):
        only = options.only
        return [one for one in some if only is None or any(part in one.name for part in only)]

    writers, readers = chosen(operations.WRITERS), chosen(operations.READERS)
    everything = [*writers, *readers, *chosen(operations.COMMANDS)]
    operations.warm_up(everything)
    folder = Path(tempfile.mkdtemp(prefix="torture-"))
    try:
        run = Run(Laboratory(folder, everything), random.Random(options.seed))
        run.random_kills([*writers, *chosen(operations.COMMANDS)], options.kills)
        for operation in writers if options.every else ():
            run.every_call(operation, options.every)
            run.power_loss(operation, options.states)
        for operation in readers if options.every else ():
            run.every_read(operation, options.every)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return run.summary()


class Run:
    """Counts what is tried and what is wrong."""

    def __init__(self, laboratory, rng: random.Random) -> None:
        self.laboratory, self.rng = laboratory, rng
        self.counts: dict[str, int] = {}
        self.wrong: list[str] = []
        self.start = time.monotonic()

    def count(self, what: str, number: int, where: str, wrong) -> None:
        """Add trials, and what was wrong with them."""
        self.counts[what] = self.counts.get(what, 0) + number
        for found in wrong:
            self.wrong.append(f"{where}: {found}")
            print(f"WRONG {where}: {found}", flush=True)

    def every_call(self, operation, every: int) -> None:
        """Kill the operation before each of its calls, and let each fail."""
        for old in (False, True):
            n_calls = self.laboratory.count(operation, old, shim.CHANGES)
            for at in range(1, n_calls + 1, every):
                for mode, error in ((shim.KILL, 0), *ERRORS):
                    hit = operation, old, mode, at, error, shim.CHANGES
                    where = f"{operation.name}, old={old}, {NAMES[mode]} {error} at {at}"
                    self.count(f"{NAMES[mode]} at a call", 1, where, self.laboratory.struck(*hit))
            print(f"{operation.name}, old={old}: {n_calls} calls, {self._elapsed()}", flush=True)

    def every_read(self, operation, every: int) -> None:
        """Let each read of the input fail."""
        n_calls = self.laboratory.count(operation, False, shim.READS)
        for at in range(1, n_calls + 1, every):
            hit = operation, True, shim.FAIL, at, errno.EIO, shim.READS
            where = f"{operation.name}, read {at} failed"
            self.count("failed reads", 1, where, self.laboratory.struck(*hit))
        print(f"{operation.name}: {n_calls} reads, {self._elapsed()}", flush=True)

    def power_loss(self, operation, n_random: int) -> None:
        """Record what the operation does, and lose power after each call."""
        from tools.torture.power_loss import losses
        from tools.torture.trials import content

        laboratory = self.laboratory
        for old in (False, True):
            out = laboratory.fresh(operation, old)
            before = content(out) or {}
            log = laboratory.folder / "log"

            def work(out=out, log=log) -> None:
                shim.arm(out, shim.RECORD, log=str(log))
                operation.run(laboratory.given, out)

            code, said = laboratory.run(work)
            assert code == 0, said
            previous = content(laboratory.old / operation.target) if old else None
            n_states, wrong = losses(
                log,
                out,
                os.stat(out).st_ino,
                before,
                operation.target,
                previous,
                laboratory.new[operation.name],
                self.rng,
                n_random,
            )
            self.count(
                "disks after a loss of power", n_states, f"{operation.name}, old={old}", wrong
            )
        print(f"{operation.name}: power lost, {self._elapsed()}", flush=True)

    def random_kills(self, some, number: int) -> None:
        """Kill operations at random moments, until so many were really killed."""
        done = 0
        while some and done < number:
            operation, old = self.rng.choice(some), self.rng.random() < 0.5
            n_kills, wrong = self.laboratory.killed(operation, old, self.rng)
            done += n_kills
            self.count("random kills", n_kills, f"{operation.name}, old={old}, killed", wrong)
            if done % 100 < n_kills:
                print(f"{done} random kills, {self._elapsed()}", flush=True)

    def _elapsed(self) -> str:
        return f"{time.monotonic() - self.start:.0f} s"

    def summary(self) -> int:
        """Print all counts; 1 if something was wrong."""
        for what, number in self.counts.items():
            print(f"{what}: {number:,}")
        print(f"wrong: {len(self.wrong)}")
        return 1 if self.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
