"""Numerical tools shared by several stages: kernels, geodesics, residuals, bridges, threads."""
