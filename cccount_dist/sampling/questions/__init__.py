"""Kinds of questions: one file each, and the registry that everybody else asks."""
