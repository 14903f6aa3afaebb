"""``trigpoint embed``, and what all subcommands share."""

import contextlib
import json
import os
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from terminal import embed, run

import trigpoint as tp
from copies import COMMAND
from trigpoint._command.cli import main
from trigpoint._command.common import FAILED, INTERRUPTED


def test_embed_is_what_the_library_does(folder, capsys):
    assert embed("--method", "laplacian") == 0
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
        (["--method", "map", "--neighbors", "12"], "LandmarkMap", {"n_neighbors": 12}),
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


def test_auto_as_a_person_would_run_it(folder, copies):
    """In a process of its own: progress on standard error is part of it."""
    done = copies.run(COMMAND, "select", "roll.npy", "-k", "auto")
    assert done.returncode == 0, done.stderr
    assert 10 < len(done.stdout.splitlines()) < 2000


def test_the_number_of_landmarks_fits_few_points(folder, capsys):
    np.save("few.npy", np.load("roll.npy")[:40])
    assert run("embed", "few.npy", "-o", "Y.npy", "--json") == 0
    assert json.loads(capsys.readouterr().out)["landmarks"] == 40


@pytest.mark.parametrize("arguments", [[], ["--refine", "--graph", "bhattacharyya"]])
def test_the_default_is_that_of_the_library(folder, arguments):
    X, _ = tp.datasets.make_swiss_roll(1500, random_state=1)
    np.save("some.npy", X)
    command = ["embed", "some.npy", "-o", "Y.npy", "--method", "laplacian", "--quiet"]
    assert main([*command, *arguments]) == 0
    emb = tp.LaplacianEigenmaps(random_state=0)
    if arguments:
        landmarks = tp.EfficientDPP(1000, refine=True, random_state=0)
        emb.set_params(landmarks=landmarks, graph="bhattacharyya")
    np.testing.assert_array_equal(np.load("Y.npy"), emb.fit_transform(X))
    assert len(emb.landmarks_) == 1000


def test_without_a_method_the_best_of_those_tried_is_taken(folder, capsys):
    X, _ = tp.datasets.make_swiss_roll(800, random_state=1)
    np.save("some.npy", X)
    command = ["embed", "some.npy", "-k", "200", "--quiet"]
    assert main([*command, "-o", "Y.npy", "--report", "page.html"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[1].startswith("  method isomap: its neighborhoods agree best with those of the po")
    assert "laplacian 0." in out[1]
    landmarks = tp.EfficientDPP(200, random_state=0)
    emb = tp.Isomap(landmarks=landmarks, random_state=0)
    np.testing.assert_array_equal(np.load("Y.npy"), emb.fit_transform(X))
    page = Path("page.html").read_text()
    titles = [page.index(f"<h3>{name}</h3>") for name in ("Isomap", "LandmarkMap", "KernelPCA")]
    assert titles == sorted(titles)
    assert main([*command, "-o", "again.npy", "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["method"] == next(iter(values["tried"])) == "isomap"
    assert set(values["tried"]) == {"isomap", "map", "laplacian", "kernel-pca", "pca"}
    scores = tp.compare_methods(X, landmarks=200, random_state=0).scores
    assert values["tried"]["isomap"] == pytest.approx(scores["Isomap"], abs=1e-4)


@pytest.mark.parametrize(
    "arguments",
    [["-l", "4"], ["--neighbors", "9"], ["--extension", "all"], ["--graph", "euclidean"]],
)
def test_without_a_method_options_of_eigenmaps_and_many_coordinates_mean_eigenmaps(
    folder, capsys, arguments
):
    command = ["embed", "roll.npy", "-o", "Y.npy", "-k", "50", "--quiet", "--json"]
    assert main([*command, *arguments]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["method"] == "laplacian"
    assert values["tried"] is None


def test_few_points_are_embedded_without_trying(folder, capsys):
    np.save("few.npy", np.load("roll.npy")[:12])
    assert main(["embed", "few.npy", "-o", "Y.npy", "--quiet", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tried"] is None
    assert main(["embed", "few.npy", "-o", "again.npy", "--quiet"]) == 0
    assert "  method laplacian: methods are compared from 20 points on\n" in capsys.readouterr().out


def test_what_was_not_tried_is_said(folder, capsys):
    np.save("line.npy", np.random.default_rng(0).normal(size=(100, 1)))
    assert main(["embed", "line.npy", "-l", "2", "-o", "Y.npy", "--quiet"]) == 0
    assert "; isomap was not tried: " in capsys.readouterr().out


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


def test_one_coordinate_is_one(folder, capsys):
    assert embed("-l", "1", "--save", "m.trig") == 0
    assert "2,000 points to 1 coordinate from 100 landmarks" in capsys.readouterr().out
    assert run("transform", "m.trig", "roll.npy", "-o", "again.npy") == 0
    assert "2,000 points to 1 coordinate in" in capsys.readouterr().out
    assert run("info", "m.trig") == 0
    assert "LaplacianEigenmaps, 1 coordinate from" in capsys.readouterr().out


@pytest.mark.skipif(sys.platform == "win32", reason="pipes have no names there")
def test_a_reader_that_has_seen_enough(folder, copies):
    os.mkfifo("pipe")
    reader = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
    process = copies.start(COMMAND, "info", "roll.npy", "--json", stdout="pipe")
    # Before there is anything to see.
    os.close(reader)
    assert process.wait() == FAILED
    assert process.stderr == ""


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
    monkeypatch.setattr(tp.LaplacianEigenmaps, "_fit", stop)
    assert embed("--force") == INTERRUPTED
    assert "nothing was left half-written" in capsys.readouterr().err


def test_help_shows_examples(capsys):
    for command in ("embed", "select", "transform", "evaluate", "info", "demo"):
        with pytest.raises(SystemExit) as stop:
            main([command, "--help"])
        assert stop.value.code == 0
        assert f"examples:\n  trigpoint {command}" in capsys.readouterr().out


@pytest.mark.filterwarnings("default")
def test_warnings_are_lines(folder, capsys):
    far = np.concatenate([np.load("roll.npy"), np.load("roll.npy") + 1e4])
    np.save("two.npy", far)
    assert run("embed", "two.npy", "-o", "Y.npy", "-k", "100") == 0
    err = capsys.readouterr().err
    assert "trigpoint: warning: the landmark graph falls into 2 components" in err
    assert "choose a larger --neighbors or take more landmarks" in err
    assert ".py:" not in err


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ there")
def test_ctrl_c_leaves_no_file_and_no_broken_bar(folder, copies):
    X, _ = tp.datasets.make_swiss_roll(400_000, random_state=0)
    np.save("big.npy", X)
    before = sorted(os.listdir())
    command = ["embed", "big.npy", "-o", "Y.csv", "-k", "100", "--method", "laplacian"]
    controller, terminal = os.openpty()
    process = copies.start(COMMAND, *command, stderr=os.ttyname(terminal))
    os.close(terminal)
    with ThreadPoolExecutor() as reader:
        # All the time, since a terminal that nobody reads makes who writes to it wait.
        written = reader.submit(read_terminal, controller)
        # Text is slow to write, so that there is time to interrupt it once it has begun.
        # Before that, all loops may have to be compiled.
        deadline = time.monotonic() + 240
        try:
            while not any(path.stat().st_size for path in folder.glob(".Y.csv.partial-*/new.csv")):
                assert process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            assert process.wait() == INTERRUPTED
        finally:
            process.kill()
    *bars, blank, message, end = written.result().split("\n")
    assert message == "trigpoint: interrupted; nothing was left half-written"
    assert blank == end == ""
    # As they stay on the screen.
    stages = [bar.rpartition("\r")[2].partition(":")[0] for bar in bars]
    # On a slow machine, how long it will take is said first.
    stages = [stage for stage in stages if stage != "trigpoint"]
    assert stages == ["landmarks", "graph", "spectrum", "points"]
    assert sorted(os.listdir()) == before


def read_terminal(controller):
    """What is written to a pseudo-terminal until it is closed, with plain line ends."""
    written = b""
    # Linux ends with an error where others end with nothing.
    with os.fdopen(controller, "rb", buffering=0) as file, contextlib.suppress(OSError):
        while part := file.read(4096):
            written += part
    return written.decode().replace("\r\n", "\n")


def test_a_file_of_one_row(folder, capsys):
    (folder / "one.csv").write_text("a,b,c\n1,2,3\n")
    assert main(["embed", "one.csv", "-o", "y.csv"]) == FAILED
    assert "one.csv has 1 row, and at least two are needed" in capsys.readouterr().err
