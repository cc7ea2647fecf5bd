"""Counting by sheets: a random sample of the items is grouped completely, and what it did not show is extrapolated."""
