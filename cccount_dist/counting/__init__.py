"""Estimators of the number of clusters, one file for each."""
