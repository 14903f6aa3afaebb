"""Cases, resumable results, their provenance, and the command."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from reproducing import reproduce

from experiments import paper, runner
from experiments.runner import (
    KINDS,
    Experiment,
    MissingDataError,
    Results,
    Settings,
    load_experiment,
    main,
)

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
ROW = {"method": "k-means, ++", "k": 25, "sigma": 0.1, "m": None, "seed": 0, "error": 0.25}
HERE = {"commit": "0123456789", "when": "2026-01-01", "versions": {}, "machine": "2 cores"}
ALL = [(kind, name) for kind in KINDS for name in runner.names_of(KINDS[kind][1])]


# Results --------------------------------------------------------------------------------------


def results(path, parameters=None, rows=()):
    found = Results(path, parameters or {})
    for row in rows:
        found.add(row, HERE)
    return found


def test_rows_come_back_as_they_were(tmp_path):
    rows = [ROW, ROW | {"seed": 1, "error": 1e-300}, ROW | {"method": 'a "b"\nc', "error": np.inf}]
    path = tmp_path / "new" / "rows.csv"
    results(path, {"power": 2}, rows)
    again = Results(path, {"power": 2})
    assert again.rows == rows
    kinds = [type(value) for value in again.rows[0].values()]
    assert kinds == [str, int, float, type(None), int, float]
    # A new column is None in all other rows, and missing columns are None in the new row.
    assert again.add({"seed": 2, "seconds": 1 / 3}, HERE) == {"seed": 2, "seconds": 0.333333}
    *first, last = Results(path, {"power": 2}).rows
    assert first == [row | {"seconds": None} for row in rows]
    assert last == dict.fromkeys(ROW) | {"seed": 2, "seconds": 0.333333}
    assert [file.name for file in path.parent.iterdir()] == ["rows.csv"]


def test_other_parameters_are_refused(tmp_path):
    results(tmp_path / "rows.csv", {"power": 2}, [ROW])
    with pytest.raises(ValueError, match=r"run with the parameters \{'power': 2\}, and they are"):
        Results(tmp_path / "rows.csv", {"power": 3})


# Running --------------------------------------------------------------------------------------


def cases_of_squares(settings):
    return ({"k": k, "quick": int(settings.quick), "seed": s} for s in range(3) for k in (25, 50))


def square(case, settings):
    return {"square": case["k"] ** 2}


def show_squares(rows, settings, page):
    page.table(["k", "square"], [[row["k"], row["square"]] for row in rows])


SQUARES = Experiment("squares", "Squares", cases_of_squares, square, show_squares, {"power": 2})
CASES = [(k, seed) for seed in range(3) for k in (25, 50)]


def failing(after, error):
    """An experiment that fails after some cases, and the cases that were run."""
    ran = []

    def run(case, settings):
        if len(ran) == after:
            raise error
        ran.append((case["k"], case["seed"]))
        return square(case, settings)

    return replace(SQUARES, run=run), ran


def test_every_case_is_run_and_kept(tmp_path):
    found = reproduce(SQUARES, tmp_path / "new" / "out", Settings())
    assert found.n_new == 6
    rows = sorted((row["seed"], row["k"], row["square"]) for row in found.rows)
    assert rows == [(seed, k, k**2) for k, seed in CASES]
    assert found.text.startswith(
        "# Squares\n\n| k | square |\n| --- | ---: |\n| 25 | 625 |\n| 50 |"
    )
    assert (
        "`make squares`: 6 runs in [squares.csv](squares.csv), 0 s in all, at commit" in found.text
    )
    assert reproduce(SQUARES, tmp_path / "new" / "out", Settings()).n_new == 0


def test_an_interrupted_run_resumes(tmp_path):
    interrupted, ran = failing(2, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        reproduce(interrupted, tmp_path, Settings())
    assert ran == CASES[:2]
    again, ran = failing(-1, None)
    assert reproduce(again, tmp_path, Settings()).n_new == 4
    assert ran == CASES[2:]


@pytest.mark.parametrize("error", [MissingDataError("no digits"), ModuleNotFoundError("no umap")])
def test_cases_without_their_data_or_package_are_left_out(tmp_path, capsys, error):
    found = reproduce(failing(4, error)[0], tmp_path, Settings())
    assert found.n_new == 4
    assert "`make squares`: 4 runs **of 6** in" in found.text
    assert capsys.readouterr().err.splitlines()[-1] == f"squares: cases left out: {error}"
    with pytest.raises(MissingDataError, match=str(error)):
        reproduce(failing(0, error)[0], tmp_path / "other", Settings())


# The command ----------------------------------------------------------------------------------


@pytest.fixture
def squares(monkeypatch):
    """A command with an experiment that computes squares."""
    monkeypatch.delenv("TRIGPOINT_DATA", raising=False)
    monkeypatch.setattr(paper, "NAMES", {"squares": "", "cubes": ""})
    monkeypatch.setattr(
        runner, "load_experiment", lambda package, name: replace(SQUARES, name=name)
    )


def test_the_command_runs_everything(squares, tmp_path, capsys):
    assert main(["paper", "--out", str(tmp_path)]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out == [f"{name}: {tmp_path / name}.md (6 new runs)" for name in ("squares", "cubes")]
    assert main(["paper", "cubes", "--render", "--out", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"cubes: {tmp_path}/cubes.md (0 new runs)\n"
    assert main(["paper", "cubes", "--render", "--quick", "--out", str(tmp_path)]) == 1
    assert "has no run of this experiment with these settings" in capsys.readouterr().err


# All experiments ------------------------------------------------------------------------------


def committed(kind, name):
    """Return an experiment and its committed results."""
    experiment = load_experiment(KINDS[kind][1], name)
    folder = "paper" if kind == "paper" else "benchmarks"
    return experiment, Results(DOCS / folder / f"{name}.csv", experiment.parameters)


@pytest.mark.parametrize(("kind", "name"), ALL)
def test_cases_are_distinct_and_quick_ones_are_others(kind, name):
    experiment = load_experiment(KINDS[kind][1], name)
    assert experiment.name == name
    full, quick = (
        [json.dumps(case) for case in experiment.cases(Settings(quick=quick))]
        for quick in (False, True)
    )
    assert len(set(full)) == len(full) > 0
    assert len(set(quick)) == len(quick) > 0
    assert len(quick) <= len(full)
    if kind == "paper":
        assert not set(full) & set(quick)


@pytest.mark.parametrize(("kind", "name"), ALL)
def test_committed_results_are_found_and_say_where_they_come_from(kind, name):
    experiment, found = committed(kind, name)
    rows = found.find(list(experiment.cases(Settings())))
    assert sum(row is not None for row in rows) == len({json.dumps(row) for row in found.rows})
    assert found.states
    for state in found.states:
        assert re.fullmatch(r"[0-9a-f]{10}( with changes)?", state["commit"])


# The figures of the other experiment draw ten million points.
SHOWN = [known for known in ALL if known != ("paper", "neighbors")]


@pytest.mark.parametrize(("kind", "name"), SHOWN)
def test_committed_pages_and_the_overview_are_those_of_the_results(
    kind, name, tmp_path, monkeypatch
):
    monkeypatch.setattr(Figure, "savefig", lambda *_, **__: None)
    experiment, found = committed(kind, name)
    folder = tmp_path / found.path.parent.name
    folder.mkdir()
    copy = Results(Path(shutil.copy(found.path, folder)), experiment.parameters)
    overview = Path(shutil.copy(DOCS / "paper.md", tmp_path))
    written = runner.show(experiment, copy, Settings(), f"make {KINDS[kind][0]} ONLY={name}")
    for page in (written, overview):
        committed_page = DOCS / page.relative_to(tmp_path)
        assert page.read_text("utf-8") == committed_page.read_text("utf-8"), "use --render"


def test_private_parts_of_the_library_are_imported_in_one_place():
    importing = [
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "experiments").rglob("*.py")
        if re.search(r"^\s*(from|import) trigpoint\._", path.read_text(), re.MULTILINE)
    ]
    assert importing == ["experiments/internals.py"]
