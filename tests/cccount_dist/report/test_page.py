"""The report's page: well formed and safe whatever the data, and in every state that a campaign can be in."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cccount_dist.campaign.effort import PersonsTotal
from cccount_dist.counting.methods import counting_methods
from cccount_dist.report.countpage import report_page
from cccount_dist.report.facts import Estimate, Forecast, Thumbnail, Way
from cccount_dist.report.wording import method
from tests.cccount_dist.report.reading import check
from tests.cccount_dist.report.samples import DOT, counted, pair

HOSTILE = """"><script>alert('x')</script><img src=x onerror=alert(1)>&amp;<!-- ]]> {style} url(https:evil)"""


def test_the_answer_is_one_sentence_at_the_top() -> None:
    page = check(report_page(counted()))
    assert "About 10 different ones 95 % sure between 8 and 12, from 2,000 answers." in page.text
    assert "The labels of the collection say 10, which lies inside the interval." in page.text
    assert "Complete: the budget of 2,000 answers is used." in page.text


def test_effort_method_and_fingerprints_are_said() -> None:
    text = check(report_page(counted(contradictions=3, unsure=12))).text
    for said in (
        "5 hours", "Nested importance sampling (nis)", "hog, 900 dimensions", "cosine", "b2" * 32, "Seed7", "219, because",
        "3: answers that disagree", "12 pairs: those count neither", "cccount 0.1.0 on 2026-11-16 08:30 UTC",
    ):  # fmt: skip
        assert said in text


def test_names_that_users_gave_never_become_markup() -> None:
    facts = counted(
        campaign=HOSTILE,
        pairs=[pair(0, 1.0, HOSTILE, HOSTILE), pair(1, 0.0)],
        effort={"people": (PersonsTotal(HOSTILE, 5),)},
        goal={"oracle": "people"},
        collection={"failed": 1, "failed_examples": [(HOSTILE, HOSTILE)], "encoder": HOSTILE},
    )
    page = check(report_page(facts))
    assert " ".join(HOSTILE.split()) in page.text
    assert sum(HOSTILE in image["alt"] for image in page.all("img")) == 2


@settings(max_examples=25, deadline=None)
@given(name=st.text(min_size=1, max_size=40), reason=st.text(max_size=40))
def test_any_text_makes_a_well_formed_page(name: str, reason: str) -> None:
    pairs = [pair(0, 1.0, name, name), pair(1, None)]
    facts = counted(estimates=[], pairs=pairs, collection={"failed": 1, "failed_examples": [(name, reason)]})
    html = report_page(facts).replace("://", ":")  # a name may be an address: it is text, not a reference
    check(html)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"effort": {"pairs": 0, "free": 0}, "estimates": [], "pairs": [], "pending": 256, "goal": {"oracle": "people"}},
         ["No answers yet 256 questions wait for people.", "no estimate yet", "No pair has been judged yet",
          "Waiting for people: 256 questions open, 0 of 2,000 answers given."]),
        ({"effort": {"pairs": 0, "free": 0}, "estimates": [], "pairs": [], "pending": 1, "goal": {"oracle": "people"}},
         ["No answers yet 1 question waits for people."]),
        ({"effort": {"pairs": 0, "free": 0}, "estimates": [], "pairs": [], "goal": {"budget": 0}},
         ["No answers yet Nothing has been asked so far.", "Complete: the budget of 0 answers is used."]),
        ({"effort": {"pairs": 3}, "estimates": [], "goal": {"oracle": "people"}, "pending": 250},
         ["No estimate yet 3 answers so far", "at most 1,797"]),
        ({"effort": {"pairs": 1216}, "estimates": [Estimate(1000, 10.7, 8.8, 12.5)]},
         ["from the first 1,000 of 1,216 answers",
          "Under way: 1,216 of 2,000 answers given.", "fewer answers (1,216) than items (1,797)"]),
        ({"exact": 9, "effort": {"pairs": 70}},
         ["Exactly 9 different ones 70 answers decide every pair.", "nothing is left to ask", "the answers differ from them"]),
        ({"goal": {"target_width": 0.5}}, ["Complete: the interval is narrower than the wanted 50 % of the estimate."]),
        ({"goal": {"target_width": 0.1}}, ["Stopped: the budget of 2,000 answers is used", "wider than wanted"]),
        ({"collection": {"truth": None}}, ["Labels none".replace(" ", "")]),
        ({"collection": {"truth": 40}}, ["say 40, which lies outside the interval"]),
        ({"goal": {"error_rate": 0.04}}, ["4 % of these answers were made wrong on purpose"]),
        ({"settings": {"method": "placing"}}, ["Methodplacing"]),
        ({"effort": {"people": (PersonsTotal("ben", 1997), PersonsTotal("ana", 3))}, "goal": {"oracle": "people"}},
         ["Who answered", "ben1,99701,9970ana3030all2,00002,0000", "2,000 answers of people."]),
    ],
)  # fmt: skip
def test_every_state_of_a_campaign_has_a_report(changes: dict[str, Any], said: list[str]) -> None:
    text = check(report_page(counted(**changes))).text
    for words in said:
        assert words in text


def test_failed_images_are_named_with_their_reasons() -> None:
    failed = [("night/0001.jpg", "damaged image: truncated"), ("night/0002.jpg", "the file is empty (0 bytes)")]
    text = check(report_page(counted(collection={"failed": 300, "failed_examples": failed}))).text
    assert "300 items left out; the first 2" in text
    for name, reason in failed:
        assert name + reason in text


def test_a_collection_of_vectors_says_that_it_has_no_pictures() -> None:
    none = Thumbnail("17", None, "the item has no image")
    pairs = [type(p)(p.question_id, p.value, none, none) for p in counted().pairs]
    page = check(report_page(counted(pairs=pairs, collection={"has_images": False, "encoder": "given"})))
    assert not page.all("img")
    assert "The collection has vectors only, so there are no pictures to show." in page.text
    assert "317" + "17" + "same" in page.text  # question 3, item 17 twice, the answer


def test_pictures_that_cannot_be_read_are_said() -> None:
    gone = Thumbnail("b.png", None, "the file does not exist")
    some = counted(pairs=[type(p)(p.question_id, p.value, p.first, gone) for p in counted().pairs])
    page = check(report_page(some))
    assert len(page.all("img")) == 3
    assert "3 pictures could not be read; the first: b.png: the file does not exist." in page.text
    all_gone = counted(pairs=[type(p)(p.question_id, p.value, gone, gone) for p in counted().pairs])
    assert "None of the pictures could be read; the first: b.png: the file does not exist." in check(report_page(all_gone)).text


def test_pairs_stand_below_their_answers() -> None:
    page = check(report_page(counted(pairs=[*counted().pairs, pair(11, 0.3)])))
    assert [image["src"] for image in page.all("img")] == [DOT] * 8
    assert "rated 0.3" in page.text
    for heading in ("Said to be the same", "Said to be different", "Rated in between", "Nobody could tell"):
        assert ("h3", heading) in page.texts


def test_sizes_ways_forecast_pages_and_warnings_are_shown() -> None:
    facts = counted(
        settings={"method": "placing"},
        estimates=[Estimate(100, 12.0, 8.0, 20.0, 6.0), Estimate(300, 10.0, 9.0, 12.0, 9.0)],
        effort={"pairs": 100, "pages": 40},
        sizes={1: 2, 3: 4, 40: 3},
        ways=[Way("the result", 10.0, 9.0, 12.0), Way("Chao's bound", 9.5, 9.0, 11.0)],
        warnings=["the ways to count do not meet <b>"],
        forecast=Forecast(0.2, 2300),
    )
    page = check(report_page(facts))
    for said in (
        "134 random items show 9 clusters; 2 of them were drawn only once",
        "Take care. The ways to count do not meet <b>.",
        "About 2,300 answers in all (a page counts as the pairs that take as long), 5 h 45, would bring it to ±10 %.",
        "100 pairs at 9 s, 40 pages at 30 s",
        "Dotted: clusters seen",
        "Placing random items (placing)",
        "140answers given: 100 pairs and 40 pages",
    ):
        assert said in page.text
    assert len(page.all("svg")) == 6


def test_every_method_of_the_registry_is_explained() -> None:
    for name in counting_methods():
        assert method(replace(counted().settings, method=name))[1]
