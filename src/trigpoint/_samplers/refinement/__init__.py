"""Improve landmarks after the draw, by exchanging them for other points or moving them."""

from trigpoint._samplers.refinement.search import RefinementResult
from trigpoint._samplers.refinement.settings import Refinement, resolve_refinement

__all__ = ["Refinement", "RefinementResult", "resolve_refinement"]
