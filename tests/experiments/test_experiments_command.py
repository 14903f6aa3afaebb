"""``python -m experiments``: what it runs, what it says, and with which exit code."""

import pytest

from experiments.__main__ import FAILED, INTERRUPTED, KINDS, main


@pytest.fixture(autouse=True)
def no_data(monkeypatch):
    """The environment names no data unless a test does."""
    monkeypatch.delenv("TRIGPOINT_DATA", raising=False)


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture
def calls(monkeypatch):
    """What the command would have run and shown."""
    calls = []

    def run(name, out, settings, *, quiet=False):
        calls.append(("run", name, out, settings))
        return 3

    def show(name, out, settings):
        calls.append(("show", name, out, settings))
        return out / f"{name}.md"

    for module, _ in KINDS.values():
        monkeypatch.setattr(module, "run", run)
        monkeypatch.setattr(module, "show", show)
    return calls


def failing(monkeypatch, error, on=None):
    def fail(name, *_, **__):
        if on in (None, name):
            raise error
        return 0

    for module, _ in KINDS.values():
        monkeypatch.setattr(module, "run", fail)


def test_without_names_everything_is_run_in_order(kind, calls, tmp_path):
    assert main([kind, "--quick", "--out", str(tmp_path)]) == 0
    names = KINDS[kind][1]
    assert [(what, name) for what, name, _, _ in calls] == [
        (what, name) for name in names for what in ("run", "show")
    ]


def test_options_reach_the_experiment(kind, calls, tmp_path, capsys):
    first, second = list(KINDS[kind][1])[3:1:-1]
    options = ["--quick", "--data", "~/data", "--out", str(tmp_path)]
    assert main([kind, first, second, *options]) == 0
    assert [name for what, name, _, _ in calls if what == "run"] == [first, second]
    _, _, out, settings = calls[0]
    assert out == tmp_path
    assert (settings.quick, settings.runs, settings.seed) == (True, None, 0)
    assert settings.data.is_absolute()
    assert "~" not in str(settings.data)
    assert capsys.readouterr().out.splitlines()[0] == (
        f"{first}: {tmp_path / first}.md (3 new runs)"
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["paper", "table9"], "table9 not among sampling, repulsion, kmeanspp, table1"),
        (["bench", "table1", "headline"], "table1 not among headline, selection"),
        (["paper", "table1", "--runs", "0"], "'0' is not a whole number, 1 or more"),
        (["paper", "table1", "--seed", "x"], "'x' is not a whole number, 0 or more"),
        (["survey"], "invalid choice: 'survey'"),
        ([], "kind"),
    ],
)
def test_wrong_arguments(arguments, said, capsys):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert said in capsys.readouterr().err


def test_rendering_runs_nothing(kind, calls, tmp_path):
    assert main([kind, "--render", "--out", str(tmp_path)]) == 0
    shown = [(what, name) for what, name, _, _ in calls]
    # The benchmarks have one page.
    expected = [("show", name) for name in KINDS[kind][1]]
    assert shown == (expected if kind == "paper" else expected[:1])


def test_one_failure_does_not_stop_the_others(kind, calls, monkeypatch, capsys):
    name = list(KINDS[kind][1])[2]
    failing(monkeypatch, ValueError("is being written"), on=name)
    assert main([kind]) == FAILED
    out, err = capsys.readouterr()
    assert err == f"{name}: is being written\n"
    assert len(out.splitlines()) == len(KINDS[kind][1]) - 1


def test_an_interrupt_says_how_to_go_on_and_stops_all(kind, calls, monkeypatch, tmp_path, capsys):
    failing(monkeypatch, KeyboardInterrupt())
    assert main([kind, "--out", str(tmp_path)]) == INTERRUPTED == 130
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("interrupted; the same command goes on from here") == 1
