"""Plots on Matplotlib axes; Matplotlib is imported only when something is drawn."""

from trigpoint.plot._compare import compare
from trigpoint.plot._graph import graph
from trigpoint.plot._landmarks import landmarks
from trigpoint.plot._scatter import embedding

__all__ = ["compare", "embedding", "graph", "landmarks"]
