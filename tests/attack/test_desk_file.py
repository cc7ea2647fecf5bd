"""A damaged `desk.sqlite`: people go on, nothing that was answered is lost, and nobody is told to save what need not be saved."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from cccount_dist.campaign.campaign import Response
from storage.errors import StoreError
from storage.handouts import Check, Handouts, handouts_problems
from tests.flows.calls import verify
from tests.review.campaigns import make_folder, pairs, plain_desk


def overwritten(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(b"no database at all" * (len(data) // 18))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])


def other_tables(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("DROP TABLE sheets")
        database.execute("CREATE TABLE sheets (something TEXT)")
    database.close()


def other_json(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("UPDATE sheets SET candidates = '[[0, 1'")
    database.close()


@pytest.mark.parametrize("damage", [overwritten, cut, other_tables, other_json])
def test_a_damaged_desk_is_made_anew_by_itself(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    folder = make_folder(tmp_path / "ws", pairs(20))
    desk = plain_desk(folder)
    first = desk.take("ana", 4)
    desk.answer("ana", [Response(first[0].candidates[0].question_id, 1.0, id="kept")])
    desk.close()
    for ending in ("-wal", "-shm"):
        folder.handouts_path.with_name(folder.handouts_path.name + ending).unlink(missing_ok=True)
    damage(folder.handouts_path)
    (problem,) = verify(str(tmp_path / "ws"))["problems"]
    assert "the review page makes it anew" in problem["repair"]
    assert "recover" not in problem["repair"]
    again = plain_desk(folder)
    assert len(again.take("ana", 4)) == 4
    assert again._reading.ledger.knows("kept"), "the journal is not touched"
    again.close()
    assert verify(str(tmp_path / "ws"))["ok"]


def test_damage_that_shows_while_people_answer_costs_them_one_more_try(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "ws", pairs(20))
    desk = plain_desk(folder)
    desk.take("ana", 4)
    with sqlite3.connect(folder.handouts_path) as other:
        other.execute("UPDATE sheets SET candidates = 'not json'")
    other.close()
    with pytest.raises(StoreError, match="made anew: try again"):
        desk.take("ana", 4)
    (first, *_) = desk.take("ana", 4)
    assert desk.answer("ana", [Response(first.candidates[0].question_id, 1.0, id="answered")]).stored == ["answered"]
    desk.close()
    assert handouts_problems(folder.handouts_path) == []


def test_the_number_of_a_lost_check_is_nobody_elses(tmp_path: Path) -> None:
    path = tmp_path / "desk.sqlite"
    book = Handouts(path)
    with book.changing():
        (before,) = book.add_checks([Check("ana", 0, 1, None, "gold same")])
    book.close()
    overwritten(path)
    anew = Handouts(path)
    with anew.changing():
        (after,) = anew.add_checks([Check("ana", 2, 3, None, "gold same")])
    assert anew.check(before) is None
    assert after > before + 1_000_000
    anew.close()
