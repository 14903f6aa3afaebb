"""The subcommands on real files: what they write, what they print, and what they refuse."""

import json
import os
import signal
import subprocess
import sys
import time

import h5py
import numpy as np
import pandas as pd
import pytest

import trigpoint as tp
from trigpoint.cli import main
from trigpoint.commands import common, info
from trigpoint.commands.common import FAILED, INTERRUPTED, USAGE
from trigpoint.commands.wording import in_options


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a few files of points, in which the command is run."""
    monkeypatch.chdir(tmp_path)
    X, intrinsic = tp.datasets.make_swiss_roll(2000, dtype=np.float32, random_state=0)
    np.save("roll.npy", X)
    (tmp_path / "empty.npy").write_bytes(b"")
    np.save("few.npy", np.arange(3))
    np.savez("labelled.npz", X=X, y=(intrinsic[:, 0] > 50).astype(int))
    lines = [f"{x},{y},{z},point" for x, y, z in X.tolist()]
    (tmp_path / "roll.csv").write_text("east,north,up,name\n" + "\n".join(lines) + "\n")
    return tmp_path


def run(*arguments):
    return main([*arguments, "--quiet"])


def said(capsys):
    """The one line on standard error, without the name of the command."""
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err
    (line,) = err.splitlines()
    assert line.startswith("trigpoint: ")
    return line.removeprefix("trigpoint: ")


def embed(*arguments):
    return run("embed", "roll.npy", "-o", "Y.npy", "--landmarks", "100", *arguments)


# What they do -----------------------------------------------------------------------------------


def test_embed_is_what_the_library_does(folder, capsys):
    assert embed() == 0
    X = np.load("roll.npy")
    emb = tp.LaplacianEigenmaps(landmarks=tp.EfficientDPP(100, random_state=0), random_state=0)
    np.testing.assert_array_equal(np.load("Y.npy"), emb.fit_transform(X))
    out, err = capsys.readouterr()
    assert out.startswith("2,000 points to 2 coordinates from 100 landmarks in ")
    assert out.endswith("  Y.npy\n")
    assert err == ""


@pytest.mark.parametrize(
    ("arguments", "kind", "parameters"),
    [
        (
            ["--method", "diffusion", "--graph", "euclidean"],
            "DiffusionMaps",
            {"graph": "euclidean"},
        ),
        (["--method", "isomap", "--neighbors", "12"], "Isomap", {"n_neighbors": 12}),
        (["--method", "kernel-pca", "-l", "3"], "KernelPCA", {"n_components": 3}),
        (["--eigenvectors", "independent"], "LaplacianEigenmaps", {"eigenvectors": "independent"}),
        (["--refine", "--seed", "7"], "LaplacianEigenmaps", {"random_state": 7}),
    ],
)
def test_options_reach_the_model(folder, arguments, kind, parameters):
    assert embed("--save", "m.trig", *arguments) == 0
    model = tp.load("m.trig")
    assert type(model).__name__ == kind
    assert parameters.items() <= model.get_params().items()
    assert model.landmarks.refine is ("--refine" in arguments)


def test_auto_as_a_person_would_run_it(folder):
    """In a process of its own: progress on standard error is part of it."""
    command = [sys.executable, "-m", "trigpoint", "select", "roll.npy", "-k", "auto"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert 10 < len(done.stdout.splitlines()) < 2000


def test_the_number_of_landmarks_fits_few_points(folder, capsys):
    np.save("few.npy", np.load("roll.npy")[:40])
    assert run("embed", "few.npy", "-o", "Y.npy", "--json") == 0
    assert json.loads(capsys.readouterr().out)["landmarks"] == 20


def test_json_is_all_that_is_printed(folder, capsys):
    assert embed("--json", "--save", "m.trig") == 0
    out, err = capsys.readouterr()
    values = json.loads(out)
    assert err == ""
    assert values["input"] == {"name": "roll.npy", "rows": 2000, "columns": 3, "dtype": "float32"}
    assert values["landmarks"] == 100
    assert values["written"] == ["Y.npy", "m.trig"]
    assert len(values["eigenvalues"]) == values["components"] == 2


@pytest.mark.parametrize("name", ["Y.npy", "Y.csv", "Y.parquet", "Y.zarr"])
def test_every_format_has_the_same_coordinates(folder, name):
    assert run("embed", "roll.npy", "-o", name, "-k", "60") == 0
    assert run("embed", "roll.npy", "-o", "again.npy", "-k", "60") == 0
    found = np.asarray(tp.read_points(name))
    np.testing.assert_array_equal(found.astype(np.float32), np.load("again.npy"))


def test_columns_choose_what_is_compared_not_what_is_written(folder):
    lines = (folder / "roll.csv").read_text().splitlines()
    for columns in ("up,east", "2,0"):
        arguments = ["roll.csv", "--columns", columns, "-o", "rows.csv", "-k", "5", "--force"]
        assert run("select", *arguments) == 0
        X = np.load("roll.npy")[:, [2, 0]].astype(np.float64)
        drawn = tp.EfficientDPP(5, random_state=0).fit(X).indices_
        expected = [lines[0], *(lines[1 + row] for row in drawn)]
        assert (folder / "rows.csv").read_text().splitlines() == expected


def test_select_keeps_every_column_of_parquet(folder, capsys):
    frame = pd.read_csv("roll.csv")
    frame["name"] = [f"point {row}" for row in range(len(frame))]
    frame.to_parquet("roll.parquet")
    arguments = ["roll.parquet", "--columns", "east,north,up", "-k", "20", "--json"]
    assert run("select", *arguments, "-o", "some.parquet") == 0
    values = json.loads(capsys.readouterr().out)
    assert values["columns_written"] == 4
    found = pd.read_parquet("some.parquet")
    pd.testing.assert_frame_equal(found, frame.iloc[values["rows"]].reset_index(drop=True))


def test_select_keeps_every_column_of_an_array(folder, capsys):
    X = np.c_[np.load("roll.npy"), np.arange(2000)].astype(np.float32)
    X[5, 3] = np.nan  # Not compared, so not looked at.
    np.save("numbered.npy", X)
    arguments = ["numbered.npy", "--columns", "0,1,2", "-k", "1000", "--json"]
    assert run("select", *arguments, "-o", "some.npy") == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    np.testing.assert_array_equal(np.load("some.npy"), X[rows])


def test_select_to_another_kind_of_file_keeps_what_was_compared(folder, capsys):
    arguments = ["roll.csv", "--columns", "up,east", "-k", "5", "-o", "rows.npy"]
    assert run("select", *arguments) == 0
    assert np.load("rows.npy").shape == (5, 2)
    assert capsys.readouterr().out.startswith("5 of 2,000 rows, 2 columns, in ")


def test_select_prints_rows_for_a_pipe(folder, capsys):
    assert run("select", "roll.npy", "-k", "20", "--seed", "3") == 0
    out, err = capsys.readouterr()
    assert err == ""
    rows = [int(line) for line in out.splitlines()]
    expected = tp.EfficientDPP(20, random_state=3).fit(np.load("roll.npy")).indices_
    assert rows == expected.tolist()


def test_transform_and_evaluate_with_a_saved_model(folder, capsys):
    assert embed("--save", "m.trig") == 0
    assert run("transform", "m.trig", "roll.npy", "-o", "again.npy") == 0
    np.testing.assert_array_equal(np.load("again.npy"), np.load("Y.npy"))
    capsys.readouterr()
    arguments = ["m.trig", "labelled.npz::X", "--labels", "labelled.npz::y", "--json"]
    assert run("evaluate", *arguments) == 0
    values = json.loads(capsys.readouterr().out)
    X = np.load("roll.npy")
    radius = tp.metrics.coverage_radius(X, tp.load("m.trig").landmarks_)
    assert values["coverage_radius"] == pytest.approx(radius)
    assert values["nearest_neighbor_accuracy"] > 0.95
    assert 0 < values["trace_error"] < 0.1
    assert 0.1 < values["neighbor_preservation"] <= 1


def test_transform_takes_the_columns_that_the_model_knows(folder):
    assert run("embed", "roll.csv", "--columns", "up,north,east", "-o", "Y.npy", "--save", "m.trig",
               "-k", "60") == 0  # fmt: skip
    assert run("transform", "m.trig", "roll.csv", "-o", "again.npy") == 0
    np.testing.assert_array_equal(np.load("again.npy"), np.load("Y.npy"))


def test_other_columns_than_the_model_knows(folder, capsys):
    assert run("embed", "roll.csv", "--columns", "up,north,east", "-o", "Y.npy", "--save", "m.trig",
               "-k", "60") == 0  # fmt: skip
    capsys.readouterr()
    arguments = ["-o", "again.npy", "--columns", "east,north,up"]
    assert run("transform", "m.trig", "roll.csv", *arguments) == FAILED
    assert said(capsys) == (
        "--columns takes east, north, up, and the model was fitted to up, north, east: leave it "
        "out, and they are found by name"
    )
    (folder / "other.csv").write_text("a,b,c\n1,2,3\n")
    assert run("transform", "m.trig", "other.csv", "-o", "again.npy") == FAILED
    assert said(capsys) == "other.csv has no column 'up': choose from a, b, c"


def test_evaluate_takes_columns_by_name(folder, capsys):
    arguments = ["--columns", "east,north,up", "-o", "Y.npy", "--save", "m.trig", "-k", "60"]
    assert run("embed", "roll.csv", *arguments) == 0
    columns = np.load("roll.npy")[:, [2, 0, 1]]
    lines = "\n".join(f"{a},{b},{c}" for a, b, c in columns.tolist())
    (folder / "turned.csv").write_text(f"up,east,north\n{lines}\n")
    capsys.readouterr()
    found = []
    for name in ("roll.csv", "turned.csv"):
        assert run("evaluate", "m.trig", name, "--json") == 0
        out, err = capsys.readouterr()
        assert err == ""
        found.append(json.loads(out)["trace_error"])
    assert found[0] == pytest.approx(found[1])


def test_labels_from_a_column(folder, capsys):
    embed("--save", "m.trig")
    capsys.readouterr()
    assert run("evaluate", "m.trig", "roll.npy", "--labels", "roll.csv::name", "--json") == 0
    assert json.loads(capsys.readouterr().out)["nearest_neighbor_accuracy"] == 1.0


LABELS = {
    "t.parquet::cat": lambda frame: frame.to_parquet("t.parquet"),
    "t.tsv::cat": lambda frame: frame.to_csv("t.tsv", sep="\t"),
    "t.h5ad::obs/cat": lambda frame: save_obs("t.h5ad", frame["cat"]),
}


def save_obs(path, column):
    with h5py.File(path, "w") as file:
        file["obs/cat/codes"] = column.cat.codes.to_numpy()
        file["obs/cat/categories"] = list(column.cat.categories)


@pytest.mark.parametrize("name", LABELS)
def test_labels_from_every_kind_of_table(folder, capsys, name):
    labels = np.where(np.load("labelled.npz")["y"] == 1, "outer", "inner")
    LABELS[name](pd.DataFrame({"cat": pd.Categorical(labels)}))
    embed("--save", "m.trig")
    capsys.readouterr()
    assert run("evaluate", "m.trig", "roll.npy", "--labels", name, "--json") == 0
    assert json.loads(capsys.readouterr().out)["nearest_neighbor_accuracy"] > 0.95


def test_labels_that_are_missing(folder, capsys):
    (folder / "gaps.csv").write_text("id,kind\n" + "1,a\n" * 1990 + "2,\n" * 10)
    embed("--save", "m.trig")
    capsys.readouterr()
    assert run("evaluate", "m.trig", "roll.npy", "--labels", "gaps.csv::kind") == FAILED
    assert said(capsys) == "gaps.csv::kind has no label in row 1990: fill it in"


@pytest.fixture
def colors(monkeypatch):
    """What a report was coloured by."""
    given = {}

    def report(self, path, X=None, *, color=None, **options):
        given.update(color or {})
        time.sleep(0.2)

    monkeypatch.setattr(tp.LaplacianEigenmaps, "report", report)
    return given


def test_colours_of_a_report(folder, colors):
    arguments = ["-o", "Y.npy", "-k", "60", "--report", "page.html", "--color"]
    columns = ["roll.csv", "--columns", "east,north,up"]
    assert run("embed", *columns, *arguments, "name,up,labelled.npz::y") == 0
    assert list(colors) == ["name", "up", "y"]
    assert set(colors["name"]) == {"point"}
    np.testing.assert_allclose(colors["up"], np.load("roll.npy")[:, 2])
    np.testing.assert_array_equal(colors["y"], np.load("labelled.npz")["y"])


def test_colours_beside_the_cells(folder, colors):
    save_obs("cells.h5ad", pd.Series(pd.Categorical(["B", "T"] * 1000)))
    with h5py.File("cells.h5ad", "a") as file:
        file["obsm/X_pca"] = np.load("roll.npy")
    np.save("cat.npy", np.arange(2000))
    arguments = ["-o", "Y.npy", "-k", "60", "--report", "page.html", "--color", "cat,cat.npy"]
    assert run("embed", "cells.h5ad::obsm/X_pca", *arguments) == 0
    assert list(colors) == ["cat", "cat.npy"]
    assert colors["cat"][:2].tolist() == ["B", "T"]


def test_a_coloured_page_is_written(folder):
    arguments = ["-o", "Y.npy", "-k", "60", "--report", "page.html", "--color", "name,up"]
    assert run("embed", "roll.csv", "--columns", "east,north,up", *arguments) == 0
    text = (folder / "page.html").read_text()
    assert '"name":"name"' in text
    assert '"labels":["point"]' in text


def test_a_column_comes_before_a_file_of_its_name(folder, colors):
    (folder / "name").mkdir()
    arguments = ["-o", "Y.npy", "-k", "60", "--report", "page.html", "--color", "name"]
    assert run("embed", "roll.csv", "--columns", "east,north,up", *arguments) == 0
    assert colors["name"][0] == "point"


def test_colours_are_not_written_over(folder, capsys):
    np.save("labels.npy", np.zeros(2000))
    arguments = ["-o", "labels.npy", "--report", "page.html", "--color", "labels.npy", "--force"]
    assert run("embed", "roll.npy", *arguments) == FAILED
    assert "labels.npy is being read" in said(capsys)


def test_labels_may_be_a_column_beside_the_points(folder, capsys):
    options = "--columns", "east,north,up"
    assert run("embed", "roll.csv", *options, "-o", "Y.npy", "-k", "60", "--save", "m.trig") == 0
    capsys.readouterr()
    assert run("evaluate", "m.trig", "roll.csv", "--labels", "name", "--json") == 0
    assert json.loads(capsys.readouterr().out)["nearest_neighbor_accuracy"] == 1.0


def test_info_of_a_gap_in_the_first_row(folder, capsys):
    (folder / "gap.csv").write_text("a,b\n1,\n2,3\n4,5\n")
    assert main(["info", "gap.csv", "--json"]) == 0
    assert "empty in its first row" in json.loads(capsys.readouterr().out)["problem"]


def test_the_time_is_that_of_all_that_was_written(folder, colors, capsys):
    assert embed("--report", "page.html", "--json") == 0
    values = json.loads(capsys.readouterr().out)
    # Both are rounded to a millisecond.
    assert values["seconds_in_all"] >= values["seconds"] + 0.198


def test_one_coordinate_is_one(folder, capsys):
    assert embed("-l", "1", "--save", "m.trig") == 0
    assert "2,000 points to 1 coordinate from 100 landmarks" in capsys.readouterr().out
    assert run("transform", "m.trig", "roll.npy", "-o", "again.npy") == 0
    assert "2,000 points to 1 coordinate in" in capsys.readouterr().out
    assert run("info", "m.trig") == 0
    assert "LaplacianEigenmaps, 1 coordinate from" in capsys.readouterr().out


def test_a_reader_that_has_seen_enough(folder):
    command = f"{sys.executable} -m trigpoint info roll.npy --json | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert done.stdout == "{\n"
    assert "Traceback" not in done.stderr


def test_info_of_points_and_of_a_model(folder, capsys):
    assert main(["info", "roll.npy"]) == 0
    out = capsys.readouterr().out
    assert "2,000 rows x 3 columns, float32" in out
    assert "--landmarks 1000" in out
    assert main(["info", "roll.csv", "--columns", "east,up", "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["feature_names"] == ["east", "up"]
    assert values["forecast"]["seconds"] > 0
    embed("--save", "m.trig")
    capsys.readouterr()
    assert main(["info", "m.trig"]) == 0
    assert "LaplacianEigenmaps, 2 coordinates from 100 landmarks" in capsys.readouterr().out
    os.rename("m.trig", "m.model")
    assert main(["info", "m.model"]) == 0


def test_info_finds_missing_values_and_constant_columns(folder, capsys, monkeypatch):
    X = np.load("roll.npy")
    assert main(["info", "roll.npy"]) == 0
    assert "all finite" in capsys.readouterr().out
    np.save("flat.npy", np.c_[X, np.full(len(X), 7)])
    assert main(["info", "flat.npy"]) == 0
    assert "constant   column 3: may be left out" in capsys.readouterr().out
    X[[5, 90], 1] = np.nan
    np.save("gaps.npy", X)
    assert main(["info", "gaps.npy"]) == 0
    assert "problem  contains NaN in row 5, column 1; also in row 90" in capsys.readouterr().out
    assert main(["info", "gaps.npy", "--json"]) == 0
    assert "NaN in row 5" in json.loads(capsys.readouterr().out)["problem"]
    # What would take long is looked at when asked to.
    monkeypatch.setattr(info, "_LITTLE", 100)
    assert main(["info", "gaps.npy"]) == 0
    assert "not looked at: --check" in capsys.readouterr().out
    assert main(["info", "gaps.npy", "--check"]) == 0
    assert "NaN in row 5" in capsys.readouterr().out


def test_info_of_a_table_with_text(folder, capsys):
    frame = pd.read_csv("roll.csv")
    frame["day"] = pd.to_datetime("2020-01-01") + pd.to_timedelta(np.arange(2000), "D")
    frame["a b"] = np.arange(2000)
    frame.to_csv("t.csv", index=False)
    frame.to_parquet("t.parquet")
    kinds = {"east": "number", "north": "number", "up": "number", "name": "text", "day": "date"}
    for name in ("t.csv", "t.parquet"):
        assert main(["info", name]) == 0
        out = capsys.readouterr().out
        assert "east (number), north (number), up (number), name (text), day (date)" in out
        assert "2,000 rows x 4 columns" in out
        assert "--columns 'east,north,up,a b' --landmarks 1000 --neighbors" in out
        assert main(["info", name, "--json"]) == 0
        values = json.loads(capsys.readouterr().out)
        assert values["column_kinds"] == kinds | {"a b": "number"}
        assert values["suggested"]["columns"] == ["east", "north", "up", "a b"]
        assert values["suggested"]["landmarks"] == 1000
    frame[["name", "day"]].to_csv("words.csv", index=False)
    assert main(["info", "words.csv"]) == 0
    assert "no column holds numbers" in capsys.readouterr().out
    (folder / "commas.csv").write_text("x;y\n4,909;3,2\n1;2,5\n")
    assert main(["info", "commas.csv"]) == 0
    assert "numbers have a decimal comma: write them with a point" in capsys.readouterr().out


def test_info_suggests_nothing_that_must_fail(folder, capsys):
    rng = np.random.default_rng(0)
    problems = {
        "large": (rng.normal(size=(500, 3)) * 1e200, "whose squared distances overflow"),
        "bool": (rng.random((500, 2)) < 0.5, "only 4 of the rows differ"),
        "same": (np.ones((500, 3)), "all 500 rows are the same point"),
        "tiny": (rng.normal(size=(500, 3)) * 1e-200, "whose squared distances vanish"),
    }
    for name, (X, problem) in problems.items():
        np.save(f"{name}.npy", X)
        assert main(["info", f"{name}.npy"]) == 0
        out = capsys.readouterr().out
        assert problem in out
        assert "suggested" not in out
        assert "may be left out" not in out
        assert main(["info", f"{name}.npy", "--json"]) == 0
        assert "problem" in json.loads(capsys.readouterr().out)
        assert run("embed", f"{name}.npy", "-o", "Y.npy") == FAILED
        capsys.readouterr()


def test_info_counts_distinct_points(folder, capsys):
    np.save("twice.npy", np.repeat(np.load("roll.npy")[:300], 5, axis=0))
    assert main(["info", "twice.npy", "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["distinct_rows"] == 300
    assert values["suggested"]["landmarks"] == 150
    assert run("embed", "twice.npy", "-o", "Y.npy", "-k", "150") == 0


@pytest.mark.parametrize("n", range(2, 12))
def test_what_info_suggests_for_few_points_works(folder, capsys, n):
    np.save("tiny.npy", np.load("roll.npy")[:n])
    assert main(["info", "tiny.npy", "--json"]) == 0
    suggested = json.loads(capsys.readouterr().out).get("suggested")
    if suggested is not None:
        k, n_neighbors = suggested["landmarks"], suggested["neighbors"]
        arguments = ["-k", str(k), "--neighbors", str(n_neighbors), "-o", "Y.npy"]
        assert run("embed", "tiny.npy", *arguments) == 0
    assert (suggested is None) == (n < 6)


def test_info_of_a_file_that_cannot_be_read(folder, capsys):
    (folder / "ragged.csv").write_text("x,y\n1,2\n3,4\n5\n6,7\n")
    assert main(["info", "ragged.csv"]) == FAILED
    assert (
        said(capsys) == "ragged.csv has 2 columns at first and 1 in row 2: give every row as many"
    )


def test_values_are_no_labels(folder, capsys):
    np.save("heights.npy", np.linspace(0, 1, 2000))
    embed("--save", "m.trig")
    capsys.readouterr()
    assert run("evaluate", "m.trig", "roll.npy", "--labels", "heights.npy") == FAILED
    assert "2,000 different values for 2,000 points" in said(capsys)


@pytest.mark.parametrize("place", ["before", "after"])
def test_debug_shows_where_an_error_arose(folder, capsys, place):
    np.save("gaps.npy", np.full((10, 3), np.nan))
    command = ["embed", "gaps.npy", "-o", "Y.npy"]
    assert main(["--debug", *command] if place == "before" else [*command, "--debug"]) == FAILED
    assert "Traceback" in capsys.readouterr().err


def test_an_interrupt_names_the_files_that_are_complete(folder, capsys, monkeypatch):
    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(tp.LaplacianEigenmaps, "report", stop)
    assert embed("--save", "m.trig", "--report", "page.html") == INTERRUPTED
    assert capsys.readouterr().err == "\ntrigpoint: interrupted; complete: Y.npy, m.trig\n"
    monkeypatch.setattr(tp.LaplacianEigenmaps, "fit", stop)
    assert embed("--force") == INTERRUPTED
    assert "nothing was left half-written" in capsys.readouterr().err


def test_help_shows_examples(capsys):
    for command in ("embed", "select", "transform", "evaluate", "info", "demo", "reproduce"):
        with pytest.raises(SystemExit) as stop:
            main([command, "--help"])
        assert stop.value.code == 0
        assert f"examples:\n  trigpoint {command}" in capsys.readouterr().out


# What they refuse -------------------------------------------------------------------------------


def test_an_existing_file_is_kept_without_force(folder, capsys):
    (folder / "Y.npy").write_bytes(b"precious")
    assert embed() == FAILED
    assert said(capsys) == "Y.npy exists: name another file, or add --force to replace it"
    assert (folder / "Y.npy").read_bytes() == b"precious"
    assert embed("--force") == 0
    assert np.load("Y.npy").shape == (2000, 2)


REFUSED = {
    "no file": (["embed", "none.npy", "-o", "Y.npy"], "there is no file none.npy"),
    "no folder": (["embed", "roll.npy", "-o", "a/Y.npy"], "there is no folder a"),
    "no such column": (
        ["embed", "roll.csv", "--columns", "east,west", "-o", "Y.npy"],
        "roll.csv has no column 'west': choose from east, north, up, name",
    ),
    "text": (
        ["embed", "roll.csv", "-o", "Y.npy"],
        "column 'name' of roll.csv holds text, 'point', in its first row: leave it out with "
        "--columns east,north,up",
    ),
    "odd output": (["embed", "roll.npy", "-o", "Y.xlsx"], "suffix that is not known"),
    "over itself": (["embed", "roll.npy", "-o", "roll.npy", "--force"], "write to another file"),
    "model over points": (
        ["embed", "roll.npy", "-o", "Y.npy", "--save", "roll.npy", "--force"],
        "roll.npy is being read",
    ),
    "over the model": (
        ["transform", "m.trig", "roll.npy", "-o", "m.trig", "--force"],
        "m.trig is being read",
    ),
    "a folder": (["embed", "roll.npy", "-o", "."], ". is a folder"),
    "no labels": (
        ["evaluate", "m.trig", "roll.npy", "--labels", "none.npy"],
        "none.npy is no file",
    ),
    "empty labels": (
        ["evaluate", "m.trig", "roll.npy", "--labels", "empty.npy"],
        "empty.npy holds no array of numbers, text or dates",
    ),
    "too many": (["select", "roll.npy", "-k", "9999"], "--landmarks=9999 is too large"),
    "same twice": (
        ["embed", "roll.npy", "-o", "Y.npy", "--save", "Y.npy"],
        "two of the files to write are the same",
    ),
    "no model": (
        ["transform", "roll.npy", "roll.npy", "-o", "Z.npy"],
        "roll.npy is no file that trigpoint saved",
    ),
    "labels without a column": (
        ["evaluate", "m.trig", "roll.npy", "--labels", "roll.csv"],
        "roll.csv has 4 columns: name one of east, north, up, name, as in roll.csv::east",
    ),
    "odd labels": (
        ["evaluate", "m.trig", "roll.npy", "--labels", "m.trig"],
        "give .npy, .npz::KEY, .csv::COLUMN, .parquet::COLUMN or .h5ad::obs/COLUMN",
    ),
    "no such colour": (
        ["embed", "roll.npy", "-o", "Y.npy", "--report", "page.html", "--color", "height"],
        "--color height is no file, and roll.npy has no columns beside the points: give .npy",
    ),
    "colours of others": (
        ["embed", "roll.npy", "-o", "Y.npy", "--report", "page.html", "--color", "few.npy"],
        "--color few.npy has 3 values for 2,000 points",
    ),
    "labels": (
        ["evaluate", "m.trig", "roll.npy", "--labels", "labelled.npz::z"],
        "labelled.npz has no array 'z': choose from X, y",
    ),
}


@pytest.mark.parametrize(("arguments", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_refused_in_a_line(folder, capsys, arguments, message):
    embed("--save", "m.trig", "-o", "first.npy")
    capsys.readouterr()
    before = sorted(os.listdir())
    assert run(*arguments) == FAILED
    assert message in said(capsys)
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize(
    "arguments",
    [
        ["embed", "roll.npy"],
        ["embed", "roll.npy", "-o", "Y.npy", "-k", "few"],
        ["embed", "roll.npy", "-o", "Y.npy", "-k", "1"],
        ["embed", "roll.npy", "-o", "Y.npy", "--method", "umap"],
        ["embed", "roll.npy", "-o", "Y.npy", "--columns", "a,,b"],
        ["embed", "roll.npy", "-o", "Y.npy", "--jobs", "0"],
        ["embed", "roll.npy", "-o", "Y.npy", "--jobs", "-2"],
        ["embed", "roll.npy", "-o", "Y.npy", "--seed", "-1"],
        ["embed", "roll.npy", "-o", "Y.npy", "--method", "isomap", "--eigenvectors", "leading"],
        ["embed", "none.npy", "-o", "Y.npy", "--method", "kernel-pca", "--graph", "euclidean"],
        ["embed", "roll.npy", "-o", "Y.npy", "--color", "labelled.npz::y"],
    ],
)
def test_wrong_arguments(folder, arguments, capsys):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == USAGE
    assert "usage: trigpoint embed" in capsys.readouterr().err


def test_missing_values_are_refused_with_their_rows(folder, capsys):
    X = np.load("roll.npy")
    X[[3, 44], 1] = np.nan
    np.save("holes.npy", X)
    assert run("embed", "holes.npy", "-o", "Y.npy", "-k", "50") == FAILED
    assert "holes.npy contains NaN in row 3, column 1; also in row 44" in said(capsys)
    assert not (folder / "Y.npy").exists()


def test_too_little_memory_is_said_before_the_start(folder, capsys, monkeypatch):
    monkeypatch.setattr("trigpoint.commands.embed.available_memory", lambda: 1e6)
    assert embed() == FAILED
    assert "need about" in said(capsys)
    assert not (folder / "Y.npy").exists()


def test_a_full_disk_leaves_nothing(folder, capsys, monkeypatch):
    def full(self, block):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("trigpoint.files.sinks.NpySink.write", full)
    assert embed() == FAILED
    assert said(capsys) == "No space left on device"
    assert sorted(os.listdir()) == ["empty.npy", "few.npy", "labelled.npz", "roll.csv", "roll.npy"]


def test_debug_shows_where(folder, capsys):
    assert main(["--debug", "embed", "none.npy", "-o", "Y.npy"]) == FAILED
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.filterwarnings("default")
def test_warnings_are_lines(folder, capsys):
    far = np.concatenate([np.load("roll.npy"), np.load("roll.npy") + 1e4])
    np.save("two.npy", far)
    assert run("embed", "two.npy", "-o", "Y.npy", "-k", "100") == 0
    err = capsys.readouterr().err
    assert "trigpoint: warning: the landmark graph falls into 2 components" in err
    assert "(a larger --neighbors) or take more landmarks" in err
    assert ".py:" not in err


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ there")
def test_ctrl_c_leaves_no_file(folder):
    X, _ = tp.datasets.make_swiss_roll(400_000, random_state=0)
    np.save("big.npy", X)
    before = sorted(os.listdir())
    command = [sys.executable, "-m", "trigpoint", "embed", "big.npy", "-o", "Y.csv", "-k", "300"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    # Text is slow to write, so that there is time to interrupt it once it has begun.
    deadline = time.monotonic() + 60
    while not [name for name in os.listdir() if "partial" in name]:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == INTERRUPTED
    assert "interrupted" in err
    assert "Traceback" not in err
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize(
    ("library", "command"),
    [
        ("choose n_landmarks <= 4", "choose --landmarks <= 4"),
        ("remove duplicates or raise n_neighbors of the sampler", "remove duplicates"),
        (
            'choose n_components=1 or eigenvectors="leading"',
            "choose --components=1 or --eigenvectors leading",
        ),
        ("leave it out with columns=['a b', 2]", "leave it out with --columns 'a b,2'"),
        ("columns=[1, 1] chooses a column twice", "--columns 1,1 chooses a column twice"),
        ("leave it out with columns=", "leave it out with --columns"),
    ],
)
def test_messages_name_options(library, command):
    assert in_options(library) == command


def test_sizes_and_durations_as_people_say_them():
    assert [common.duration(s) for s in (0.5, 42, 600, 9000)] == [
        "0.5 s",
        "42 s",
        "10 min",
        "2.5 h",
    ]
    assert [common.size(b) for b in (12, 34_000, 5.6e6, 7.8e9)] == [
        "12 B",
        "34 kB",
        "5.6 MB",
        "7.8 GB",
    ]
