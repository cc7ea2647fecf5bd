"""Messages, help texts and words of the page: spelt right, and in sentences that one reads once."""

import re

import pytest

from handbook.blocks import DOCS
from handbook.spelling import misspelt
from tests.words import everything

ROOT = DOCS.parent
PROSE = {"README.md", *(f"docs/{page.relative_to(DOCS)}" for page in DOCS.rglob("*.md") if page.parent.name != "evidence")}
# What needs a second reading, or says a number as nobody would: each was in a message once.
AWKWARD = {
    "a passive without anybody": r"\bit is (?:not )?waited\b|\bis to be looked at\b",
    "a fraction of an animal": r"\b[Aa]bout \d+\.\d+ (?:different|individuals?|animals?|clusters?|groups?)\b",
    "sure of one number": r"% sure that it is \d",
    "half an hour as a decimal": r"\b\d+\.\d+ hours? of a person",
    "a word that nobody says": r"\bwhence\b|\bthereof\b|\bits kin\b|\band kin\b|\bwhereof\b|\bheretofore\b",
    "a genitive of a genitive": r"\bis no \w+ of \w+'s that\b",
}
MESSAGES = dict(everything())


def test_the_words_of_messages_are_spelt_right() -> None:
    wrong = {place: found for place, text in everything() if (found := misspelt(text.replace("{…}", " ")))}
    assert not wrong


@pytest.mark.parametrize("what", AWKWARD)
def test_no_message_or_page_needs_a_second_reading(what: str) -> None:
    pattern = re.compile(AWKWARD[what])
    texts = {**MESSAGES, **{page: (ROOT / page).read_text() for page in PROSE}}
    assert not {place: pattern.search(text) for place, text in texts.items() if pattern.search(text)}


def test_a_message_is_no_longer_than_one_breath() -> None:
    """A command's help has several sentences; each of any text has at most 60 words."""
    sentences = [(place, one) for place, text in everything() for one in re.split(r"(?<=[.:;?!]) |Example:", text)]
    assert not [(place, one) for place, one in sentences if len(re.findall(r"[A-Za-z']{2,}", one)) > 60]
