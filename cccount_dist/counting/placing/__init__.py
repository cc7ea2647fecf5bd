"""Sample, cluster, extrapolate: place random items among the clusters found so far, and infer how many were not seen."""
