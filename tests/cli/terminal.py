"""Helpers of the command's tests: run it, and read its output."""

import json

from trigpoint._cli.cli import main


def run(*arguments):
    """Run the command; without a method, ``embed`` uses eigenmaps of one graph."""
    if arguments[0] == "embed" and "--method" not in arguments:
        arguments = (*arguments, "--method", "laplacian")
        if "--graph" not in arguments:
            arguments = (*arguments, "--graph", "bhattacharyya")
    return main([*arguments, "--quiet"])


def result(capsys, *arguments):
    """Run the command, and return the JSON that it prints."""
    capsys.readouterr()
    assert run(*arguments, "--json") == 0
    return json.loads(capsys.readouterr().out)


def said(capsys):
    """Return the only line on standard error, without the name of the command."""
    out, err = capsys.readouterr()
    assert out == ""
    (line,) = err.splitlines()
    assert line.startswith("trigpoint: error: ")
    return line.removeprefix("trigpoint: error: ")


def embed(*arguments):
    return run("embed", "roll.npy", "-o", "Y.npy", "--landmarks", "100", *arguments)
