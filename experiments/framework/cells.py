"""Numbers as tables show them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Cell:
    """A table cell: what it shows, and the number behind it where columns are compared."""

    text: str
    value: float | None = None


def number(value: float) -> Cell:
    """Three digits."""
    if value == 0 or 5e-4 <= abs(value) < 1e4:
        decimals = (
            0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3
        )
        return Cell(f"{value:,.{decimals}f}", value)
    return Cell(f"{value:,.0f}" if abs(value) >= 1 else f"{value:.1e}", value)


def duration(seconds: float) -> Cell:
    """Seconds."""
    return Cell("< 0.001", seconds) if seconds < 0.0005 else number(seconds)


def percent(share: float) -> Cell:
    """A share in percent."""
    return Cell(f"{number(100 * share).text} %", share)


def score(value: float) -> Cell:
    """R^2 and the like: three decimals."""
    return Cell(f"{value:.3f}", value)


def size(n_bytes: float) -> Cell:
    """Memory in MB or GB (powers of ten)."""
    n_bytes = max(n_bytes, 0)
    text = f"{n_bytes / 1e6:,.0f} MB" if n_bytes < 999.5e6 else f"{n_bytes / 1e9:.2f} GB"
    return Cell("< 1 MB" if n_bytes < 0.5e6 else text, n_bytes)


TARGET_COLUMNS = ("what", "measured", "target", "met")


def target(
    what: str, measured: Cell, bound: float, *, at_least: bool = False, unit: str = ""
) -> list[str]:
    """Row of a table of targets."""
    assert measured.value is not None
    met = measured.value >= bound if at_least else measured.value <= bound
    sign = "≥" if at_least else "≤"
    shown = f"{100 * bound:g} %" if measured.text.endswith("%") else f"{bound:g}{unit}"
    return [what, measured.text, f"{sign} {shown}", "yes" if met else "**no**"]
