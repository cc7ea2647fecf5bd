"""The desk under everything that happens to it, in any order: questions, answers, retries, undo, expiry, crashes, seals, imports.

The model is two dictionaries. What was acknowledged is there exactly once, nobody holds what somebody else holds, and a server
that starts anew says the same as the one that ran all the time.
"""

import json
import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from cccount_dist.campaign.campaign import Response
from cccount_dist.review.desk import Sheet
from cccount_dist.sampling.reading import Reading
from cccount_dist.sampling.types import Question
from tests.flows.calls import import_answers
from tests.review.campaigns import Clock, ask, make_folder, plain_desk

PEOPLE = ("ana", "ben", "cleo")
VALUES = (1.0, 0.0, None)
people = st.sampled_from(PEOPLE)


class DeskMachine(RuleBasedStateMachine):
    @initialize(overlap=st.sampled_from([1, 2]))
    def start(self, overlap: int) -> None:
        self.root = Path(tempfile.mkdtemp())
        self.clock = Clock()
        self.overlap = overlap
        self.folder = make_folder(self.root / "ws", [], items=40, overlap=overlap)
        self.desk = plain_desk(self.folder, clock=self.clock, lease_seconds=60.0)
        self.asked = 0
        self.held: dict[str, list[Sheet]] = {}
        self.given: dict[str, tuple[int, float | None, str]] = {}  # answer -> question, value, who
        self.undone: dict[str, str] = {}  # answer -> undo

    def teardown(self) -> None:
        if hasattr(self, "desk"):
            self.desk.close()
            shutil.rmtree(self.root)

    @rule(count=st.integers(1, 5), paged=st.booleans())
    def ask(self, count: int, paged: bool) -> None:
        page = self.asked if paged else None
        # Items that no other question is about: what answers imply about others is tested elsewhere.
        asked = [Question(self.asked + n, (self.asked + n) % 20, 20 + n, purpose="vote", page=page) for n in range(count)]
        ask(self.folder, asked)
        self.asked += count

    @rule(name=people, count=st.integers(1, 4))
    def take(self, name: str, count: int) -> None:
        self.held[name] = self.desk.take(name, count)
        for sheet in self.held[name]:
            for candidate in sheet.candidates:
                assert name not in self._voters(candidate.question_id), "nobody is asked twice"

    @rule(name=people, value=st.sampled_from(VALUES), number=st.integers(0, 3))
    def answer(self, name: str, value: float | None, number: int) -> None:
        sheets = self.held.get(name, [])
        if number < len(sheets):
            self._give(name, [Response(c.question_id, value) for c in sheets[number].candidates])

    @precondition(lambda self: self.given)
    @rule(data=st.data())
    def retry(self, data: st.DataObject) -> None:
        answer_id = data.draw(st.sampled_from(list(self.given)))
        question, value, name = self.given[answer_id]
        assert self.desk.answer(name, [Response(question, value, id=answer_id)]).known == [answer_id]

    @precondition(lambda self: self.given)
    @rule(data=st.data(), name=people)
    def undo(self, data: st.DataObject, name: str) -> None:
        answer_id = data.draw(st.sampled_from(list(self.given)))
        receipt = self.desk.undo(name, answer_id, id=f"undo {len(self.undone)} {answer_id} {name}")
        if receipt.stored:
            assert self.given[answer_id][2] == name
            assert answer_id not in self.undone
            self.undone[answer_id] = receipt.stored[0]

    @rule()
    def expire(self) -> None:
        self.clock.wait(61.0)
        self.held.clear()

    @rule()
    def crash(self) -> None:
        """The server is gone without a word, and another one starts."""
        self.desk = plain_desk(self.folder, clock=self.clock, lease_seconds=60.0)

    @rule()
    def seal(self) -> None:
        with self.folder.lease() as lease, self.folder.journal() as journal:
            journal.seal(self.folder.log, guard=lease.check)

    @precondition(lambda self: self.asked)
    @rule(data=st.data(), value=st.sampled_from(["same", "different", "unsure"]), twice=st.booleans())
    def bring_in(self, data: st.DataObject, value: str, twice: bool) -> None:
        question = data.draw(st.integers(0, self.asked - 1))
        name = f"file {question} {value}"
        rows = [{"question_id": question, "value": value, "annotator": "dan", "answer_id": name}]
        rows += [{"question_id": 10_000, "value": value}]
        (self.root / "in.json").write_text(json.dumps(rows))
        for _ in range(1 + twice):
            report = import_answers(str(self.root / "ws"), "c", str(self.root / "in.json"))
            assert len(report["rejected"]) == 1
        if name not in self.given:  # what dan said before is replaced
            before = [i for i, (q, _, who) in self.given.items() if (q, who) == (question, "dan") and i not in self.undone]
            self.undone |= dict.fromkeys(before, f"{name}/replaces")
            self.given[name] = (question, {"same": 1.0, "different": 0.0, "unsure": None}[value], "dan")

    @invariant()
    def what_was_acknowledged_is_there_once(self) -> None:
        if not hasattr(self, "desk"):
            return
        with self.folder.journal() as journal:
            pending = journal.pending().column("answer_id").to_pylist()
        sealed = self.folder.log.answers().column("answer_id").to_pylist()
        assert sorted(set(sealed) | set(pending)) == sorted([*self.given, *self.undone.values()])
        assert len(set(sealed)) == len(sealed)
        assert len(set(pending)) == len(pending)
        assert not set(sealed) & set(pending)
        assert list(self.folder.log.problems()) == []

    @invariant()
    def leases_do_not_overlap_and_everybody_says_the_same(self) -> None:
        if not hasattr(self, "desk"):
            return
        self.desk.recent("ana")  # reads on
        fresh = Reading(self.folder)
        with self.folder.journal() as journal:
            fresh.refresh(journal)
        for reading in (self.desk._reading, fresh):
            for question in range(self.asked):
                expected = [i for i, (q, _, _) in self.given.items() if q == question and i not in self.undone]
                assert sorted(row.id for row in reading.ledger.votes(question)) == sorted(expected)
        now = self.clock.now.timestamp()
        holders: dict[int, list[str]] = {}
        for sheet in self.desk._handouts.in_hands():
            for question, _ in sheet.candidates if sheet.expires > now else ():
                holders.setdefault(question, []).append(sheet.annotator)
        for names in holders.values():
            assert len(names) == len(set(names))
            assert len(names) <= self.overlap

    def _give(self, name: str, responses: list[Response]) -> None:
        receipt = self.desk.answer(name, responses)
        assert receipt.stored == [response.id for response in responses]
        self.given |= {response.id: (response.question_id, response.value, name) for response in responses}

    def _voters(self, question: int) -> set[str]:
        return {name for i, (q, _, name) in self.given.items() if q == question and i not in self.undone}


DeskMachine.TestCase.settings = settings(max_examples=12, stateful_step_count=20, deadline=None)
TestDeskMachine = DeskMachine.TestCase
