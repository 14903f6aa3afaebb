"""Render content, markup, styles and scripts into one HTML file."""

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np

from trigpoint._common.palette import CLASS_COLORS, PAGE_ACCENT
from trigpoint._common.words import counted, percent
from trigpoint._report.columns import Column
from trigpoint._report.content import Content
from trigpoint._report.things import Tiles, spread
from trigpoint.metrics import Quality
from trigpoint.metrics._suspects import BRIDGE, ORDINARY, SHORTCUT, JudgedEdges

# In load order, since a script may only use earlier scripts while it is loaded.
_SCRIPTS = (
    *("data", "load", "colors", "bounds", "ticks", "view"),
    *("splat", "labels", "panel", "figure", "gestures"),
    *("selection", "table", "breakdown", "search", "pictures", "tip"),
    *("address", "help", "legend", "models", "link", "pointer", "page"),
)

# Maximum number of ordinary edges to draw, and of bridges and suspected shortcuts.
_ORDINARY_EDGES, _ODD_EDGES = 40_000, 20_000

_NO_GRAPH = "<p>No graph is drawn: there is none, or it links all pairs of landmarks.</p>"

# Lines of the verdict that the page replaces by bars or figures.
_SHOWN_ELSEWHERE = (
    "by the best known maps",
    "by PCA",
    "connected components",
    "suspected shortcuts",
)

_STYLE_SLOTS = {f"accent_{theme}": color for theme, color in PAGE_ACCENT.items()}

_SLOT = re.compile(r"\{\{(\w+)\}\}")

_TYPES = {"uint8": "u8", "uint16": "u16", "uint32": "u32", "int32": "i32"}
_TYPES |= {"float32": "f32", "float64": "f64"}


class Packed:
    """Arrays packed in one block of bytes; `add` returns the location of each array."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, array: np.ndarray) -> dict[str, Any]:
        """Add an array of numbers."""
        array = np.ascontiguousarray(array).reshape(-1)
        whole = array.astype(array.dtype.newbyteorder("<")).view(np.uint8)
        # Store the first bytes of all numbers, then the second bytes, and so on, to compress
        # better.
        data = whole.reshape(len(array), array.itemsize).T.tobytes()
        place = {"type": _TYPES[array.dtype.name], "start": self._size, "length": int(array.size)}
        self._parts.append(data)
        self._size += len(data)
        return place

    def add_counts(self, array: np.ndarray) -> dict[str, Any]:
        """Add nonnegative integers, using two bytes each if they fit, otherwise four."""
        return self.add(array.astype(np.uint16 if array.max(initial=0) < 2**16 else np.uint32))

    def add_texts(self, texts: list[str]) -> dict[str, Any]:
        """Add texts separated by null characters, which are removed from the texts first."""
        joined = "\0".join(text.replace("\0", "") for text in texts)
        return self.add(np.frombuffer(joined.encode(errors="replace"), dtype=np.uint8))

    def text(self, facts: str) -> str:
        """Return the facts and the block, preceded by the size of the facts, as text."""
        encoded = facts.encode(errors="replace")
        data = b"".join([len(encoded).to_bytes(4, "little"), encoded, *self._parts])
        return base64.b64encode(gzip.compress(data, mtime=0, compresslevel=6)).decode("ascii")


def page(content: Content) -> str:
    """Return the whole page as HTML."""
    packed = Packed()
    facts = json.dumps(
        _facts(content, packed), allow_nan=False, ensure_ascii=False, separators=(",", ":")
    )
    script = page_script()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    quality = content.quality
    slots = {
        "title": escape(content.title),
        "verdict": "" if quality is None else _verdict(quality),
        "grade": "" if quality is None else _grade(quality),
        "lead": _lead(content),
        "script_hash": digest,
        "style": _filled(_asset("page.css"), _STYLE_SLOTS),
        "script": script,
        "data": packed.text(facts),
        # External images may be loaded, which happens only on request.
        "image_sources": "data:" if content.addresses is None else "data: file: http: https:",
        "search_hint": _search_hint(content),
        "terms": "" if quality is None else _asset("terms.html"),
        "graph": _NO_GRAPH if content.edges is None else _asset("graph.html"),
        "tried": _details("Methods compared", content.tried),
        "edges": "" if content.edges is None else _details("Graph", _counts(content.edges)),
        "parameters": _details("Parameters", content.parameters),
        "seconds": _details(
            "Stages", {stage: f"{spent:.2f} s" for stage, spent in content.seconds.items()}
        ),
        "versions": escape(", ".join(f"{name} {text}" for name, text in content.versions.items())),
    }
    return _filled(_asset("page.html"), slots)


def page_script() -> str:
    """Return all scripts, wrapped in a private scope."""
    return (
        "(async () => {\n'use strict';\n"
        + "\n".join(_asset(f"{name}.js") for name in _SCRIPTS)
        + "\n})();"
    )


def _filled(template: str, slots: Mapping[str, str]) -> str:
    return _SLOT.sub(lambda slot: slots[slot[1]], template)


def _asset(name: str) -> str:
    return files("trigpoint._report").joinpath("assets", name).read_text(encoding="utf-8")


def _facts(content: Content, packed: Packed) -> dict[str, Any]:
    sample, landmarks = content.sample, content.fitted.landmarks
    rows = landmarks.indices if sample is None else sample.rows
    sampled = len(landmarks.points) if sample is None else len(sample.rows)
    return {
        "points": None if sample is None else sample.n,
        "sampled": sampled,
        "landmarks": len(landmarks.points),
        "equalScales": content.fitted.equal_scales,
        "labelColors": CLASS_COLORS,
        "accent": PAGE_ACCENT,
        "components": _n_components(content),
        "allRows": sample is not None and sampled == sample.usable,
        "usable": sampled if sample is None else sample.usable,
        "rows": None if rows is None else packed.add(rows.astype(np.uint32)),
        "landmarkPoints": packed.add(content.landmark_positions.astype(np.uint32)),
        "coordinates": [_column(column, packed) for column in content.coordinates],
        "columns": [_column(column, packed) for column in content.columns],
        "columnsLeftOut": content.columns_left_out,
        "firstColumns": content.first_columns,
        "derived": [_column(column, packed) for column in content.derived],
        "colors": [_column(column, packed) for column in content.colors],
        "tiles": None if content.tiles is None else _tiles(content.tiles, packed),
        "addresses": content.addresses,
        "texts": [
            {
                "name": text.name,
                "joined": packed.add_texts(text.values),
                "cut": text.cut,
                "isId": text.is_id,
            }
            for text in content.texts
        ],
        "graph": None if content.edges is None else _edges(content.edges, packed),
    }


def _n_components(content: Content) -> int:
    return int(content.fitted.landmark_coordinates.shape[1])


def _column(column: Column, packed: Packed) -> dict[str, Any]:
    return {
        "name": column.name,
        "codes": packed.add(column.codes),
        "divisor": column.divisor,
        "range": [column.low, column.high],
        "colorRange": [column.color_low, column.color_high],
        "unit": column.unit,
        "labels": column.labels,
        "colored": column.n_colored,
        "landmarks": None if column.landmarks is None else packed.add(column.landmarks),
    }


def _tiles(tiles: Tiles, packed: Packed) -> dict[str, Any]:
    return {
        "points": packed.add_counts(tiles.points),
        "height": tiles.height,
        "width": tiles.width,
        "across": tiles.across,
        "png": packed.add(np.frombuffer(tiles.png, dtype=np.uint8)),
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
    if content.sample is not None:
        d = content.sample.n_columns
    columns, to = counted(d, "column"), counted(_n_components(content), "coordinate")
    landmarks = counted(k, "landmark")
    if content.sample is None:
        return f"{landmarks}, {columns}, {to}; no points were passed"
    return f"{counted(content.sample.n, 'point')}, {columns}, {to}, {landmarks}"


def _verdict(quality: Quality) -> str:
    """Describe the quality of the embedding compared with PCA."""
    word, _, rest = quality.verdict.partition(": ")
    sentence = escape(rest[0].upper() + rest[1:])
    if quality.remedy:
        remedy = escape(quality.remedy)
        sentence = sentence.replace(remedy, f"<code>{remedy}</code>")
    best = sum(quality.attainable) / 2
    bars = "".join(
        [
            f"<h3>Of the nearest {quality.n_neighbors}</h3>",
            _bar("preserved", quality.preserved),
            _bar("best known", best),
            _bar("by PCA", quality.by_pca),
        ]
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


def _grade(quality: Quality) -> str:
    word = quality.verdict.partition(": ")[0]
    return f'<a class="grade {quality.grade}" href="#verdict-title">{word}</a>'


def _bar(name: str, share: float) -> str:
    kind = "" if name == "preserved" else " class=other"
    return (
        f"<div{kind}><span>{name}</span><i><i style='width: {share:.1%}'></i></i>"
        f"<b>{percent(share, 1)}</b></div>"
    )


def _search_hint(content: Content) -> str:
    kinds = ["label"] if any(column.labels for column in content.colors) else []
    kinds += [text.name for text in content.texts]
    return escape(", ".join([*kinds, "row"]))


def _counts(edges: JudgedEdges) -> dict[str, str]:
    kinds = {"suspected shortcuts": SHORTCUT, "bridges": BRIDGE}
    counts = {name: f"{edges.count(kind):,}" for name, kind in kinds.items()}
    return {"edges": f"{len(edges.kinds):,}", **counts}


def _details(title: str, rows: Mapping[str, str]) -> str:
    return f"<div><h2>{title}</h2><table>{_rows(rows)}</table></div>" if rows else ""


def _rows(rows: Mapping[str, str]) -> str:
    return "".join(
        f"<tr><th scope=row>{escape(name)}</th><td>{escape(value)}</td></tr>"
        for name, value in rows.items()
    )
