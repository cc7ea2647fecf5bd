"""Grouping items: k-means, and k-means with what people said."""
