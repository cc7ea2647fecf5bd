"""The review page as one HTML file that needs no server and no network: its modules, questions and pictures are inside.

The modules are the ones that the server serves. A browser lets a local file load no other file, so each goes in as a data:
address under a name of an import map. The content policy allows exactly these scripts, by their hashes, and nothing from outside.
"""

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files

from cccount_dist.review.models import SheetInfo

_IMPORT = re.compile(r'from "\./([\w.]+)"')
_ENTRY = 'import "cccount/pack.js";'


def pack_page(
    *, pack_id: str, campaign: str, annotator: str, sheets: Sequence[SheetInfo], pictures: Mapping[int, tuple[str, bytes]]
) -> str:
    """Return the whole file. `pictures`: content type and bytes of each item's picture."""
    content = {
        "id": pack_id,
        "campaign": campaign,
        "annotator": annotator,
        "sheets": [sheet.model_dump(mode="json") for sheet in sheets],
        "pictures": {str(item): _address(kind, data) for item, (kind, data) in pictures.items()},
    }
    style, imports = _text("style.css"), json.dumps({"imports": _modules()})
    policy = (
        f"default-src 'none'; script-src {_hash(imports)} {_hash(_ENTRY)} data:; style-src {_hash(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    head = (
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<style>{style}</style>\n'
        f'<script type="importmap">{imports}</script>\n<script type="module">{_ENTRY}</script>'
    )
    # "<" is written as an escape: a file's name may contain the end of a script element.
    data = json.dumps(content).replace("<", "\\u003c")
    page = _text("index.html")
    for pattern in (r'<link rel="icon"[^>]*>\n', r'<link rel="stylesheet"[^>]*>\n'):
        page = re.sub(pattern, "", page)
    page = re.sub(r'<script type="module"[^>]*></script>', lambda _: head, page)
    return page.replace("</body>", f'<script type="application/json" id="pack">{data}</script>\n</body>')


def _modules() -> dict[str, str]:
    folder = files("cccount_dist.review") / "static"
    elsewhere = ("progress.js", "browse.js")  # they need a server
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".js") and entry.name not in elsewhere)
    return {
        f"cccount/{name}": _address("text/javascript", _IMPORT.sub(r'from "cccount/\1"', _text(name)).encode()) for name in names
    }


def _text(name: str) -> str:
    return (files("cccount_dist.review") / "static" / name).read_text(encoding="utf-8")


def _address(kind: str, data: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
