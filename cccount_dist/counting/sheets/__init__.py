"""Counting by sheets: the collection is grouped by sheets, and random items say what is missing."""
