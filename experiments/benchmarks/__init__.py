"""Benchmarks against commonly used tools, one file per group.

Besides the groups, `sets` and `shapes` have the data, `methods` what is compared, `measuring` the
processes that cases run in, and `plots` what the pictures share.
"""

# With what each is about.
NAMES = {
    "headline": "ten million points against SciPy's bare minimum",
    "selection": "landmarks: seconds, memory and coverage beside peers",
    "samplers": "diverse landmarks compared with others in the same pipeline, on many data sets",
    "embedding": "embeddings into the plane beside peers",
    "peers": "maps beside UMAP, t-SNE, PaCMAP, TriMap and PCA, on many data sets",
}
