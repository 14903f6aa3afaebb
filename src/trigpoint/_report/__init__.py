"""One self-contained, interactive page about a fitted embedding.

What it shows is gathered in `content.py`, which streams the points through `density.py`; `page.py`
packs it, with style and script, into one file that opens without a network.
"""

from trigpoint._report.subject import Subject
from trigpoint._report.writing import write_report

__all__ = ["Subject", "write_report"]
