"""What the pictures of benchmarks share."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from experiments.framework.experiment import Row
from experiments.framework.page import Page
from experiments.framework.summary import grouped, median

_STYLE = {"axes.grid": True, "grid.color": "#e6e6e6", "lines.markersize": 5}


@contextmanager
def panels(page: Page, name: str, describe: str, count: int = 2) -> Iterator[Any]:
    """Axes to draw into, side by side, with one legend for all."""
    layout = {"ncols": count, "squeeze": False, "figsize": (4.6 * count, 3.6)}
    with page.picture(describe, f"plots/{name}.png", _STYLE, 120, **layout) as axes:
        yield axes[0]
        handles = {
            label: handle
            for one in axes[0]
            for handle, label in zip(*one.get_legend_handles_labels(), strict=True)
        }
        axes[0][0].figure.legend(handles.values(), handles, loc="outside lower center", ncols=3)


def growth_lines(
    axes: Any, rows: Sequence[Row], colours: dict[str, str], field: str, scale: float = 1.0
) -> None:
    """Draw one line per method over the number of points, both axes logarithmic."""
    for (name,), runs in grouped(rows, "method").items():
        cases = grouped([row for row in runs if "error" not in row], "n")
        sizes = [n for (n,) in cases]
        values = [scale * median(same, field) for same in cases.values()]
        if sizes:
            axes.plot(sizes, values, "o-", color=colours[name], label=name)
    axes.set(xlabel="number of points n")
    logarithmic(axes, "xy")


def logarithmic(axes: Any, names: str) -> None:
    """Make axes logarithmic, labelled with plain numbers; a short one also at 2 and 5."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    for name in names:
        getattr(axes, f"set_{name}scale")("log")
        axis = getattr(axes, f"{name}axis")
        low, high = axis.get_view_interval()
        axis.set_major_locator(LogLocator(subs=(1,) if high > 30 * low else (1, 2, 5)))
        axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.0f}" if v >= 1 else f"{v:g}"))
        axis.set_minor_formatter(NullFormatter())
