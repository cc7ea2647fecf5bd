"""Where work is done: Dask clusters, profiles, progress bars and logs."""
