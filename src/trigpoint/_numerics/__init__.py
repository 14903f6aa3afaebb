"""Numerical tools used by several stages: kernels, geodesics, residuals, connectivity, threads."""
