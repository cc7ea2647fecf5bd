"""The frame of every report: one self-contained file that may load nothing, with its style inside."""

from cccount_dist.report.markup import Html, element
from cccount_dist.report.style import CSS

POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def whole_file(title: str, campaign: str, body: Html, *, style: str = "", policy: str = POLICY) -> str:
    """Return the file; `style` comes after what all reports share."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", f"{title} · {campaign} · cccount"),
        element("style", Html(CSS + style)),
    )
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"
