"""A campaign as a program uses it: ask, tell, flag, undo; the desk of the review page goes the same way."""

import threading
from pathlib import Path

import pytest

from cccount_dist import Campaign, Response
from cccount_dist.sampling.ledger import LoggedAnswer
from cccount_dist.sampling.types import Question
from storage.campaigns import CampaignFolder
from storage.errors import InputError
from storage.journal import Journal
from tests.review.campaigns import ask, make_folder, pairs, plain_desk

ROOT = Path(__file__).parent.parent.parent
QUESTIONS = [Question(0, 1, 2), Question(1, 2, 3), Question(2, 4, 5)]


def rows_of(folder: CampaignFolder) -> list[dict[str, object]]:
    with folder.journal() as journal:
        rows: list[dict[str, object]] = journal.pending().drop_columns(["answered_at"]).to_pylist()
        return rows


def test_a_program_asks_tells_and_takes_back(tmp_path: Path) -> None:
    campaign = Campaign(make_folder(tmp_path, QUESTIONS))
    (question,) = campaign.ask(1, annotator="ana")
    given = Response(question.id, 1.0, "ana", id="mine")
    assert [campaign.tell([given]), campaign.tell([given])] == [1, 0], "a retry counts once"
    with pytest.raises(InputError, match="ben has no answer 'mine' that still holds"):
        campaign.undo("mine", annotator="ben")
    assert campaign.undo("mine", annotator="ana", id="back")
    assert not campaign.undo("mine", annotator="ana", id="back"), "a retry"
    with pytest.raises(InputError, match="ana has no answer 'mine' that still holds"):
        campaign.undo("mine", annotator="ana")
    with pytest.raises(InputError, match="has no answer 'back'"):
        campaign.undo("back", annotator="ana")
    assert len(campaign.ask(9)) == 3
    assert campaign.tell([Response(0, None)]) == 1, "unsure is an answer"


def test_nothing_is_recorded_if_one_of_the_answers_cannot_be_one(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, QUESTIONS)
    campaign = Campaign(folder)
    for wrong, reason in (
        (Response(99, 1.0), "campaign 'c' has no question 99: it has 3"),
        (Response(1, 0.5), "question 1 takes 1 \\(same\\), 0 \\(different\\) or nothing \\(unsure\\), not 0.5"),
        (Response(1, 1.0, seconds=-1.0), "seconds of 0 or more, less than a year, not -1.0"),
        (Response(1, 1.0, id=""), "an answer needs an id"),
    ):
        with pytest.raises(InputError, match=reason) as caught:
            campaign.tell([Response(0, 1.0), wrong])
        assert "\n" not in str(caught.value)
    assert rows_of(folder) == []


def test_a_flagged_item_is_asked_about_no_more_until_the_flag_is_taken_back(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, QUESTIONS)
    campaign = Campaign(folder)
    assert campaign.flag(2, "two animals\n in it", annotator="ana", id="f")
    assert not campaign.flag(2, "two animals", annotator="ana", id="f"), "a retry"
    assert [question.id for question in campaign.ask(9)] == [2]
    ask(folder, [Question(3, 2, 9)])
    assert [question.id for question in campaign.ask(9)] == [2], "nor in later questions"
    assert campaign.ledger.flagged == {2}
    with pytest.raises(InputError, match="there is no item 4000: the collection has the items 0 to 999"):
        campaign.flag(4000)
    with pytest.raises(InputError, match="ben has no flag 'f'"):
        campaign.unflag("f", annotator="ben")
    campaign.tell([Response(2, 1.0, "ana", id="a")])
    with pytest.raises(InputError, match="ana has no flag 'a'"):
        campaign.unflag("a", annotator="ana")
    assert campaign.unflag("f", annotator="ana")
    assert campaign.ledger.flagged == set()
    assert [question.id for question in Campaign(folder).ask(9)] == [0, 1, 3]
    with pytest.raises(InputError, match="needs a name"):
        campaign.flag(1, annotator=" ")


def test_the_desk_writes_what_a_program_would(tmp_path: Path) -> None:
    folders = [make_folder(tmp_path / name, QUESTIONS) for name in ("desk", "program")]
    desk, campaign = plain_desk(folders[0]), Campaign(folders[1])
    desk.answer("ana", [Response(2, 1.0, seconds=3.0, id="a")])
    campaign.tell([Response(2, 1.0, "ana", 3.0, "a")])
    desk.flag("ana", 2, "dark", id="f")
    campaign.flag(2, "dark", annotator="ana", id="f")
    desk.undo("ana", "f", id="u")
    campaign.undo("f", annotator="ana", id="u")
    desk.flag("ana", 3, "dark", id="g")
    campaign.flag(3, "dark", annotator="ana", id="g")
    desk.unflag("ana", "g", id="v")
    campaign.unflag("g", annotator="ana", id="v")
    first, second = map(rows_of, folders)
    assert first == second
    assert len(first) == 11


def test_who_holds_a_campaign_opens_the_journal_once_and_hears_of_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_folder(tmp_path, pairs(20))
    opened: list[Path] = []
    original = Journal.__init__

    def counted(self: Journal, path: Path) -> None:
        opened.append(path)
        original(self, path)

    monkeypatch.setattr(Journal, "__init__", counted)
    campaign, heard = Campaign(folder), list[LoggedAnswer]()
    campaign.hold(heard.extend)
    for number in range(10):
        campaign.tell([Response(number, 1.0, id=f"a{number}")])
    campaign.flag(30, id="f")
    assert len(opened) == 1
    Campaign(folder).tell([Response(10, 0.0, id="elsewhere")])
    assert len(campaign.ask(20)) == 8
    assert [row.id for row in heard] == [*(f"a{number}" for number in range(10)), "f", "f/15", "elsewhere"]
    campaign.close()
    assert campaign.tell([Response(11, 1.0)]) == 1, "and goes on without it"


def test_threads_may_share_a_campaign(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, pairs(40))
    campaign = Campaign(folder)
    recorded: list[int] = []

    def work(person: int) -> None:
        mine = [Response(number, 1.0, id=f"a{number}") for number in range(person, 40, 4)]  # as one other of the eight
        recorded.extend(campaign.tell([response]) for response in mine)

    threads = [threading.Thread(target=work, args=(person % 4,)) for person in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(recorded) == 40
    assert sorted(str(row["answer_id"]) for row in rows_of(folder)) == sorted(f"a{number}" for number in range(40))


def test_no_other_file_writes_what_people_say_into_the_journal() -> None:
    writers = [
        path.relative_to(ROOT).as_posix()
        for package in ("cccount_dist", "flows")
        for path in sorted((ROOT / package).rglob("*.py"))
        if "journal.record(" in path.read_text()
    ]
    assert writers == ["cccount_dist/campaign/campaign.py"]
