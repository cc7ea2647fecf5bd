"""Prefect: recorded stages, scheduled flows, deployments, artifacts; and metrics for those who watch them."""
