"""The frame of the experiments: rows that survive, pages, summaries, and runs that go on."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from experiments.paper import EXPERIMENTS, Experiment, MissingDataError, Settings, load_experiment
from experiments.paper import reproduction as reproduction_module
from experiments.paper.page import Page
from experiments.paper.reproduction import render, reproduce, source_digest
from experiments.paper.rows import RowFile, alone
from experiments.paper.summary import column, compare, grouped, standard_error, with_error

ROW = {"method": "k-means, ++", "k": 25, "sigma": 0.1, "m": None, "seed": 0, "error": 1 / 3}


# Rows -----------------------------------------------------------------------------------------


def test_rows_come_back_as_they_were(tmp_path):
    path = tmp_path / "rows.csv"
    rows = [ROW, ROW | {"seed": 1, "error": 1e-300}, ROW | {"method": 'a "b"\nc', "error": np.inf}]
    file = RowFile(path)
    for row in rows:
        file.add(row)
    again = RowFile(path)
    assert again.rows == rows
    assert [type(value) for value in again.rows[0].values()] == [
        str,
        int,
        float,
        type(None),
        int,
        float,
    ]
    again.add(ROW | {"seed": 2})
    assert [row["seed"] for row in RowFile(path).rows] == [0, 1, 0, 2]


def test_what_numpy_returns_is_written_as_numbers(tmp_path):
    path = tmp_path / "rows.csv"
    RowFile(path).add({"seed": np.int64(3), "error": np.float64(0.1)})
    assert path.read_text() == "seed,error\n3,0.1\n"


@pytest.mark.parametrize("half", ["k-m", "k-means,25,0.1,,1", '"k-means, ++",25,0.1,,1,0.333'])
def test_a_half_written_last_line_is_dropped(tmp_path, half):
    path = tmp_path / "rows.csv"
    RowFile(path).add(ROW)
    whole = path.read_text()
    path.write_text(whole + half)
    file = RowFile(path)
    assert file.rows == [ROW]
    # Only a run that adds rows may touch the file: another may be writing that line.
    assert path.read_text() == whole + half
    file.add(ROW | {"seed": 1})
    assert [row["seed"] for row in RowFile(path).rows] == [0, 1]


def test_a_half_written_header_is_dropped(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("method,k,si")
    RowFile(path).add(ROW)
    assert RowFile(path).rows == [ROW]


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such locks there")
def test_two_runs_at_once_are_refused(tmp_path):
    path = tmp_path / "rows.csv"
    with alone(path):
        with pytest.raises(ValueError, match="is being written by another run"), alone(path):
            pass
        RowFile(path).add(ROW)
    with alone(path):
        assert RowFile(path).rows == [ROW]


def test_a_run_that_adds_nothing_leaves_no_empty_table(tmp_path):
    with pytest.raises(KeyError), alone(tmp_path / "rows.csv"):
        raise KeyError
    assert list(tmp_path.iterdir()) == []


def test_other_columns_are_refused(tmp_path):
    path = tmp_path / "rows.csv"
    RowFile(path).add(ROW)
    whole = path.read_text()
    file = RowFile(path)
    for wrong in (ROW | {"new": 1}, {"method": "uniform"}, dict(reversed(ROW.items()))):
        with pytest.raises(ValueError, match=r"rows\.csv has the columns method, k.*move it away"):
            file.add(wrong)
    assert path.read_text() == whole
    assert file.rows == [ROW]


@pytest.mark.parametrize("value", [25, -3, 0.1, 1e-5, 2.0, None, "uniform", "007", "1_000", "1e5"])
@pytest.mark.parametrize("from_disk", [True, False])
def test_a_case_is_found_again(tmp_path, value, from_disk):
    path = tmp_path / "rows.csv"
    file = RowFile(path)
    file.add({"value": value, "seed": 0, "error": 0.5})
    file = RowFile(path) if from_disk else file
    assert file.find({"value": value, "seed": 0}) == {"value": value, "seed": 0, "error": 0.5}
    assert file.find({"value": value, "seed": 1}) is None
    for other in (26, 0.2, "k-means", None if value is not None else 0):
        assert file.find({"value": other, "seed": 0}) is None


def test_whole_numbers_and_floats_are_told_apart(tmp_path):
    file = RowFile(tmp_path / "rows.csv")
    file.add({"sigma": 5, "seed": 0})
    assert file.find({"sigma": 5.0, "seed": 0}) is None


def test_the_latest_of_equal_cases_counts(tmp_path):
    path = tmp_path / "rows.csv"
    file = RowFile(path)
    file.add({"seed": 0, "error": 1.0})
    file.add({"seed": 0, "error": 2.0})
    assert file.find({"seed": 0})["error"] == 2.0
    assert RowFile(path).find({"seed": 0})["error"] == 2.0


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


def test_a_ragged_table_is_refused(tmp_path):
    with pytest.raises(ValueError, match="every row needs 2 cells"):
        Page(tmp_path, "x", "X").table(["a", "b"], [["1", "2"], ["3"]])


def test_a_picture_leaves_the_users_figures_alone(tmp_path):
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    before = plt.get_fignums(), mpl.rcParams["font.size"]
    with Page(tmp_path, "x", "X").picture("a picture") as axes:
        axes.plot([1, 2])
    assert (plt.get_fignums(), mpl.rcParams["font.size"]) == before


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


def test_too_little_to_compare():
    row = {"seed": 0, "error": 1.0}
    assert np.isnan(compare([row], [row], "error").p_value)
    nothing = compare([row], [row | {"seed": 1}], "error")
    assert nothing.n_pairs == 0
    assert np.isnan(nothing.difference)
    assert nothing.stars == ""
    same = [row, row | {"seed": 1}]
    assert compare(same, same, "error").stars == ""


@pytest.mark.parametrize(
    ("p_value", "stars"),
    [(0.0009, "***"), (0.001, "**"), (0.009, "**"), (0.049, "*"), (0.05, ""), (np.nan, "")],
)
def test_stars_are_the_levels_of_the_paper(methods, p_value, stars):
    assert replace(compare(*methods, "error"), p_value=p_value).stars == stars


@pytest.mark.parametrize(
    ("values", "scale", "text"),
    [
        ([1.0, 2.0, 3.0], 1, "2.00 ± 0.58"),
        ([0.95, 0.96, 0.98], 100, "96.33 ± 0.88"),
        ([100.0, 150.0, 260.0], 1, "170 ± 47"),
        ([1e-6, 2e-6, 3e-6], 1, "0.00000200 ± 0.00000058"),
        ([1000.0, 3000.0], 1, "2000 ± 1000"),
        ([0.1234567], 1, "0.123"),
        ([0.5, 0.5], 1, "0.5"),
    ],
)
def test_as_many_digits_as_the_error_leaves(values, scale, text):
    assert with_error(np.array(values), scale) == text


def test_standard_error_is_scipys(rng):
    values = rng.normal(size=9)
    assert standard_error(values) == pytest.approx(stats.sem(values))
    assert np.isnan(standard_error(values[:1]))


def test_groups_keep_the_order_and_empty_cells_are_missing():
    rows = [{"k": k, "seed": s, "error": None if s else 2.0} for s in (0, 1) for k in (50, 25)]
    groups = grouped(rows, "k")
    assert list(groups) == [(50,), (25,)]
    np.testing.assert_array_equal(column(groups[50,], "error"), [2.0, np.nan])


# Settings -------------------------------------------------------------------------------------


def test_seeds_are_as_many_as_asked_for():
    assert list(Settings().seeds(3)) == [0, 1, 2]
    assert list(Settings(quick=True).seeds(50)) == [0, 1]
    assert list(Settings(quick=True, runs=4, seed=7).seeds(50)) == [7, 8, 9, 10]


def test_missing_data_says_what_to_do(tmp_path):
    with pytest.raises(MissingDataError, match="--data, or in TRIGPOINT_DATA"):
        Settings().folder("mnist")
    with pytest.raises(MissingDataError, match="mnist does not exist"):
        Settings(data=tmp_path).folder("mnist")
    (tmp_path / "mnist").mkdir()
    assert Settings(data=tmp_path).folder("mnist") == tmp_path / "mnist"


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
    monkeypatch.setattr(reproduction_module, "load_experiment", lambda name: counting.experiment)
    return counting


ALL = [(k, seed) for seed in range(3) for k in (25, 50)]


def test_every_case_is_run_in_order_and_kept(counting, tmp_path):
    told = []
    result = reproduce("table1", tmp_path / "new" / "out", None, lambda *told_: told.append(told_))
    assert counting.ran == ALL
    assert told == [("table1", done, 6) for done in range(7)]
    assert (result.n_runs, result.n_new) == (6, 6)
    rows = RowFile(result.rows).rows
    assert [(row["k"], row["seed"], row["square"]) for row in rows] == [
        (k, seed, k**2) for k, seed in ALL
    ]
    assert {row["source"] for row in rows} == {source_digest()}
    assert result.page.read_text().startswith("# Squares\n")


def test_an_interrupted_run_goes_on_where_it_stopped(counting, tmp_path):
    counting.interrupt_at = 2
    with pytest.raises(KeyboardInterrupt):
        reproduce("table1", tmp_path)
    assert counting.ran == ALL[:2]
    assert not (tmp_path / "table1.md").exists()
    assert len(RowFile(tmp_path / "table1.csv").rows) == 2

    counting.interrupt_at = None
    told = []
    result = reproduce("table1", tmp_path, None, lambda *told_: told.append(told_))
    assert counting.ran == ALL
    assert (result.n_runs, result.n_new) == (6, 4)
    assert [done for _, done, _ in told] == [2, 3, 4, 5, 6]
    assert [(row["k"], row["seed"]) for row in counting.shown] == ALL

    result = reproduce("table1", tmp_path)
    assert counting.ran == ALL
    assert (result.n_runs, result.n_new) == (6, 0)


def test_a_killed_run_loses_no_more_than_its_last_case(counting, tmp_path):
    reproduce("table1", tmp_path)
    path = tmp_path / "table1.csv"
    path.write_text(path.read_text()[:-7])
    result = reproduce("table1", tmp_path)
    assert counting.ran == [*ALL, ALL[-1]]
    assert result.n_new == 1


def test_more_runs_add_to_those_that_are_there(counting, tmp_path):
    reproduce("table1", tmp_path, Settings(runs=1))
    reproduce("table1", tmp_path, Settings(runs=2))
    assert counting.ran == ALL[:4]
    reproduce("table1", tmp_path, Settings(quick=True, runs=1))
    assert len(counting.ran) == 6
    assert {row["quick"] for row in counting.shown} == {1}


def test_rendering_runs_nothing(counting, tmp_path):
    with pytest.raises(ValueError, match="has no run of this experiment with these settings"):
        render("table1", tmp_path)
    counting.interrupt_at = 3
    with pytest.raises(KeyboardInterrupt):
        reproduce("table1", tmp_path)
    result = render("table1", tmp_path)
    assert counting.ran == ALL[:3]
    assert (result.n_runs, result.n_new) == (3, 0)
    text = " ".join(result.page.read_text().split())
    assert "3 runs in [table1.csv](table1.csv), **of 6 that it takes to be complete**" in text
    assert json.loads(result.record.read_text())["complete"] is False


def test_the_record_tells_what_the_page_rests_on(counting, tmp_path):
    result = reproduce("table1", tmp_path, Settings(runs=12, seed=1))
    record = json.loads(result.record.read_text())
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
    assert "`python -m experiments.paper table1 --runs 12 --seed 1`" in result.page.read_text()


def test_rows_of_several_states_of_the_library_are_told(counting, tmp_path, monkeypatch):
    states = ", ".join(sorted([source_digest(), "0ther5ta"]))
    reproduce("table1", tmp_path, Settings(runs=1))
    monkeypatch.setattr(reproduction_module, "source_digest", lambda: "0ther5ta")
    result = reproduce("table1", tmp_path)
    assert f"from 2 states of the library ({states})" in " ".join(result.page.read_text().split())


# All experiments ------------------------------------------------------------------------------


def test_an_unknown_experiment_is_refused():
    with pytest.raises(ValueError, match=r"name='table9' is not known: choose one of 'sampling'"):
        load_experiment("table9")


@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_cases_of_every_experiment_are_flat_and_distinct(name, quick):
    experiment = load_experiment(name)
    assert experiment.name == name
    cases = list(experiment.cases(Settings(quick=quick)))
    assert cases
    assert len({tuple(case) for case in cases}) == 1
    assert all(isinstance(case["seed"], int) for case in cases)
    values = [value for case in cases for value in case.values()]
    assert all(value is None or isinstance(value, (str, int, float)) for value in values)
    assert len({tuple(case.values()) for case in cases}) == len(cases)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_quick_cases_are_no_full_ones(name):
    cases = load_experiment(name).cases
    full = {tuple(case.values()) for case in cases(Settings())}
    assert not full & {tuple(case.values()) for case in cases(Settings(quick=True))}
