"""Distances as maps to Euclidean rows."""
