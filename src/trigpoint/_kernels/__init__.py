"""Inner loops that NumPy does not provide, compiled by numba at first use and cached.

Nothing here is imported with the library: a function that runs a loop imports the module. Loops
take arrays and fill arrays; they release the interpreter lock, so threads run them in parallel, and
Ctrl-C takes effect between two calls: after a block of points or queries, or a tree.
"""
