"""Point clouds to try things on: made ones, and readers of real ones already on the disk.

Nothing here downloads anything.
"""

from trigpoint.datasets._ct import CTPatches, load_ct_patches
from trigpoint.datasets._mnist import load_mnist
from trigpoint.datasets._synthetic import make_fish_bowl, make_swiss_roll

__all__ = ["CTPatches", "load_ct_patches", "load_mnist", "make_fish_bowl", "make_swiss_roll"]
