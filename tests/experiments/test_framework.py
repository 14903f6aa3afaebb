"""What experiments share: pages, statistics, and runs that go on."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from reproducing import render, reproduce
from scipy import stats

from experiments import paper
from experiments.framework.cells import number
from experiments.framework.environment import source_digest
from experiments.framework.experiment import (
    Experiment,
    MissingDataError,
    Settings,
    load_experiment,
)
from experiments.framework.page import Page
from experiments.framework.rows import CsvTable
from experiments.framework.runner import found_rows
from experiments.framework.summary import (
    Comparison,
    column,
    compare,
    holm,
)
from experiments.paper import pages

ROOT = Path(__file__).parents[2]


# Pages ----------------------------------------------------------------------------------------


def test_a_page_has_text_tables_and_a_picture(tmp_path):
    page = Page(tmp_path, "table1", "Errors")
    page.heading("Roll")
    page.text(
        """Words that
        are wrapped """
        + "anew " * 30
    )
    page.table(["sampler", "error"], [["uniform", "7.2"], ["DPP", "4.0"]])
    with page.picture("Errors by k", ncols=2) as axes:
        axes[0].plot([1, 2], [3, 4])
    path = page.write()
    text = path.read_text()
    assert path == tmp_path / "table1.md"
    assert text.startswith("# Errors\n\n## Roll\n\nWords that are wrapped anew")
    assert max(map(len, text.splitlines())) <= 100
    assert "| sampler | error |\n| --- | ---: |\n| uniform | 7.2 |\n| DPP | 4.0 |" in text
    assert text.endswith("![Errors by k](table1.png)\n")
    assert (tmp_path / "table1.png").read_bytes().startswith(b"\x89PNG")


def test_a_ragged_table_is_refused_unless_it_says_what_fills_it(tmp_path):
    page = Page(tmp_path, "x", "X")
    with pytest.raises(ValueError, match="every row needs 2 cells"):
        page.table(["a", "b"], [["1", "2"], ["3"]])
    with pytest.raises(ValueError, match="every row needs 2 cells"):
        page.table(["a", "b"], [["1", "2", "3"]], fill="-")
    page.table(["a", "b"], [["1", "2"], ["3"]], fill="-")
    assert "| 1 | 2 |\n| 3 | - |" in page.write().read_text()


def test_the_best_of_a_column_is_bold(tmp_path):
    page = Page(tmp_path, "x", "X")
    lines = [["a", number(2.0), number(0.5)], ["b", number(1.0), number(0.50001)], ["c", "failed"]]
    page.table({"name": None, "least": min, "most": max}, lines, fill="-")
    text = page.write().read_text()
    assert "| a | 2.00 | **0.500** |\n| b | **1.00** | **0.500** |\n| c | failed | - |" in text


# Summaries ------------------------------------------------------------------------------------


@pytest.fixture
def methods(rng):
    """Two methods with errors that go together, run by run."""
    shared = rng.normal(size=12)
    return tuple(
        [{"seed": seed, "error": float(value)} for seed, value in enumerate(values)]
        for values in (shared + rng.normal(0.5, 0.3, 12), shared + rng.normal(0, 0.3, 12))
    )


def test_comparison_is_the_paired_t_test(methods):
    first, second = methods
    found = compare(first, second, "error")
    expected = stats.ttest_rel(column(first, "error"), column(second, "error"))
    assert found.n_pairs == 12
    assert found.p_value == expected.pvalue
    assert found.difference == pytest.approx(
        column(first, "error").mean() - column(second, "error").mean()
    )


def test_splits_that_overlap_say_less():
    """By Nadeau and Bengio's formula, worked out by hand for four differences."""
    one = [{"seed": seed, "x": x} for seed, x in enumerate([1.0, 2.0, 3.0, 4.0])]
    other = [{"seed": seed, "x": 0.0} for seed in range(4)]
    statistic = 2.5 / np.sqrt((5 / 3) * (1 / 4 + 0.5))
    expected = 2 * stats.t.sf(statistic, 3)
    assert compare(one, other, "x", 0.5).p_value == pytest.approx(expected)
    assert compare(one, other, "x").p_value < expected


def test_only_runs_with_the_same_seed_are_compared(methods):
    first, second = methods
    found = compare(first[3:], second[:-2][::-1], "error")
    expected = stats.ttest_rel(column(first[3:10], "error"), column(second[3:10], "error"))
    assert found.n_pairs == 7
    assert found.p_value == pytest.approx(expected.pvalue)


# Settings -------------------------------------------------------------------------------------


def test_missing_data_says_what_to_do(tmp_path):
    with pytest.raises(MissingDataError, match="DATA= or --data, or in TRIGPOINT_DATA"):
        Settings().find("mnist")
    with pytest.raises(MissingDataError, match="there is no mnist in"):
        Settings(data=tmp_path).find("mnist")
    assert not Settings().has("mnist")
    assert not Settings(data=tmp_path).has("mnist")
    (tmp_path / "mnist").mkdir()
    assert Settings(data=tmp_path).find("mnist") == tmp_path / "mnist"


# Runs -----------------------------------------------------------------------------------------


class Counting:
    """An experiment of six cases that notes what was run, and may be interrupted."""

    def __init__(self):
        self.ran = []
        self.shown = []
        self.interrupt_at = None
        self.experiment = Experiment(
            name="table1",
            title="Squares",
            cases=self._cases,
            run=self._run,
            show=self._show,
            parameters={"power": 2},
        )

    def _cases(self, settings):
        for seed in settings.seeds(3):
            for k in (25, 50):
                yield {"k": k, "quick": int(settings.quick), "seed": seed}

    def _run(self, case, settings):
        if len(self.ran) == self.interrupt_at:
            raise KeyboardInterrupt
        self.ran.append((case["k"], case["seed"]))
        return {"square": case["k"] ** 2}

    def _show(self, rows, settings, page):
        self.shown = list(rows)
        page.table(["k", "square"], [[str(row["k"]), str(row["square"])] for row in rows])


@pytest.fixture
def counting(monkeypatch):
    counting = Counting()
    monkeypatch.setattr(pages, "load_experiment", lambda package, name: counting.experiment)
    return counting


ALL = [(k, seed) for seed in range(3) for k in (25, 50)]


def test_every_case_is_run_in_order_and_kept(counting, tmp_path):
    result = reproduce("table1", tmp_path / "new" / "out", Settings())
    assert counting.ran == ALL
    assert result.n_new == 6
    assert [(row["k"], row["seed"], row["square"]) for row in result.rows] == [
        (k, seed, k**2) for k, seed in ALL
    ]
    assert {row["source"] for row in result.rows} == {source_digest()}
    assert result.text.startswith("# Squares\n")


def test_an_interrupted_run_goes_on_where_it_stopped(counting, tmp_path):
    counting.interrupt_at = 2
    with pytest.raises(KeyboardInterrupt):
        reproduce("table1", tmp_path, Settings())
    assert counting.ran == ALL[:2]
    assert not (tmp_path / "table1.md").exists()
    assert len(CsvTable(tmp_path / "table1.csv").rows) == 2

    counting.interrupt_at = None
    assert reproduce("table1", tmp_path, Settings()).n_new == 4
    assert counting.ran == ALL
    assert [(row["k"], row["seed"]) for row in counting.shown] == ALL

    assert reproduce("table1", tmp_path, Settings()).n_new == 0
    assert counting.ran == ALL


def test_rows_of_other_parameters_are_other_rows(counting, tmp_path):
    reproduce("table1", tmp_path, Settings())
    counting.experiment = replace(counting.experiment, parameters={"power": 3})
    assert reproduce("table1", tmp_path, Settings()).n_new == 6
    counting.experiment = replace(counting.experiment, parameters={"power": 2})
    assert reproduce("table1", tmp_path, Settings()).n_new == 0


def test_rendering_runs_nothing(counting, tmp_path):
    with pytest.raises(ValueError, match="has no run of this experiment with these settings"):
        render("table1", tmp_path, Settings())
    counting.interrupt_at = 3
    with pytest.raises(KeyboardInterrupt):
        reproduce("table1", tmp_path, Settings())
    result = render("table1", tmp_path, Settings())
    assert counting.ran == ALL[:3]
    text = " ".join(result.text.split())
    assert "3 runs in [table1.csv](table1.csv), **of 6 that it takes to be complete**" in text
    assert result.record["complete"] is False


def test_the_record_tells_what_the_page_rests_on(counting, tmp_path):
    result = reproduce("table1", tmp_path, Settings(runs=12, seed=1))
    record = result.record
    assert record["name"] == "table1"
    assert record["title"] == "Squares"
    assert record["complete"] is True
    assert record["quick"] is False
    assert record["runs"] == 24
    assert record["seeds"] == list(range(1, 13))
    assert record["parameters"] == {"power": 2}
    assert record["sources"] == [source_digest()]
    assert record["versions"]["numpy"] == np.__version__
    assert record["first_run"] <= record["last_run"]
    assert record["cores"] >= 1
    assert "`python -m experiments paper table1 --runs 12 --seed 1`" in result.text
    assert "`make reproduce ONLY=table1`" in reproduce("table1", tmp_path, Settings()).text
    quick = reproduce("table1", tmp_path, Settings(quick=True)).text
    assert "`make reproduce ONLY=table1 QUICK=1`" in quick
    assert "not to be compared with the paper's" in " ".join(quick.split())


def test_the_digest_is_of_what_decides_results(tmp_path, monkeypatch):
    for folder in ("_graphs", "plot"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.py").write_text("x = 1")
    monkeypatch.setattr("trigpoint.__file__", str(tmp_path / "__init__.py"))
    before = source_digest()
    (tmp_path / "plot" / "a.py").write_text("x = 2")
    assert source_digest() == before
    (tmp_path / "_graphs" / "a.py").write_text("x = 2")
    assert source_digest() != before


# All experiments ------------------------------------------------------------------------------


@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize("name", paper.NAMES)
def test_cases_of_every_experiment_are_flat_and_distinct(name, quick):
    experiment = load_experiment("experiments.paper", name)
    assert experiment.name == name
    cases = list(experiment.cases(Settings(quick=quick)))
    assert cases
    assert len({tuple(case) for case in cases}) == 1
    assert all(isinstance(case["seed"], int) for case in cases)
    values = [value for case in cases for value in case.values()]
    assert all(value is None or isinstance(value, (str, int, float)) for value in values)
    assert len({tuple(case.values()) for case in cases}) == len(cases)


@pytest.mark.parametrize("name", paper.NAMES)
def test_quick_cases_are_no_full_ones(name):
    cases = load_experiment("experiments.paper", name).cases
    full = {tuple(case.values()) for case in cases(Settings())}
    assert not full & {tuple(case.values()) for case in cases(Settings(quick=True))}


@pytest.mark.parametrize("name", paper.NAMES)
def test_committed_runs_are_found_again(name):
    """Whoever goes on from them repeats none: neither cases nor parameters have changed."""
    experiment = load_experiment("experiments.paper", name)
    table = CsvTable(ROOT / "docs" / "paper" / f"{name}.csv")
    found = found_rows(experiment, Settings(), table)
    record = json.loads((ROOT / "docs" / "paper" / f"{name}.json").read_text())
    assert len(found) == record["runs"] > 0
    assert record["parameters"] == json.loads(json.dumps(dict(experiment.parameters)))


OVERVIEW = ROOT / "docs" / "paper.md"


@pytest.mark.parametrize("name", re.findall(r"<!-- (\w+) -->", OVERVIEW.read_text("utf-8")))
def test_the_overview_has_the_tables_of_the_committed_runs(name, tmp_path):
    experiment = load_experiment("experiments.paper", name)
    table = CsvTable(ROOT / "docs" / "paper" / f"{name}.csv")
    copy = tmp_path / "paper.md"
    copy.write_text(OVERVIEW.read_text("utf-8"), "utf-8")
    page = Page(tmp_path, name, experiment.title)
    assert experiment.brief is not None
    experiment.brief(found_rows(experiment, Settings(), table), Settings(), page)
    page.write_into(copy)
    assert copy.read_bytes() == OVERVIEW.read_bytes(), "write the pages again, with --render"


def test_private_parts_of_the_library_are_imported_in_one_place():
    importing = [
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "experiments").rglob("*.py")
        if re.search(r"^\s*(from|import) trigpoint\._", path.read_text(), re.MULTILINE)
    ]
    assert importing == ["experiments/internals.py"]


def test_holm_corrects_for_the_number_of_comparisons():
    found = [Comparison(5, 0.1, p) for p in (0.04, 0.01, np.nan, 0.011, 0.9)]
    corrected = [one.p_value for one in holm(found)]
    # By hand, of four: 4 x .01, then 3 x .011 may not be less, then 2 x .04, then .9.
    np.testing.assert_allclose(corrected, [0.08, 0.04, np.nan, 0.04, 0.9])
    assert [one.difference for one in holm(found)] == [0.1] * 5
    assert holm([]) == []
