"""The neighborhood graph of the landmarks.

`graphs` has the kinds of graph that users can choose, `neighbors` finds who is near whom, and
`weights` turns edges into a connected, weighted graph.
"""

from trigpoint._graph.graphs import (
    METRICS,
    AnchorGraph,
    CompleteGraph,
    KNNGraph,
    RadiusGraph,
    graph_in_one_piece,
)
from trigpoint._graph.neighbors import MATRIX_MAX
from trigpoint._graph.weights import (
    complete_graph,
    ordinary_edges,
    precomputed_graph,
    weighed_by,
    weighted_graph,
)

__all__ = [
    "MATRIX_MAX",
    "METRICS",
    "AnchorGraph",
    "CompleteGraph",
    "KNNGraph",
    "RadiusGraph",
    "complete_graph",
    "graph_in_one_piece",
    "ordinary_edges",
    "precomputed_graph",
    "weighed_by",
    "weighted_graph",
]
