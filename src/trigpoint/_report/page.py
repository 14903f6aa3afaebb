"""Render content, markup, styles and scripts into one HTML file."""

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np

from trigpoint._common.palette import PAGE_ACCENT, PAGE_LABELS
from trigpoint._common.words import counted, plural
from trigpoint._report.columns import Column
from trigpoint._report.content import Content
from trigpoint._report.density import Grid
from trigpoint._report.things import Tiles, spread
from trigpoint.metrics import Quality
from trigpoint.metrics._suspects import BRIDGE, ORDINARY, SHORTCUT, JudgedEdges

# In load order: while loading, a script may only use the scripts before it.
_SCRIPTS = (
    *("data", "colors", "density", "bounds", "ticks", "view"),
    *("crowding", "labels", "panel", "svg", "figure", "gestures"),
    *("selection", "table", "breakdown", "search", "pictures", "tip"),
    *("address", "help", "legend", "models", "link", "pointer", "page"),
)

# Maximum numbers of ordinary edges, and of bridges and suspected shortcuts, to draw.
_ORDINARY_EDGES, _ODD_EDGES = 40_000, 20_000

_NO_GRAPH = "<p>No graph is drawn: there is none, or it links all pairs of landmarks.</p>"

# Lines of the verdict that the page shows as bars or figures instead.
_SHOWN_ELSEWHERE = ("neighbors kept", "kept by PCA", "pieces", "suspected shortcuts")

_STYLE_SLOTS = {f"accent_{theme}": color for theme, color in PAGE_ACCENT.items()}

_SLOT = re.compile(r"\{\{(\w+)\}\}")

_TYPES = {"uint8": "u8", "uint16": "u16", "uint32": "u32"}
_ALIGNMENT = 4


class Packed:
    """Arrays packed in one block of bytes; `add` returns the location of each array."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, array: np.ndarray) -> dict[str, Any]:
        """Add an array of 8-, 16- or 32-bit integers."""
        data = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes()
        place = {"type": _TYPES[array.dtype.name], "start": self._size, "length": int(array.size)}
        padding = -len(data) % _ALIGNMENT
        self._parts.append(data + bytes(padding))
        self._size += len(data) + padding
        return place

    def add_counts(self, array: np.ndarray) -> dict[str, Any]:
        """Add nonnegative integers, using two bytes each if they fit, otherwise four."""
        return self.add(array.astype(np.uint16 if array.max(initial=0) < 2**16 else np.uint32))

    def text(self) -> str:
        """Return the whole block as base64."""
        return base64.b64encode(b"".join(self._parts)).decode("ascii")


def page(content: Content) -> str:
    """Return the whole page as HTML."""
    packed = Packed()
    facts = json.dumps(_facts(content, packed), allow_nan=False, separators=(",", ":"))
    script = page_script()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    slots = {
        "title": escape(content.title),
        "verdict": "" if content.quality is None else _verdict(content.quality),
        "lead": _lead(content),
        "figures": _figures(content),
        "script_hash": digest,
        "style": _filled(_asset("page.css"), _STYLE_SLOTS),
        "script": script,
        # Escaped so that the data cannot close its element.
        "facts": facts.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"),
        "arrays": packed.text(),
        # External images may be loaded, which happens only on request.
        "image_sources": "data:" if content.addresses is None else "data: file: http: https:",
        "search_hint": _search_hint(content),
        "terms": "" if content.quality is None else _asset("terms.html"),
        "graph": _NO_GRAPH if content.edges is None else _asset("graph.html"),
        "tried": _details("Methods compared", content.tried),
        "parameters": _details("Parameters", content.parameters),
        "seconds": _details(
            "Stages", {stage: f"{spent:.2f} s" for stage, spent in content.seconds.items()}
        ),
        "versions": _details("Versions", content.versions),
    }
    return _filled(_asset("page.html"), slots)


def page_script() -> str:
    """Return all scripts, wrapped in a private scope."""
    return (
        "(() => {\n'use strict';\n"
        + "\n".join(_asset(f"{name}.js") for name in _SCRIPTS)
        + "\n})();"
    )


def _filled(template: str, slots: Mapping[str, str]) -> str:
    return _SLOT.sub(lambda slot: slots[slot[1]], template)


def _asset(name: str) -> str:
    return files("trigpoint._report").joinpath("assets", name).read_text(encoding="utf-8")


def _facts(content: Content, packed: Packed) -> dict[str, Any]:
    sample, landmarks = content.sample, content.fitted.landmarks
    k = len(landmarks.points)
    cells = np.arange(k) if sample is None else sample.cells
    rows = landmarks.indices if sample is None else sample.rows
    return {
        "points": None if sample is None else sample.n,
        "sampled": len(cells),
        "landmarks": k,
        # Landmark values follow those of the sample, if there is one.
        "firstLandmark": 0 if sample is None else len(cells),
        "equalScales": content.fitted.equal_scales,
        "labelColors": PAGE_LABELS,
        "accent": PAGE_ACCENT,
        "components": _n_components(content),
        "rows": None if rows is None else packed.add(rows.astype(np.uint32)),
        "cells": packed.add_counts(cells),
        "coordinates": [_column(column, packed) for column in content.coordinates],
        "columns": [_column(column, packed) for column in content.columns],
        "firstColumns": content.first_columns,
        "derived": [_column(column, packed) for column in content.derived],
        "colors": [_column(column, packed) for column in content.colors],
        "images": [] if sample is None else [_image(image, packed) for image in sample.images],
        "tiles": None if content.tiles is None else _tiles(content.tiles, packed),
        "addresses": content.addresses,
        "text": None
        if content.text is None
        else {"name": content.text[0], "values": content.text[1]},
        "graph": None if content.edges is None else _edges(content.edges, packed),
    }


def _n_components(content: Content) -> int:
    return int(content.fitted.landmark_coordinates.shape[1])


def _column(column: Column, packed: Packed) -> dict[str, Any]:
    return {
        "name": column.name,
        "codes": packed.add(column.codes),
        "range": [column.low, column.high],
        "colorRange": [column.color_low, column.color_high],
        "unit": column.unit,
        "labels": column.labels,
        "colored": column.n_colored,
    }


def _tiles(tiles: Tiles, packed: Packed) -> dict[str, Any]:
    return {
        "points": packed.add_counts(tiles.points),
        "landmarks": len(tiles.points) if tiles.n_landmarks else -1,
        "height": tiles.height,
        "width": tiles.width,
        "across": tiles.across,
        "png": packed.add(np.frombuffer(tiles.png, dtype=np.uint8)),
    }


def _image(image: Grid, packed: Packed) -> dict[str, Any]:
    """Map counts to 255 logarithmic levels; 0 means an empty cell."""
    most = int(image.counts.max())
    levels = np.ceil(255 * np.log1p(image.counts) / np.log1p(max(most, 1)))
    return {
        "axes": image.axes,
        "low": image.low.tolist(),
        "high": image.high.tolist(),
        "height": image.counts.shape[0],
        "width": image.counts.shape[1],
        "levels": packed.add(levels.astype(np.uint8)),
        "most": most,
        "outside": image.outside,
    }


def _edges(edges: JudgedEdges, packed: Packed) -> dict[str, Any]:
    drawn = np.sort(
        np.concatenate(
            [
                spread(np.flatnonzero(edges.kinds == ORDINARY), _ORDINARY_EDGES),
                spread(np.flatnonzero(edges.kinds != ORDINARY), _ODD_EDGES),
            ]
        )
    )
    return {
        "ends": packed.add_counts(edges.ends[drawn]),
        "kinds": packed.add(edges.kinds[drawn]),
    }


def _lead(content: Content) -> str:
    k, d = content.fitted.landmarks.points.shape
    columns, to = counted(d, "column"), counted(_n_components(content), "coordinate")
    landmarks = counted(k, "landmark")
    if content.sample is None:
        return f"{landmarks}, from {columns} to {to}. No points were passed."
    return f"{counted(content.sample.n, 'point')}, from {columns} to {to}, using {landmarks}."


def _verdict(quality: Quality) -> str:
    """Describe the quality of the embedding compared with PCA."""
    word, _, rest = quality.verdict.partition(": ")
    sentence = escape(rest[0].upper() + rest[1:])
    if quality.remedy:
        remedy = escape(quality.remedy)
        sentence = sentence.replace(remedy, f"<code>{remedy}</code>")
    bars = "".join(
        f"<h3>Of the nearest {count:,}</h3>{_bar('kept', kept)}{_bar('by PCA', by_pca)}"
        for count, kept, by_pca in (
            (quality.n_neighbors, quality.neighbors_kept, quality.pca_kept),
            (quality.n_wide, quality.neighbors_kept_wide, quality.pca_kept_wide),
        )[: 1 + (quality.n_wide > quality.n_neighbors)]
    )
    shown = {name: line for name, line in quality.lines().items() if name not in _SHOWN_ELSEWHERE}
    return _filled(
        _asset("verdict.html"),
        {
            "grade": quality.grade,
            "word": word,
            "sentence": sentence,
            "bars": bars,
            "lines": _rows(shown),
        },
    )


def _bar(name: str, share: float) -> str:
    kind = "" if name == "kept" else " class=other"
    return (
        f"<div{kind}><span>{name}</span><i><i style='width: {share:.1%}'></i></i>"
        f"<b>{share:.1%}</b></div>"
    )


def _search_hint(content: Content) -> str:
    kinds = ["label"] if any(column.labels for column in content.colors) else []
    kinds += ["text"] if content.text is not None else []
    return ", ".join([*kinds, "row"])


def _figures(content: Content) -> str:
    sample, k = content.sample, len(content.fitted.landmarks.points)
    figures = [("points", "&ndash;") if sample is None else _figure(sample.n, "point")]
    figures.append(_figure(k, "landmark"))
    if sample is not None:
        figures.append(("covering radius", f"{sample.covering_radius:.3g}"))
        median = int(np.median(sample.cell_sizes))
        figures.append(("median points per landmark", f"{median:,}"))
    if content.edges is not None:
        figures.append(_figure(len(content.edges.kinds), "edge"))
        figures.append(_figure(content.edges.count(SHORTCUT), "suspected shortcut"))
        figures.append(_figure(content.edges.count(BRIDGE), "bridge"))
    # A model loaded from a file has no timings.
    if content.seconds:
        figures.append(("seconds to fit", f"{sum(content.seconds.values()):.2f}"))
    return "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in figures)


def _figure(count: int, noun: str) -> tuple[str, str]:
    return plural(noun, count), f"{count:,}"


def _details(title: str, rows: Mapping[str, str]) -> str:
    return f"<div><h2>{title}</h2><table>{_rows(rows)}</table></div>" if rows else ""


def _rows(rows: Mapping[str, str]) -> str:
    return "".join(
        f"<tr><th scope=row>{escape(name)}</th><td>{escape(value)}</td></tr>"
        for name, value in rows.items()
    )
