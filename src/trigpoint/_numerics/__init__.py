"""Numerical tools shared by several stages, such as kernels, geodesics, bridges and threads."""
