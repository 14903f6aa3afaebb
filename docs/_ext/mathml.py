"""Formulas as MathML, written at build time: pages show them offline and without a script."""

import re

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

# What the converter leaves out: bars that keep their size, a minus sign without room after it, and
# the name of an operator that is set like a variable.
_MENDED = {
    r"<mo>(&#x02016;|&#x0007C;)</mo>": r'<mo stretchy="false" lspace="0" rspace="0">\1</mo>',
    r"(&#x00028;</mo>)<mo>&#x02212;</mo>": r'\1<mo form="prefix">&#x02212;</mo>',
    r"<mo>([a-z]+)</mo>": r"<mi>\1</mi>",
}


def mathml(latex: str, display: str = "inline") -> str:
    """Convert a formula."""
    formula = convert(latex, display=display)
    for wrong, right in _MENDED.items():
        formula = re.sub(wrong, right, formula)
    return formula


def inline(self: HTML5Translator, node: nodes.math) -> None:
    """Write a formula within a line."""
    self.body.append(mathml(node.astext()))
    raise nodes.SkipNode


def display(self: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula that has lines of its own."""
    self.body.append(f'<div class="formula">{mathml(node.astext(), "block")}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Make it a way to render formulas."""
    app.add_html_math_renderer("mathml", (inline, None), (display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
