"""One process that advances one campaign: read new answers, tell the sampler, ask, write questions, refresh results.

A step is idempotent: killed anywhere and started again, the campaign goes on as if nothing had happened, because everything that
decides it is in the log and the sampler is replayed from there. Only the holder of the lease may write (`storage/lease.py`).
Opening costs one replay, linear in the answers; a step costs its batch.

A sampler that asks one question after another is run through many rounds in one step, and all of them are written at once, so
that a step costs two parts and not two for each question. Questions are written first; killed before the answers follow, the next
step finds rounds that rest on answers which are not there, and has the simulated oracle, which is deterministic, give them again.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Generic, Literal, TypeVar

import pyarrow as pa

from cccount_dist.adoption import Neighbour
from cccount_dist.inputs import Inputs, unit_vectors
from cccount_dist.review.activity import MOST_AHEAD, questions_ahead
from cccount_dist.sampling.drive import answer_batch, most_answers
from cccount_dist.sampling.ledger import FLAG, INFERRED, Ledger, LoggedAnswer
from cccount_dist.sampling.logged import answers_of, answers_table, microseconds, questions_table, rounds_of
from cccount_dist.sampling.oracles import LabelOracle, Oracle, SimilarityOracle
from cccount_dist.sampling.replay import Round, replay
from cccount_dist.sampling.types import Answer, Question, Sampler, asked_at_once
from storage.campaigns import CampaignFolder
from storage.errors import ConflictError, InputError, WorkspaceError
from storage.lease import Lease
from storage.settings import Goal, Settings

ResultT = TypeVar("ResultT")

BATCH = 256  # questions of one step at most: large enough that parts stay few, small enough that little is open at a kill
FIRST_BATCH = 32  # early steps are smaller: the first hundred answers move the result most, and people want to see it

State = Literal["running", "waiting", "done", "stopped"]


@dataclass(frozen=True, slots=True)
class Progress(Generic[ResultT]):
    """Where a campaign stands after a step."""

    state: State
    result: ResultT
    questions: int
    glances: int
    inferred: int
    contradictions: int
    pending: int


class CampaignRunner(ABC, Generic[ResultT]):
    """Holds the replayed sampler between steps. Use it inside its lease.

    What a campaign is about, a count or a grouping, is in the subclasses (`counting/runner.py`, `clustering/runner.py`).
    """

    ahead = 256  # questions that lie ready for people, so that nobody waits for a step
    at_once = BATCH  # questions that a simulated oracle, which answers at once, is asked in one round

    def __init__(self, folder: CampaignFolder, lease: Lease, inputs: Inputs) -> None:
        self.folder = folder
        self.lease = lease
        self.settings = folder.settings()
        self.inputs = inputs
        _check_fingerprints(self.settings, self.inputs, folder)
        self.countable = self.inputs.countable
        self.sampler: Sampler[ResultT] = self.make_sampler()
        self.ledger = Ledger(self.settings.overlap or 1)
        self.questions: list[Question] = []
        self._rounds = 0
        self._unwritten: list[pa.Table] = []  # questions that were asked and are not in the log yet
        self._unfounded: list[Round] = []  # logged rounds that rest on answers which a killed step did not write
        self._others: dict[str, Neighbour] = {}  # the other campaigns of the workspace
        self._replay()

    @abstractmethod
    def make_sampler(self) -> Sampler[ResultT]:
        """Return the sampler that the campaign was started with."""

    @abstractmethod
    def result(self) -> ResultT:
        """Return the best result that the answers give."""

    @abstractmethod
    def reached_target(self, goal: Goal) -> bool | None:
        """Whether the result is as good as the goal wants; None if the goal wants nothing but the budget to be used."""

    @abstractmethod
    def write_results(self, state: State, result: ResultT) -> None:
        """Refresh what lies in the campaign's `results/`."""

    def step(self, *, batch: int | None = None) -> Progress[ResultT]:
        """Advance by at most `batch` questions; by default by a quarter of those that were asked."""
        try:
            return self._step(batch)
        except (ConflictError, InputError):
            self.lease.check()  # whoever was overtaken stumbles over a log that went on without it: say that, and not over what
            raise

    def _step(self, batch: int | None) -> Progress[ResultT]:
        goal = self.folder.goal()
        batch = min(BATCH, max(FIRST_BATCH, self.ledger.questions // 4)) if batch is None else batch
        self._recover(goal)
        if self.folder.journal_path.exists():
            with self.folder.journal() as journal:
                journal.seal(self.folder.log, guard=self.lease.check)
        self._adopt()
        self._read_answers()
        self._excuse()
        if goal.oracle == "people":  # a simulated oracle's batch asks the closure question by question, in order
            self._infer()
        state = self._state(goal)
        if state == "running":
            if goal.oracle == "people":
                self._publish(goal)
            else:
                self._ask_oracle(goal, self._oracle(goal), batch)
            state = self._state(goal)
            if state == "running" and goal.oracle == "people":  # the sampler wants answers before it asks more
                state = "waiting"
        self.folder.log.compact()
        return self._refresh(state)

    # -- reading ----------------------------------------------------------------------------------------------------

    def _replay(self) -> None:
        log = self.folder.log
        logged = rounds_of(log.questions())
        rows = answers_of(log.answers())
        rounds = [r for r in logged if r.after <= len(rows)]
        self._unfounded = logged[len(rounds) :]
        self._rounds = len(rounds)
        self.questions = [question for r in rounds for question in r.questions]
        self.ledger.know(self.questions)
        # Events follow rows one to one in time: remember how many events had happened at each row that a round names.
        events: list[Answer] = []
        seen = [0]
        for row in rows:
            events += self._events([row])
            seen.append(len(events))
        replay(
            self.sampler,
            [Round(r.number, seen[r.after], r.questions) for r in rounds],
            events,
        )

    def _read_answers(self) -> None:
        rows = answers_of(self.folder.log.answers(since=self.ledger.position))
        self.sampler.tell(self._events(rows))

    def _events(self, rows: Sequence[LoggedAnswer]) -> list[Answer]:
        """What rows of the log tell the sampler, in their order."""
        return [event for row in rows for event in (*self.ledger.take([row]), *self.beside(row))]

    def beside(self, row: LoggedAnswer) -> Sequence[Answer]:  # noqa: ARG002
        """What a row tells the sampler beside the settled answer to its question; nothing, unless a subclass makes use of it."""
        return ()

    def _append(self, answers: list[LoggedAnswer]) -> None:
        if answers:
            self.folder.log.append_answers(answers_table(answers), guard=self.lease.check)
        self._read_answers()

    # -- answers that cost nothing ------------------------------------------------------------------------------------

    def _adopt(self) -> None:
        """Take over what people said in other campaigns of this workspace: nothing is asked twice."""
        adopted = []
        for name in self.folder.workspace.campaigns():
            if name != self.folder.name:
                if name not in self._others:
                    self._others[name] = Neighbour(CampaignFolder(self.folder.workspace, name))
                adopted += self._others[name].new_answers()
        if adopted:
            self.folder.log.append_answers(answers_table(adopted), guard=self.lease.check)

    def _excuse(self) -> None:
        """Answer unsure what is asked about items whose picture somebody found useless."""
        if flagged := self.ledger.flagged:
            self._append([self._logged(q, None, FLAG) for q in self.pending() if flagged & {q.u, q.v}])

    def _infer(self) -> None:
        """Answer pending questions that the closure knows by now."""
        known = [(q, self.ledger.constraints.known(q.u, q.v)) for q in self.pending() if q.may_be_inferred]
        self._append([self._logged(q, value, INFERRED) for q, value in known if value is not None])

    # -- asking -------------------------------------------------------------------------------------------------------

    def pending(self) -> list[Question]:
        return self.ledger.pending(self.questions)

    def _ask(self, limit: int) -> list[Question]:
        """Ask the sampler for one more round; it is written by `_write_questions`."""
        after, asked = self.ledger.position, list(self.sampler.ask(limit))
        if asked:
            self._unwritten.append(questions_table(asked, number=self._rounds, after=after))
            self._rounds += 1
            self.questions += asked
            self.ledger.know(asked)
        return asked

    def _write_questions(self) -> None:
        if self._unwritten:
            self.folder.log.append_questions(pa.concat_tables(self._unwritten), guard=self.lease.check)
            self._unwritten.clear()

    def _ask_oracle(self, goal: Goal, oracle: Oracle, batch: int) -> None:
        """Go through rounds of asking and answering in memory, then write them: all questions, and after them all answers."""
        written: list[LoggedAnswer] = []
        # Questions may be open: people left them, or a process was killed between the two writes.
        questions = self.pending()[: self._left(goal)]
        while len(written) < batch:
            questions = questions or self._ask(min(batch - len(written), self._left(goal), self.at_once))
            written += (rows := self._answered(questions, goal, oracle))
            questions = []
            if not rows or self._left(goal) <= 0 or self._finished_by_itself(goal):
                break
        self._write_questions()
        if written:
            self.folder.log.append_answers(answers_table(written), guard=self.lease.check)

    def _answered(self, questions: list[Question], goal: Goal, oracle: Oracle) -> list[LoggedAnswer]:
        """Have questions answered, and tell the sampler."""
        replies = answer_batch(
            questions, self.ledger.constraints, oracle, answer_id=lambda question: self._answer_id(question, goal.oracle)
        )
        rows = [self._logged(r.question, r.value, INFERRED if r.inferred else goal.oracle) for r in replies]
        self.sampler.tell(self._events(rows))
        return rows

    def _recover(self, goal: Goal) -> None:
        """Give the answers again that a killed step did not write: its later rounds, which are logged, rest on them."""
        if not self._unfounded:
            return
        wrong = WorkspaceError(
            f"the last step of campaign {self.folder.name!r} was killed before its simulated answers were written, and they "
            "cannot be given again as they were: run it once with the --oracle and --error-rate that it had"
        )
        if goal.oracle == "people":
            raise wrong
        oracle = self._oracle(goal)
        written: list[LoggedAnswer] = []
        for logged in self._unfounded:
            written += self._answered(self.pending()[: logged.after - self.ledger.position], goal, oracle)
            if self.ledger.position != logged.after or self._ask(asked_at_once(logged.questions)) != list(logged.questions):
                raise wrong
        self._unfounded, self._unwritten = [], []
        self.folder.log.append_answers(answers_table(written), guard=self.lease.check)

    def _publish(self, goal: Goal) -> None:
        """Keep questions ready for people, never more than the budget allows."""
        depth = self._depth()
        while True:
            wanted = min(depth, self._left(goal)) - asked_at_once(self.pending())
            if wanted <= 0 or self._finished_by_itself(goal) or not self._ask(wanted):
                return
            self._write_questions()
            self._excuse()
            self._infer()

    def _depth(self) -> int:
        """How many questions should lie ready: what people answer until the next step, so that nobody waits for it."""
        rows = answers_of(self.folder.log.answers(since=max(0, self.ledger.position - MOST_AHEAD)))
        return questions_ahead(rows, microseconds(datetime.now(UTC)), least=self.ahead, overlap=self.ledger.overlap)

    def _oracle(self, goal: Goal) -> Oracle:
        if goal.oracle == "similarity":
            return SimilarityOracle(unit_vectors(self.folder.workspace), noise=goal.error_rate, seed=self.settings.seed)
        labels = self.folder.workspace.collection().labels()
        if labels is None:
            raise InputError(
                f"--oracle labels needs labels, and the collection in {self.folder.workspace.location} has none: "
                "give them to `cccount init --labels`, or let people answer (--oracle people)"
            )
        return LabelOracle(labels, error_rate=goal.error_rate, seed=self.settings.seed)

    # -- where it stands ------------------------------------------------------------------------------------------------

    def _left(self, goal: Goal) -> int:
        """Questions that the budget still allows; a page counts as the questions that take a person as long."""
        return math.ceil(goal.budget - self.ledger.questions - self.ledger.glances * goal.page_cost)

    def _finished_by_itself(self, goal: Goal) -> bool:
        looping = self.ledger.inferred + self.ledger.questions + self.ledger.glances >= most_answers(goal.budget)
        return self.sampler.done or looping or self.complete

    @property
    def complete(self) -> bool:
        """Whether the answers settle every pair of items."""
        return self.ledger.constraints.complete(self.countable)

    def _state(self, goal: Goal) -> State:
        target = self.reached_target(goal)
        if target or self._finished_by_itself(goal):
            return "done"
        if self._left(goal) <= 0:
            return "done" if target is None else "stopped"
        waits = goal.oracle == "people" and asked_at_once(self.pending()) >= min(self._depth(), self._left(goal))
        return "waiting" if waits else "running"

    def _refresh(self, state: State) -> Progress[ResultT]:
        result = self.result()
        self.lease.check()
        self.write_results(state, result)
        return Progress(
            state=state,
            result=result,
            questions=self.ledger.questions,
            glances=self.ledger.glances,
            inferred=self.ledger.inferred,
            contradictions=self.ledger.contradictions,
            pending=len(self.pending()),
        )

    def _logged(self, q: Question, value: float | None, source: str) -> LoggedAnswer:
        return LoggedAnswer(self._answer_id(q, source), q.id, q.u, q.v, value, source, source)

    def _answer_id(self, question: Question, source: str) -> str:
        # The position makes the id unique even where an inferred answer was withdrawn and comes again.
        return f"{source}-{question.id}-{self.ledger.position}"


def _check_fingerprints(settings: Settings, inputs: Inputs, folder: CampaignFolder) -> None:
    for name, expected in settings.fingerprints.items():
        if inputs.fingerprints[name] != expected:
            raise WorkspaceError(
                f"campaign {folder.name!r} was started on other {name} than {folder.workspace.location} has now: "
                "start a new campaign (--campaign NAME), people's answers carry over to it"
            )
