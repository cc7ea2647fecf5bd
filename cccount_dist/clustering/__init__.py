"""Grouping from pair answers: one file or folder for each algorithm."""
