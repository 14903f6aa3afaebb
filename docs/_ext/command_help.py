"""Directive ``command-help``, which inserts the output of ``trigpoint COMMAND --help``."""

import contextlib
import io
import os
from unittest import mock

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

from trigpoint._cli import cli


def help_text(*arguments: str) -> str:
    """Return the help text of the command, wrapped to the width of a page."""
    printed = io.StringIO()
    # Colors and the terminal width of the build must not affect the page.
    surroundings = {"COLUMNS": "88", "NO_COLOR": "1"}
    with (
        mock.patch.dict(os.environ, surroundings),
        contextlib.redirect_stdout(printed),
        contextlib.suppress(SystemExit),
    ):
        cli.main([*arguments, "--help"])
    return printed.getvalue().rstrip()


class CommandHelp(Directive):
    """Insert the help text of the command, or of a subcommand."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the help text as a literal block."""
        text = help_text(*self.arguments)
        return [nodes.literal_block(text, text, language="text")]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("command-help", CommandHelp)
    return {"parallel_read_safe": True}
