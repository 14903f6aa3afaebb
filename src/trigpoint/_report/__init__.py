"""Self-contained, interactive HTML reports on fitted embeddings.

`content.py` gathers what the page shows from a `Sample` of the points; `page.py` packs it, with
styles and scripts, into a single file that works offline.
"""

from trigpoint._report.subject import Subject
from trigpoint._report.things import row_names
from trigpoint._report.writing import InlinePage, ReportOptions, write_report

__all__ = ["InlinePage", "ReportOptions", "Subject", "row_names", "write_report"]
