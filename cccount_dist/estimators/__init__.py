"""The samplers in memory, by scikit-learn's conventions: no workspace, no Dask, no Prefect."""
