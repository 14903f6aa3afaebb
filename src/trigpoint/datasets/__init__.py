"""Synthetic point clouds."""

from trigpoint.datasets._synthetic import make_fish_bowl, make_swiss_roll

__all__ = ["make_fish_bowl", "make_swiss_roll"]
