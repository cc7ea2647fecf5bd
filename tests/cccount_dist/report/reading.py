"""Read a report as a browser would, strictly: every element closed in order, and everything that a test asks about kept."""

import re
from html.parser import HTMLParser
from itertools import pairwise

VOID = {"br", "img", "meta"}


class Page(HTMLParser):
    """A parsed page; `AssertionError` where it is not well formed."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.html = html
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.open: list[str] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(html)
        self.close()
        assert self.open == [], f"never closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"{tag} has an attribute twice: {names}"
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open[-1] == tag, f"</{tag}> closes <{self.open[-1]}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.texts.append((self.open[-1], data))

    @property
    def text(self) -> str:
        """All text, with single spaces."""
        return " ".join("".join(text for _, text in self.texts).replace("\u00a0", " ").split())

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def headings(self) -> list[int]:
        return [int(tag[1]) for tag, _ in self.elements if re.fullmatch(r"h[1-6]", tag)]


def check(html: str) -> Page:
    """Everything that holds for every report, whatever it says."""
    page = Page(html)
    assert html.startswith("<!DOCTYPE html>")
    assert "://" not in html, "something outside of the file is named"
    assert not page.all("script")
    assert not page.all("link")
    for tag, attributes in page.elements:
        assert not any(name.startswith("on") for name in attributes), f"{tag} runs something: {attributes}"
        for name in ("src", "href"):
            assert attributes.get(name, "#").startswith(("#", "data:image/"))
    assert all(image.get("alt") for image in page.all("img"))
    assert all(attributes.get("role") == "img" for attributes in page.all("svg"))
    assert len(page.all("title")) == 1 + len(page.all("svg"))
    headings = page.headings()
    assert headings[0] == 1
    assert headings.count(1) == 1
    assert all(below <= above + 1 for above, below in pairwise(headings))
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    references = set(re.findall(r"url\(#([\w-]+)\)", html)) | {e["href"][1:] for _, e in page.elements if "href" in e}
    assert references <= set(ids)
    return page
