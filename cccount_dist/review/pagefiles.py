"""The files of the review page, a fixed list: those beside this module, and the scripts that kinds of questions bring along.

Every kind of question names the scripts that draw its sheets; they are loaded before the page begins, so that it finds them
registered (`static/sheets.js`). Memory: the files, some hundred kilobytes.
"""

import re
from importlib.resources import files
from pathlib import Path

from cccount_dist.sampling.questions.registry import QUESTION_KINDS
from storage.errors import InputError

_BEGINNING = '<script type="module" src="/static/review.js"></script>'
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*\.js")


def page_files() -> dict[str, bytes]:
    """Return every file by its name; `index.html` loads the scripts of all kinds of questions that are registered by now."""
    folder = files("cccount_dist.review") / "static"
    found = {entry.name: entry.read_bytes() for entry in folder.iterdir() if entry.is_file()}
    for kind in QUESTION_KINDS:
        for script in kind.scripts:
            if isinstance(script, Path):
                _add(found, script, kind.name)
            elif script not in found:
                raise InputError(
                    f"the kind of question {kind.name!r} wants {script!r}, which is no file of the page: give a Path"
                )
    scripts = [f'<script type="module" src="/static/{name}"></script>\n' for name in sheet_scripts()]
    found["index.html"] = found["index.html"].replace(_BEGINNING.encode(), ("".join(scripts) + _BEGINNING).encode())
    return found


def sheet_scripts() -> list[str]:
    """Return the names of the scripts that draw sheets, in the order in which their kinds were registered."""
    return list(dict.fromkeys(Path(script).name for kind in QUESTION_KINDS for script in kind.scripts))


def _add(found: dict[str, bytes], script: Path, kind: str) -> None:
    if not _NAME.fullmatch(script.name):
        raise InputError(f"{script}: the script of a kind of question is letters, digits, '.', '_' and '-', and ends with .js")
    try:
        content = script.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {script}, which draws questions of the kind {kind!r}: {error.strerror}") from error
    if found.setdefault(script.name, content) != content:
        raise InputError(f"{script}: another file of the page has this name; give the script of {kind!r} another one")
