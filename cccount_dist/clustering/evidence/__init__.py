"""Grouping by soft evidence, never told K: neighbours, micro-clusters, a learned model of pairs of blocks, questions."""
