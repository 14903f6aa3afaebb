"""Points in the partitions of a Dask array or DataFrame, which stay on the workers of a cluster.

`collections` validates what users pass, `shards` is what a worker holds and answers, `cluster`
sends questions to all of them and counts what travels, and `store` and `weights` are what the loop
of Algorithm 2 sees.
"""
