"""Gold questions, repeats and second votes: shown in their share, unseen by the sampler, and what they tell about people."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from cccount_dist.campaign.campaign import Response
from cccount_dist.review.checkquestions import CHECKS_FROM
from cccount_dist.review.desk import Desk
from cccount_dist.review.rates import reliability_of
from cccount_dist.sampling.ledger import OUTSIDE
from storage.campaigns import CampaignFolder
from storage.gold import write_gold
from storage.schema import GOLD
from tests.review.campaigns import ask, make_folder, page, pairs


def give_gold(folder: CampaignFolder, clusters: int = 40, size: int = 4) -> None:
    """Items 700… in clusters: pairs of the same one, and of one and the next."""
    rows = []
    for cluster in range(clusters):
        first = 700 + cluster * size
        rows += [{"u": first, "v": first + n, "value": 1.0, "origin": "t"} for n in range(1, size)]
        if cluster:
            rows.append({"u": 700, "v": first, "value": 0.0, "origin": "t"})
    write_gold(folder.workspace, pa.Table.from_pylist(rows, schema=GOLD.schema))


def same(u: int, v: int) -> float:
    """Gold items are in clusters of four, the others are all the same: nothing contradicts."""
    return float((u - 700) // 4 == (v - 700) // 4) if min(u, v) >= 700 else 1.0


def work(desk: Desk, name: str, sheets: int, wrong: float = 0.0, seed: int = 0) -> int:
    """Answer sheets until there are none; return how many were checks."""
    rng, checks, done = np.random.default_rng(seed), 0, 0
    while done < sheets and (taken := desk.take(name, 10)):
        done += len(taken)
        checks += sum(sheet.candidates[0].question_id >= CHECKS_FROM for sheet in taken)
        lies = {sheet.id: rng.random() < wrong for sheet in taken}
        said = [Response(c.question_id, abs(same(s.anchor, c.item) - lies[s.id])) for s in taken for c in s.candidates]
        assert len(desk.answer(name, said).stored) == len(said)
    return checks


def test_gold_and_repeats_come_in_their_share_and_leave_the_questions_alone(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, pairs(300))
    give_gold(folder)
    desk = Desk(folder.workspace, "c", gold=0.05, repeats=0.05)
    checks = work(desk, "ana", 400)
    answered = len(desk._reading.ledger._rows) - checks
    assert answered == 300, "all questions of the sampler are answered"
    assert 0.1 * 330 - 3.1 * 5.5 < checks < 0.1 * 330 + 3.1 * 5.5
    with folder.journal() as journal:
        rows = journal.pending().to_pylist()
    found = [row for row in rows if row["question_id"] == OUTSIDE]
    assert {row["source"] for row in found} == {"gold same", "gold different", "repeat"}
    assert desk._reading.ledger.questions == 300
    assert desk._reading.ledger.constraints.known(700, 701) is None, "a check says nothing about the items"


def test_gold_tells_how_often_somebody_is_wrong(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, pairs(400))
    give_gold(folder)
    desk = Desk(folder.workspace, "c", gold=0.3, repeats=0.1)
    work(desk, "ana", 150, wrong=0.0, seed=1)
    work(desk, "eve", 150, wrong=0.25, seed=2)
    people = reliability_of(desk._reading.ledger).people
    ana, eve = (people[name].miss.wrong + people[name].false_same.wrong for name in ("ana", "eve"))
    assert ana == pytest.approx(0.0, abs=0.05)
    assert eve > 3.0
    standing = desk.standing()
    assert [person.name for person in standing.annotators if person.suspect] == ["eve"]
    assert {person.name: person.changed_mind for person in standing.annotators}["ana"] == 0.0


def test_repeats_alone_tell_how_often_somebody_is_wrong(tmp_path: Path) -> None:
    desk = Desk(make_folder(tmp_path, pairs(400)).workspace, "c", gold=0.0, repeats=0.3)
    work(desk, "eve", 500, wrong=0.15, seed=2)
    found = reliability_of(desk._reading.ledger)
    twice = found.steadiness["eve"].trials
    assert twice > 60
    assert found.votes.miss.value == pytest.approx(0.15, abs=4 * (0.15 * 0.85 / (2 * twice)) ** 0.5)
    assert found.kappas == [], "nobody agrees with himself"


def test_where_there_are_pages_gold_comes_as_a_page(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, [q for number in range(30) for q in page(number, 6 * number, 6)])
    give_gold(folder)
    desk = Desk(folder.workspace, "c", gold=0.5, repeats=0.0)
    sizes = []
    for _ in range(30):
        (sheet,) = desk.take("ana", 1)
        if sheet.candidates[0].question_id >= CHECKS_FROM:
            sizes.append(len(sheet.candidates))
            expected = [same(sheet.anchor, c.item) for c in sheet.candidates]
            assert sum(expected) <= 1.0, "at most one on a page is the same"
        desk.answer("ana", [Response(c.question_id, 0.0, seconds=1.0) for c in sheet.candidates])
    assert len(sizes) > 5
    assert max(sizes) > 1
    with folder.journal() as journal:
        pages = {row["page"] for row in journal.pending().to_pylist() if row["question_id"] == OUTSIDE}
    assert all(number < 0 for number in pages), "pages of checks never meet the sampler's"


def test_without_gold_second_votes_are_asked_and_become_gold(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, pairs(150))
    desk = Desk(folder.workspace, "c", gold=0.3, repeats=0.0)
    assert work(desk, "ana", 75) == 0, "nobody to compare with, and no gold"
    work(desk, "ben", 60)
    assert len(desk._reading.ledger.shared) > 5
    assert desk._checks._pairs
    assert work(desk, "cleo", 60) > 3, "what two people agree on is gold for a third"


def test_a_check_belongs_to_one_person_and_outlives_the_server(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, pairs(50))
    give_gold(folder)
    desk = Desk(folder.workspace, "c", gold=0.5, repeats=0.0)
    sheet = next(s for s in desk.take("ana", 30) if s.candidates[0].question_id >= CHECKS_FROM)
    number = sheet.candidates[0].question_id
    again = Desk(folder.workspace, "c", gold=0.5, repeats=0.0)
    assert again.answer("ben", [Response(number, 1.0, id="b")]).rejected
    assert again.answer("ana", [Response(number, 0.5, id="a")]).rejected
    assert again.answer("ana", [Response(number, 1.0, id="a")]).stored == ["a"]
    assert sheet.id not in [s.id for s in again.take("ana", 30)]
    assert again.undo("ana", "a", id="u").stored == ["u"]
    ask(folder, pairs(1, start=50))
    assert again.answer("ana", [Response(CHECKS_FROM + 10**6, 1.0, id="c")]).rejected


def test_which_sheet_is_a_check_is_the_same_every_time(tmp_path: Path) -> None:
    kinds = []
    for name in ("one", "two"):
        folder = make_folder(tmp_path / name, pairs(60))
        give_gold(folder)
        desk = Desk(folder.workspace, "c", gold=0.2, repeats=0.0)
        sheets = desk.take("ana", 40)
        kinds.append([(s.anchor, s.candidates[0].item) for s in sheets])
    assert kinds[0] == kinds[1]
    assert sum(u >= 700 for u, _ in kinds[0]) == pytest.approx(8, abs=7)
