"""Benchmarks against commonly used tools, one file per group.

Other modules define the data (`sets` and `shapes`), the compared methods (`methods`), the processes
that cases run in (`measuring`), and helpers for figures (`plots`).
"""

# Groups of benchmarks, each with a short description.
NAMES = {
    "headline": "ten million points against SciPy's bare minimum",
    "selection": "landmarks: time, memory and coverage compared with peers",
    "samplers": "diverse landmarks compared with others in the same pipeline, on many data sets",
    "embedding": "embeddings into the plane compared with peers",
    "tables": "maps of tables with categories compared with one-hot encoding",
    "peers": "maps compared with UMAP, t-SNE, PaCMAP, TriMap and PCA, on many data sets",
    "attainable": "neighbors that the best known maps preserve, the reference of grades",
    "gpu": "maps and eigenmaps of rows on a GPU",
}
