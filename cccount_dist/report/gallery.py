"""Judged pairs side by side, so that a reader sees what was answered: same first, then different, then the rest."""

from collections.abc import Sequence

from cccount_dist.report.facts import CountFacts, JudgedPair, Thumbnail
from cccount_dist.report.markup import Html, element, name_of, table
from cccount_dist.report.wording import plural, verdict

_MOST_ROWS = 24  # of the table that stands for the pictures where there are none


def gallery(facts: CountFacts) -> Html:
    """Return the section with the sampled pairs; it says why if there is nothing to show."""
    title = element("h2", "Pairs and their answers")
    if not facts.pairs:
        return element("section", title, element("p", "No pair has been judged yet."))
    pictures = [side for pair in facts.pairs for side in (pair.first, pair.second)]
    missing = [side for side in pictures if side.picture is None]
    if len(missing) == len(pictures):
        why = "The collection has vectors only, so there are no pictures to show."
        if facts.collection.has_images:
            why = f"None of the pictures could be read; the first: {missing[0].item_id}: {missing[0].reason}."
        return element("section", title, element("p", why), _listed(facts.pairs[:_MOST_ROWS]))
    chosen = f"{plural(len(facts.pairs), 'judged pair')}, spread over the whole campaign."
    notes = [element("p", chosen)]
    if missing:
        unread = f"{plural(len(missing), 'picture')} could not be read; the first: {missing[0].item_id}: {missing[0].reason}."
        notes.append(element("p", unread, class_="note"))
    groups = (
        ("Said to be the same", [pair for pair in facts.pairs if pair.value == 1.0]),
        ("Said to be different", [pair for pair in facts.pairs if pair.value == 0.0]),
        ("Rated in between", [pair for pair in facts.pairs if pair.value is not None and 0.0 < pair.value < 1.0]),
        ("Nobody could tell", [pair for pair in facts.pairs if pair.value is None]),
    )
    shown = [part for name, pairs in groups if pairs for part in (element("h3", name), _grid(pairs))]
    return element("section", title, *notes, *shown)


def _grid(pairs: Sequence[JudgedPair]) -> Html:
    return element("ul", *(_card(pair) for pair in pairs), class_="pairs")


def _card(pair: JudgedPair) -> Html:
    said = element("span", verdict(pair.value), class_=f"verdict {_tone(pair.value)}")
    return element(
        "li",
        element("div", picture(pair.first), picture(pair.second), class_="two"),
        element("p", said, f" · question {pair.question_id:,}"),
    )


def picture(side: Thumbnail) -> Html:
    """Return an item's picture with its name below it."""
    if side.picture is None:
        shown = element("div", "no picture", class_="none", title=side.reason)
    else:
        shown = element("img", src=side.picture, alt=f"item {side.item_id}")
    return element("figure", shown, element("figcaption", name_of(side.item_id), title=side.item_id))


def _listed(pairs: Sequence[JudgedPair]) -> Html:
    rows = [
        [
            f"{pair.question_id:,}",
            name_of(pair.first.item_id),
            name_of(pair.second.item_id),
            element("span", verdict(pair.value), class_=f"verdict {_tone(pair.value)}"),
        ]
        for pair in pairs
    ]
    return table("Some of the judged pairs", ["question", "first", "second", "answer"], rows)


def _tone(value: float | None) -> str:
    return "same" if value == 1.0 else "different" if value == 0.0 else "unsure"
