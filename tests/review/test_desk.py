"""The desk: leases, answers, undo, flags; a restarted server remembers; a second one agrees."""

from pathlib import Path

import pytest

from cccount_dist.campaign.campaign import Campaign, Response
from cccount_dist.campaign.effort import effort_of
from cccount_dist.report.wording import people_note
from cccount_dist.review.desk import Desk
from cccount_dist.sampling.ledger import CLOSED, LoggedAnswer
from cccount_dist.sampling.logged import answers_table
from cccount_dist.sampling.types import Question
from storage.errors import InputError
from storage.handouts import Handouts, read_waits
from tests.review.campaigns import Clock, ask, make_folder, page, pairs, plain_desk, reply


def test_sheets_are_leased_to_one_person_each(tmp_path: Path) -> None:
    desk = plain_desk(make_folder(tmp_path, pairs(20)), clock=Clock())
    ana, ben = desk.take("ana", 8), desk.take("ben", 8)
    assert [sheet.candidates[0].question_id for sheet in ana] == list(range(8))
    assert [sheet.candidates[0].question_id for sheet in ben] == list(range(8, 16))
    assert desk.take("ana", 8) == ana, "the same sheets after a reload"
    assert len(desk.take("cleo", 8)) == 4
    assert desk.take("dan", 8) == []


def test_a_lease_that_is_over_goes_back_and_a_late_answer_counts_all_the_same(tmp_path: Path) -> None:
    clock = Clock()
    desk = plain_desk(make_folder(tmp_path, pairs(4)), clock=clock, lease_seconds=60.0)
    held = desk.take("ana", 4)
    clock.wait(59)
    assert desk.take("ben", 4) == []
    clock.wait(2)
    given = desk.take("ben", 4)
    assert [s.candidates for s in given] == [s.candidates for s in held]
    assert len(desk.answer("ana", reply(held[:1])).stored) == 1
    assert [s.candidates for s in desk.take("ben", 4)] == [s.candidates for s in held[1:]], "what is settled is taken off"


def test_a_page_that_was_left_open_keeps_its_sheets_from_nobody(tmp_path: Path) -> None:
    clock = Clock()
    desk = plain_desk(make_folder(tmp_path, pairs(8)), clock=clock, lease_seconds=60.0)
    left, mine = desk.take("ben", 4), desk.take("ana", 4)
    answered: list[int] = []
    for _ in range(30):  # ana answers; the page of ben, who is at lunch, asks for sheets every ten seconds
        clock.wait(10)
        assert len(desk.take("ben", 8, have=4)) <= len(left), "nothing more for somebody who is not there"
        if mine:
            answered += [candidate.question_id for candidate in mine[0].candidates]
            desk.answer("ana", reply(mine[:1]))
        mine = desk.take("ana", 8, share=True)
    assert sorted(answered) == list(range(8)), "what he has on the screen comes to her, as the page says"
    assert desk.attendance()[0] == 1, "nothing is chosen for him meanwhile"
    ask(desk.folder, pairs(4, start=8))
    assert len(desk.answer("ben", reply(left[:1], 0.0)).stored) == 1, "he is back: it is one vote more"
    assert [sheet.candidates[0].question_id for sheet in desk.take("ben", 2, have=0)] == [8, 9]


def test_who_waits_for_sheets_for_long_gets_the_next_ones(tmp_path: Path) -> None:
    clock = Clock()
    folder = make_folder(tmp_path, pairs(3))
    desk = plain_desk(folder, clock=clock, lease_seconds=60.0)
    assert len(desk.take("ana", 3)) == 3
    for _ in range(30):
        clock.wait(10)
        desk.take("ana", 3)  # somebody who reloads the page, and is there
        assert desk.take("ben", 8, have=0) == []
    ask(folder, pairs(1, start=3))
    assert len(desk.take("ben", 8, have=0)) == 1


def test_questions_that_follow_from_an_open_one_come_last(tmp_path: Path) -> None:
    questions = [Question(0, 1, 2), Question(1, 1, 9), Question(2, 2, 9), Question(3, 5, 9), Question(4, 2, 9, kind="rating")]
    folder = make_folder(tmp_path, questions)
    desk = plain_desk(folder)
    desk.answer("ana", [Response(0, 1.0)])  # 1 and 2 are the same: what 1 is beside 9, 2 is, too
    assert [sheet.candidates[0].question_id for sheet in desk.take("ana")] == [1, 4, 3, 2]


def test_an_answer_is_stored_once_and_what_cannot_be_one_is_named(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, [*pairs(3), Question(3, 10, 11, kind="rating")])
    desk = plain_desk(folder)
    first = Response(0, 1.0, id="a")
    assert desk.answer("ana", [first]).stored == ["a"]
    receipt = desk.answer(
        "ana",
        [first, Response(99, 1.0, id="b"), Response(1, 0.5, id="c"), Response(3, 0.5, id="d"), Response(2, 1.0, "", -1.0, "e")],
    )
    assert (receipt.stored, receipt.known) == (["d"], ["a"])
    assert [rejection.id for rejection in receipt.rejected] == ["b", "c", "e"]
    assert "no question 99" in receipt.rejected[0].reason
    again = plain_desk(folder)
    assert again.answer("ana", [first]).known == ["a"], "also by a server that was started later"
    assert [a.answer_id for a in again.recent("ana")] == ["d", "a"]
    with folder.lease() as lease, folder.journal() as journal:
        journal.seal(folder.log, guard=lease.check)
    assert again.answer("ana", [first]).known == ["a"], "also when it is sealed"
    assert plain_desk(folder).answer("ana", [first]).known == ["a"]
    assert folder.log.answers().num_rows == 2


def test_undo_is_a_new_event_ten_deep_and_only_for_ones_own(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, pairs(14))
    desk = plain_desk(folder)
    for number in range(12):
        desk.answer("ana", [Response(number, 1.0, id=f"a{number}")])
    desk = plain_desk(folder)  # a reload, of the server too
    assert [a.answer_id for a in desk.recent("ana")] == [f"a{n}" for n in range(11, 1, -1)]
    assert desk.undo("ben", "a11", id="u").rejected
    assert desk.undo("ana", "a1", id="u").rejected, "eleven deep"
    for number in range(11, 1, -1):
        assert desk.undo("ana", f"a{number}", id=f"u{number}").stored == [f"u{number}"]
    assert desk.undo("ana", "a5", id="u5").known == ["u5"], "a retry"
    assert desk.undo("ana", "a5", id="v5").rejected, "taken back already"
    assert sorted(s.candidates[0].question_id for s in desk.take("ben", 20)) == list(range(2, 14))
    assert [a.answer_id for a in desk.recent("ana")] == ["a1", "a0"]


def test_a_page_is_one_sheet_and_one_look(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, [*pairs(2), *page(0, 2, 6), *page(1, 8, 5)])
    desk = plain_desk(folder)
    sheets = desk.take("ana")
    assert [(s.kind, len(s.candidates)) for s in sheets] == [("pair", 1), ("pair", 1), ("grid", 6), ("grid", 5)]
    assert (sheets[2].anchor, sheets[2].candidates[0].item) == (500, 600)
    desk.answer("ana", reply(sheets[2:], 0.0))
    for number in range(9):
        ask(folder, [Question(13 + number, 1, 2 + number)])
    desk.answer("ana", [Response(13 + number, 0.0) for number in range(8)])
    answers = desk.recent("ana", 19)
    assert len(answers) == 19
    assert desk.undo("ana", answers[-1].answer_id, id="u").stored == ["u"], "the tenth look, whose last answer is the 19th"


def test_a_flagged_item_is_shown_no_more_and_its_questions_are_unsure(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, [Question(0, 1, 2), Question(1, 2, 3), Question(2, 4, 5)])
    desk = plain_desk(folder)
    assert len(desk.take("ana")) == 3
    assert desk.flag("ana", 2, "two animals\n in it", id="f").stored == ["f"]
    assert desk.flag("ana", 2, "two animals", id="f").known == ["f"]
    assert desk.flag("ana", 4000, "", id="g").rejected
    assert [s.candidates[0].question_id for s in desk.take("ana")] == [2]
    ask(folder, [Question(3, 2, 9)])
    assert [s.candidates[0].question_id for s in desk.take("ana")] == [2], "nor in later questions"
    with folder.journal() as journal:
        rows = journal.pending().to_pylist()
    assert [(r["question_id"], r["u"], r["value"], r["source"]) for r in rows] == [
        (-1, 2, None, "flag: two animals in it"),
        (0, 1, None, "flag"),
        (1, 2, None, "flag"),
    ]
    assert desk.undo("ana", "f", id="u").stored == ["u"]
    assert len(desk.take("ana")) == 4


def test_a_restarted_server_and_a_second_one_know_who_holds_what(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, pairs(6))
    held = plain_desk(folder).take("ana", 4)
    second = plain_desk(folder)
    assert second.take("ana", 4) != []
    assert [s.id for s in second.take("ana", 4)] == [s.id for s in held]
    assert [s.candidates[0].question_id for s in second.take("ben", 4)] == [4, 5]


def test_facts_about_an_item(tmp_path: Path) -> None:
    desk = plain_desk(make_folder(tmp_path, []))
    assert desk.item(7).id == "image 7"
    with pytest.raises(InputError, match="there is no item 1000"):
        desk.item(1000)
    with pytest.raises(InputError, match="1 to 64 sheets"):
        desk.take("ana", 0)
    with pytest.raises(InputError, match="needs a name"):
        desk.take(" ")
    with pytest.raises(InputError, match="the share of gold"):
        Desk(desk.folder.workspace, "c", gold=0.9)


def test_where_few_sheets_are_open_everybody_gets_as_many(tmp_path: Path) -> None:
    """Before: the first to come took eight, and who came after them waited."""
    desk = plain_desk(make_folder(tmp_path, pairs(12)))
    for name in ("ana", "ben", "cleo"):
        desk.take(name, 1)
    taken = {name: len(desk.take(name, 8)) for name in ("ana", "ben", "cleo")}
    assert taken == {"ana": 4, "ben": 4, "cleo": 4}
    assert desk.attendance() == (3, 0)


def test_with_two_sheets_for_each_of_ten_people_nobody_holds_three_while_others_have_none(tmp_path: Path) -> None:
    """Before, in the last fifth of a budget: six people held three each, and three waited for every sheet."""
    desk = plain_desk(make_folder(tmp_path, pairs(20)))
    people = [f"person {number}" for number in range(10)]
    for name in people:
        desk.take(name, 1)
    assert [len(desk.take(name, 8)) for name in people] == [2] * 10
    ask(desk.folder, pairs(10, start=20))
    assert [len(desk.take(name, 8)) for name in people] == [3] * 10, "whoever comes again gets what came meanwhile"


def test_who_has_nothing_is_given_what_another_only_holds(tmp_path: Path) -> None:
    """Before: somebody who closed their laptop kept the last sheets for two minutes, and others waited."""
    desk = plain_desk(make_folder(tmp_path, pairs(3)))
    held = desk.take("ana", 3)
    assert desk.take("ben", 8) == []
    assert desk.attendance() == (2, 3), "ben lacks three sheets"
    (given,) = desk.take("ben", 8, share=True)
    assert given.candidates == held[-1].candidates
    assert [sheet.id for sheet in desk.take("ana", 3)] == [sheet.id for sheet in held[:-1]], "and ana is not asked it, too"
    desk.take("cleo", 8, share=True)
    assert desk.take("dan", 8, share=True) == [], "the sheet that somebody looks at is theirs"


def test_votes_about_one_item_stay_together(tmp_path: Path) -> None:
    """What was begun is finished before something new is: a count rests on the items up to the first unfinished one."""
    questions = [Question(0, 1, 50, purpose="vote place"), Question(1, 2, 50, purpose="vote place"),
                 Question(2, 3, 50, purpose="vote place"), Question(3, 1, 51, purpose="vote place")]  # fmt: skip
    desk = plain_desk(make_folder(tmp_path, questions))
    assert [sheet.candidates[0].question_id for sheet in desk.take("ana", 4)] == [0, 3, 1, 2]


def test_a_pair_that_is_on_somebodys_screen_is_asked_of_others_by_another_number(tmp_path: Path) -> None:
    """What became needless was taken off the sheet that somebody looked at, and asked again: they were shown it twice."""
    clock = Clock()
    folder = make_folder(tmp_path, pairs(6))
    desk = plain_desk(folder, clock=clock, lease_seconds=60.0)
    mine = desk.take("ana", 3)
    desk.take("ben", 1)
    first = mine[0].candidates[0].question_id
    folder.log.append_answers(answers_table([LoggedAnswer("closed", first, 0, 1, None, CLOSED, CLOSED)]))
    ask(folder, [Question(6, 0, 1), Question(7, 4, 5)])  # the pair of the closed one, and one that ana holds by another number
    shown = [sheet.candidates[0].question_id for sheet in desk.take("ana", 8)]
    assert not {6, 7} & set(shown)
    assert len(desk.answer("ana", reply(mine[:1])).stored) == 1, "she is heard"
    assert {sheet.candidates[0].question_id for sheet in desk.take("ben", 8)} >= {6, 7}
    settled = Campaign.open(str(tmp_path), "c").ledger.settled(first)
    assert settled is not None
    assert settled.annotator == "ana"


def test_how_long_people_had_nothing_to_answer_is_kept_and_reported(tmp_path: Path) -> None:
    clock, folder = Clock(), make_folder(tmp_path, pairs(1))
    desk = plain_desk(folder, clock=clock)
    held = desk.take("ana")
    for seconds in (0.0, 2.0, 1.5):  # ben's page comes again and again
        clock.wait(seconds)
        assert desk.take("ben") == []
    ask(folder, pairs(1, start=1))
    clock.wait(0.5)
    assert desk.take("ben")
    assert folder.waits() == (4.0,)
    desk.answer("ana", reply(held))
    assert desk.take("ana") == []
    clock.wait(40.0)  # she closed the laptop: that is no wait
    assert desk.take("ana") == []
    ask(folder, pairs(3, start=2))
    clock.wait(1.0)
    assert desk.take("ana")
    assert plain_desk(folder).folder.waits() == (4.0, 1.0), "also after a restart"
    said = people_note(effort_of(Campaign(folder).ledger, folder.waits()))
    assert said.endswith("Somebody at the page had nothing to answer 2\N{NO-BREAK SPACE}times: 4.0 s at the longest, 5 s in all.")
    (tmp_path / "damaged").write_bytes(b"no database")
    assert read_waits(tmp_path / "damaged") == read_waits(tmp_path / "absent") == ()


def test_reading_how_long_people_waited_leaves_no_file_behind(tmp_path: Path) -> None:
    book = Handouts(tmp_path / "desk.sqlite")
    book.close()
    assert read_waits(book.path) == ()
    assert [path.name for path in tmp_path.iterdir()] == ["desk.sqlite"]


def test_sheets_in_hands_are_about_different_clusters_where_there_are_such(tmp_path: Path) -> None:
    anchors = [10, 10, 11, 12, 13]
    sheets = [Question(2 * n + i, u, 100 + 2 * n + i, "sheet", page=n) for n, u in enumerate(anchors) for i in range(2)]
    known = Question(10, 11, 12)
    desk = plain_desk(make_folder(tmp_path, [*sheets, known]), clock=Clock())
    desk.answer("dan", [Response(10, 1.0)])  # 11 and 12 are the same
    assert [sheet.anchor for sheet in desk.take("ana", 2)] == [10, 11]
    assert [sheet.anchor for sheet in desk.take("ben", 3)] == [13, 10, 12], "13 first: what belongs to what ana has comes last"


def test_somebody_has_a_sheet_of_many_pictures_as_much_longer_as_it_takes(tmp_path: Path) -> None:
    clock = Clock()
    desk = plain_desk(make_folder(tmp_path, [*page(0, 0, 12), *pairs(13)[12:]]), clock=clock, lease_seconds=90.0)
    many, single = desk.take("ana", 2)
    assert (many.expires_at - clock.now).total_seconds() == pytest.approx(300.0), "30 s a page, 9 s a pair"
    assert (single.expires_at - clock.now).total_seconds() == 90.0
