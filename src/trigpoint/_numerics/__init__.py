"""Numerical tools that several stages use: kernels, neighbors, threads, compiled loops."""
