"""Inner loops that NumPy does not provide, compiled by numba on first use and cached.

These modules are not imported with the library, but by the functions that run the loops. Loops take
arrays and fill arrays. They release the interpreter lock, so threads run them in parallel, and
Ctrl-C takes effect between two calls, that is, after a block of points or queries, or a tree.
"""
