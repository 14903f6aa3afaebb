"""Graphs of the landmarks.

`graph` links nearest neighbors, and has what all graphs share: it turns edges into a connected,
weighted graph, and counts the points that each landmark represents. Other kinds have their own
files.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from trigpoint._graphs.complete import CompleteGraph
from trigpoint._graphs.graph import KNNGraph
from trigpoint._graphs.radius import RadiusGraph

# What estimators accept as ``graph=`` besides "auto"; a registered graph can also be saved.
NAMED_GRAPHS: dict[str, Callable[..., Any]] = {
    "bhattacharyya": partial(KNNGraph, metric="bhattacharyya"),
    "euclidean": partial(KNNGraph, metric="euclidean"),
    "complete": CompleteGraph,
}
GRAPHS = {graph.__name__: graph for graph in (KNNGraph, RadiusGraph, CompleteGraph)}

__all__ = ["GRAPHS", "NAMED_GRAPHS", "CompleteGraph", "KNNGraph", "RadiusGraph"]
