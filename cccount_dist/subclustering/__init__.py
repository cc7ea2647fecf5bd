"""A few clean examples of everything in the collection: passive and active subclustering, Fast-PAM, baselines, browsing."""
