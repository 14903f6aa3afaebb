"""Nearest-neighbor search, by trees in low dimension and matrix products in high dimension."""
