"""One process that advances one campaign: read new answers, tell the sampler, ask, write questions, refresh results.

A step is idempotent: killed anywhere and started again, the campaign goes on as if nothing had happened, because everything that
decides it is in the log and the sampler is replayed from there. Only the holder of the lease may write (`storage/lease.py`).
Opening costs the ledger, linear in the answers, and a replay of what came since the last snapshot; a step costs its batch.

A sampler that asks one question after another is run through many rounds in one step, and all of them are written at once, so
that a step costs two parts and not two for each question. Questions are written first; killed before the answers follow, the next
step finds rounds that rest on answers which are not there, and has the simulated oracle, which is deterministic, give them again.
"""

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Generic, Literal, Self, TypeVar

import pyarrow as pa

from cccount_dist.campaign.activity import MOST_AHEAD, ONE_OF, AtTheDesk, for_the_desk, questions_ahead
from cccount_dist.campaign.adoption import OtherCampaign
from cccount_dist.campaign.epochs import Earlier, changed_inputs, from_log, next_epoch, to_log, to_sampler
from cccount_dist.campaign.inputs import Inputs, unit_vectors
from cccount_dist.campaign.knowledge import Carried, Knowledge, carried_votes
from cccount_dist.campaign.snapshots import SamplerSnapshots
from cccount_dist.sampling.drive import answer_batch, most_answers
from cccount_dist.sampling.ledger import EPOCH, FLAG, INFERRED, Ledger, LoggedAnswer
from cccount_dist.sampling.logged import answers_of, answers_table, microseconds, questions_table, rounds_of
from cccount_dist.sampling.methods import find_method
from cccount_dist.sampling.oracles import LabelOracle, Oracle, SimilarityOracle
from cccount_dist.sampling.replay import ReplayError, Round, replay
from cccount_dist.sampling.types import Answer, Question, Sampler, asked_at_once, tell_all
from storage.campaigns import CampaignFolder
from storage.epochs import Epoch
from storage.errors import ConflictError, InputError, WorkspaceError
from storage.lease import Lease
from storage.settings import Goal

ResultT = TypeVar("ResultT")

BATCH = 256  # questions of one step at most: large enough that parts stay few, small enough that little is open at a kill
AT_A_TIME = 16  # questions that are written together while somebody waits at the page
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

    What a campaign is about is in the subclasses, one for each kind (`kinds/*/runner.py`).
    """

    ahead = 256  # questions that lie ready for people, so that nobody waits for a step
    independent = True  # whether a question costs nothing more if answers to others are still awaited
    at_once = BATCH  # questions that a simulated oracle, which answers at once, is asked in one round

    def __init__(self, folder: CampaignFolder, lease: Lease, inputs: Inputs, *, strict: bool = False) -> None:
        self._set_up(folder, lease, inputs)
        self._open(strict=strict)

    @classmethod
    def bare(cls, folder: CampaignFolder, inputs: Inputs) -> Self:
        """One that has read nothing, and holds no lease: to make its sampler, and for nothing else."""
        runner = cls.__new__(cls)
        runner._set_up(folder, folder.no_lease(), inputs)
        return runner

    def _set_up(self, folder: CampaignFolder, lease: Lease, inputs: Inputs) -> None:
        self.folder = folder
        self.lease = lease
        self.settings = folder.settings()
        self.inputs = inputs
        self.countable = self.inputs.countable
        self._others: dict[str, OtherCampaign] = {}  # the other campaigns of the workspace
        self._desk: AtTheDesk | None = None  # who is answering, if somebody told us …
        self._published: Callable[[int], None] = lambda _: None  # … and wants to know that there are new questions
        self._epochs = folder.epochs()

    @property
    def epoch(self) -> Epoch:
        """The present one."""
        return self._epochs[-1]

    @property
    def earlier_sizes(self) -> tuple[int, ...]:
        """How many items there were before the collection grew, the oldest number first; nothing if it never did."""
        sizes = [epoch.items for epoch in self._epochs if epoch.items is not None]
        return tuple(size for size, following in pairwise(sizes) if size != following)

    def _open(self, *, strict: bool) -> None:
        """Bring a sampler to where the log ends; where that cannot be, let another one take over."""
        revision = find_method(self.settings.kind, self.settings.method).revision
        changes = [one for one in (changed_inputs(self.epoch, self.inputs), self._revised(revision)) if one is not None]
        if changes:
            reason = "; ".join(changes)
            if strict:
                raise WorkspaceError(f"campaign {self.folder.name!r} cannot be replayed: {reason}")
            self._begin_epoch(revision, reason)
        try:
            self._replay_with_snapshot()
        except ReplayError as error:
            # Inputs are the same (fingerprints). If the log is whole, too, it is the code, or the processor, that has changed.
            if strict or any(self.folder.log.problems()):
                raise
            self._begin_epoch(revision, f"the replay disagreed with the log: {error}")
            self._replay()
        self._close_earlier()
        self._append(carried_votes(self.epoch, self.questions, self.ledger))

    def _revised(self, revision: int) -> str | None:
        before = self.epoch.revision
        return None if revision == before else f"{self.settings.method} has the revision {revision} now, and had {before}"

    def _replay_with_snapshot(self) -> None:
        try:
            self._replay()
        except ReplayError:  # a snapshot is never the truth: before anything is concluded, the whole log is heard
            self._replay(whole=True)

    def _begin_epoch(self, revision: int, reason: str) -> None:
        log = self.folder.log
        rounds, answers = rounds_of(log.questions()), log.answers().num_rows
        self.lease.check()
        epoch = next_epoch(self.epoch, revision, reason, rounds, answers, self.inputs)
        self.folder.open_epoch(epoch)
        self._epochs.append(epoch)

    def _close_earlier(self) -> None:
        """Nobody waits for questions of earlier epochs any more; who answers one all the same is heard."""
        left = [q for q in self.pending() if q.id < self.epoch.questions]
        self._append([self._logged(q, None, EPOCH) for q in left])

    def begin(self) -> None:
        """Make what a subclass counts beside the sampler; before the log is read."""

    def given(self) -> dict[str, object]:
        """What the sampler is made from, by name: a snapshot refers to it. The same objects that `make_sampler` uses."""
        return {"vectors": self.inputs.vectors, "degree": self.inputs.degree}

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
        with self._unmasked():
            return self._conclude(self._take_in_and_ask(batch))

    @contextmanager
    def _unmasked(self) -> Iterator[None]:
        """Whoever was overtaken stumbles over a log that went on without it: say that, and not over what."""
        try:
            yield
        except (ConflictError, InputError):
            self.lease.check()
            raise

    def has_seen(self, answers: int, others: Mapping[str, int]) -> bool:
        """Whether the last step saw so many rows of the log, and of those of the other campaigns, and left nothing undone."""
        adopted = {name: other.rows for name, other in self._others.items()}
        return self.ledger.position == answers and adopted == others and not (self._unwritten or self._unfounded)

    def supply(self, desk: AtTheDesk, published: Callable[[int], None]) -> int:
        """Take in what is new and see to it that questions lie ready for who is at the desk; return how many were asked.

        They are written a few at a time, and `published` is told how many: some samplers take a second for each. Results are left
        as they are: `conclude` does that, when nobody waits for it.
        """
        before, self._desk, self._published = len(self.questions), desk, published
        with self._unmasked():
            self._take_in_and_ask(None)
        return len(self.questions) - before

    def conclude(self) -> Progress[ResultT]:
        """Refresh the results after `supply`."""
        return self._conclude(self._state_after_asking(self.folder.goal()))

    @property
    def is_current(self) -> bool:
        """Whether nobody else has asked questions, or begun an epoch, since this runner did."""
        return self.folder.log.questions().num_rows == len(self.questions) and self.folder.epochs()[-1] == self.epoch

    def _take_in_and_ask(self, batch: int | None) -> State:
        began, goal = time.perf_counter(), self.folder.goal()
        batch = min(BATCH, max(FIRST_BATCH, self.ledger.questions // 4)) if batch is None else batch
        self._recover(goal)
        if self.folder.journal_path.exists():
            with self.folder.journal() as journal:
                journal.seal(self.folder.log, guard=self.lease.check)
        self._adopt()
        self._read_answers()
        self._close_earlier()  # what was taken back meanwhile may have answered one
        self._excuse()
        if goal.oracle == "people":  # a simulated oracle's batch asks the closure question by question, in order
            self._infer()
        state = self._state(goal)
        if state == "running":
            if goal.oracle == "people":
                self._publish(goal)
            else:
                self._ask_oracle(goal, self._oracle(goal), batch)
            state = self._state_after_asking(goal)
        self._snapshots.worked(time.perf_counter() - began)
        return state

    def _conclude(self, state: State) -> Progress[ResultT]:
        self.folder.log.compact()
        reached = self._refresh(state)
        self.lease.check()
        self._snapshots.save(self.sampler, self.ledger.position, self._rounds, len(self.questions))
        return reached

    # -- reading ----------------------------------------------------------------------------------------------------

    def _replay(self, *, whole: bool = False) -> None:
        self.begin()
        self._snapshots = self.snapshots()
        self.ledger = Ledger(self.settings.overlap or 1)
        self._unwritten: list[pa.Table] = []  # questions that were asked and are not in the log yet
        self._unfounded: list[Round] = []  # logged rounds that rest on answers which a killed step did not write
        log = self.folder.log
        logged = rounds_of(log.questions())
        rows = answers_of(log.answers())
        rounds = [r for r in logged if r.after <= len(rows) or r.number < self.epoch.rounds]
        self._unfounded = logged[len(rounds) :]
        self._rounds = len(rounds)
        self.questions = [question for r in rounds for question in r.questions]
        self._earlier = Earlier(self.epoch, self.questions)
        self._carried = Carried(self.epoch, self.questions)
        self._knowledge = Knowledge(self.epoch, self.questions, self.ledger)
        self.ledger.know(self.questions)
        # Events follow rows one to one in time: remember how many events had happened at each row that a round names.
        events: list[Answer] = []
        seen = [0]
        for row in rows:
            events += self._events([row])
            seen.append(len(events))
        began = time.perf_counter()
        kept = None if whole else self._snapshots.load()
        asked, told = (self.epoch.rounds, 0) if kept is None else (kept.rounds, seen[kept.answers])
        began = began if kept is None else time.perf_counter()
        self.sampler: Sampler[ResultT] = self._fresh() if kept is None else kept.sampler
        later = [replace(from_log(self.epoch, r), after=seen[r.after] - told) for r in rounds[asked:]]
        replay(self.sampler, later, events[told:])
        self._snapshots.worked(time.perf_counter() - began)

    def snapshots(self) -> SamplerSnapshots:
        """Where the sampler of the present epoch is kept."""
        return SamplerSnapshots(self.folder, self.given(), self.inputs.fingerprints, self.epoch.number)

    def _fresh(self) -> Sampler[ResultT]:
        """A sampler that was told nothing: what it computes from vectors and neighbours alone is computed once."""
        if (kept := self._snapshots.prepared()) is not None:
            return kept
        began = time.perf_counter()
        sampler = self.make_sampler()
        self.lease.check()
        self._snapshots.keep_prepared(sampler, time.perf_counter() - began)
        return sampler

    def _read_answers(self) -> None:
        rows = answers_of(self.folder.log.answers(since=self.ledger.position))
        tell_all(self.sampler, self._events(rows))

    def _events(self, rows: Sequence[LoggedAnswer]) -> list[Answer]:
        """What rows of the log tell the sampler, in their order."""
        events: list[Answer] = []
        for row in rows:
            settled = self.ledger.take([row])
            self._carried.take(row)
            events += [*to_sampler(self.epoch, settled), *self._knowledge.take(row, settled), *self.beside(row)]
        return events

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
                    self._others[name] = OtherCampaign(CampaignFolder(self.folder.workspace, name))
                adopted += self._others[name].new_answers()
        if adopted:
            self.folder.log.append_answers(answers_table(adopted), guard=self.lease.check)

    def _excuse(self) -> None:
        """Answer unsure what is asked about items whose picture somebody found useless."""
        if flagged := self.ledger.flagged:
            self._append([self._logged(q, None, FLAG) for q in self.pending() if flagged & {q.u, q.v}])

    def _infer(self) -> None:
        """Answer pending questions that somebody answered in an earlier epoch, or that the closure knows by now."""
        self._append(self._recalled(self.pending()))
        known = [(q, self.ledger.constraints.known(q.u, q.v)) for q in self.pending() if q.may_be_inferred]
        self._append([self._logged(q, value, INFERRED) for q, value in known if value is not None])

    def _recalled(self, questions: Iterable[Question]) -> list[LoggedAnswer]:
        """The answers of earlier epochs to these questions, each vote once."""
        rows: list[LoggedAnswer] = []
        if not self.epoch.questions:
            return rows
        used: set[str] = set()
        for question in questions:
            row = self._earlier.answer(question, self.ledger, used, answer_id=self._answer_id(question, EPOCH))
            if row is None and (value := self._carried.answer(question, self.ledger)) is not None:
                row = self._logged(question, value, INFERRED)
            if row is not None:
                rows.append(row)
        return rows

    # -- asking -------------------------------------------------------------------------------------------------------

    def pending(self) -> list[Question]:
        return self.ledger.pending(self.questions)

    def _ask(self, limit: int) -> list[Question]:
        """Ask the sampler for one more round; it is written by `_write_questions`."""
        after, asked = self.ledger.position, to_log(self.epoch, self.sampler.ask(limit))
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
        recalled = self._recalled(questions)
        tell_all(self.sampler, self._events(recalled))
        known = {row.question_id for row in recalled}
        questions = [question for question in questions if question.id not in known]
        replies = answer_batch(
            questions, self.ledger.constraints, oracle, answer_id=lambda question: self._answer_id(question, goal.oracle)
        )
        rows = [self._logged(r.question, r.value, INFERRED if r.inferred else goal.oracle) for r in replies]
        tell_all(self.sampler, self._events(rows))
        return recalled + rows

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
        depth = self._depth(goal)
        while True:
            wanted = min(depth, self._left(goal)) - asked_at_once(self.pending())
            if self._desk is not None:
                wanted = min(wanted, AT_A_TIME)
            if wanted <= 0 or self._finished_by_itself(goal) or not (asked := self._ask(wanted)):
                return
            self._write_questions()
            self._published(len(asked))
            self._excuse()
            self._infer()

    def _depth(self, goal: Goal) -> int:
        """How many questions should lie ready: what people answer until the next step, so that nobody waits for it."""
        answered, waiting = self.ledger.questions + self.ledger.glances, asked_at_once(self.pending())
        if self._desk is not None:
            return for_the_desk(self._desk, waiting, answered, self._left(goal), independent=self.independent)
        rows = answers_of(self.folder.log.answers(since=max(0, self.ledger.position - MOST_AHEAD)))
        most = MOST_AHEAD if self.independent else answered // ONE_OF
        return questions_ahead(
            rows, microseconds(datetime.now(UTC)), least=self.ahead, overlap=self.ledger.overlap, most=max(self.ahead, most)
        )

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
        waits = goal.oracle == "people" and asked_at_once(self.pending()) >= min(self._depth(goal), self._left(goal))
        return "waiting" if waits else "running"

    def _state_after_asking(self, goal: Goal) -> State:
        """With people, a sampler that asked less than it may wants answers before it asks more."""
        state = self._state(goal)
        return "waiting" if state == "running" and goal.oracle == "people" else state

    def _refresh(self, state: State) -> Progress[ResultT]:
        result = self.result()
        with self.folder.written_by(self.lease):
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
