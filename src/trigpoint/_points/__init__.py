"""Points: what users pass, validated, and the stores that hold it.

`inputs` accepts arrays, files, tensors and Dask collections. `store` says what Algorithm 2 asks of
a store; `memory`, `dask` and `torch` are the stores.
"""
