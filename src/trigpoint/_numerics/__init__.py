"""Numerical tools that the stages share: kernels, neighbours, threads, compiled loops."""
