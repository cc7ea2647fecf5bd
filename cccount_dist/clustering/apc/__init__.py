"""Active probabilistic clustering (APC): clusters are joined and split by answers about their central items; K is not needed."""
