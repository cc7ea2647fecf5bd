"""Kinds of questions: one registry decides, no other source does, and a kind that nobody knows is named."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from cccount_dist.campaign.campaign import Campaign
from cccount_dist.sampling.ledger import LoggedAnswer
from cccount_dist.sampling.logged import questions_of, questions_table
from cccount_dist.sampling.questions.kind import QuestionKind
from cccount_dist.sampling.questions.registry import QUESTION_KINDS, question_kind, register_question_kind
from cccount_dist.sampling.settling import Reliability, settle_by_majority
from cccount_dist.sampling.types import Question
from storage.errors import CorruptionError, InputError
from tests.review.campaigns import make_folder, pairs

ROOT = Path(__file__).parent.parent.parent
_COMPARED = re.compile(
    r"""(?:[=!]==?|\bin\b)\s*[(\[{]?\s*["'](?:rating|grid|pair)["']|kind\w*\s*[=!]==?\s*["']same["']"""
    r"""|["'](?:rating|grid|pair)["']\s*[=!]==?"""
)


def test_no_source_beside_a_kinds_own_files_asks_which_kind_it_is() -> None:
    own = {"same.py", "rating.py", "pair.js", "grid.js", "rating.js"}
    sources = [path for package in ("storage", "cccount_dist", "flows") for path in sorted((ROOT / package).rglob("*.py"))]
    sources += sorted((ROOT / "cccount_dist" / "review" / "static").glob("*.js"))
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in sources
        if path.name not in own
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if _COMPARED.search(line)
    ]
    assert found == []


@pytest.mark.parametrize(
    "line",
    ['if q.kind == "rating":', 'if (sheet.kind === "grid")', 'kind != "same"', 'kind in ("rating", "x")', '"pair" === mode'],
)
def test_the_search_for_such_lines_finds_them(line: str) -> None:
    assert _COMPARED.search(line)


def test_every_kind_says_what_it_is() -> None:
    for name, kind in zip(QUESTION_KINDS.names(), QUESTION_KINDS, strict=True):
        assert (kind.name, bool(kind.help), "\n" in kind.help) == (name, True, False)
        assert kind.scripts
        assert not kind.may_be_inferred or kind.links
        assert not kind.is_shared or kind.links
        for value in (*kind.words.values(), 0.0, 1.0, None):
            assert kind.read(kind.write(value)) == value


def test_a_kind_that_nobody_knows_is_named() -> None:
    with pytest.raises(InputError, match=r"there is no kind of question 'colour' \(there are: rating, same, sheet\)"):
        question_kind("colour")
    with pytest.raises(InputError, match="'colour'"):
        assert Question(0, 1, 2, "colour").is_vote
    table = questions_table([Question(0, 1, 2), Question(1, 3, 4, "colour")], number=0, after=0)
    with pytest.raises(CorruptionError, match="question 1 of the log cannot be read: there is no kind of question 'colour'"):
        questions_of(table)


def test_a_campaign_with_such_a_question_is_not_read_as_if_it_were_another(tmp_path: Path) -> None:
    first, second = pairs(2)
    campaign = Campaign(make_folder(tmp_path, [first, replace(second, kind="colour")]))
    with pytest.raises(CorruptionError, match="'colour'"):
        campaign.ask(1)


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (QuestionKind("Colour of it", "?"), "lower-case letters"),
        (QuestionKind("rating", "another one"), "another kind of question with the name 'rating'"),
        (QuestionKind("far", "how far?", words={"far": 2.0}), "outside \\[0, 1\\] for 'far'"),
    ],
)
def test_a_kind_that_the_log_cannot_keep_is_refused(kind: QuestionKind, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        register_question_kind(kind)


@pytest.mark.parametrize(
    ("values", "people", "settled", "value", "disputed"),
    [
        ([0.5], 9, False, None, False),
        ([0.5, 0.5], 9, True, 0.5, False),
        ([0.5, 0.0], 9, False, None, True),
        ([0.5, 0.0], 2, True, 0.5, True),
        ([0.5, 0.0, 0.0], 9, True, 0.0, False),
        ([None, 0.5, None], 9, True, None, False),
        ([None, 0.5], 2, True, 0.5, True),
    ],
)
def test_the_majority_settles_what_has_no_rule_of_its_own(
    values: list[float | None], people: int, settled: bool, value: float | None, disputed: bool
) -> None:
    votes = [LoggedAnswer(f"a{n}", 0, 0, 1, said, "people", f"person {n}") for n, said in enumerate(values)]
    verdict = settle_by_majority(votes, 2, Reliability(), people=people)
    assert (verdict.settled, verdict.value, verdict.disputed) == (settled, value, disputed)
