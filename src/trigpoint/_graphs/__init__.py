"""Graphs of the landmarks.

`graph` has the base class, the graph of nearest neighbors, and functions that turn edges into a
connected, weighted graph and count the points that each landmark represents. Other kinds of graphs
have their own files.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from trigpoint._graphs.complete import CompleteGraph
from trigpoint._graphs.graph import KNNGraph

# Names accepted as ``graph=`` besides "auto"; registered graphs can also be saved.
NAMED_GRAPHS: dict[str, Callable[..., Any]] = {
    "bhattacharyya": partial(KNNGraph, metric="bhattacharyya"),
    "euclidean": partial(KNNGraph, metric="euclidean"),
    "complete": CompleteGraph,
}
GRAPHS = {graph.__name__: graph for graph in (KNNGraph, CompleteGraph)}

__all__ = ["GRAPHS", "NAMED_GRAPHS", "CompleteGraph", "KNNGraph"]
