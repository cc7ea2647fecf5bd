"""Names in formats that have a space between the cells."""

import re

_OTHER = re.compile(r"[^A-Za-z0-9_.-]+")


def token(text: str) -> str:
    """A word that readers of text with spaces between the cells take as one.

    >>> token("meadow north"), token("=1+1"), token("")
    ('meadow_north', '_1_1', '_')
    """
    return _OTHER.sub("_", text) or "_"


__all__ = ["token"]
