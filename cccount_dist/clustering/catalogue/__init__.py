"""`catalogue`: every item with its class, by sheets: one anchor and up to 24 cells, "mark all that are the same"."""
