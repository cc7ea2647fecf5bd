"""The review page as one HTML file that needs no server and no network: its modules, questions and pictures are inside.

The modules are the ones that the server serves. A browser lets a local file load no other file, so each goes in as a data:
address under a name of an import map. The content policy allows exactly these scripts, by their hashes, and nothing from outside.
"""

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence

from cccount_dist.review.models import CampaignInfo, SheetInfo
from cccount_dist.review.pagefiles import page_files, sheet_scripts

_IMPORT = re.compile(r"""\b(from|import)(\s*["'])\./([\w.-]+["'])""")


def pack_page(
    *,
    pack_id: str,
    workspace: str,
    campaign: str,
    annotator: str,
    sheets: Sequence[SheetInfo],
    pictures: Mapping[int, tuple[str, bytes]],
    words: CampaignInfo | None = None,
) -> str:
    """Return the whole file. `workspace`: its identity, which every answer carries; `pictures`: content type and bytes of each
    item's picture; `words`: the user's, for the question."""
    content = {
        "noun": None if words is None else words.noun,
        "question": None if words is None else words.question,
        "id": pack_id,
        "workspace": workspace,
        "campaign": campaign,
        "annotator": annotator,
        "sheets": [sheet.model_dump(mode="json") for sheet in sheets],
        "pictures": {str(item): _address(kind, data) for item, (kind, data) in pictures.items()},
    }
    found = {name: data.decode() for name, data in page_files().items()}
    first = (*sheet_scripts(), "pack.js")  # sheets first: the page finds them
    style, imports = found["style.css"], json.dumps({"imports": _modules(found, first)})
    entry = "".join(f'import "cccount/{name}";' for name in first)
    policy = (
        f"default-src 'none'; script-src {_hash(imports)} {_hash(entry)} data:; style-src {_hash(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    head = (
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<style>{style}</style>\n'
        f'<script type="importmap">{imports}</script>\n<script type="module">{entry}</script>'
    )
    # "<" is written as an escape: a file's name may contain the end of a script element.
    data = json.dumps(content).replace("<", "\\u003c")
    page = found["index.html"]
    for pattern in (r'<link rel="icon"[^>]*>\n', r'<link rel="stylesheet"[^>]*>\n', r'<script type="module"[^>]*></script>\n'):
        page = re.sub(pattern, "", page)
    return page.replace("</head>", f"{head}\n</head>").replace(
        "</body>", f'<script type="application/json" id="pack">{data}</script>\n</body>'
    )


def _modules(found: Mapping[str, str], first: Sequence[str]) -> dict[str, str]:
    """Return the address of each module that the first ones import, and those import, and so on."""
    wanted, left = set(first), list(first)
    while left:
        new = {match[3][:-1] for match in _IMPORT.finditer(found[left.pop()])} & found.keys() - wanted
        wanted |= new
        left += new
    return {
        f"cccount/{name}": _address("text/javascript", _IMPORT.sub(r"\1\2cccount/\3", found[name]).encode())
        for name in sorted(wanted)
    }


def _address(kind: str, data: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
