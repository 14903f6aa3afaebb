"""Graphs of the landmarks.

`graph` has the base class, the nearest-neighbor graph, and functions that turn edges into a
connected, weighted graph and count the points that each landmark represents. Every other kind of
graph has its own file.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from trigpoint._graphs.complete import CompleteGraph
from trigpoint._graphs.graph import KNNGraph
from trigpoint._graphs.radius import RadiusGraph

# Names accepted as ``graph=`` besides "auto". Graphs in `GRAPHS` can be saved.
NAMED_GRAPHS: dict[str, Callable[..., Any]] = {
    "bhattacharyya": partial(KNNGraph, metric="bhattacharyya"),
    "euclidean": partial(KNNGraph, metric="euclidean"),
    "complete": CompleteGraph,
}
GRAPHS = {graph.__name__: graph for graph in (KNNGraph, RadiusGraph, CompleteGraph)}

__all__ = ["GRAPHS", "NAMED_GRAPHS", "CompleteGraph", "KNNGraph", "RadiusGraph"]
