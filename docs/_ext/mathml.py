"""Conversion of formulas to MathML at build time, so that pages need no script to show them."""

import re

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

# Corrections of the converter's output: bars do not stretch, a leading minus sign has no space
# after it, and names of operators are set like identifiers.
_MENDED = {
    r"<mo>(&#x02016;|&#x0007C;)</mo>": r'<mo stretchy="false" lspace="0" rspace="0">\1</mo>',
    r"(&#x00028;</mo>)<mo>&#x02212;</mo>": r'\1<mo form="prefix">&#x02212;</mo>',
    r"<mo>([a-z]+)</mo>": r"<mi>\1</mi>",
}


def mathml(latex: str, display: str = "inline") -> str:
    """Convert a LaTeX formula to MathML."""
    formula = convert(latex, display=display)
    for wrong, right in _MENDED.items():
        formula = re.sub(wrong, right, formula)
    return formula


def inline(self: HTML5Translator, node: nodes.math) -> None:
    """Write an inline formula."""
    self.body.append(mathml(node.astext()))
    raise nodes.SkipNode


def display(self: HTML5Translator, node: nodes.math_block) -> None:
    """Write a displayed formula."""
    self.body.append(f'<div class="formula">{mathml(node.astext(), "block")}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (inline, None), (display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
