"""The command: what it says, where, and with which exit code."""

import io
import subprocess
import sys

import pytest

import trigpoint
from copies import COMMAND
from trigpoint._command import cli, start
from trigpoint._command.common import FAILED, INTERRUPTED, USAGE


def exit_code(*arguments):
    with pytest.raises(SystemExit) as stop:
        cli.main(arguments)
    return stop.value.code


def test_version_and_help_of_the_module(capsys, copies):
    assert exit_code("--version") == 0
    assert capsys.readouterr().out == f"trigpoint {trigpoint.__version__}\n"
    nothing = copies.run(COMMAND)
    assert nothing.returncode == USAGE
    assert "usage: trigpoint" in nothing.stderr


def test_help_lists_the_commands(capsys):
    assert exit_code("--help") == 0
    text = capsys.readouterr().out
    for command in cli.COMMANDS:
        assert f"\n    {command.__name__.rpartition('.')[-1]}" in text


FIRST_WORDS = """
import io, runpy, sys

class Screen(io.StringIO):
    first = None

    def isatty(self):
        return True

    def write(self, text):
        if self.first is None:
            self.first = text, {"numpy", "scipy", "sklearn", "tqdm"} & set(sys.modules)
        return super().write(text)

screen = sys.stderr = Screen()
sys.argv[1:] = ["info", "nowhere.npy"]
try:
    # As `python -m trigpoint` does.
    runpy.run_module("trigpoint", run_name="__main__", alter_sys=True)
except SystemExit as stop:
    assert stop.code == 1
print(*screen.first, "sklearn" in sys.modules)
print(repr(screen.getvalue()))
"""


def test_a_sign_of_life_comes_before_the_libraries():
    command = [sys.executable, "-c", FIRST_WORDS]
    first, whole = subprocess.run(
        command, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    sign = "trigpoint: loading libraries ..."
    assert first == f"{sign} set() True"
    erased = f"{sign}\\r{' ' * len(sign)}\\r"
    assert whole == f"'{erased}trigpoint: there is no file nowhere.npy\\n'"


@pytest.mark.parametrize("arguments", [["completion", "zsh"], ["info", "no.npy", "--quiet"]])
def test_no_sign_where_it_would_disturb(arguments, monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    start.main(arguments)
    assert "loading" not in capsys.readouterr().err


class Interrupting(io.StringIO):
    """A terminal on which Ctrl-C is pressed as soon as something is seen."""

    def isatty(self):
        return True

    def flush(self):
        raise KeyboardInterrupt


def test_ctrl_c_while_libraries_are_loaded(monkeypatch):
    terminal = Interrupting()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert start.main(["info", "no.npy"]) == INTERRUPTED
    said = terminal.getvalue()
    assert said.endswith("...\ntrigpoint: interrupted; nothing was left half-written\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["demo", "--points", "many"], "'many' is not a whole number, 1 or more"),
        (["demo", "--seed", "-1"], "argument --seed: '-1' is not a whole number, 0 or more"),
        (["demo", "--points", "100", "--landmarks", "100"], "is too few or too many"),
        (["survey"], "'survey' is not known; choose from embed"),
    ],
)
def test_wrong_arguments(arguments, said, capsys):
    assert exit_code(*arguments) == USAGE == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err


def failing(monkeypatch, error):
    def fail(*_):
        raise error

    monkeypatch.setattr("trigpoint._command.demonstration.run", fail)


def test_a_folder_that_cannot_be_written_is_said(tmp_path, capsys):
    (tmp_path / "out").write_text("a file")
    assert cli.main(["demo", "--out", str(tmp_path / "out")]) == FAILED
    assert capsys.readouterr().err == f"trigpoint: {tmp_path / 'out'} is a file: name a folder\n"


def test_a_folder_without_permission_is_said_before_any_work(tmp_path, capsys, monkeypatch):
    failing(monkeypatch, AssertionError("it was run"))
    monkeypatch.setattr("os.access", lambda *_: False)
    out = tmp_path / "a" / "out"
    assert cli.main(["demo", "--out", str(out)]) == FAILED
    said = f"trigpoint: {out} cannot be written: no permission to write in {tmp_path}\n"
    assert capsys.readouterr().err == said


def test_errors_of_the_system_are_said_in_words(monkeypatch, tmp_path, capsys):
    failing(monkeypatch, PermissionError(13, "Permission denied", "roll.html"))
    assert cli.main(["demo", "--out", str(tmp_path)]) == FAILED
    assert capsys.readouterr().err == "trigpoint: roll.html: Permission denied\n"


def test_diagnostics_before_and_after_the_command(monkeypatch, tmp_path, capsys):
    failing(monkeypatch, ValueError("no"))
    command = ["demo", "--out", str(tmp_path)]
    for arguments in ([*command, "--debug", "--log"], ["--debug", *command]):
        assert cli.main(arguments) == FAILED
        assert "Traceback" in capsys.readouterr().err


def test_interrupt_leaves_nothing_half_written(monkeypatch, tmp_path, capsys):
    failing(monkeypatch, KeyboardInterrupt())
    assert cli.main(["demo", "--out", str(tmp_path)]) == INTERRUPTED == 130
    assert "interrupted; nothing was left half-written" in capsys.readouterr().err


def test_mistakes_in_the_code_are_not_hidden(monkeypatch, tmp_path):
    failing(monkeypatch, AssertionError("a mistake"))
    with pytest.raises(AssertionError, match="a mistake"):
        cli.main(["demo", "--out", str(tmp_path)])


def test_the_command_alone_shows_what_there_is(capsys):
    assert cli.main([]) == USAGE
    assert "embed every point of a file" in capsys.readouterr().err
