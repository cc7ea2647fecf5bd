"""`python -m handbook.offline SITE`: nothing that a page of the site loads comes from another machine."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

# What a browser fetches by itself; a link that a reader may follow is none.
_LOADED = re.compile(
    r"""<(?:script|img|iframe|source|audio|video)\b[^>]*\bsrc=["']?(?:https?:)?//|<link\b[^>]*\bhref=["']?(?:https?:)?//[^>]*>"""
)
_CANONICAL = re.compile(r"""rel=["']?canonical""")
_IN_CSS = re.compile(r"""(?:@import|url\()\s*["']?(?:https?:)?//""")


def loaded_from_outside(site: Path) -> Iterator[str]:
    """Each place where a page or a style sheet would fetch something.

    >>> bool(_LOADED.search('<script src="https://cdn.example/x.js">')), bool(_LOADED.search('<a href="https://example.org">'))
    (True, False)
    """
    for page in sorted(site.rglob("*.html")):
        found = [text for text in _LOADED.findall(page.read_text()) if not _CANONICAL.search(text)]
        yield from (f"{page.relative_to(site)}: {text}" for text in found)
    for sheet in sorted(site.rglob("*.css")):
        yield from (f"{sheet.relative_to(site)}: {text}" for text in _IN_CSS.findall(sheet.read_text()))


if __name__ == "__main__":
    outside = list(loaded_from_outside(Path(sys.argv[1])))
    sys.stderr.writelines(f"{line}\n" for line in outside)
    sys.exit(1 if outside else 0)
