"""Similarity rows, tiles, neighbours and degree."""
