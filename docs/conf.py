"""Sphinx configuration; `make docs` builds the documentation with warnings as errors."""

import sys
from pathlib import Path

import trigpoint

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "trigpoint"
author = "The trigpoint developers"
project_copyright = author
version = release = trigpoint.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "command_help",
    "documented",
    "mathml",
    "gallery_pages",
    "notebooks",
    "verdicts",
]
exclude_patterns = ["_build", "_templates", "_ext"]
templates_path = ["_templates"]

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
myst_links_external_new_tab = True

# Types are documented in docstrings, so that signatures fit on one line.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autosummary_generate = True
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
# Names in docstrings become links if they have a target: see _ext/documented.py.
default_role = "py:obj"
html_math_renderer = "mathml"

html_theme = "pydata_sphinx_theme"
html_title = "trigpoint"
html_favicon = "_static/logo.svg"
# Follow the system setting. Without this key, the theme warns on every page.
html_context = {"default_mode": "auto"}
html_static_path = ["_static"]
html_css_files = ["trigpoint.css"]
html_js_files = ["copy.js"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {
        "image_light": "_static/logo.svg",
        "image_dark": "_static/logo.svg",
        "text": "trigpoint",
    },
    "show_prev_next": True,
    "show_toc_level": 2,
    "secondary_sidebar_items": {
        page: ["page-toc", "notebook"]
        for page in ("*", "guide/**", "recipes/**", "gallery/**", "reference/**")
    }
    # No table of contents next to wide tables.
    | {page: [] for page in ("benchmarks/**", "paper/**", "design/**")},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
# Pages without subpages have no sidebar.
_ALONE = (
    "index install tutorial command-line gallery troubleshooting cite how-it-works paper "
    "promises architecture changelog genindex search"
)
html_sidebars = {page: [] for page in _ALONE.split()}
