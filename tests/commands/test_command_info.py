"""``trigpoint info``: what it finds, and that what it suggests works."""

import json
import os
import shlex

import h5py
import numpy as np
import pandas as pd
import pytest
import zarr
from terminal import embed, run, said

from trigpoint._command import info, inspection
from trigpoint._command.cli import main
from trigpoint._command.common import FAILED


def test_info_of_a_gap_in_the_first_row(folder, capsys):
    (folder / "gap.csv").write_text("a,b\n1,\n2,3\n4,5\n")
    assert main(["info", "gap.csv", "--json"]) == 0
    assert "empty in its first row" in json.loads(capsys.readouterr().out)["problem"]


def test_info_of_points_and_of_a_model(folder, capsys):
    assert main(["info", "roll.npy"]) == 0
    out = capsys.readouterr().out
    assert "2,000 rows x 3 columns, float32" in out
    assert "next       trigpoint embed roll.npy -o roll_embedding.npy --report roll.html\n" in out
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
    assert "constant   column 3: can be left out" in capsys.readouterr().out
    X[[5, 90], 1] = np.nan
    np.save("gaps.npy", X)
    assert main(["info", "gaps.npy"]) == 0
    assert "contains NaN in row 5, column 1; also in row 90" in capsys.readouterr().out
    assert main(["info", "gaps.npy", "--json"]) == 0
    assert "NaN in row 5" in json.loads(capsys.readouterr().out)["problem"]
    # What would take long is looked at when asked to.
    monkeypatch.setattr(info, "_LITTLE", 100)
    assert main(["info", "gaps.npy"]) == 0
    assert "not checked: use --check" in capsys.readouterr().out
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
        embedding = name.replace(".", "_embedding.")
        next_command = f"trigpoint embed {name} -o {embedding} --report t.html --metric seuclidean"
        assert f"next       {next_command}\n" in out
        assert main(["info", name, "--json"]) == 0
        values = json.loads(capsys.readouterr().out)
        assert values["column_kinds"] == kinds | {"a b": "number"}
        assert values["suggested"]["columns"] == ["east", "north", "up", "a b"]
        assert values["suggested"]["landmarks"] == 1000
    frame[["name", "day"]].to_csv("words.csv", index=False)
    assert main(["info", "words.csv"]) == 0
    assert "no column holds numbers" in capsys.readouterr().out
    (folder / "commas.csv").write_text('x,y\n"4,909","3,2"\n')
    assert main(["info", "commas.csv"]) == 0
    assert "numbers have a decimal comma: write them with a point" in capsys.readouterr().out


def save_cells(path, rng):
    with h5py.File(path, "w") as file:
        file["X"] = rng.poisson(1, size=(60, 200))
        file["obsm/X_pca"] = rng.normal(size=(60, 12))
        file["obsm/X_umap"] = rng.normal(size=(60, 2))
        file["obs/_index"], file["obs/n_genes"] = np.arange(60), np.arange(60)
        file["obs/louvain/codes"] = rng.integers(0, 2, 60)
        file["obs/louvain/categories"] = ["B cells", "T cells"]


def test_info_lists_arrays_and_says_which_to_take(folder, capsys, rng):
    save_cells("cells.h5ad", rng)
    assert main(["info", "cells.h5ad"]) == 0
    out = capsys.readouterr().out
    assert "X (60 x 200, int64), obsm/X_pca (60 x 12, float64), obsm/X_umap (60 x 2," in out
    assert "60 rows x 12 columns" in out
    assert "louvain (classes), n_genes (number)" in out
    command = "trigpoint embed cells.h5ad::obsm/X_pca -o cells_embedding.npy --report cells.html "
    assert f"next       {command}--color louvain\n" in out
    np.savez("several.npz", y=np.arange(60), Z=rng.normal(size=(60, 2)), X=rng.random((60, 9)))
    with h5py.File("several.h5", "w") as file:
        file["a/few"], file["a/many"] = rng.random((60, 2)), rng.random((60, 9))
    root = zarr.open_group("several.zarr", mode="w")
    for key, columns in (("few", 2), ("many", 9)):
        root.create_array(key, shape=(60, columns), dtype=float)[:] = rng.random((60, columns))
    for name, key in (("npz", "X"), ("h5", "a/many"), ("zarr", "many")):
        assert main(["info", f"several.{name}"]) == 0
        out = capsys.readouterr().out
        assert f"{key} (60 x 9, float64)" in out
        assert f"trigpoint embed several.{name}::{key} -o several_embedding.npy" in out


def test_a_name_that_begins_like_an_option(folder, capsys):
    (folder / "-dash.csv").write_text("a,b\n" + "1,2\n3,5\n2,1\n" * 9)
    assert main(["info", "--json", "--", "-dash.csv"]) == 0
    command = json.loads(capsys.readouterr().out)["next"]
    assert command == "trigpoint embed ./-dash.csv -o ./-dash_embedding.csv --report ./-dash.html"


def test_what_info_says_to_run_next_runs(folder, capsys, rng):
    """Text, dates and decimal commas; the columns that color the page are not points."""
    lines = ["name;species;planted;height;width;depth"]
    for row in range(60):
        numbers = ";".join(f"{x:.3f}".replace(".", ",") for x in rng.normal(size=3))
        lines.append(f"tree {row};{('oak', 'elm')[row % 2]};2001-01-{row % 28 + 1:02};{numbers}")
    (folder / "my trees.csv").write_text("\n".join(lines))
    assert main(["info", "my trees.csv", "--json"]) == 0
    command = json.loads(capsys.readouterr().out)["next"]
    assert command.endswith("--report 'my trees.html' --color species")
    words = [*shlex.split(command)[1:], "--method", "laplacian"]
    assert main([*words, "--color", "species,depth"]) == 0
    said = capsys.readouterr().err.splitlines()[0]
    assert said == (
        "trigpoint: points are the columns height, width; left out: name (text), species (text), "
        "planted (date), depth (for the page)"
    )
    assert (folder / "my trees.html").exists()
    assert main([*words, "--color", "height,width,depth", "--force"]) == FAILED
    assert "is left for the points: choose them with --columns" in capsys.readouterr().err


def test_cells_without_a_key_are_said(folder, capsys, rng):
    save_cells("cells.h5ad", rng)
    arguments = ["embed", "cells.h5ad", "-o", "Y.npy", "--method", "laplacian"]
    assert main(arguments) == 0
    assert capsys.readouterr().err.splitlines()[0] == (
        "trigpoint: points are X, 200 columns; obsm/X_pca, 12 columns, is what embeddings are "
        "usually made of: give cells.h5ad::obsm/X_pca"
    )
    assert main([*arguments, "--force", "--quiet"]) == 0
    assert capsys.readouterr().err == ""


def test_info_suggests_nothing_that_must_fail(folder, capsys):
    rng = np.random.default_rng(0)
    problems = {
        "large": (rng.normal(size=(500, 3)) * 1e200, "whose squared distances overflow"),
        "bool": (rng.random((500, 1)) < 0.5, "only 2 rows are distinct"),
        "same": (np.ones((500, 3)), "all 500 rows are the same point"),
        "tiny": (rng.normal(size=(500, 3)) * 1e-200, "whose squared distances vanish"),
    }
    for name, (X, problem) in problems.items():
        np.save(f"{name}.npy", X)
        assert main(["info", f"{name}.npy"]) == 0
        out = capsys.readouterr().out
        assert problem in out
        assert "trigpoint embed" not in out
        assert "can be left out" not in out
        assert main(["info", f"{name}.npy", "--json"]) == 0
        assert "problem" in json.loads(capsys.readouterr().out)
        assert run("embed", f"{name}.npy", "-o", "Y.npy") == FAILED
        capsys.readouterr()


def test_info_counts_distinct_points(folder, capsys):
    np.save("twice.npy", np.repeat(np.load("roll.npy")[:300], 5, axis=0))
    assert main(["info", "twice.npy", "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["distinct_rows"] == 300
    assert "landmarks" not in values["suggested"]
    assert run("embed", "twice.npy", "-o", "Y.npy", "--json") == 0
    assert json.loads(capsys.readouterr().out)["landmarks"] == 300


@pytest.mark.parametrize("n", range(2, 12))
def test_what_info_suggests_for_few_points_works(folder, capsys, n):
    np.save("tiny.npy", np.load("roll.npy")[:n])
    assert main(["info", "tiny.npy", "--json"]) == 0
    suggested = json.loads(capsys.readouterr().out).get("suggested")
    if suggested is not None:
        assert run("embed", "tiny.npy", "-o", "Y.npy") == 0
    assert (suggested is None) == (n < 3)


def test_info_of_a_file_that_cannot_be_read(folder, capsys):
    (folder / "ragged.csv").write_text("x,y\n1,2\n3,4\n5\n6,7\n")
    assert main(["info", "ragged.csv"]) == FAILED
    assert (
        said(capsys)
        == "ragged.csv has 2 columns at first but 1 in row 2: give every row the same number"
    )


def test_info_of_a_model_names_the_columns_it_takes(folder, capsys):
    arguments = ["--columns", "east,north,up", "-o", "Y.npy", "--save", "m.trig", "-k", "60"]
    assert run("embed", "roll.csv", *arguments) == 0
    capsys.readouterr()
    assert main(["info", "m.trig"]) == 0
    assert "points of 3 columns: east, north, up\n" in capsys.readouterr().out


def test_columns_that_are_called_by_numbers(folder, capsys):
    """A number is a place, unless only a name can be meant."""
    np.savetxt("years.csv", np.load("roll.npy"), delimiter=",", header="x,1990,1", comments="")
    assert main(["info", "years.csv", "--columns", "x,1990", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["feature_names"] == ["x", "1990"]
    assert main(["info", "years.csv", "--columns", "1"]) == FAILED
    assert "has a column 1, named '1990', and another column named '1'" in capsys.readouterr().err
    assert main(["info", "years.csv", "--columns", "x,2000"]) == FAILED
    assert "2000" in capsys.readouterr().err


def test_info_of_points_in_several_blocks(folder, capsys, monkeypatch):
    X = np.ones((1000, 2))
    X[700:, 1] = 2
    np.save("steps.npy", X)
    monkeypatch.setattr(inspection, "block_rows", lambda row_bytes: 300)
    assert main(["info", "steps.npy", "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["constant_columns"] == [0]


def test_info_names_outliers_and_dominant_columns(folder, capsys):
    X = np.load("roll.npy")
    X[[7, 1200]] += 500
    np.save("far.npy", X)
    assert main(["info", "far.npy"]) == 0
    out = capsys.readouterr().out
    assert "outliers   row 7, 1200: more than 4 times as far from the others as 99% of" in out
    assert "scales" not in out
    X = np.load("roll.npy") * [1, 1000, 1]
    pd.DataFrame(X, columns=["age", "income", "height"]).to_csv("units.csv", index=False)
    assert main(["info", "units.csv"]) == 0
    assert "scales     column income: 99.9% of the variance" in capsys.readouterr().out
    assert main(["info", "units.csv", "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["dominant_columns"] == [1]
    assert values["outliers"] == []


def test_info_says_the_local_dimension_and_what_a_report_adds(folder, capsys):
    assert main(["info", "roll.npy", "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert 1.5 < values["dimension"] < 2.5
    assert values["forecast"]["report_seconds"] > 0
    assert main(["info", "roll.npy"]) == 0
    out = capsys.readouterr().out
    assert "of 3, around each point" in out
    assert "with --report" in out


def test_info_says_how_values_are_stored(folder, capsys):
    np.save("f16.npy", np.ones((4, 2), dtype=np.float16))
    main(["info", "f16.npy"])
    assert "float16 read as float32" in capsys.readouterr().out


@pytest.mark.filterwarnings("default")
def test_info_counts_lines_that_are_not_rows(folder, capsys):
    (folder / "a.csv").write_text("# one\n# two\nx,y\n1,2\n\n3,4\n5,7\n")
    assert main(["info", "a.csv"]) == 0
    said = capsys.readouterr()
    assert "skipped" in said.out
    assert "2 comment lines at the top and 1 blank line between rows" in said.out
    assert said.err.count("a.csv has 1 blank line between its rows") == 1


def test_info_of_numbers_with_points_between_thousands(folder, capsys):
    (folder / "t.csv").write_text("a;b\n126.730;-0,13\n1.105.200;0,36\n")
    assert main(["info", "t.csv"]) == 0
    out = capsys.readouterr().out
    assert "a (text such as 1.105.200), b (number with a decimal comma)" in out
    assert "problem  1.105.200 has points between thousands: write 1.234 as 1234" in out


def test_info_of_a_single_row_and_of_a_header(folder, capsys):
    (folder / "t.csv").write_text("a,b\n1,2\n")
    assert main(["info", "t.csv"]) == 0
    assert "1 row x 2 columns" in capsys.readouterr().out
    (folder / "t.csv").write_text("a,b\n")
    assert main(["info", "t.csv"]) == FAILED
    assert said(capsys) == "t.csv has a header, and there are no rows to read below it"


def test_info_leaves_out_what_counts_rows(folder, capsys, rng):
    rows = "".join(f"{1000 + i},{x:.3f},{y:.3f}\n" for i, (x, y) in enumerate(rng.random((50, 2))))
    (folder / "t.csv").write_text(f"sep=,\nKundennr,x,y\n{rows}")
    assert main(["info", "t.csv"]) == 0
    assert "Kundennr (row number), x (number), y (number)" in capsys.readouterr().out


def test_info_of_what_only_looks_like_numbers(folder, capsys):
    (folder / "t.csv").write_text("a,b\n4.0%,$3\n1.5%,$4\n")
    assert main(["info", "t.csv"]) == 0
    expected = "no column holds numbers; 4.0% is text: write numbers without signs"
    assert f"problem  {expected}\n" in capsys.readouterr().out
    (folder / "t.xlsx").write_bytes(b"PK")
    assert main(["info", "t.xlsx"]) == FAILED
    assert said(capsys) == "t.xlsx has an unknown suffix: save the table as CSV"
