"""Epochs: a campaign goes on with another revision of its method, or where the replay disagrees; nothing is asked again."""

import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from cccount_dist.campaign.campaign import Campaign, Response
from cccount_dist.campaign.outcome import CampaignOutcome
from cccount_dist.clustering.methods import grouping_methods
from cccount_dist.counting.methods import counting_methods
from cccount_dist.review.desk import Desk
from cccount_dist.sampling.drive import PAGE_COST
from cccount_dist.sampling.ledger import EPOCH, INFERRED
from cccount_dist.sampling.logged import answers_of, questions_of
from cccount_dist.sampling.methods import METHODS
from storage.campaigns import CampaignFolder
from storage.errors import CorruptionError, WorkspaceError
from storage.workspace import Workspace
from tests.flows.calls import advance, status, verify, write_reports
from tests.flows.conftest import cccount

KINDS = {**dict.fromkeys(counting_methods(), "count"), **dict.fromkeys(grouping_methods(), "cluster"), "active": "subcluster"}


@contextmanager
def another_revision(method: str, raised: int = 1) -> Iterator[int]:
    """The method with its revision raised by so many: whichever it has today. Say the new one."""
    name = f"{KINDS[method]}/{method}"
    revision = METHODS.get(name).revision + raised
    with METHODS.having(name, replace(METHODS.get(name), revision=revision)):
        yield revision


def start(place: Path, method: str, budget: int, oracle: str = "labels", **options: object) -> Campaign:
    told = {"clusters": 10} if method in ("hacc", "active") else {}
    return Campaign.create(str(place), "c", KINDS[method], method=method, budget=budget, oracle=oracle, **told, **options)  # type: ignore[arg-type]


def check_nothing_was_asked_again(place: Path, name: str = "c") -> None:
    """Of a pair that was answered before an epoch began, everything that was said is heard before anybody is asked.

    Also what is open is asked: nobody has answered it yet, and somebody will be shown it. What was taken back was not said.
    """
    folder = CampaignFolder(Workspace.open(place), name)
    questions = {q.id: q for q in questions_of(folder.log.questions())}
    log = answers_of(folder.log.answers())
    undone = {row.undoes for row in log if row.undoes is not None}
    rows = [row for row in log if row.undoes is None and row.question_id in questions and row.id not in undone]
    rows = [row for row in rows if row.source.removeprefix(f"{EPOCH} ") not in undone]
    opened = Campaign.open(str(place), name)
    waiting = opened.ledger.pending(opened.questions)
    for epoch in folder.epochs()[1:]:
        votes: Counter[tuple[int, int]] = Counter()
        for row in rows:
            pair = min(row.u, row.v), max(row.u, row.v)
            if row.question_id < epoch.questions:
                votes[pair] += row.is_vote
            elif row.source.startswith(f"{EPOCH} "):
                votes[pair] -= 1
            elif row.is_vote:
                assert votes[pair] <= 0, (
                    f"{pair} was answered before epoch {epoch.number}, and question {row.question_id} asks it"
                )
        for question in waiting:
            pair = min(question.u, question.v), max(question.u, question.v)
            assert question.id >= epoch.questions, f"question {question.id} of an earlier epoch is still open"
            assert votes[pair] <= 0, f"{pair} was answered before epoch {epoch.number}, and question {question.id} is open"


def effort(reached: CampaignOutcome) -> int:
    """What was used of the budget: a sheet counts as the questions that take a person as long."""
    return round(reached.questions + PAGE_COST * getattr(reached, "glances", 0))


@pytest.mark.parametrize("method", KINDS)
def test_a_new_revision_goes_on_from_what_is_known(workspace: Path, method: str) -> None:
    campaign = start(workspace, method, 30)
    before = campaign.advance(to_the_end=True)
    with another_revision(method) as revision:
        start(workspace, method, 60)
        after = campaign.advance(to_the_end=True)
    assert effort(before) == 30
    assert effort(after) in (60, 30)  # or done by what is known
    check_nothing_was_asked_again(workspace)
    found = status(str(workspace))["campaigns"][0]
    assert f"{method} has the revision {revision} now, and had {revision - 1}" in found["epoch"]
    with closing(Desk(Workspace.open(workspace), "c")) as desk:
        standing = desk.standing()
    assert standing.epoch == found["epoch"]
    assert standing.headline == Campaign.open(str(workspace), "c").status().brief
    assert verify(str(workspace))["ok"]
    assert after.json()["epoch"] == found["epoch"]
    assert f"Epoch 2 since {found['epoch'].partition(' since ')[2]}" in after.words()
    assert f"has the revision {revision} now" in Path(write_reports(str(workspace), "c")["files"][0]).read_text()
    with another_revision(method):
        assert advance(str(workspace), "c")["questions"] == after.questions
    assert len(CampaignFolder(Workspace.open(workspace), "c").epochs()) == 2


@example("nis", [(1, False), (1, False), (1, True)], 2)  # taken back after the epoch had begun
@example("catalogue", [(40, False), (30, True), (9, False), (25, True)], 3)  # whole sheets, and parts of some
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(["placing", "nis", "evidence", "apc", "catalogue", "iu-red", "hacc", "nested-mc", "inverse", "active"]),
    st.lists(st.tuples(st.integers(1, 40), st.booleans()), min_size=2, max_size=5),
    st.integers(0, 2**20),
)
def test_epochs_at_any_place_lose_no_answer_and_ask_none_again(
    workspace: Path,
    labels: NDArray[np.int64],
    tmp_path_factory: pytest.TempPathFactory,
    method: str,
    course: list[tuple[int, bool]],
    seed: int,
) -> None:
    """People answer some, are unsure or take one back now and then; at any place of the log another revision is installed."""
    place = Path(shutil.copytree(workspace, tmp_path_factory.mktemp("epochs") / "ws"))
    chance, raised, said, numbers = np.random.default_rng(seed), 0, dict[str, Response](), count()
    for wanted, changes in course:
        raised += changes
        with another_revision(method, raised):
            campaign = start(place, method, 300, "people")
            campaign.advance()
            for question in campaign.ask(wanted):
                value = None if chance.random() < 0.1 else float(labels[question.u] == labels[question.v])
                person = str(chance.choice(["ana", "ben"]))
                response = Response(question.id, value, person, id=f"{person} {next(numbers)}")
                campaign.tell([response])
                said[response.id] = response
            if said and chance.random() < 0.5:
                undone = str(chance.choice(sorted(said)))
                campaign.undo(undone, annotator=said.pop(undone).annotator)
            campaign.advance()
    kept = {row.id: row.value for row in Campaign.open(str(place), "c").ledger.rows() if row.source == "people"}
    assert kept == {name: response.value for name, response in said.items()}
    check_nothing_was_asked_again(place)
    assert verify(str(place))["ok"]


def test_a_replay_that_disagrees_opens_an_epoch_unless_it_is_strict(workspace: Path) -> None:
    campaign = start(workspace, "nis", 40, seed=3)
    campaign.advance(to_the_end=True)
    folder = CampaignFolder(Workspace.open(workspace), "c")
    method = METHODS.get("count/nis")
    other = replace(method, build=lambda inputs, given: method.build(replace(inputs, seed=inputs.seed + 1), given))
    with METHODS.having("count/nis", other):
        with pytest.raises(CorruptionError, match="the log belongs to other inputs"):
            campaign.advance(strict=True)
        assert len(folder.epochs()) == 1
        campaign.advance()
        assert "the replay disagreed with the log: question 0 was" in folder.epochs()[1].reason
    check_nothing_was_asked_again(workspace)


def test_the_report_says_it_also_where_nothing_was_answered_since(workspace: Path) -> None:
    start(workspace, "nis", 30).advance(to_the_end=True)
    advance(str(workspace), "c")
    report = workspace / "campaigns/c/results/report.html"
    assert "has the revision" not in report.read_text()
    with another_revision("nis"):
        advance(str(workspace), "c")
    assert "nis has the revision 2 now, and had 1" in report.read_text()


def test_a_damaged_log_opens_no_epoch(workspace: Path) -> None:
    campaign = start(workspace, "nis", 40)
    campaign.advance(to_the_end=True)
    part = next((workspace / "campaigns/c/questions").glob("part-*.parquet"))
    data = bytearray(part.read_bytes())
    data[len(data) // 2] ^= 1
    part.write_bytes(bytes(data))
    assert not verify(str(workspace))["ok"]
    with pytest.raises(CorruptionError):
        Campaign.open(str(workspace), "c").advance()
    assert not (workspace / "campaigns/c/epochs").exists()


def test_what_was_said_once_is_not_asked_in_the_third_epoch(workspace: Path) -> None:
    """An unsure answer: no closure knows it, so it reaches every epoch only by being said again in each."""
    campaign = start(workspace, "nis", 300, "people")
    campaign.advance()
    told = [Response(question.id, None, "ana") for question in campaign.ask(20)]
    campaign.tell(told)
    for raised in (1, 2):
        with another_revision("nis", raised):
            campaign.advance()
            check_nothing_was_asked_again(workspace)
    again = Counter(row.source for row in campaign.ledger.rows() if row.source.startswith(f"{EPOCH} "))
    assert again == {f"{EPOCH} {response.id}": 2 for response in told}


def test_an_answer_that_is_taken_back_opens_no_question_of_an_earlier_epoch(workspace: Path) -> None:
    campaign = start(workspace, "nis", 300, "people")
    campaign.advance()
    (question,) = campaign.ask(1)
    campaign.tell([Response(question.id, None, "ana", id="mine")])
    with another_revision("nis"):
        campaign.advance()
        campaign.undo("mine", annotator="ana")
        campaign.advance()
    check_nothing_was_asked_again(workspace)
    pairs = {(one.u, one.v) for one in campaign.ledger.pending(campaign.questions)}
    assert (question.u, question.v) in pairs, "the sampler of this epoch asks it again"


def test_an_answer_that_is_taken_back_is_taken_back_where_it_was_said_again(workspace: Path, labels: NDArray[np.int64]) -> None:
    campaign = start(workspace, "evidence", 200, "people")
    campaign.advance()
    first = campaign.ask(3)
    told = [Response(q.id, float(labels[q.u] == labels[q.v]), "ana", id=f"mine-{q.id}") for q in first]
    campaign.tell(told)
    with another_revision("evidence"):
        campaign.advance()
        ledger = campaign.ledger
        again = [row for row in ledger.rows() if row.source.startswith((f"{EPOCH} ", INFERRED)) and row.question_id >= 3]
        assert again
        campaign.undo(told[0].id, annotator="ana")
        campaign.advance()
        held = [row for row in campaign.ledger.rows() if row.source == f"{EPOCH} {told[0].id}"]
        assert not [row for row in held if campaign.ledger.settled(row.question_id) is row]


def test_strict_replay_is_an_option_of_the_commands(workspace: Path) -> None:
    for command in ("count", "cluster", "subcluster", "advance"):
        assert "--strict-replay" in cccount(command, "--help").out
    start(workspace, "nis", 10).advance(to_the_end=True)
    with another_revision("nis"), pytest.raises(WorkspaceError, match="nis has the revision 2 now, and had 1"):
        Campaign.open(str(workspace), "c").advance(strict=True)


def test_an_epoch_whose_file_is_lost_is_followed_by_another(workspace: Path) -> None:
    campaign = start(workspace, "nis", 30)
    campaign.advance(to_the_end=True)
    with another_revision("nis"):
        start(workspace, "nis", 60)
        campaign.advance(to_the_end=True)
        (workspace / "campaigns/c/epochs/0001.toml").unlink()
        start(workspace, "nis", 80)
        reached = Campaign.open(str(workspace), "c").advance(to_the_end=True)
    assert reached.questions == 80
    assert len(CampaignFolder(Workspace.open(workspace), "c").epochs()) == 2
    assert verify(str(workspace))["ok"]
    check_nothing_was_asked_again(workspace)
