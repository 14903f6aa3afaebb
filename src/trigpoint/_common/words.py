"""Format counts, durations and sizes, and make text safe to print."""

import unicodedata
from collections.abc import Mapping
from html import escape

# Formats of files that hold one value per point.
VALUE_FORMATS = ".npy, .npz::KEY, .csv::COLUMN, .parquet::COLUMN or .h5ad::obs/COLUMN"

# Characters that change the direction of the text after them.
_DIRECTIONS = frozenset(map(chr, (0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))))


def plural(noun: str, count: int) -> str:
    """Return the form of a noun after a count, such as "point" after 1 and "points" otherwise."""
    return noun if count == 1 else f"{noun}s"


def counted(count: int, noun: str) -> str:
    """Format a count with its noun, such as "1 point", "2 points" or "3,000 points"."""
    return f"{count:,} {plural(noun, count)}"


def percent(share: float, decimals: int = 0) -> str:
    """Format a share, such as "7 %" for 0.07."""
    return f"{100 * share:.{decimals}f} %"


def duration(seconds: float) -> str:
    """Format a duration, such as "0.5 s", "42 s", "10 min" or "2.5 h"."""
    if seconds < 100:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def size(n_bytes: float) -> str:
    """Format a number of bytes, such as "12 B", "34 kB", "5.6 MB" or "7.8 GB"."""
    for unit in ("B", "kB", "MB"):
        if n_bytes < 999.5:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.3g} GB"


def printable(text: str) -> str:
    r"""Escape control characters in a text, as in ``\x1b``, except tabs and line breaks.

    Names from files may contain escape sequences that move the cursor, hide text or set the title
    of a terminal. Characters that change the writing direction are escaped, too.
    """
    return "".join(
        character if character in "\n\t" or not _is_control(character) else ascii(character)[1:-1]
        for character in text
    )


def _is_control(character: str) -> bool:
    # Control characters, and lone surrogates, which cannot be encoded.
    return unicodedata.category(character) in ("Cc", "Cs") or character in _DIRECTIONS


def html_table(heading: str, rows: Mapping[str, str]) -> str:
    """Return an HTML table of names and values below a heading, for notebooks."""
    lines = "".join(
        f'<tr><th style="text-align: left">{escape(name)}</th>'
        f'<td style="text-align: left">{escape(value)}</td></tr>'
        for name, value in rows.items()
    )
    return f"<p><b>{escape(heading)}</b></p><table>{lines}</table>"
