"""Make one small mistake at a time in a copy of the library, and see whether a test fails.

Lines are drawn at random, with a seed, from the functions that compute; messages, types and
constants of modules are left alone. A first run of the tests, without slow ones, records which
functions each test calls and how long it takes. Then, for each mistake, the tests that call its
function run, the quickest first, until one fails. The records and the results are two files in
``--out``, written as they come: with the same sources, a second start resumes, on this machine or
another. Every process works in a copy of the tree of its own, in a temporary folder.

Some changes are not mistakes: the result has the same bits, or only takes longer. Changes that have
been reviewed are listed in ``harmless.toml`` with the reason, and count neither way.

It needs the packages of the tests, pytest above all, but neither an installed trigpoint nor git;
tests whose packages are missing are skipped.
"""

import argparse
import ast
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
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

from tools.mutation.edits import Edit, edits

ROOT = Path(__file__).parents[2]
HARMLESS = Path(__file__).with_name("harmless.toml")
LIBRARY = Path("src/trigpoint")
# What reads files, talks to users or draws is not numerics.
NOT_NUMERICS = {"_cli", "_common", "_report", "_sources", "datasets", "plot"}
# Nor is how loops are compiled and kept, and how many threads run.
NOT_NUMERICS |= {"__init__.py", "__main__.py", "jit.py", "threads.py"}
SOURCES = sorted(
    path.name for path in (ROOT / LIBRARY).iterdir() if path.suffix == ".py" or path.is_dir()
)
FOLDERS = "estimators", "extension", "graphs", "kernels", "metrics", "neighbors"
FOLDERS += "numerics", "samplers", "spaces"
TESTS = ["tests/test_*.py", *(f"tests/{folder}/test_*.py" for folder in FOLDERS)]
# These start other processes or look at files, which says little about numbers.
APART = {"architecture", "cli", "demo", "docs", "interrupt", "long_use", "memory_limits"}
APART |= {"notebook", "optional", "progress", "release"}
COLUMNS = ["file", "line", "old", "new", "result", "by", "seconds", "diff"]
STARTING_SECONDS = 120
# Seconds after the time is up in which a mistake that has begun may still be decided.
GRACE = 30
# Share of the time that the first run of the tests may take.
RECORDING = 0.5
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

    now = time.time()
    stop, recorded_by = now + arguments.seconds, now + RECORDING * arguments.seconds
    arguments.out.mkdir(parents=True, exist_ok=True)
    trees: queue.Queue[Path] = queue.Queue()
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        ThreadPoolExecutor(arguments.processes) as pool,
    ):
        copies = [Path(folder, f"tree{number}") for number in range(arguments.processes)]
        for tree in pool.map(copy_tree, copies):
            trees.put(tree)
        tests = record(pool, trees, arguments.tests, arguments.out / "reached.json", recorded_by)
        print(f"{len(tests)} tests recorded in {time.time() - now:.0f} s", flush=True)
        share_compiled(copies)
        chosen = choose(arguments.lines, arguments.seed, arguments.sources)
        path = arguments.out / "mutations.jsonl"
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
    """Copy the sources, without byte code and compiled loops."""
    for name in ("src", "tests", "tools", "experiments", "docs"):
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tree)
    return tree


def record(
    pool: ThreadPoolExecutor,
    trees: "queue.Queue[Path]",
    patterns: list[str],
    path: Path,
    stop: float,
) -> dict[str, list]:
    """Seconds and functions of every test that passes; a file of tests is run once."""
    files = [file.relative_to(ROOT) for pattern in patterns for file in sorted(ROOT.glob(pattern))]
    files = [file for file in files if file.stem.removeprefix("test_") not in APART]
    known: dict[str, dict] = json.loads(path.read_text()) if path.exists() else {}
    lock = Lock()

    def run(file: Path) -> dict[str, list]:
        if str(file) in known:
            return known[str(file)]
        tree = trees.get()
        reach = tree / "reach.json"
        reach.unlink(missing_ok=True)
        options = {"MUTATION_ROOT": str(tree), "MUTATION_REACH": str(reach)}
        # Tests that have begun by then may end.
        limit = 3600.0
        if stop < math.inf:
            options["MUTATION_STOP"] = str(stop)
            limit = max(stop - time.time(), 0) + STARTING_SECONDS
        pytest(tree, ["-p", "tools.mutation.reach", str(file)], limit, options)
        found = json.loads(reach.read_text()) if reach.exists() else {"tests": {}, "all": False}
        trees.put(tree)
        if found["all"]:
            with lock:
                known[str(file)] = found["tests"]
                path.write_text(json.dumps(known))
        missing = "" if found["all"] else ", not all of them"
        print(f"{file}: {len(found['tests'])} tests{missing}", flush=True)
        return found["tests"]

    tests: dict[str, list] = {}
    for found in pool.map(run, files):
        tests |= found
    return tests


def share_compiled(trees: list[Path]) -> None:
    """Give each tree the compiled loops of all: numba knows them by their source's time and size.

    Of the loops that several trees have compiled, those with the most signatures are shared.
    """
    found: dict[Path, list[Path]] = {}
    for tree in trees:
        for index in tree.glob("src/**/__pycache__/*.nbi"):
            loops = [index, *index.parent.glob(f"{index.stem}.*.nbc")]
            best = found.setdefault(index.relative_to(tree), loops)
            if len(loops) > len(best):
                found[index.relative_to(tree)] = loops
    for tree in trees:
        for name, loops in found.items():
            (tree / name).parent.mkdir(exist_ok=True)
            for loop in loops:
                target = (tree / name).with_name(loop.name)
                if target != loop:
                    shutil.copyfile(loop, target)


def pytest(
    tree: Path, arguments: list[str], limit: float, environment: dict[str, str] | None = None
) -> tuple[int | None, str]:
    """Run tests of a tree; return the exit status, None after the time limit, and the output."""
    one_thread = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
    # Byte code is not told from that of another mistake of the same length and second.
    clean = {"PYTHONPATH": f"{tree / 'src'}:{tree}", "PYTHONDONTWRITEBYTECODE": "1"}
    inherited = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    options = ["-q", "-p", "no:cacheprovider", "-m", "not slow"]
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", *options, *arguments],
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
    if time.time() > stop:
        return None
    names = concerned(edit, tests, budget)
    limit = STARTING_SECONDS + 3 * sum(tests[name][0] for name in names)
    limit = min(limit, stop + GRACE - time.time())
    tree = trees.get()
    path = tree / "src" / edit.file
    right = path.read_bytes()
    wrong = right[: edit.start] + edit.new.encode() + right[edit.stop :]
    start = time.perf_counter()
    with kept(path):
        path.write_bytes(wrong)
        status, output = pytest(tree, ["-x", *names], limit) if names else (5, "")
    # A crash has a negative status.
    result = RESULTS.get(status, "killed" if status is not None and status < 0 else "error")
    cut = status is None and time.time() > stop + GRACE / 2
    failed = [line.split(" - ")[0].split(maxsplit=1)[1] for line in failures(output)][:1]
    if failed and result == "killed" and pytest(tree, failed, limit)[0] != 0:
        result = "error"
    trees.put(tree)
    if cut:
        return None
    texts = (text.decode().splitlines() for text in (right, wrong))
    row = edit._asdict() | {
        "result": result,
        "by": output[-500:] if result == "error" else "".join(failed),
        "seconds": round(time.perf_counter() - start, 1),
        "diff": "\n".join(difflib.unified_diff(*texts, edit.file, edit.file, lineterm="", n=1)),
    }
    print(f"{result:<12}{edit.file}:{edit.line}  {edit.old}  ->  {edit.new}", flush=True)
    return row


@contextmanager
def kept(path: Path) -> Iterator[None]:
    """Put a source back as it was, and the loops that were compiled from it with it."""
    right, seen = path.read_bytes(), path.stat()
    loops = f"__pycache__/{path.stem}.*.nb?"
    compiled = {loop: loop.read_bytes() for loop in path.parent.glob(loops)}
    yield
    path.write_bytes(right)
    os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    for loop in path.parent.glob(loops):
        if loop not in compiled:
            loop.unlink()
    for loop, content in compiled.items():
        loop.write_bytes(content)


def failures(output: str) -> list[str]:
    """Lines of pytest's summary that name a test that failed."""
    return [line for line in output.splitlines() if line.startswith(("FAILED ", "ERROR "))]


def concerned(edit: Edit, tests: dict, budget: float) -> list[str]:
    """Tests that call the function, as far as the budget goes.

    Those of the loops themselves come first, then the quickest.
    """
    reaching = {f"{edit.file}:{edit.function}"}
    direct: set[str] = set()
    if is_compiled(ROOT / "src" / edit.file):
        module = edit.file.removesuffix(".py").replace("/", ".")
        reaching |= importers(module)
        # Calls of compiled loops by a test itself are not seen.
        files = {name.partition("::")[0] for name in tests}
        direct = {file for file in files if imports(ROOT / file, module)}
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


def is_compiled(file: Path) -> bool:
    """Whether a file has compiled loops, whose calls are not seen from Python."""
    return imports(file, "trigpoint._kernels.jit")


def importers(module: str) -> set[str]:
    """Functions that import compiled loops; functions of a module that imports them as a whole."""
    found = set()
    for file in (ROOT / LIBRARY).rglob("*.py"):
        if not imports(file, module):
            continue
        name, tree = str(file.relative_to(ROOT / "src")), ast.parse(file.read_text())
        for_all = any(module in imported(node) for node in tree.body)
        classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
        for owner in (tree, *classes):
            prefix = f"{owner.name}." if isinstance(owner, ast.ClassDef) else ""
            for part in owner.body:
                if isinstance(part, ast.FunctionDef) and (
                    for_all or any(module in imported(node) for node in ast.walk(part))
                ):
                    found.add(f"{name}:{prefix}{part.name}")
    return found


def imports(file: Path, module: str) -> bool:
    """Whether a file imports a module, or from it."""
    return any(module in imported(node) for node in ast.walk(ast.parse(file.read_text())))


def imported(node: ast.AST) -> set[str]:
    """Modules that a statement may import from."""
    if not isinstance(node, ast.ImportFrom):
        return set()
    return {str(node.module)} | {f"{node.module}.{alias.name}" for alias in node.names}


def key(row: dict) -> tuple[Any, ...]:
    """What tells one mistake from another."""
    return tuple(row[name] for name in ("file", "line", "old", "new"))


def read(path: Path) -> list[dict]:
    """Rows of the file, none if there is none yet."""
    return list(map(json.loads, path.read_text().splitlines())) if path.exists() else []


def append(path: Path, row: dict) -> None:
    """Add a row to the file."""
    with path.open("a") as file:
        file.write(json.dumps({name: row.get(name) for name in COLUMNS}) + "\n")


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
