"""The contact sheet of a subclustering campaign: every subcluster with its images in one HTML file that needs nothing else.

One short script filters what is shown by the ids of images, and leads from the id of any item to the subcluster that it is most
like. The content policy allows this script by its digest and no other; what users wrote is escaped.
"""

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from cccount_dist.campaign.noun import Noun
from cccount_dist.report.facts import Thumbnail
from cccount_dist.report.frame import whole_file
from cccount_dist.report.markup import Html, element, joined, name_of
from cccount_dist.report.wording import epoch_rows, plural, said_price
from storage.epochs import Epoch

_CSS = """
main { max-width: 76rem; }
.search { position: sticky; top: 0; background: var(--ground); padding: 0.75rem 0; margin-top: 1.5rem; z-index: 1; }
.search label { display: block; font-weight: 650; }
.search input {
  width: min(100%, 26rem); font: inherit; padding: 0.45rem 0.6rem; color: var(--ink); background: var(--panel);
  border: 1px solid var(--soft); border-radius: 8px;
}
.search input:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.search p { margin: 0.3rem 0 0; min-height: 1.6em; }
.sheet { margin-top: 1.5rem; border-top: 1px solid var(--line); padding-top: 0.75rem; scroll-margin-top: 8rem; }
.sheet h2 { font-size: 1rem; margin: 0 0 0.5rem; }
.sheet.found { border-top: 3px solid var(--accent); }
.sheet ul { display: grid; grid-template-columns: repeat(auto-fill, minmax(8rem, 1fr)); gap: 0.5rem; margin: 0; padding: 0; }
.sheet li { list-style: none; min-width: 0; }
.sheet figure { margin: 0; }
.sheet img, .sheet .none {
  width: 100%; aspect-ratio: 1; object-fit: contain; display: block; background: var(--panel); border: 1px solid var(--line);
  border-radius: 5px;
}
.sheet .checked img, .sheet .checked .none { border: 2px solid var(--same); }
.copy { margin: 0; font-size: 0.75rem; color: var(--truth); }
.sheet .none { display: grid; place-items: center; color: var(--soft); font-size: 0.75rem; }
"""

_SCRIPT = """
"use strict";
const box = document.getElementById("search"), said = document.getElementById("said");
const sheets = [...document.querySelectorAll(".sheet")];
const ids = sheets.map(sheet => sheet.dataset.ids.toLowerCase());
const near = JSON.parse(document.getElementById("nearest").textContent);
box.addEventListener("input", () => {
  const text = box.value.trim(), lower = text.toLowerCase();
  let shown = 0;
  sheets.forEach((sheet, k) => {
    sheet.classList.remove("found");
    sheet.hidden = lower !== "" && !ids[k].includes(lower);
    shown += sheet.hidden ? 0 : 1;
  });
  const at = Object.hasOwn(near, text) ? near[text] : -1;
  if (at >= 0) {
    sheets.forEach((sheet, k) => { sheet.hidden = k !== at; });
    sheets[at].classList.add("found");
    said.textContent = `${text} is most like ${document.body.dataset.one} ${at + 1}`;
  } else {
    const some = `${shown} of ${sheets.length} ${document.body.dataset.many}`;
    said.textContent = lower === "" ? "" : shown === 0 ? "No id has this in it" : some;
  }
});
"""
_FRAME = "A green frame: answers say that the picture belongs here. Without a frame it was placed by its looks only."
_DIGEST = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
_POLICY = (
    f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{_DIGEST}'; base-uri 'none'; "
    "form-action 'none'"
)


SUBCLUSTER = Noun("subcluster", "subclusters")  # where the user gave no word


@dataclass(frozen=True, slots=True)
class Picture:
    """An image on the sheet."""

    thumbnail: Thumbnail
    checked: bool
    copy_of: str | None = None  # the name of another picture here whose file is the same


@dataclass(frozen=True, slots=True)
class ContactFacts:
    """Everything on a contact sheet."""

    campaign: str
    size: int  # images that a subcluster should have
    questions: int
    state: str
    subclusters: Sequence[Sequence[Picture]]
    nearest: dict[str, int]  # id of an item -> the subcluster that it is most like
    items: int
    version: str
    written_at: str
    noun: Noun = SUBCLUSTER
    epochs: Sequence[Epoch] = ()  # where other samplers took over
    price: float | None = None  # of a question; None: not told


def contact_sheet(facts: ContactFacts) -> str:
    """Return the whole file."""
    count = facts.noun.of(len(facts.subclusters))
    sheets = [_sheet(number, row, facts) for number, row in enumerate(facts.subclusters)]
    foot = f"Written by cccount {facts.version} on {facts.written_at}. This file needs no network."
    data = Html(json.dumps(facts.nearest).replace("<", "\\u003c"))
    body = element(
        "body",
        element("main", _header(facts, count), _search(facts), *sheets),
        element("footer", element("p", foot)),
        element("script", data, id="nearest", type="application/json"),
        element("script", Html(_SCRIPT)),
        data_one=facts.noun.one,
        data_many=facts.noun.many,
    )
    return whole_file(count, facts.campaign, body, style=_CSS, policy=_POLICY)


def _header(facts: ContactFacts, count: str) -> Html:
    shown = sum(len(row) for row in facts.subclusters)
    checked = sum(picture.checked for row in facts.subclusters for picture in row)
    standing = (
        f"{plural(shown, 'image')} of {facts.items:,}; {checked:,} of them checked, from {plural(facts.questions, 'answer')}. "
        f"The campaign is {facts.state}." + (f" {said_price(facts.questions, facts.price)}" if facts.price is not None else "")
    )
    return element(
        "header",
        element("p", element("b", "cccount"), " contact sheet · campaign ", name_of(facts.campaign), class_="kicker"),
        element("h1", count),
        element("p", standing, class_="note"),
        element("p", _FRAME, class_="note") if checked else Html(),
        *(element("p", f"{name} {words}", class_="note") for name, words in epoch_rows(facts.epochs)),
    )


def _search(facts: ContactFacts) -> Html:
    what = "Find by id" if not facts.nearest else "Find by id: of an image here, or of any item to see what it is most like"
    return element(
        "div",
        element("label", what, for_="search"),
        element("input", id="search", type="search", autocomplete="off", spellcheck="false"),
        element("p", id="said", role="status", class_="note"),
        class_="search",
    )


def _sheet(number: int, row: Sequence[Picture], facts: ContactFacts) -> Html:
    lacking = facts.size - len(row)
    more = f" · {plural(lacking, 'place')} empty: nothing was found" if lacking > 0 else ""
    ids = "\n".join(picture.thumbnail.item_id for picture in row)
    called = facts.noun.one[:1].upper() + facts.noun.one[1:]
    title = joined(f"{called} {number + 1} · ", name_of(row[0].thumbnail.item_id), more)
    return element(
        "section", element("h2", title), element("ul", *map(_figure, row)), class_="sheet", id=f"s{number + 1}", data_ids=ids
    )


def _figure(picture: Picture) -> Html:
    shown = picture.thumbnail
    if shown.picture is None:
        image = element("div", "no picture", class_="none", title=shown.reason)
    else:
        image = element("img", src=shown.picture, alt=f"item {shown.item_id}", loading="lazy")
    said = "people's answers say that it belongs here" if picture.checked else "placed by its looks only"
    caption = element("figcaption", name_of(shown.item_id), title=f"{shown.item_id}: {said}")
    copy = Html() if picture.copy_of is None else element("p", "exact copy of ", name_of(picture.copy_of), class_="copy")
    return element("li", element("figure", image, caption, copy, class_="checked" if picture.checked else None))
