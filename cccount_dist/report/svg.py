"""matplotlib's SVG file as an element of a page: no ids but those referred to, no addresses of standards, the page's own font.

matplotlib draws with stand-in colours, which become variables of the page's style: so a picture follows light and dark.
"""

import io
import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from cccount_dist.report.markup import Html, element

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_VARIABLES = ("ink", "soft", "line", "accent", "band", "truth")  # of style.py
_NAMES = {f"#0a0b{number:02x}": name for number, name in enumerate(_VARIABLES)}
COLOURS = {name: colour for colour, name in _NAMES.items()}
_STAND_IN = re.compile("|".join(_NAMES))
_FONT = re.compile(r"font-family:[^;]*;\s*")
_REFERENCE = re.compile(r"#([\w-]+)")
_DROPPED = frozenset({"metadata", "style"})


def inline_svg(figure: "Figure", described: str, class_: str) -> Html:
    """Return the figure as `<svg>`; one unit is one CSS pixel. `described` is what a screen reader says instead of it."""
    sink = io.StringIO()
    figure.savefig(sink, format="svg", transparent=True, metadata={"Date": None})  # the same data give the same bytes
    root = ET.fromstring(sink.getvalue())  # noqa: S314  matplotlib wrote it a moment ago
    attributes = [value for node in root.iter() for key, value in node.attrib.items() if _local(key) != "id"]
    used = {name for value in attributes for name in _REFERENCE.findall(value)}
    drawing = [_converted(child, used) for child in root if _local(child.tag) not in _DROPPED]
    box = root.attrib["viewBox"]
    _, _, width, height = box.split()
    return element(
        "svg", element("title", described), *drawing, role="img", class_=class_, viewBox=box, width=width, height=height
    )


def _converted(node: ET.Element, used: set[str]) -> Html:
    name = _local(node.tag)
    children = [_converted(child, used) for child in node if _local(child.tag) not in _DROPPED]
    text = (node.text or "").strip()
    if name in ("g", "defs") and not any(children):
        return Html()
    kept = {_local(key): value for key, value in node.attrib.items() if _local(key) != "id" or value in used}
    return element(name, text, *children, **{key: _styled(value) for key, value in kept.items()})


def _styled(value: str) -> str:
    coloured = _STAND_IN.sub(lambda found: f"var(--{_NAMES[found[0]]})", _FONT.sub("", value))
    return " ".join(coloured.split())


def _local(name: str) -> str:
    """
    >>> _local("{namespace}href"), _local("d")
    ('href', 'd')
    """
    return name.rpartition("}")[2]
