"""One self-contained, interactive page about a fitted embedding.

`content.py` gathers what the page shows and streams the points through `density.py`; `page.py`
packs it, with styles and scripts, into one file that opens offline.
"""

from trigpoint._report.inline import InlinePage
from trigpoint._report.subject import Subject
from trigpoint._report.writing import write_report

__all__ = ["InlinePage", "Subject", "write_report"]
