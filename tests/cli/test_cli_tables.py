"""The command on tables with text, dates, booleans and missing values."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import trigpoint as tp
from trigpoint._cli import cli

OK, FAILED = 0, 1


@pytest.fixture
def table(tmp_path, monkeypatch, rng):
    """A table as people have them, in a folder in which the command is run."""
    monkeypatch.chdir(tmp_path)
    group = rng.integers(2, size=200)
    frame = pd.DataFrame(
        {
            "id": [f"t{row:03}" for row in range(200)],
            "width": rng.normal(size=200) + group,
            "kind": np.where(group, "oak", "elm"),
            "tall": rng.random(200) < 0.4,
            "seen": [f"2020-01-{day:02}T10:00:00" for day in rng.integers(1, 29, size=200)],
        }
    )
    frame.loc[3, "width"] = np.nan
    frame.loc[[4, 5], "kind"] = None
    frame.to_csv("trees.csv", index=False)
    return frame


def embed(*arguments):
    return cli.main(["embed", *arguments, "--method", "kernel-pca", "-k", "50"])


def test_gaps_are_counted_filled_and_marked(table, capsys):
    assert embed("trees.csv", "-o", "Y.csv", "--save", "m.trig", "--json") == OK
    printed = capsys.readouterr()
    assert json.loads(printed.out)["metric"] == "table"
    said = " ".join(printed.err.split())
    assert "1 missing, filled in by the median" in said
    assert "2 categories: elm, oak; 2 missing, a category of their own" in said
    assert "tall true or false" in said
    assert "dates around 2020-01-" in said
    model = tp.load("m.trig")
    kinds = {kind.name: (kind.kind, kind.gaps) for kind in model.model_.columns.kinds}
    assert kinds == {
        "width": ("number", 1),
        "kind": ("category", 2),
        "tall": ("boolean", 0),
        "seen": ("date", 0),
    }
    # New rows with gaps are treated in the same way, and columns are found by name.
    table.iloc[:10, ::-1].to_csv("new.csv", index=False)
    assert cli.main(["transform", "m.trig", "new.csv", "-o", "Z.csv"]) == OK
    np.testing.assert_allclose(pd.read_csv("Z.csv"), pd.read_csv("Y.csv")[:10], atol=1e-9)
    assert cli.main(["evaluate", "m.trig", "trees.csv"]) == OK


def test_too_many_gaps_and_the_remedy(table, capsys):
    table.loc[:80, "width"] = np.nan
    table.to_csv("gaps.csv", index=False)
    assert embed("gaps.csv", "-o", "Y.csv") == FAILED
    message = capsys.readouterr().err
    assert "40 % of column 'width' is missing, more than 30 %: leave it out with --drop width" in (
        message
    )
    assert embed("gaps.csv", "-o", "Y.csv", *message.split()[-2:]) == OK
    assert embed("gaps.csv", "-o", "Z.csv", "--columns", "tall,kind,width") == FAILED
    assert "leave it out of --columns" in capsys.readouterr().err


def test_ids_are_kept(table, capsys):
    for name, read in (("Y.csv", pd.read_csv), ("Y.parquet", pd.read_parquet)):
        assert (
            embed("trees.csv", "-o", name, "--keep", "id,kind", "--png", "Y.png", "--force") == OK
        )
        written = read(name)
        assert written.columns.tolist()[:2] == ["id", "kind"]
        assert written["id"].tolist() == table["id"].tolist()
        assert written["kind"].isna().sum() == 2
        assert written.shape == (200, 4)
    assert embed("trees.csv", "-o", "Y.npy", "--keep", "id") == FAILED
    assert "--keep: Y.npy holds only coordinates" in capsys.readouterr().err
    assert embed("trees.csv", "-o", "X.csv", "--save", "m.trig") == OK
    assert cli.main(["transform", "m.trig", "trees.csv", "-o", "W.csv", "--keep", "id"]) == OK
    assert pd.read_csv("W.csv")["id"].tolist() == table["id"].tolist()


def test_colors_do_not_change_the_embedding(table, capsys):
    assert embed("trees.csv", "-o", "Y.npy") == OK
    capsys.readouterr()
    assert embed("trees.csv", "-o", "Z.npy", "--png", "Z.png", "--color", "width,id") == OK
    assert "width colors the map and is also embedded; --drop width" in capsys.readouterr().err
    np.testing.assert_array_equal(np.load("Y.npy"), np.load("Z.npy"))


def test_other_metrics_take_the_numbers(table, capsys):
    assert embed("trees.csv", "-o", "Y.npy", "--metric", "seuclidean") == OK
    said = capsys.readouterr().err
    assert "missing values are filled in by the median: 1 in width" in said
    assert "points are the columns width, tall; left out: id (text), kind (text), seen" in said
    arguments = "trees.csv", "-o", "Z.npy", "--metric", "cosine", "--columns"
    assert embed(*arguments, "width,kind") == FAILED
    assert "choose --metric table, or leave it out of --columns" in capsys.readouterr().err
    assert embed("trees.csv", "-o", "Z.npy", "--columns", "width,kind") == OK


def test_columns_keep_the_order_in_which_they_are_named(tmp_path, monkeypatch, capsys, rng):
    monkeypatch.chdir(tmp_path)
    places = np.column_stack([rng.uniform(100, 170, 80), rng.uniform(-60, 60, 80)])
    pd.DataFrame(places, columns=["lon", "lat"]).to_csv("places.csv", index=False)
    pd.DataFrame(places[:, ::-1], columns=["lat", "lon"]).to_csv("turned.csv", index=False)
    assert embed("places.csv", "-o", "Y.csv", "--metric", "haversine") == FAILED
    assert "swap the columns" in capsys.readouterr().err
    named = "--metric", "haversine", "--columns", "lat,lon"
    assert embed("places.csv", "-o", "Y.csv", *named) == OK
    assert embed("turned.csv", "-o", "Z.csv", "--metric", "haversine") == OK
    assert Path("Y.csv").read_bytes() == Path("Z.csv").read_bytes()


@pytest.mark.parametrize("first", ["", "word"])
def test_tables_without_a_header(first, tmp_path, monkeypatch, capsys, rng):
    """Word vectors are stored as such a table, in which the first column is the word."""
    monkeypatch.chdir(tmp_path)
    vectors = rng.normal(size=(80, 4))
    numbers = (" ".join(f"{value:.4f}" for value in vector) for vector in vectors)
    lines = [f"{first}{row} {line}" if first else line for row, line in enumerate(numbers)]
    Path("words.txt").write_text("\n".join(lines) + "\n")
    assert cli.main(["info", "words.txt", "--json"]) == OK
    assert json.loads(capsys.readouterr().out)["columns"] == 4
    assert embed("words.txt", "-o", "Y.csv", "--metric", "cosine") == OK
    assert cli.main(["select", "words.txt", "-k", "20"]) == OK
    assert embed("words.txt", "-o", "Z.csv", "--weight", "1") == FAILED
    assert "--weight 1 is -" in capsys.readouterr().err


def test_info_lists_the_columns_once(table, capsys):
    assert cli.main(["info", "trees.csv"]) == OK
    printed = capsys.readouterr()
    assert "categories: elm, oak" in printed.out
    assert not printed.err


def test_subsets_of_tables(table, capsys):
    assert cli.main(["select", "trees.csv", "-k", "20", "-o", "few.csv", "--drop", "id"]) == OK
    assert set(pd.read_csv("few.csv")["id"]) < set(table["id"])
    assert cli.main(["select", "trees.csv", "-k", "20", "--drop", "id,width,kind,tall,seen"]) == 1
    assert "no column of trees.csv is left to compare" in capsys.readouterr().err


def test_rows_are_counted_as_pandas_does(tmp_path, monkeypatch, capsys):
    """Blank lines and quoted line breaks are no rows."""
    monkeypatch.chdir(tmp_path)
    lines = ["x,y,kind", "1,2,oak", "", '2,5,"an', 'elm"', "", "3,oops,oak", "4,7,oak"]
    Path("t.csv").write_text("\n".join(lines) + "\n")
    assert pd.read_csv("t.csv")["y"].tolist().index("oops") == 2
    assert embed("t.csv", "-o", "Y.csv") == FAILED
    assert "'oops' in column 'y', row 2" in capsys.readouterr().err


def test_a_column_of_weights(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    points = np.random.default_rng(1).normal(size=(200, 2))
    table = pd.DataFrame(points, columns=["width", "height"]).assign(units=np.arange(200) % 4)
    table.to_csv("weighted.csv", index=False)
    options = ["--weight", "units", "--columns", "width,height,units"]
    assert embed("weighted.csv", "-o", "Y.csv", *options) == OK
    emb = tp.KernelPCA(2, landmarks=50, random_state=0)
    expected = emb.fit_transform(points, sample_weight=table["units"])
    np.testing.assert_allclose(pd.read_csv("Y.csv"), expected, atol=1e-9)
    # Without --columns, the other columns are embedded. Without --method, methods are compared.
    assert cli.main(["embed", "weighted.csv", "-o", "Z.csv", "--weight", "units"]) == OK
    assert "left out: units (number)" in capsys.readouterr().err
    np.save("w.npy", np.isin(np.arange(200), [7, 9]))
    assert cli.main(["select", "weighted.csv", "-k", "2", "--weight", "w.npy"]) == OK
    assert sorted(capsys.readouterr().out.split()) == ["7", "9"]
    assert cli.main(["select", "weighted.csv", "-k", "1", "--weight", "width"]) == FAILED
    assert "--weight width is -" in capsys.readouterr().err
