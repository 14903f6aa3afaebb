"""The command: what it says, where, and with which exit code."""

import subprocess
import sys

import pytest

import trigpoint
from trigpoint._command import cli
from trigpoint._command.common import FAILED, INTERRUPTED, USAGE
from trigpoint.paper import EXPERIMENTS, MissingDataError, reproduction
from trigpoint.paper.reproduction import Reproduction


@pytest.fixture(autouse=True)
def no_data(monkeypatch):
    """The environment names no data unless a test does."""
    monkeypatch.delenv("TRIGPOINT_DATA", raising=False)


@pytest.fixture
def calls(monkeypatch, tmp_path):
    """What the command would have run."""
    calls = []

    def record(kind):
        def call(name, out, settings, report=None):
            calls.append((kind, name, out, settings))
            page = out / f"{name}.md"
            return Reproduction(out / f"{name}.csv", page, out / f"{name}.json", 1200, 3)

        return call

    for kind in ("reproduce", "render"):
        monkeypatch.setattr(reproduction, kind, record(kind))
    return calls


def failing(monkeypatch, error):
    def fail(*arguments):
        raise error

    monkeypatch.setattr(reproduction, "reproduce", fail)


def exit_code(*arguments):
    with pytest.raises(SystemExit) as stop:
        cli.main(arguments)
    return stop.value.code


def test_version_and_help_of_the_module():
    command = [sys.executable, "-m", "trigpoint"]
    version = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
    assert version.stdout == f"trigpoint {trigpoint.__version__}\n"
    nothing = subprocess.run(command, capture_output=True, text=True)
    assert nothing.returncode == USAGE
    assert "usage: trigpoint" in nothing.stderr


def test_help_lists_the_commands_and_every_experiment(capsys):
    assert exit_code("--help") == 0
    text = capsys.readouterr().out
    assert "reproduce" in text
    assert "while Python is still starting" in text
    assert exit_code("reproduce", "--help") == 0
    text = capsys.readouterr().out
    for name, about in EXPERIMENTS.items():
        assert f"  {name:<11} {about}\n" in text
    assert "  all " in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["reproduce", "table9"], "invalid choice: 'table9'"),
        (["reproduce"], "NAME"),
        (["reproduce", "table1", "--runs", "0"], "'0' is not a whole number, 1 or more"),
        (["reproduce", "table1", "--runs", "many"], "'many' is not a whole number, 1 or more"),
        (["reproduce", "table1", "--seed", "x"], "'x' is not a whole number, 0 or more"),
        (["reproduce", "table1", "--seed", "-1"], "'-1' is not a whole number, 0 or more"),
        (["demo", "--seed", "-1"], "argument --seed: '-1' is not a whole number, 0 or more"),
        (["demo", "--points", "100", "--landmarks", "100"], "are too few or too many"),
        (["survey"], "invalid choice: 'survey'"),
        ([], "COMMAND"),
    ],
)
def test_wrong_arguments(arguments, said, capsys):
    assert exit_code(*arguments) == USAGE == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err


def test_options_reach_the_experiment(calls, tmp_path, capsys):
    arguments = ["--quick", "--runs", "5", "--seed", "7", "--data", "~/data", "--out"]
    assert cli.main(["reproduce", "table1", *arguments, str(tmp_path)]) == 0
    [(kind, name, out, settings)] = calls
    assert (kind, name, out) == ("reproduce", "table1", tmp_path)
    assert (settings.quick, settings.runs, settings.seed) == (True, 5, 7)
    assert settings.data.name == "data"
    assert "~" not in str(settings.data)
    told, progress = capsys.readouterr()
    assert told == f"table1: {tmp_path / 'table1.md'} (1,200 runs, 3 of them new)\n"
    assert progress == ""


def test_data_may_come_from_the_environment(calls, tmp_path, monkeypatch):
    monkeypatch.setenv("TRIGPOINT_DATA", str(tmp_path))
    assert cli.main(["reproduce", "mnist"]) == 0
    assert calls[0][3].data == tmp_path
    assert cli.main(["reproduce", "mnist", "--data", "elsewhere"]) == 0
    assert calls[1][3].data.name == "elsewhere"


def test_all_is_every_experiment(calls):
    assert cli.main(["reproduce", "all", "--render"]) == 0
    assert [(kind, name) for kind, name, _, _ in calls] == [
        ("render", name) for name in EXPERIMENTS
    ]


def test_missing_data_is_said_in_a_line(tmp_path, capsys):
    assert cli.main(["reproduce", "mnist", "--quick", "--out", str(tmp_path)]) == FAILED == 1
    out, err = capsys.readouterr()
    assert out == ""
    (said,) = [line for line in err.splitlines() if line.startswith("trigpoint:")]
    assert said.startswith("trigpoint: mnist: this experiment reads the files of mnist")
    assert "--data, or in TRIGPOINT_DATA" in said
    assert "Traceback" not in err


def test_files_that_are_missing_in_the_folder_are_said_too(tmp_path, capsys):
    (tmp_path / "mnist").mkdir()
    arguments = ["--quick", "--data", str(tmp_path), "--out", str(tmp_path / "out")]
    assert cli.main(["reproduce", "mnist", *arguments]) == FAILED
    err = capsys.readouterr().err
    assert "trigpoint: mnist: train-images-idx3-ubyte" in err
    assert "not found in" in err


def test_a_folder_that_cannot_be_written_is_said(tmp_path, capsys):
    (tmp_path / "out").write_text("a file")
    assert cli.main(["reproduce", "table1", "--out", str(tmp_path / "out")]) == FAILED
    assert capsys.readouterr().err == f"trigpoint: {tmp_path / 'out'} is a file: name a folder\n"


@pytest.mark.parametrize("command", [["demo"], ["reproduce", "table1"]])
def test_a_folder_without_permission_is_said_before_any_work(
    command, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr("trigpoint._command.demonstration.run", lambda *_: 1 / 0)
    failing(monkeypatch, AssertionError("it was run"))
    monkeypatch.setattr("os.access", lambda *_: False)
    out = tmp_path / "a" / "out"
    assert cli.main([*command, "--out", str(out)]) == FAILED
    said = f"trigpoint: {out} cannot be written: no permission to write in {tmp_path}\n"
    assert capsys.readouterr().err == said


def test_errors_of_the_system_are_said_in_words(monkeypatch, tmp_path, capsys):
    failing(monkeypatch, PermissionError(13, "Permission denied", "runs.csv"))
    assert cli.main(["reproduce", "table1", "--out", str(tmp_path)]) == FAILED
    assert capsys.readouterr().err == "trigpoint: table1: runs.csv: Permission denied\n"


def test_diagnostics_after_every_command(monkeypatch, tmp_path, capsys):
    failing(monkeypatch, ValueError("no"))
    arguments = ["reproduce", "table1", "--out", str(tmp_path), "--debug", "--log"]
    assert cli.main(arguments) == FAILED
    assert "Traceback" in capsys.readouterr().err

    def fail(*_):
        raise ValueError("no")

    monkeypatch.setattr("trigpoint._command.demonstration.run", fail)
    assert cli.main(["demo", "--out", str(tmp_path), "--debug", "--log"]) == FAILED
    assert "Traceback" in capsys.readouterr().err
    assert cli.main(["--debug", "demo", "--out", str(tmp_path)]) == FAILED
    assert "Traceback" in capsys.readouterr().err


def test_one_failure_does_not_stop_the_others(calls, monkeypatch, capsys):
    succeed = reproduction.reproduce

    def some(name, *arguments):
        if name == "mnist":
            raise MissingDataError("no digits")
        return succeed(name, *arguments)

    monkeypatch.setattr(reproduction, "reproduce", some)
    assert cli.main(["reproduce", "all"]) == FAILED
    out, err = capsys.readouterr()
    assert err == "trigpoint: mnist: no digits\n"
    assert [line.partition(":")[0] for line in out.splitlines()] == [
        name for name in EXPERIMENTS if name != "mnist"
    ]


def test_nothing_to_render_is_said(tmp_path, capsys):
    assert cli.main(["reproduce", "table1", "--render", "--out", str(tmp_path)]) == FAILED
    assert "has no run of this experiment with these settings" in capsys.readouterr().err


def test_interrupt_says_how_to_go_on(monkeypatch, tmp_path, capsys):
    failing(monkeypatch, KeyboardInterrupt())
    arguments = ["reproduce", "table1", "--out", str(tmp_path)]
    assert cli.main(arguments) == INTERRUPTED == 130
    out, err = capsys.readouterr()
    assert out == ""
    assert f"interrupted: runs so far are in {tmp_path / 'table1.csv'}" in err
    assert "the same command goes on from there" in err


def test_interrupt_stops_all_experiments(monkeypatch, capsys):
    failing(monkeypatch, KeyboardInterrupt())
    assert cli.main(["reproduce", "all"]) == INTERRUPTED
    assert capsys.readouterr().err.count("interrupted") == 1


def test_mistakes_in_the_code_are_not_hidden(monkeypatch):
    failing(monkeypatch, AssertionError("a mistake"))
    with pytest.raises(AssertionError, match="a mistake"):
        cli.main(["reproduce", "table1"])
