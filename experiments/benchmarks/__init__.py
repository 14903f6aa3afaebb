"""Benchmarks against commonly used tools, one file per group: ``make bench`` writes RESULTS.md.

Besides the groups, `data` and `collection` have the points, `peers` the methods, `pipeline` the
whole pipeline, `plots` what the pictures share, and `report` runs the groups and writes the page.
"""

# In the order of RESULTS.md, with what each is about.
NAMES = {
    "headline": "ten million points against SciPy's bare minimum",
    "selection": "landmarks: seconds, memory and coverage beside peers",
    "quality": "trace errors of every sampler on made and on real data",
    "rule": "the rule for m and sigma beside other choices",
    "defaults": "the default settings beside a grid of others, on many data sets",
    "methods": "which method draws a picture best",
    "embedding": "embeddings into the plane beside peers",
    "maps": "maps beside UMAP, t-SNE and PaCMAP",
    "map_speed": "maps of up to ten million points",
    "texture": "how even maps are between landmarks",
    "mnist": "selection and pipeline on digits",
    "growth": "how time grows with points and landmarks",
    "memory_map": "a hundred million points from file to file",
    "dask": "the same on a Dask cluster, and a billion points",
    "gpu": "one GPU: ten million to a billion points, digits and embedding vectors",
    "import_time": "what `import trigpoint` costs",
}
