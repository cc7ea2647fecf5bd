"""The front door: Prefect flows, the cccount command, the choice of Dask cluster."""
