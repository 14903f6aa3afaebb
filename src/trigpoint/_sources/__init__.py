"""Sources of rows: arrays, files, tables, Dask collections and tensors."""
