"""``trigpoint info``: what it reports, and that the commands it suggests work."""

import json
import shlex
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pytest
import zarr
from terminal import embed, result, run, said

from trigpoint._cli import info
from trigpoint._cli.cli import main
from trigpoint._cli.results import FAILED


def test_points_and_a_model(folder, capsys):
    assert main(["info", "roll.npy"]) == 0
    out = capsys.readouterr().out
    assert "2,000 rows x 3 columns, float32" in out
    assert "all finite" in out
    values = result(capsys, "info", "roll.csv", "--columns", "east,up")
    assert values["feature_names"] == ["east", "up"]
    embed("--save", "m.trig")
    capsys.readouterr()
    assert main(["info", "m.trig"]) == 0
    out = capsys.readouterr().out
    assert "LaplacianEigenmaps, 2 coordinates from 100 landmarks" in out
    assert "landmarks 100" in " ".join(out.split())


def test_all_columns_of_a_model_are_listed(folder, capsys):
    names = [f"c{j}" for j in range(40)]
    pd.DataFrame(np.load("roll.npy")[:, np.arange(40) % 3], columns=names).to_csv("wide.csv")
    assert run("embed", "wide.csv", "-k", "20", "-o", "Y.npy", "--save", "m.trig") == 0
    capsys.readouterr()
    assert main(["info", "m.trig"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "takes points of 40 columns: " + ", ".join(names) + " size" in out
    assert "landmarks 20" in out


@pytest.mark.parametrize("width", ["60", "80"])
def test_lines_fit_the_terminal(folder, capsys, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", width)
    frame = pd.DataFrame(
        np.load("roll.npy")[:, np.arange(40) % 3], columns=map("c{}".format, range(40))
    )
    frame["kind"] = np.arange(2000) % 3
    frame["kind"] = frame["kind"].map("abc".__getitem__)
    frame.to_csv("wide.csv", index=False)
    assert main(["info", "wide.csv"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= int(width)
    command = "\n".join(lines).partition("  next ")[2]
    words = shlex.split(command.replace("\\\n", ""))
    assert words[:3] == ["trigpoint", "embed", "wide.csv"]
    assert words[-2:] == ["--color", "kind"]


def test_missing_values_and_constant_columns(folder, capsys, monkeypatch):
    X = np.load("roll.npy")
    np.save("flat.npy", np.c_[X, np.full(len(X), 7)])
    assert result(capsys, "info", "flat.npy")["constant_columns"] == [3]
    X[[5, 90], 1] = np.nan
    np.save("gaps.npy", X)
    assert "NaN in row 5" in result(capsys, "info", "gaps.npy")["problem"]
    # Slow checks run on request only.
    monkeypatch.setattr(info, "_LITTLE", 100)
    assert main(["info", "gaps.npy"]) == 0
    assert "not checked: --check finds" in capsys.readouterr().out
    assert "NaN in row 5" in result(capsys, "info", "gaps.npy", "--check")["problem"]


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_a_table_with_text(folder, capsys, name):
    frame = pd.read_csv("roll.csv")
    frame["day"] = pd.to_datetime("2020-01-01") + pd.to_timedelta(np.arange(2000), "D")
    frame.to_csv("t.csv", index=False) if name == "t.csv" else frame.to_parquet("t.parquet")
    values = result(capsys, "info", name)
    kinds = {"east": "number", "north": "number", "up": "number", "name": "text", "day": "date"}
    assert values["column_kinds"] == kinds
    assert (values["rows"], values["columns"]) == (2000, 4)
    compared = values["columns_compared"]
    assert compared["day"] == "dates around 2022-09-26, in units of 569 days"
    assert compared["name"] == "left out: always point"
    embedding = name.replace(".", "_embedding.")
    command = f"trigpoint embed {name} -o {embedding} --report t.html"
    assert values["next"] == f"{command} --metric table"
    frame["word"] = [f"word {row}" for row in range(2000)]
    frame[["name", "word"]].to_csv("words.csv", index=False)
    problem = result(capsys, "info", "words.csv")["problem"]
    assert "no column to compare (name: always point; word: more than 100 different" in problem


def save_cells(path, rng):
    with h5py.File(path, "w") as file:
        file["X"] = rng.poisson(1, size=(60, 200))
        file["obsm/X_pca"] = rng.normal(size=(60, 12))
        file["obsm/X_umap"] = rng.normal(size=(60, 2))
        file["obs/_index"], file["obs/n_genes"] = np.arange(60), np.arange(60)
        file["obs/louvain/codes"] = rng.integers(0, 2, 60)
        file["obs/louvain/categories"] = ["B cells", "T cells"]


def test_arrays_are_listed_and_one_is_suggested(folder, capsys, rng):
    save_cells("cells.h5ad", rng)
    values = result(capsys, "info", "cells.h5ad")
    assert values["arrays"]["obsm/X_umap"] == [[60, 2], "float64"]
    assert values["columns"] == 12
    assert values["obs"]["louvain"] == "classes"
    command = "trigpoint embed cells.h5ad::obsm/X_pca -o cells_embedding.npy --report cells.html "
    assert values["next"] == f"{command}--color louvain"
    np.savez("several.npz", y=np.arange(60), Z=rng.normal(size=(60, 2)), X=rng.random((60, 9)))
    root = zarr.open_group("several.zarr", mode="w")
    for key, columns in (("few", 2), ("many", 9)):
        root.create_array(key, shape=(60, columns), dtype=float)[:] = rng.random((60, columns))
    for name, key in (("npz", "X"), ("zarr", "many")):
        start = f"trigpoint embed several.{name}::{key} -o several_embedding.npy"
        assert result(capsys, "info", f"several.{name}")["next"].startswith(start)
    assert main(["embed", "cells.h5ad", "-o", "Y.npy", "--method", "laplacian"]) == 0
    assert "points are X_pca of cells.h5ad" in capsys.readouterr().err


def test_a_name_that_begins_like_an_option(folder, capsys):
    (folder / "-dash.csv").write_text("a,b\n" + "1,2\n3,5\n2,1\n" * 9)
    assert main(["info", "--json", "--", "-dash.csv"]) == 0
    command = json.loads(capsys.readouterr().out)["next"]
    assert command == "trigpoint embed ./-dash.csv -o ./-dash_embedding.csv --report ./-dash.html"


def test_the_suggested_command_runs(folder, capsys, rng):
    lines = ["name,species,planted,height,width"]
    for row in range(60):
        numbers = ",".join(f"{x:.3f}" for x in rng.normal(size=2))
        lines.append(f"tree {row},{('oak', 'elm')[row % 2]},2001-01-{row % 28 + 1:02},{numbers}")
    (folder / "my trees.csv").write_text("\n".join(lines))
    command = result(capsys, "info", "my trees.csv")["next"]
    assert command.endswith("--report 'my trees.html' --metric table --color species")
    assert main([*shlex.split(command)[1:], "--method", "laplacian"]) == 0
    said = capsys.readouterr().err
    assert "name     left out: 60 different texts" in said
    assert "species  2 categories: elm, oak" in said
    assert "species colors the map and is also embedded; --drop species leaves it out" in said
    assert (folder / "my trees.html").exists()
    assert main([*shlex.split(command)[1:-4], "--drop", "species", "--force", "-k", "20"]) == 0
    assert "species " not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("X", "problem"),
    [
        (np.arange(1500.0).reshape(500, 3) * 1e200, "overflow"),
        (np.ones((500, 3)), "all 500 rows are the same point"),
        (np.eye(2), "too few"),
        (10 - 10 * np.eye(50), "distances between its rows: set --metric precomputed; if"),
    ],
)
def test_nothing_is_suggested_that_must_fail(folder, capsys, X, problem):
    np.save("X.npy", X)
    values = result(capsys, "info", "X.npy")
    assert problem in values["problem"]
    assert "next" not in values
    assert run("embed", "X.npy", "-o", "Y.npy") == FAILED


def test_columns_that_are_called_by_numbers(folder, capsys):
    """A number is a position unless a column has that name."""
    np.savetxt("years.csv", np.load("roll.npy"), delimiter=",", header="x,1990,1", comments="")
    values = result(capsys, "info", "years.csv", "--columns", "x,1990")
    assert values["feature_names"] == ["x", "1990"]
    values = result(capsys, "info", "years.csv", "--columns", "1,0")
    assert values["feature_names"] == ["1", "x"]
    assert main(["info", "years.csv", "--columns", "x,2000"]) == FAILED
    assert "2000" in capsys.readouterr().err


def test_outliers_dominant_columns_and_the_dimension(folder, capsys):
    X = np.load("roll.npy")
    X[[7, 1200]] += 500
    np.save("far.npy", X)
    values = result(capsys, "info", "far.npy")
    assert (values["outliers"], values["dominant_columns"]) == ([7, 1200], [])
    assert main(["info", "far.npy"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "rows 7, 1200 lie more than 4 times farther from the rest than 99 % of rows" in said
    X = np.load("roll.npy") * [1, 1000, 1]
    pd.DataFrame(X, columns=["age", "income", "height"]).to_csv("units.csv", index=False)
    values = result(capsys, "info", "units.csv")
    assert (values["outliers"], values["dominant_columns"]) == ([], [1])
    assert "--metric seuclidean" in values["next"]
    assert main(["embed", "units.csv", "-o", "Y.csv", "-k", "50", "--method", "isomap"]) == 0
    assert "95.0 % of the variance is in income" in capsys.readouterr().err
    # Outliers are judged in equal units.
    X[7, 2] += 300
    pd.DataFrame(X, columns=["age", "income", "height"]).to_csv("far.csv", index=False)
    assert result(capsys, "info", "far.csv")["outliers"] == [7]
    run("info", "far.csv")
    assert "row 7 lies more than 4 times farther" in " ".join(capsys.readouterr().out.split())
    assert 1.5 < result(capsys, "info", "roll.npy")["dimension"] < 2.5


def test_info_and_embed_agree_on_the_columns_that_are_points(folder, capsys):
    """A typing error does not turn a column into text, and row numbers are no coordinates."""
    lines = Path("roll.csv").read_text().splitlines()
    numbered = [f"id,{lines[0]}", *(f"{row},{line}" for row, line in enumerate(lines[1:]))]
    Path("numbered.csv").write_text("\n".join(numbered))
    assert result(capsys, "info", "numbered.csv")["feature_names"] == ["east", "north", "up"]
    assert (
        result(capsys, "embed", "numbered.csv", "-o", "Y.npy", "-k", "50")["input"]["columns"] == 3
    )
    lines[40] = "abc," + lines[40].partition(",")[2]
    Path("typing.csv").write_text("\n".join(lines))
    problem = "not a number, 'abc' in column 'east', row 39"
    assert problem in result(capsys, "info", "typing.csv")["problem"]
    assert run("embed", "typing.csv", "-o", "Z.npy", "-k", "50") == FAILED
    assert problem in said(capsys)
