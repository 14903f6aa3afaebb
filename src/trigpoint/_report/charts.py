"""Two small static SVG charts; colors come from the page's stylesheet."""

from collections.abc import Iterable
from html import escape

import numpy as np

from trigpoint._common.words import counted
from trigpoint._samplers import LandmarkCurve
from trigpoint.plot._eigenvalues import Eigenvalues

_WIDTH, _HEIGHT = 360, 240
# Leaves room for a line of text above the frame.
_LEFT, _RIGHT, _TOP, _BOTTOM = 50, 10, 24, 36

# Errors below this are rounding.
_LEAST_ERROR = 1e-8

# If all eigenvalues exceed this share of the largest, they would look alike on an axis from 0.
_CROWDED = 0.8


class _Axes:
    """Positions of values in a chart, whose axes may both be logarithmic."""

    def __init__(self, x: tuple[float, float], y: tuple[float, float], *, log: bool) -> None:
        self._scaled = np.log10 if log else np.asarray
        self._x, self._y = self._scaled(x), self._scaled(y)

    def x(self, value: float) -> float:
        share = (self._scaled(value) - self._x[0]) / (self._x[1] - self._x[0])
        return float(_LEFT + share * (_WIDTH - _LEFT - _RIGHT))

    def y(self, value: float) -> float:
        share = (self._scaled(value) - self._y[0]) / (self._y[1] - self._y[0])
        return float(_HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM))


def spectrum_chart(eigenvalues: Eigenvalues) -> str:
    """Draw the eigenvalues in order, filled for the coordinates, and the widest gap."""
    values = eigenvalues.values
    low, high = min(0.0, float(values.min())), float(values.max())
    crowded = _CROWDED * high < values.min() < high
    if crowded:
        # For example those of a Markov matrix, just below 1.
        low = float(values.min()) - 0.05 * (high - float(values.min()))
    axes = _Axes((0.3, len(values) + 0.7), (low, high + 0.06 * (high - low or 1)), log=False)
    parts = []
    if eigenvalues.gap is not None:
        label = f"widest gap by ratio, after {eigenvalues.gap}"
        parts += _marked(axes.x(eigenvalues.gap + 0.5), label)
    for place, (value, used) in enumerate(zip(values, eigenvalues.used, strict=True), start=1):
        x, y = axes.x(place), axes.y(value)
        if not crowded:
            # Stems are compared by length, so they must begin at 0.
            parts.append(_line("stem used" if used else "stem", x, axes.y(0), x, y))
        parts.append(
            f'<circle class="{"used" if used else "free"}" cx="{x:.1f}" cy="{y:.1f}" r="3.4"/>'
        )
    x_ticks = [(axes.x(j), str(j)) for j in _whole_ticks(len(values))]
    y_ticks = [(axes.y(v), f"{v:.3g}") for v in _ticks(low, high)]
    used = ", ".join(str(j + 1) for j in np.flatnonzero(eigenvalues.used)[:8])
    summary = f"{len(values)} eigenvalues of the {eigenvalues.meaning}; in use: {used}."
    return _chart(summary, x_ticks, y_ticks, "eigenvalue", parts)


def curve_chart(curve: LandmarkCurve, n_landmarks: int) -> str:
    """Draw the relative trace error against the number of landmarks, both logarithmic."""
    errors = np.maximum(curve.errors, _LEAST_ERROR)
    numbers = curve.n_landmarks.astype(float)
    lower = 10.0 ** np.floor(np.log10(errors.min()))
    upper = 10.0 ** np.ceil(np.log10(min(errors.max(), 1.0)) + 1e-9)
    first, last = numbers[0] * 0.85, max(numbers[-1], n_landmarks) * 1.18
    axes = _Axes((first, last), (lower, max(upper, 10 * lower)), log=True)
    places = [(axes.x(n), axes.y(e)) for n, e in zip(numbers, errors, strict=True)]
    parts = _marked(axes.x(n_landmarks), f"{counted(n_landmarks, 'landmark')} here")
    path = " ".join(f"{'M' if j == 0 else 'L'}{x:.1f} {y:.1f}" for j, (x, y) in enumerate(places))
    parts.append(f'<path class="curve" d="{path}"/>')
    parts += [f'<circle class="used" cx="{x:.1f}" cy="{y:.1f}" r="3.4"/>' for x, y in places]
    exponents = range(int(np.floor(np.log10(first))), int(np.ceil(np.log10(last))) + 1)
    marks = [m * 10.0**e for e in exponents for m in (1, 3)]
    x_ticks = [(axes.x(v), f"{v:,.0f}") for v in marks if first <= v <= last and v >= 1]
    decades = range(round(np.log10(lower)), round(np.log10(max(upper, 10 * lower))) + 1)
    step = -(-len(decades) // 7)
    y_ticks = [(axes.y(10.0**e), _power(e)) for e in decades[::-1][::step]]
    summary = "Relative trace error: " + ", ".join(
        f"{counted(n, 'landmark')} {_percent(e)}"
        for n, e in zip(curve.n_landmarks.tolist(), errors, strict=True)
    )
    return _chart(summary, x_ticks, y_ticks, "number of landmarks", parts)


def _power(exponent: int) -> str:
    if exponent > -3:
        return f"{10.0**exponent:g}"
    return "10" + str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _percent(share: float) -> str:
    return f"{100 * share:.3g}%"


def _whole_ticks(last: int) -> list[int]:
    step = max(1, round(last / 6 / 5) * 5) if last > 8 else 1
    return [1, *range(step, last + 1, step)] if step > 1 else list(range(1, last + 1))


def _ticks(low: float, high: float) -> list[float]:
    """Return about four round numbers between two others."""
    if high <= low:
        return [low]
    rough = (high - low) / 4
    unit = 10.0 ** np.floor(np.log10(rough))
    step = unit * min((1, 2, 2.5, 5, 10), key=lambda m: abs(m * unit - rough))
    return [float(v) for v in np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step]


def _marked(x: float, label: str) -> list[str]:
    """Draw a vertical line, with a label above the frame where nothing else is drawn."""
    anchor = "start" if x < _WIDTH / 2 else "end"
    line = _line("gap", x, _TOP - 4, x, _HEIGHT - _BOTTOM)
    return [line, _text("note", x, _TOP - 9, label, anchor)]


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _text(kind: str, x: float, y: float, text: str, anchor: str = "middle") -> str:
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
    )


def _chart(
    summary: str,
    x_ticks: Iterable[tuple[float, str]],
    y_ticks: Iterable[tuple[float, str]],
    x_label: str,
    parts: list[str],
) -> str:
    floor = _HEIGHT - _BOTTOM
    frame = []
    for y, label in y_ticks:
        frame.append(_line("rule", _LEFT, y, _WIDTH - _RIGHT, y))
        frame.append(_text("tick", _LEFT - 6, y + 3.5, label, "end"))
    frame += [_text("tick", x, floor + 14, label) for x, label in x_ticks]
    frame.append(_text("label", (_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 4, x_label))
    return (
        f'<svg class="chart" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="{escape(summary)}">{"".join(frame + parts)}</svg>'
    )
