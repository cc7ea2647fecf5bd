"""Spelling, as in Britain: words of pages and messages, looked up in pyspellchecker's dictionary and in `words.txt`."""

import re
from functools import cache
from pathlib import Path

_OWN = Path(__file__).with_name("words.txt")
_NO_PROSE = re.compile(
    r"```.*?```|`[^`]*`|<!--.*?-->|\]\([^)]*\)|https?://\S+|<[^>]+>|\b[\w./-]*[./_]\w[\w./-]*|\b\w*\d\w*\b|\$[^$]*\$", re.DOTALL
)
_AMERICAN = re.compile(
    r"\b(?:colors?|centers?|centered|neighbor|neighborhoods?|behaviors?|favors?|gray|labeled|labeling|modeled|canceled|meters"
    r"|(?!(?:[Rr]e|over|cap)?[Ss]iz|priz|seiz|maiz)\w+iz(?:e|es|ed|ing|ations?))\b"
)
_WORD = re.compile(r"[A-Za-z]+(?:'[a-z]+)?")


@cache
def _known() -> frozenset[str]:
    from spellchecker import SpellChecker

    return frozenset(SpellChecker("en").word_frequency.words()) | frozenset(_OWN.read_text().split())


def misspelt(text: str) -> list[str]:
    """Words that no list has. Code, links, numbers, and words in capitals are left out, and so are names that begin with one.

    >>> misspelt("The neighbours of `xyzzy` are wel chosen by Hollerith.")
    ['wel']
    >>> misspelt("One neighbor of each, `color` in code.")
    ['neighbor']
    """
    prose = _NO_PROSE.sub(" ", text)
    words = set(_WORD.findall(prose))
    american = set(_AMERICAN.findall(prose))
    plain = {word.removesuffix("'s") for word in words if word.islower() and len(word) > 2}
    return sorted({word for word in plain if word not in _known()} | american)
