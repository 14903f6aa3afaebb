"""Nearest neighbors: a tree in low dimension, matrix products in high dimension."""
