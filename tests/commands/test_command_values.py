"""Labels and colors, from columns beside the points or other files."""

import json

import h5py
import numpy as np
import pandas as pd
import pytest
from terminal import embed, run, said, save_obs

from trigpoint._command.common import FAILED


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


@pytest.mark.parametrize("name", LABELS)
def test_labels_from_every_kind_of_table(folder, capsys, name):
    labels = np.where(np.load("labelled.npz")["y"] == 1, "outer", "inner")
    LABELS[name](pd.DataFrame({"cat": pd.Categorical(labels)}))
    embed("--save", "m.trig")
    capsys.readouterr()
    assert run("evaluate", "m.trig", "roll.npy", "--labels", name, "--json") == 0
    assert json.loads(capsys.readouterr().out)["nearest_neighbor_accuracy"] > 0.95


def test_as_many_labels_as_points(folder, capsys):
    np.save("y.npy", np.zeros(1999, dtype=int))
    embed("--save", "m.trig")
    capsys.readouterr()
    assert run("evaluate", "m.trig", "roll.npy", "--labels", "y.npy") == FAILED
    assert said(capsys) == "y.npy has 1,999 labels for 2,000 points: pass one for each"


def test_labels_that_are_missing(folder, capsys):
    (folder / "gaps.csv").write_text("id,kind\n" + "1,a\n" * 1990 + "2,\n" * 10)
    embed("--save", "m.trig")
    capsys.readouterr()
    assert run("evaluate", "m.trig", "roll.npy", "--labels", "gaps.csv::kind") == FAILED
    assert said(capsys) == "gaps.csv::kind has no label in row 1990: fill it in"


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


def test_the_time_is_that_of_all_that_was_written(folder, colors, capsys):
    assert embed("--report", "page.html", "--json") == 0
    values = json.loads(capsys.readouterr().out)
    # Both are rounded to a millisecond.
    assert values["seconds_in_all"] >= values["seconds"] + 0.198


def test_values_are_no_labels(folder, capsys):
    np.save("heights.npy", np.linspace(0, 1, 2000))
    embed("--save", "m.trig")
    capsys.readouterr()
    assert run("evaluate", "m.trig", "roll.npy", "--labels", "heights.npy") == FAILED
    assert "2,000 different values for 2,000 points" in said(capsys)


def test_images_and_text_of_a_page(folder, capsys):
    arguments = ["-o", "Y.npy", "-k", "60", "--method", "kernel-pca", "--report", "page.html"]
    columns = ["roll.csv", "--columns", "east,north,up"]
    assert run("embed", *columns, *arguments, "--images", "1x3", "--text", "name") == 0
    text = (folder / "page.html").read_text()
    assert '"text":{"name":"name","values":["point",' in text
    assert '"tiles":{"points"' in text
    assert run("embed", *columns, *arguments, "--force", "--images", "name") == 0
    assert '"addresses":["point",' in (folder / "page.html").read_text()
    capsys.readouterr()
    assert run("embed", *columns, *arguments, "--force", "--images", "28x28") == FAILED
    assert "images=(28, 28) does not have the 3 values of a row" in said(capsys)


def test_images_without_a_page_are_refused(folder, capsys):
    with pytest.raises(SystemExit):
        run("embed", "roll.npy", "-o", "Y.npy", "--images", "1x3")
    assert "add --report HTML" in capsys.readouterr().err
