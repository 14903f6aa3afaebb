"""``--png`` and ``--open`` of ``trigpoint embed``, and the progress of ``evaluate``."""

import webbrowser

import numpy as np
import pytest
from matplotlib.image import imread
from terminal import embed, run

from trigpoint._command.cli import main
from trigpoint._command.common import FAILED, USAGE


def test_a_picture_beside_or_without_a_page(folder, capsys):
    assert embed("--png", "Y.png") == 0
    assert "  Y.npy\n  Y.png\n" in capsys.readouterr().out
    plain = imread("Y.png")
    assert plain.shape == (900, 1200, 4)
    assert embed("--png", "Y.png") == FAILED
    np.save("labels.npy", np.arange(2000) % 3)
    days = np.datetime64("2020-01-01") + np.arange(2000)
    days[7] = np.datetime64("NaT")
    np.save("days.npy", days)
    for color in ("labels.npy", "days.npy"):
        assert embed("--force", "--png", "Y.png", "--color", color) == 0
        assert not np.array_equal(imread("Y.png"), plain)
    arguments = ["roll.csv", "-o", "Y.csv", "-k", "60", "--report", "Y.html", "--png", "Z.png"]
    assert run("embed", *arguments, "--color", "name") == 0
    assert (folder / "Z.png").exists()
    assert (folder / "Y.html").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--png", "Y.pdf"], "--png Y.pdf does not end in .png: name a picture"),
        (["--png", "Y.png", "-l", "1"], "--png draws two coordinates"),
        (["--open"], "--open is for the page that --report writes: add --report HTML"),
        (["--color", "few.npy"], "--color colors what --report and --png write"),
    ],
)
def test_choices_that_cannot_be_drawn(folder, capsys, arguments, said):
    with pytest.raises(SystemExit) as stop:
        embed(*arguments)
    assert stop.value.code == USAGE
    assert said in capsys.readouterr().err


def test_colors_that_cannot_be_drawn_are_refused_before_any_work(folder, capsys):
    np.save("names.npy", np.arange(2000).astype(str))
    assert embed("--png", "Y.png", "--color", "names.npy") == FAILED
    assert "2,000 classes" in capsys.readouterr().err
    assert not (folder / "Y.npy").exists()


def test_the_page_is_opened_in_the_browser(folder, capsys, monkeypatch, colors):
    opened = []
    monkeypatch.setattr(webbrowser, "open", lambda page: opened.append(page) or True)
    monkeypatch.setenv("BROWSER", "firefox")
    arguments = ["embed", "roll.npy", "-o", "Y.npy", "-k", "60", "--method", "laplacian"]
    arguments += ["--report", "Y.html", "--open", "--force"]
    assert main(arguments) == 0
    assert opened == [(folder / "Y.html").as_uri()]
    assert "browser" not in capsys.readouterr().err
    monkeypatch.setattr(webbrowser, "open", lambda page: False)
    assert main(arguments) == 0
    said = "trigpoint: there is no browser here: open Y.html on your own machine\n"
    assert said in capsys.readouterr().err


def test_evaluate_shows_progress(folder, capsys):
    embed("--save", "m.trig")
    capsys.readouterr()
    assert main(["evaluate", "m.trig", "roll.npy"]) == 0
    stages = [line.partition(",")[0] for line in capsys.readouterr().err.splitlines()]
    assert stages == [
        "reading: 2",
        "points: 2",
        "measuring: 3 of 3 (100%)",
    ]
    assert run("evaluate", "m.trig", "roll.npy") == 0
    assert capsys.readouterr().err == ""
