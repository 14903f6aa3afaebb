"""The neighborhood graph of the landmarks.

`graphs` has the kinds of graph that users can choose, `neighbors` finds who is near whom, `masses`
how many points a landmark stands for, and `weights` turns edges into a connected, weighted graph.
"""

from trigpoint._graph.graphs import (
    METRICS,
    AnchorGraph,
    CompleteGraph,
    KNNGraph,
    RadiusGraph,
    graph_in_one_piece,
)
from trigpoint._graph.masses import COUNTED, masses_of
from trigpoint._graph.neighbors import MATRIX_MAX, NeighborSearch
from trigpoint._graph.weights import (
    complete_graph,
    ordinary_edges,
    precomputed_graph,
    weighted_graph,
)

__all__ = [
    "COUNTED",
    "MATRIX_MAX",
    "METRICS",
    "AnchorGraph",
    "CompleteGraph",
    "KNNGraph",
    "NeighborSearch",
    "RadiusGraph",
    "complete_graph",
    "graph_in_one_piece",
    "masses_of",
    "ordinary_edges",
    "precomputed_graph",
    "weighted_graph",
]
