"""The answers that two items can have: same, different, and that nobody can tell."""

SAME = 1.0
DIFFERENT = 0.0
UNSURE = None
