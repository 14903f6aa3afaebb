"""``python -m tools.fuzz``: damage files at random and read them, in a process per target.

A process that ends by itself, or that is silent for ten seconds, has found something: the file it
was reading is kept, and the process starts again after it.
"""

import argparse
import subprocess
import sys
import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.fuzz.seeds import TARGETS

_SECONDS_SILENT = 10
_SECONDS_TO_START = 180


def main() -> int:
    """Fuzz some targets; exit with 1 if something was found."""
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)}")
    parser.add_argument("--executions", type=int, default=10**6, metavar="N", help="of each target")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="most for each target")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--found", type=Path, default=Path("fuzz-found"), help="where files are kept"
    )
    options = parser.parse_args()
    if unknown := set(options.targets) - set(TARGETS):
        parser.error(f"unknown: {', '.join(unknown)}; choose from {', '.join(TARGETS)}")
    found = sum(_fuzzed(target, options) for target in options.targets or TARGETS)
    return 1 if found else 0


def _fuzzed(target: str, options: argparse.Namespace) -> int:
    """Fuzz a target, and return how many files were kept."""
    done, n_found, began = 0, 0, time.monotonic()
    counts: dict[str, int] = {}
    while done < options.executions and (left := options.seconds - _since(began)) > 0:
        with TemporaryDirectory() as folder:
            reached, problem = _watched(target, done, left, options, Path(folder), counts)
            if problem is not None and _is_refused(target, Path(folder)):
                counts["refused"] = counts.get("refused", 0) + 1
            elif problem is not None:
                n_found += 1
                _keep(target, reached, problem, Path(folder), options.found)
        done = reached + 1 if problem is not None else reached
    rate = done / max(_since(began), 1e-9)
    told = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(counts.items()))
    print(f"{target:9} {done:>9,} executions ({rate:,.0f}/s): {told}, {n_found} found", flush=True)
    return n_found


def _watched(
    target: str,
    first: int,
    seconds: float,
    options: argparse.Namespace,
    folder: Path,
    counts: dict[str, int],
) -> tuple[int, str | None]:
    """Run a process from execution `first` on; where it came to, and what was wrong there."""
    command = [sys.executable, "-m", "tools.fuzz.worker", target, str(options.seed)]
    command += [str(first), str(options.executions), str(folder)]
    if seconds < float("inf"):
        command.append(str(seconds))
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    heard, hung = [time.monotonic() + _SECONDS_TO_START], threading.Event()

    def watch() -> None:
        while process.poll() is None:
            if time.monotonic() > heard[0] + _SECONDS_SILENT:
                hung.set()
                process.kill()
            time.sleep(0.5)

    threading.Thread(target=watch, daemon=True).start()
    reached, problem, ended = first, None, False
    for line in process.stdout:
        heard[0] = time.monotonic()
        what, _, rest = line.rstrip("\n").partition(" ")
        if what == "at":
            reached = int(rest)
        elif what == "wrong":
            problem = rest
        elif what == "count":
            count, _, outcome = rest.partition(" ")
            counts[outcome] = counts.get(outcome, 0) + int(count)
        elif what == "end":
            ended = True
    status = process.wait()
    if problem is None and not ended:
        problem = "nothing for ten seconds" if hung.is_set() else f"the process ended with {status}"
        reached = int((folder / "number").read_text())
    return reached, problem


def _is_refused(target: str, folder: Path) -> bool:
    """Whether the file is refused after all, by what a worker leaves out for its time."""
    command = [sys.executable, "-m", "tools.fuzz.targets", target, str(folder)]
    try:
        return target in ("h5", "h5ad") and subprocess.run(command, timeout=20).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def _keep(target: str, number: int, problem: str, folder: Path, found: Path) -> None:
    found.mkdir(parents=True, exist_ok=True)
    kept = found / f"{number}.{target}"
    kept.write_bytes((folder / "content").read_bytes())
    print(f"{target:9} execution {number:,}: {problem[:300]}; kept as {kept}", flush=True)


def _since(began: float) -> float:
    return time.monotonic() - began


if __name__ == "__main__":
    sys.exit(main())
