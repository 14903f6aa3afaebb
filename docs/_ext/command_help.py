"""The directive ``command-help``: what ``trigpoint COMMAND --help`` prints, asked at build time."""

import contextlib
import io
import os
from unittest import mock

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

from trigpoint._cli import cli


def help_text(*arguments: str) -> str:
    """What the command prints when asked for help, as wide as a page is."""
    printed = io.StringIO()
    # Color is for terminals, and a width taken from one would change the page.
    surroundings = {"COLUMNS": "88", "NO_COLOR": "1"}
    with (
        mock.patch.dict(os.environ, surroundings),
        contextlib.redirect_stdout(printed),
        contextlib.suppress(SystemExit),
    ):
        cli.main([*arguments, "--help"])
    return printed.getvalue().rstrip()


class CommandHelp(Directive):
    """The help of the command, or of the subcommand that is named."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the text as a block."""
        text = help_text(*self.arguments)
        return [nodes.literal_block(text, text, language="text")]


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directive."""
    app.add_directive("command-help", CommandHelp)
    return {"parallel_read_safe": True}
