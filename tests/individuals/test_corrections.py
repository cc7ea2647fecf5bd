"""Corrections by hand are answers of people: obeyed at once, taken back by who gave them, and by nobody else."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cccount_dist.campaign.adoption import OtherCampaign
from cccount_dist.individuals.census import Individuals
from cccount_dist.sampling.constraints import Constraints
from cccount_dist.sampling.ledger import OUTSIDE, Ledger, LoggedAnswer
from cccount_dist.sampling.types import Question
from storage.errors import InputError
from storage.individuals import read_names
from storage.workspace import Workspace
from tests.individuals.made import add_campaign, groups, make_census, write_groups


@pytest.fixture
def individuals(tmp_path: Path) -> Individuals:
    made = make_census(tmp_path / "ws")
    made.census()
    return made


BEFORE = {1: (0, 1, 2), 2: (3, 4), 3: (5,)}
Correction = Callable[[Individuals], str]
CORRECTIONS: dict[str, tuple[Correction, dict[int, tuple[int, ...]]]] = {
    "merge": (lambda i: i.merge(2, [1], annotator="ana"), {2: (0, 1, 2, 3, 4), 3: (5,)}),
    "split": (lambda i: i.split(1, [1, 2], annotator="ana"), {1: (0,), 2: (3, 4), 3: (5,), 4: (1, 2)}),
    "move": (lambda i: i.move(0, 3, annotator="ana"), {1: (1, 2), 2: (3, 4), 3: (0, 5)}),
    "confirm": (lambda i: i.confirm(1, annotator="ana"), BEFORE),
    "no animal": (lambda i: i.not_an_animal(5, annotator="ana"), {1: (0, 1, 2), 2: (3, 4)}),
}


@pytest.mark.parametrize("what", CORRECTIONS)
def test_a_correction_is_obeyed_survives_new_groups_and_can_be_taken_back(what: str, individuals: Individuals) -> None:
    correct, after = CORRECTIONS[what]
    told = correct(individuals)
    assert groups(individuals) == after
    write_groups(individuals.folder, (0, 0, 0, 1, 1, 2))  # the method says the same as before
    assert groups(individuals) == after
    again = Individuals.open(individuals.workspace.location, "groups")  # another process
    assert groups(again) == after
    with pytest.raises(InputError, match="ben"):
        again.undo(told, annotator="ben")
    again.undo(told, annotator="ana")
    assert groups(individuals) == BEFORE
    with pytest.raises(InputError, match="still holds"):
        individuals.undo(told, annotator="ana")
    assert list(Workspace.open(individuals.workspace.location).problems()) == []


def test_what_was_confirmed_says_by_whom(individuals: Individuals) -> None:
    individuals.confirm(1, annotator="ana")
    one = individuals.census().find(1)
    assert (one.sure, one.checked_by, one.checked_items) == ("confirmed", ("ana",), (0, 1, 2))


def test_a_correction_stands_above_answers_to_questions_whenever_they_came() -> None:
    ledger = Ledger()
    ledger.know([Question(n, *pair) for n, pair in enumerate([(0, 1), (1, 2), (2, 3)])])
    ledger.take([LoggedAnswer(f"a{n}", n, n, n + 1, 1.0, "people", "ben") for n in range(2)])
    assert ledger.constraints.known(0, 2) == 1.0
    ledger.take([LoggedAnswer("c", OUTSIDE, 0, 2, 0.0, "correction: split", "ana"),
                 LoggedAnswer("c/1", OUTSIDE, 0, 1, 1.0, "correction: split", "ana")])  # fmt: skip
    assert (ledger.constraints.known(0, 2), ledger.constraints.known(0, 1)) == (0.0, 1.0)
    assert [conflict.answer_id for conflict in ledger.constraints.conflicts] == ["a1"]
    ledger.take([LoggedAnswer("undo", OUTSIDE, 0, 2, None, "correction: split", "ana", "c")])
    assert ledger.constraints.known(0, 2) == 1.0


def test_what_was_inferred_from_an_answer_that_a_correction_refutes_is_withdrawn() -> None:
    ledger = Ledger()
    ledger.know([Question(0, 0, 1), Question(1, 1, 2), Question(2, 0, 2)])
    ledger.take([LoggedAnswer("a", 0, 0, 1, 1.0, "people", "ben"), LoggedAnswer("b", 1, 1, 2, 1.0, "people", "ben"),
                 LoggedAnswer("free", 2, 0, 2, 1.0, "inferred", "inferred")])  # fmt: skip
    events = ledger.take([LoggedAnswer("c", OUTSIDE, 1, 2, 0.0, "correction: split", "ana")])
    assert [(event.question_id, event.value) for event in events] == [(2, None)]


def test_of_two_corrections_the_newer_one_holds() -> None:
    known = Constraints()
    known.note(0, 1, 1.0, "first", firm=True)
    known.note(0, 1, 0.0, "second", firm=True)
    assert known.known(0, 1) == 0.0
    known.remove("second")
    assert known.known(0, 1) == 1.0


def test_a_merge_after_a_split_joins_what_was_parted(individuals: Individuals) -> None:
    individuals.split(1, [1, 2], annotator="ana")
    individuals.merge(1, [4], annotator="ben")
    assert groups(individuals) == BEFORE


def test_other_campaigns_hear_of_a_correction_and_of_its_undo(individuals: Individuals) -> None:
    told = individuals.split(2, [4], annotator="ana")
    other = add_campaign(individuals.workspace, "later", (0, 0, 0, 1, 1, 2))
    assert groups(other) == {1: (0, 1, 2), 2: (3,), 4: (4,), 3: (5,)}
    adopted = OtherCampaign(individuals.folder).new_answers()
    assert [(row.u, row.v, row.value, row.source) for row in adopted] == [(4, 3, 0.0, "campaign groups: correction: split")]
    individuals.undo(told, annotator="ana")
    assert groups(other) == BEFORE


def test_names_and_notes_have_a_journal_with_undo(individuals: Individuals) -> None:
    luna = individuals.name(1, " Luna ", annotator="ana")
    individuals.note(1, "left ear torn", annotator="ben")
    assert (individuals.census().find(1).name, individuals.census().find(1).note) == ("Luna", "left ear torn")
    with pytest.raises(InputError, match="individual 1 is called 'Luna' already"):
        individuals.name(2, "Luna", annotator="ana")
    with pytest.raises(InputError, match="ben"):
        individuals.undo(luna, annotator="ben")
    individuals.undo(luna, annotator="ana")
    assert individuals.census().find(1).name is None
    assert [(entry.annotator, entry.text) for entry in read_names(individuals.workspace)] == [
        ("ana", "Luna"), ("ben", "left ear torn"), ("ana", ""),
    ]  # fmt: skip


def test_the_same_correction_sent_again_counts_once(individuals: Individuals) -> None:
    for _ in range(2):
        individuals.merge(2, [1], annotator="ana", id="one")
        individuals.name(2, "Luna", annotator="ana", id="two")
    assert len([row for row in individuals.campaign.ledger.rows() if row.source == "correction: merge"]) == 4
    assert len(read_names(individuals.workspace)) == 1


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda i: i.merge(1, [1], annotator="ana"), "one already"),
        (lambda i: i.merge(1, [99], annotator="ana"), "no individual 99"),
        (lambda i: i.split(1, [0, 1, 2], annotator="ana"), "not all of them"),
        (lambda i: i.split(1, [5], annotator="ana"), "no picture 'p5.jpg'"),
        (lambda i: i.move(0, 1, annotator="ana"), "already"),
        (lambda i: i.confirm(3, annotator="ana"), "one picture"),
        (lambda i: i.confirm(1, annotator=" "), "needs a name"),
        (lambda i: i.name(1, "a" * 81, annotator="ana"), "at most 80"),
    ],
)
def test_what_cannot_be_meant_is_said_and_changes_nothing(wrong: Correction, says: str, individuals: Individuals) -> None:
    with pytest.raises(InputError, match=says):
        wrong(individuals)
    assert groups(individuals) == BEFORE


def test_two_processes_that_name_and_correct_at_once_lose_nothing(individuals: Individuals) -> None:
    place = individuals.workspace.location
    script = (
        "import sys; from cccount_dist import Individuals\n"
        "place, who = sys.argv[1:]\n"
        "for n in range(8):\n"
        "    i = Individuals.open(place, 'groups')\n"
        "    i.note(1, f'{who} {n}', annotator=who); i.undo(i.confirm(1, annotator=who), annotator=who)\n"
    )
    started = [subprocess.Popen([sys.executable, "-c", script, place, who]) for who in ("ana", "ben")]
    assert [process.wait(120) for process in started] == [0, 0]
    assert len(read_names(individuals.workspace)) == 16
    assert groups(individuals) == BEFORE
    assert len(individuals.campaign.ledger.rows()) == 0  # all taken back
    assert list(Workspace.open(place).problems()) == []
