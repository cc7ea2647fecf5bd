"""Counts without people: what the embedding alone says. They are there to be compared with, and have no interval."""
