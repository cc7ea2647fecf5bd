"""HTML elements from Python, escaped by default: only what this module made itself goes into a page as it is."""

from html import escape

_VOID = frozenset({"br", "img", "input", "meta"})


class Html(str):
    """Text that is HTML already. A plain `str` is not, and is escaped wherever it is put in."""

    __slots__ = ()


def element(name: str, /, *children: str, **attributes: str | None) -> Html:
    """Return one element. An attribute's trailing underscore falls away, inner ones become hyphens; None leaves it out.

    >>> element("p", "a < b ", element("b", "c"), class_="x", aria_label='"')
    '<p class="x" aria-label="&quot;">a &lt; b <b>c</b></p>'
    """
    shown = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"' for key, value in attributes.items() if value is not None
    )
    if name in _VOID:
        return Html(f"<{name}{shown}>")
    return Html(f"<{name}{shown}>{joined(*children)}</{name}>")


def joined(*parts: str) -> Html:
    """
    >>> joined("<i>", Html("<br>"))
    '&lt;i&gt;<br>'
    """
    return Html("".join(part if isinstance(part, Html) else escape(part) for part in parts))


def name_of(text: str) -> Html:
    """A name that a user gave: kept apart from the text around it, so that right-to-left names do not reorder the line."""
    return element("bdi", text)


def facts_list(rows: list[tuple[str, str]]) -> Html:
    """A list of terms, each with what is said about it."""
    return element("dl", *(element("div", element("dt", term), element("dd", said)) for term, said in rows))


def table(caption: str, head: list[str], rows: list[list[str]], *, class_: str | None = None, named: bool = False) -> Html:
    """A table that scrolls by itself when the screen is narrower than it; `named`: the first cell of a row is its name."""
    top = element("thead", element("tr", *(element("th", cell, scope="col") for cell in head)))
    body = element("tbody", *(element("tr", *_cells(row, named=named)) for row in rows))
    inner = element("table", element("caption", caption), top, body, class_=class_)
    return element("div", inner, class_="scroll", tabindex="0", role="region", aria_label=caption)


def _cells(row: list[str], *, named: bool) -> list[Html]:
    first = element("th", row[0], scope="row") if named else element("td", row[0])
    return [first, *(element("td", cell) for cell in row[1:])]
