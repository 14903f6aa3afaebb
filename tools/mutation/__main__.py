"""Make one small mistake at a time in a copy of the library, and see whether a test fails.

Lines are drawn at random from the functions of the numerics, with a seed; messages, types and
constants of modules, which are sizes of blocks for the most part, are left alone. A first run of
the tests writes down which functions each of them calls and how long it takes; for a mistake, those
that call its function run, the quickest first, until one fails. Results are rows of a CSV file,
written as they come: started again, it resumes, as long as the sources stay the same, so it can be
run in parts (``--seconds``) and on another machine. Every process works in a copy of the tree with
compiled loops of its own; one for each core is the default.

Some changes are not mistakes: the result has the same bits, or only takes longer. Those that have
been reviewed are in ``harmless.toml``, with the reason. They are reported, and count neither way.

Needs nothing beyond the standard library, except what the tests need: pytest above all.
"""

import argparse
import ast
import csv
import difflib
import importlib.util
import json
import math
import os
import queue
import random
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from tools.mutation.edits import Edit, edits

ROOT = Path(__file__).parents[2]
HARMLESS = Path(__file__).with_name("harmless.toml")
LIBRARY = Path("src/trigpoint")
# What reads files, talks to users or draws is not numerics.
NOT_NUMERICS = {
    "_command",
    "_common",
    "_files",
    "_points",
    "_report",
    "_sources",
    "datasets",
    "plot",
}
# Nor is how loops are compiled and kept, and how many threads run.
NOT_NUMERICS |= {"__main__.py", "_public.py", "jit.py", "cache.py", "threads.py"}
SOURCES = sorted(
    path.name for path in (ROOT / LIBRARY).iterdir() if path.suffix == ".py" or path.is_dir()
)
TESTS = ["tests/test_*.py", "tests/samplers/test_*.py", "tests/metrics/test_*.py"]
# These start other processes or look at files, which says little about numbers.
SLOW_OR_APART = {"architecture", "cli", "compiled_cache", "demo", "docs", "interrupt", "progress"}
COLUMNS = ["file", "line", "old", "new", "result", "by", "seconds", "diff"]
STARTING_SECONDS = 120
# Of pytest's exit status. An error is one of this tool, or a test that fails without the mistake.
RESULTS = {0: "survived", 1: "killed", 2: "killed", 5: "not reached", None: "timeout"}


def main() -> None:
    """Record what tests reach, make the mistakes, and print the share that was caught."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutation", description=__doc__)
    parser.add_argument("--lines", type=int, default=200, help="lines to change (200)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--budget", type=float, default=300, help="seconds of tests each (300)")
    parser.add_argument("--sources", nargs="+", default=SOURCES, help="in src/trigpoint")
    parser.add_argument("--tests", nargs="+", default=TESTS, help="patterns of test files")
    parser.add_argument("--seconds", type=float, default=math.inf, help="no mistake begins later")
    parser.add_argument("--out", type=Path, default=ROOT / "mutation")
    arguments = parser.parse_args()
    if importlib.util.find_spec("pytest") is None:
        sys.exit(f"pytest is missing: {sys.executable} -m pip install pytest")

    stop = time.monotonic() + arguments.seconds
    trees: queue.Queue[Path] = queue.Queue()
    for number in range(arguments.processes):
        trees.put(copy_tree(arguments.out / f"tree{number}"))
    with ThreadPoolExecutor(arguments.processes) as pool:
        tests = record(pool, trees, arguments.tests, arguments.out / "reached")
        chosen = choose(arguments.lines, arguments.seed, arguments.sources)
        path = arguments.out / "mutations.csv"
        done = {key(row) for row in read(path)}
        waiting = [edit for edit in chosen if key(edit._asdict()) not in done]
        reasons = harmless()
        for edit in [edit for edit in waiting if harmless_key(edit) in reasons]:
            waiting.remove(edit)
            row = edit._asdict() | {"result": "harmless", "by": reasons[harmless_key(edit)]}
            append(path, row | {"diff": f"-{edit.right}\n+{edit.wrong}"})
        jobs = [
            pool.submit(attempt, edit, tests, trees, arguments.budget, stop) for edit in waiting
        ]
        for job in as_completed(jobs):
            if row := job.result():
                append(path, row)
    mine = {key(edit._asdict()) for edit in chosen}
    summarize([row for row in read(path) if key(row) in mine], path)


def copy_tree(tree: Path) -> Path:
    """Copy the sources anew; loops that were compiled there before are kept."""
    for name in ("src", "tests", "tools", "experiments"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, tree / name, ignore=ignored, dirs_exist_ok=True)
    shutil.copy(ROOT / "pyproject.toml", tree)
    return tree


def record(
    pool: ThreadPoolExecutor, trees: "queue.Queue[Path]", patterns: list[str], folder: Path
) -> dict[str, list]:
    """Seconds and functions of every test that passes; a file of tests is run once."""
    folder.mkdir(exist_ok=True)
    files = [file.relative_to(ROOT) for pattern in patterns for file in sorted(ROOT.glob(pattern))]
    files = [file for file in files if file.stem.removeprefix("test_") not in SLOW_OR_APART]

    def run(file: Path) -> dict[str, list]:
        path = folder / f"{file.stem}.json"
        if path.exists():
            return json.loads(path.read_text())
        tree = trees.get()
        reach = tree / "reach.json"
        reach.unlink(missing_ok=True)
        options = {"MUTATION_ROOT": str(tree), "MUTATION_REACH": str(reach)}
        pytest(tree, ["-p", "tools.mutation.reach", str(file)], 3600, options)
        found = json.loads(reach.read_text()) if reach.exists() else {}
        trees.put(tree)
        path.write_text(json.dumps(found))
        print(f"{file}: {len(found)} tests" + ("" if found else ", none of which can be used"))
        return found

    tests: dict[str, list] = {}
    for found in pool.map(run, files):
        tests |= found
    return tests


def pytest(
    tree: Path, arguments: list[str], limit: float, environment: dict[str, str] | None = None
) -> tuple[int | None, str]:
    """Run tests of a tree; return the exit status, None after the time limit, and the output."""
    one_thread = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
    # Byte code is not told from that of another mistake of the same length and second.
    clean = {"PYTHONPATH": f"{tree / 'src'}:{tree}", "PYTHONDONTWRITEBYTECODE": "1"}
    inherited = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
        cwd=tree,
        env=inherited | one_thread | clean | (environment or {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return None, process.communicate()[0]
    return process.returncode, output


def all_edits(sources: list[str]) -> Iterator[Edit]:
    """Every mistake that can be made."""
    for name in sources:
        path = ROOT / LIBRARY / name
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            if not NOT_NUMERICS.intersection(file.relative_to(ROOT / LIBRARY).parts):
                yield from edits(str(file.relative_to(ROOT / "src")), file.read_text())


def harmless() -> dict[tuple[str, ...], str]:
    """Reasons of the changes that are no mistakes; each must be one that can be made."""
    listed = tomllib.loads(HARMLESS.read_text()).get("change", [])
    reasons = {
        (change["file"], change["right"], wrong): change["reason"]
        for change in listed
        for wrong in change["wrong"]
    }
    for missing in reasons.keys() - {harmless_key(edit) for edit in all_edits(SOURCES)}:
        sys.exit(f"{HARMLESS} lists a change that cannot be made any more: {missing}")
    return reasons


def harmless_key(edit: Edit) -> tuple[str, ...]:
    """What a change is listed by: not its line number, which other changes move."""
    return edit.file, edit.right, edit.wrong


def choose(count: int, seed: int, sources: list[str]) -> list[Edit]:
    """Draw lines at random, and for each one of the mistakes that can be made there."""
    lines: dict[tuple[str, int], list[Edit]] = {}
    for edit in all_edits(sources):
        lines.setdefault((edit.file, edit.line), []).append(edit)
    rng = random.Random(seed)
    drawn = rng.sample(sorted(lines), min(count, len(lines)))
    return [rng.choice(lines[line]) for line in drawn]


def attempt(
    edit: Edit, tests: dict, trees: "queue.Queue[Path]", budget: float, stop: float
) -> dict | None:
    """Make a mistake, run the tests that may notice, and revert it; None if it is too late."""
    if time.monotonic() > stop:
        return None
    names = concerned(edit, tests, budget)
    limit = STARTING_SECONDS + 3 * sum(tests[name][0] for name in names)
    tree = trees.get()
    path = tree / "src" / edit.file
    right = path.read_bytes()
    wrong = right[: edit.start] + edit.new.encode() + right[edit.stop :]
    start = time.perf_counter()
    path.write_bytes(wrong)
    status, output = pytest(tree, ["-x", *names], limit) if names else (5, "")
    path.write_bytes(right)
    # A crash has a negative status.
    result = RESULTS.get(status, "killed" if status is not None and status < 0 else "error")
    failed = [line.split(" - ")[0].split(maxsplit=1)[1] for line in failures(output)][:1]
    if failed and result == "killed" and pytest(tree, failed, limit)[0] != 0:
        result = "error"
    trees.put(tree)
    texts = (text.decode().splitlines() for text in (right, wrong))
    row = edit._asdict() | {
        "result": result,
        "by": output[-500:] if result == "error" else "".join(failed),
        "seconds": round(time.perf_counter() - start, 1),
        "diff": "\n".join(difflib.unified_diff(*texts, edit.file, edit.file, lineterm="", n=1)),
    }
    print(f"{result:<12}{edit.file}:{edit.line}  {edit.old}  ->  {edit.new}", flush=True)
    return row


def failures(output: str) -> list[str]:
    """Lines of pytest's summary that name a test that failed."""
    return [line for line in output.splitlines() if line.startswith(("FAILED ", "ERROR "))]


def concerned(edit: Edit, tests: dict, budget: float) -> list[str]:
    """Tests that call the function, as far as the budget goes.

    Those of the loops themselves come first, then the quickest.
    """
    reaching = {f"{edit.file}:{edit.function}"} | importers(edit.file)
    module = edit.file.removesuffix(".py").replace("/", ".")
    # Calls of compiled loops by a test itself are not seen.
    direct = {
        file
        for file in {name.partition("::")[0] for name in tests}
        if "/compiled/" in edit.file and imports(ROOT / file, module)
    }
    names = [
        name
        for name, (_, calls) in tests.items()
        if reaching.intersection(calls) or name.partition("::")[0] in direct
    ]
    names.sort(key=lambda name: (name.partition("::")[0] not in direct, tests[name][0]))
    spent, taken = 0.0, []
    for name in names:
        spent += tests[name][0]
        if spent > budget:
            break
        taken.append(name)
    return taken


def importers(loops: str) -> set[str]:
    """Functions that import compiled loops, of this file or of others that call them."""
    module = loops.removesuffix(".py").replace("/", ".")
    if ".compiled." not in module:
        return set()
    found = set()
    for file in (ROOT / LIBRARY).rglob("*.py"):
        name = str(file.relative_to(ROOT / "src"))
        if not imports(file, module):
            continue
        tree = ast.parse(file.read_text())
        if "/compiled/" in name:
            found |= importers(name)
        for node in ast.walk(tree):
            for part in (
                getattr(node, "body", []) if isinstance(node, ast.ClassDef | ast.Module) else []
            ):
                if isinstance(part, ast.FunctionDef) and any(
                    module in imported(n) for n in ast.walk(part)
                ):
                    owner = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
                    found.add(f"{name}:{owner}{part.name}")
    return found


def imports(file: Path, module: str) -> bool:
    """Whether a file imports a module, or from it."""
    return any(module in imported(node) for node in ast.walk(ast.parse(file.read_text())))


def imported(node: ast.AST) -> set[str]:
    """Modules that a statement may import from."""
    if not isinstance(node, ast.ImportFrom):
        return set()
    return {str(node.module)} | {f"{node.module}.{alias.name}" for alias in node.names}


def key(row: dict) -> tuple[str, ...]:
    """What tells one mistake from another."""
    return tuple(str(row[name]) for name in ("file", "line", "old", "new"))


def read(path: Path) -> list[dict]:
    """Rows of the file, none if there is none yet."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def append(path: Path, row: dict) -> None:
    """Add a row to the file."""
    is_new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore")
        if is_new:
            writer.writeheader()
        writer.writerow(row)


def summarize(rows: list[dict], path: Path) -> None:
    """Print the share that was caught, what was not, and what no test could catch."""
    counts = Counter(row["result"] for row in rows)
    caught = counts["killed"] + counts["timeout"]
    for row in rows:
        if row["result"] not in ("killed", "timeout"):
            reason = f": {row['by']}" if row["result"] == "harmless" else ""
            print(f"\n{row['result']}{reason}\n{row['diff']}")
    total = max(len(rows) - counts["harmless"], 1)
    print(f"\n{dict(counts)}\n{caught} of {total} mistakes caught, {caught / total:.0%}: {path}")


if __name__ == "__main__":
    main()
