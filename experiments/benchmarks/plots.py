"""Helpers for the figures of benchmarks."""

from collections.abc import Sequence
from typing import Any

from experiments.pages import grouped, median
from experiments.runner import Row


def growth_lines(
    axes: Any, rows: Sequence[Row], colors: dict[str, str], field: str, scale: float = 1.0
) -> None:
    """Draw one line per method against the number of points, on logarithmic axes."""
    for (name,), runs in grouped(rows, "method").items():
        cases = grouped([row for row in runs if not row.get("error")], "n")
        sizes = [n for (n,) in cases]
        values = [scale * median(same, field) for same in cases.values()]
        if sizes:
            axes.plot(sizes, values, "o-", color=colors[name], label=name)
    axes.set(xlabel="number of points n")
    logarithmic(axes, "xy")


def logarithmic(axes: Any, names: str) -> None:
    """Make axes logarithmic, labeled with plain numbers; short ones are also labeled at 2 and 5."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.grid(color="#e6e6e6")
    for name in names:
        getattr(axes, f"set_{name}scale")("log")
        axis = getattr(axes, f"{name}axis")
        low, high = axis.get_view_interval()
        axis.set_major_locator(LogLocator(subs=(1,) if high > 30 * low else (1, 2, 5)))
        axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.0f}" if v >= 1 else f"{v:g}"))
        axis.set_minor_formatter(NullFormatter())
