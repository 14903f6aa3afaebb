"""``trigpoint completion`` and suggestions for misspelled words."""

import shutil
import subprocess

import pytest

from trigpoint._command import cli

COMPLETED = {
    ("em",): ["embed"],
    ("embed", "--land"): ["--landmarks"],
    ("embed", "--method", "lap"): ["laplacian"],
    ("info", "--ch"): ["--check"],
    ("completion", "f"): ["fish"],
    # Files are completed by the shell.
    ("embed", "points"): [],
}


def script(shell, capsys):
    assert cli.main(["completion", shell]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("words", COMPLETED, ids=" ".join)
def test_bash(words, capsys):
    words_and_place = f"COMP_WORDS=(trigpoint {' '.join(words)}); COMP_CWORD={len(words)}"
    code = f'{script("bash", capsys)}\n{words_and_place}; _trigpoint; echo "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert done.stdout.split() == COMPLETED[words]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_others_can_read_theirs(shell, capsys, tmp_path):
    text = script(shell, capsys)
    assert "--landmarks" in text or "-l landmarks" in text
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    path = tmp_path / "script"
    path.write_text(text)
    subprocess.run([shell, "-n", str(path)], check=True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["embd", "x.npy"], "'embd' is not known (did you mean embed?); choose from embed, select"),
        (
            ["embed", "x.npy", "-o", "y.npy", "--metod", "map"],
            "--metod (did you mean --method?) map",
        ),
        (["embed", "x.npy", "-o", "y.npy", "--method", "isomp"], "(did you mean isomap?)"),
        (["info", "x.npy", "more"], "trigpoint info: error: not understood: more"),
    ],
)
def test_misspelled_words(words, said, capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(words)
    assert stopped.value.code == 2
    assert said in capsys.readouterr().err
