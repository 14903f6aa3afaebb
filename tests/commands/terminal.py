"""What tests of the command share: running it, and reading what it says."""

import h5py

from trigpoint._command.cli import main


def run(*arguments):
    """Run the command; an embedding is by eigenmaps of one graph unless a method is named."""
    if arguments[0] == "embed" and "--method" not in arguments:
        arguments = (*arguments, "--method", "laplacian")
        if "--graph" not in arguments:
            arguments = (*arguments, "--graph", "bhattacharyya")
    return main([*arguments, "--quiet"])


def said(capsys):
    """The one line on standard error, without the name of the command."""
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err
    (line,) = err.splitlines()
    assert line.startswith("trigpoint: ")
    return line.removeprefix("trigpoint: ")


def embed(*arguments):
    return run("embed", "roll.npy", "-o", "Y.npy", "--landmarks", "100", *arguments)


def save_obs(path, column):
    with h5py.File(path, "w") as file:
        file["obs/cat/codes"] = column.cat.codes.to_numpy()
        file["obs/cat/categories"] = list(column.cat.categories)
