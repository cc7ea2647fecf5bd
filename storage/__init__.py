"""What lies in a workspace: collection table, zarr arrays, query log, lease. No algorithm, no Prefect, no Dask graph."""
