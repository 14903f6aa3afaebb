"""Benchmarks against commonly used tools, one file per group.

Besides the groups, `point_sets`, `collection` and `map_sets` have the points, `methods` what is
compared, `measuring` the processes that cases run in, and `plots` what the pictures share.
"""

# With what each is about.
NAMES = {
    "headline": "ten million points against SciPy's bare minimum",
    "selection": "landmarks: seconds, memory and coverage beside peers",
    "quality": "trace errors of every sampler on made and on real data",
    "pool": "landmarks and embeddings from a sample of the rows",
    "defaults": "the default settings beside a grid of others, on many data sets",
    "samplers": "diverse landmarks compared with others in the same pipeline, on many data sets",
    "embedding": "embeddings into the plane beside peers",
    "peers": "maps beside UMAP, t-SNE, PaCMAP, TriMap and PCA, on many data sets",
}
