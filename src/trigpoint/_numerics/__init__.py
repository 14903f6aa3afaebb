"""Numerical tools that the stages share: kernels, neighbors, threads, compiled loops."""
