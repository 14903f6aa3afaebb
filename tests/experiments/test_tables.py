"""Tables of runs: rows that survive, and are found again."""

import numpy as np
import pytest

from experiments.framework.rows import CsvTable, JsonTable

ROW = {"method": "k-means, ++", "k": 25, "sigma": 0.1, "m": None, "seed": 0, "error": 1 / 3}


def test_rows_come_back_as_they_were(tmp_path):
    path = tmp_path / "rows.csv"
    rows = [ROW, ROW | {"seed": 1, "error": 1e-300}, ROW | {"method": 'a "b"\nc', "error": np.inf}]
    file = CsvTable(path)
    for row in rows:
        file.add(row, {})
    again = CsvTable(path)
    assert again.rows == rows
    assert [type(value) for value in again.rows[0].values()] == [
        str,
        int,
        float,
        type(None),
        int,
        float,
    ]
    again.add(ROW | {"seed": 2}, {})
    assert [row["seed"] for row in CsvTable(path).rows] == [0, 1, 0, 2]


@pytest.mark.parametrize("half", ["k-m", "k-means,25,0.1,,1", '"k-means, ++",25,0.1,,1,0.333'])
def test_a_half_written_last_line_is_dropped(tmp_path, half):
    path = tmp_path / "rows.csv"
    CsvTable(path).add(ROW, {})
    whole = path.read_text()
    path.write_text(whole + half)
    file = CsvTable(path)
    assert file.rows == [ROW]
    # Only a run that adds rows may touch the file: another may be writing that line.
    assert path.read_text() == whole + half
    file.add(ROW | {"seed": 1}, {})
    assert [row["seed"] for row in CsvTable(path).rows] == [0, 1]


def test_other_columns_are_refused(tmp_path):
    path = tmp_path / "rows.csv"
    CsvTable(path).add(ROW, {})
    whole = path.read_text()
    file = CsvTable(path)
    for wrong in (ROW | {"new": 1}, {"method": "uniform"}, dict(reversed(ROW.items()))):
        with pytest.raises(ValueError, match=r"rows\.csv has the columns method, k.*move it away"):
            file.add(wrong, {})
    assert path.read_text() == whole
    assert file.rows == [ROW]


@pytest.mark.parametrize("value", [25, -3, 0.1, 1e-5, 2.0, None, "uniform", "007", "1_000", "1e5"])
@pytest.mark.parametrize("from_disk", [True, False])
def test_a_case_is_found_again(tmp_path, value, from_disk):
    path = tmp_path / "rows.csv"
    file = CsvTable(path)
    file.add({"value": value, "seed": 0, "error": 0.5}, {})
    file = CsvTable(path) if from_disk else file
    assert file.find({"value": value, "seed": 0}) == {"value": value, "seed": 0, "error": 0.5}
    assert file.find({"value": value, "seed": 1}) is None
    for other in (26, 0.2, "k-means", None if value is not None else 0):
        assert file.find({"value": other, "seed": 0}) is None


# JSON -----------------------------------------------------------------------------------------

CASE = {"method": "uniform", "n": 100, "k": [10, 20], "options": {"bandwidth": 6.0}}
RESULT = {"seconds": 0.25, "errors": [[0.5, 0.25], [0.125]], "stages": {"graph": 1.5}}
HERE = {"source": "01234567", "cores": 2}


@pytest.fixture
def started(tmp_path):
    table = JsonTable(tmp_path / "group.json")
    table.start("2026-01-01 00:00 UTC", HERE)
    table.add(CASE, RESULT)
    return table


def test_nested_rows_come_back_flat(started):
    again = JsonTable(started.path)
    assert again.rows == [CASE | RESULT]
    assert again.find(CASE) == CASE | RESULT
    assert again.find(CASE | {"k": [10]}) is None
    assert again.header == {"started": "2026-01-01 00:00 UTC", "environment": HERE}
    assert again.finished is None


def test_an_interrupted_run_of_the_same_environment_goes_on(started):
    started.path.write_text(started.path.read_text() + '{"spec": {"me')
    again = JsonTable(started.path)
    again.start("2026-01-02 00:00 UTC", HERE)
    assert again.rows == [CASE | RESULT]
    again.add(CASE | {"n": 200}, RESULT)
    assert [row["n"] for row in JsonTable(started.path).rows] == [100, 200]
    assert JsonTable(started.path).header["started"] == "2026-01-01 00:00 UTC"


@pytest.mark.parametrize("why", ["finished", "environment"])
def test_other_runs_start_anew(started, why):
    if why == "finished":
        started.finish("2026-01-01 01:00 UTC", "01234567")
    again = JsonTable(started.path)
    assert (again.finished is not None) == (why == "finished")
    again.start("2026-01-02 00:00 UTC", HERE if why == "finished" else HERE | {"cores": 4})
    assert again.find(CASE) is None
    assert JsonTable(started.path).rows == []
    assert JsonTable(started.path).header["started"] == "2026-01-02 00:00 UTC"
