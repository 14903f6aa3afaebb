"""How long ``trigpoint embed`` says that it will take."""

from types import SimpleNamespace

import numpy as np
import pytest

from trigpoint._command import expectation
from trigpoint._command.expectation import expect
from trigpoint._files import read_points


@pytest.fixture
def seconds(monkeypatch):
    """What a stage of a map takes, and one of other methods; loops are compiled in nine seconds."""

    def stages(job, compare, report, *, is_map):
        stages = {"compilation": 9.0} | ({"comparison": 7.0} if compare else {})
        stages |= {"layout": job.k / 100} if is_map else {"landmarks": job.k / 1000}
        return stages | ({"report": 4.0} if report else {})

    monkeypatch.setattr(expectation, "stage_seconds", stages)


def options(**given):
    usual = {"landmarks": None, "components": 2, "report": None, "jobs": 1}
    usual |= {"dask": None, "device": None}
    return SimpleNamespace(quiet=False, **(usual | given))


@pytest.mark.usefixtures("seconds")
def test_a_run_is_expected_and_said_once(capsys):
    points, asked = read_points(np.zeros((20_000, 3))), options(report="page.html")
    expect(asked, points, ["laplacian", "map"], compare=True)
    assert asked.display.expected == {
        "trying methods": 16.0,
        "layout": 100.0,
        "report": 2.0,
        "quality": 0.0,
        "landmark curve": 2.0,
    }
    said = "trigpoint: about 2 min in all (of which 9 s to compile loops, the first time only)\n"
    assert capsys.readouterr().err == said
    expect(asked, points, ["laplacian"])
    assert asked.display.expected == {"landmarks": 10.0} | {
        "report": 2.0,
        "quality": 0.0,
        "landmark curve": 2.0,
    }
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("seconds")
@pytest.mark.parametrize(
    "given", [{"landmarks": "auto"}, {"dask": 2}, {"device": "cuda"}, {"quiet": True}]
)
def test_nothing_is_expected_of_what_is_not_known(given, capsys):
    asked = options()
    vars(asked).update(given)
    expect(asked, read_points(np.zeros((20_000, 3))), ["map"])
    assert not getattr(getattr(asked, "display", None), "expected", None)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("n", [2, 3, 50])
@pytest.mark.parametrize("method", ["map", "isomap"])
def test_few_points_and_too_many_landmarks_are_refused_elsewhere(n, method):
    for landmarks in (None, 1000):
        asked = options(landmarks=landmarks, components=5)
        expect(asked, read_points(np.zeros((n, 40))), [method])
        assert "points" in asked.display.expected
