"""Reference pages: methods defined by the library, and links from names in docstrings."""

import inspect
from pathlib import Path

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.ext.autosummary import autosummary_table

import trigpoint

_MODULES = trigpoint, trigpoint.metrics, trigpoint.datasets, trigpoint.plot

# Methods without an underscore that only the library calls.
_FOR_THE_LIBRARY = {"select", "pool_from", "for_sample"}


def own_methods(kind: type) -> list[str]:
    """Return the public methods that trigpoint (not scikit-learn) defines, in source order."""
    found: dict[str, None] = {}
    for base in reversed(kind.__mro__):
        if base.__module__.startswith("trigpoint."):
            found |= dict.fromkeys(name for name, member in vars(base).items() if callable(member))
    return [name for name in found if not name.startswith("_") and name not in _FOR_THE_LIBRARY]


def drop_stale_pages(app: Sphinx) -> None:
    """Delete generated pages of names that are no longer public."""
    public = {f"{module.__name__}.{name}" for module in _MODULES for name in module.__all__}
    for page in (Path(app.srcdir) / "reference" / "generated").glob("*.rst"):
        if page.stem not in public:
            page.unlink()


def plain_if_unknown(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, contnode: nodes.Element
) -> nodes.Element | None:
    """Render names in docstrings as plain text if they have no target, as for parameters.

    Explicit roles in pages, such as ``{py:func}``, must still resolve.
    """
    return contnode if node.get("reftype") == "obj" else None


def summaries_without_citations(app: Sphinx, doctree: nodes.document) -> None:
    """Remove citations, whose labels are generated, from summary tables."""
    for table in doctree.findall(autosummary_table):
        for citation in list(table.findall(pending_xref)):
            if citation.get("refdomain") == "citation":
                line = citation.parent
                before = line.index(citation) - 1
                line.remove(citation)
                if before >= 0 and isinstance(line[before], nodes.Text):
                    line[before] = nodes.Text(line[before].rstrip())


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the event handlers."""
    app.config.autosummary_context = {
        "own_methods": {
            f"{module.__name__}.{name}": own_methods(kind)
            for module in _MODULES
            for name, kind in inspect.getmembers(module, inspect.isclass)
        }
    }
    # Runs before autosummary collects the pages to generate.
    app.connect("builder-inited", drop_stale_pages, priority=100)
    app.connect("missing-reference", plain_if_unknown)
    app.connect("doctree-read", summaries_without_citations)
    return {"parallel_read_safe": True}
