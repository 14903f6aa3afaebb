"""Pictures on matplotlib axes; matplotlib is imported only when one is drawn."""

from trigpoint.plot.compare import compare
from trigpoint.plot.curve import landmark_curve
from trigpoint.plot.embedding import embedding
from trigpoint.plot.graph import graph
from trigpoint.plot.landmarks import landmarks
from trigpoint.plot.spectrum import spectrum

__all__ = ["compare", "embedding", "graph", "landmark_curve", "landmarks", "spectrum"]
