"""Readers: whatever a user has (a folder, a table, tars, somebody's vectors) to rows of the collection table."""
