"""One process that advances one campaign: read new answers, tell the sampler, ask, write questions, refresh results.

A step is idempotent: killed anywhere and started again, the campaign goes on as if nothing had happened, because everything that
decides it is in the log and the sampler is replayed from there (`replayed.py`). Only the holder of the lease may write
(`storage/lease.py`). A step costs its batch.

A sampler that asks one question after another is run through many rounds in one step, and all of them are written at once, so
that a step costs two parts and not two for each question. Questions are written first; killed before the answers follow, the next
step finds rounds that rest on answers which are not there, and has the simulated oracle, which is deterministic, give them again.
"""

import math
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Generic, Literal, TypeVar

import pyarrow as pa

from cccount_dist.campaign.activity import MOST_AHEAD, ONE_OF, AtTheDesk, for_the_desk, questions_ahead
from cccount_dist.campaign.adoption import KNOWN_PAIRS, KnownPairs, OtherCampaign
from cccount_dist.campaign.epochs import to_log
from cccount_dist.campaign.inputs import Inputs, unit_vectors
from cccount_dist.campaign.replayed import ReplayedCampaign
from cccount_dist.sampling.drive import answer_batch, most_answers
from cccount_dist.sampling.ledger import CLOSED, EPOCH, FLAG, INFERRED, LoggedAnswer
from cccount_dist.sampling.logged import answers_of, answers_table, microseconds, questions_table
from cccount_dist.sampling.oracles import LabelOracle, Oracle, SimilarityOracle
from cccount_dist.sampling.questions.registry import question_kind
from cccount_dist.sampling.types import Question, Withdrawing, asked_at_once, tell_all
from storage.campaigns import CampaignFolder
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
    carried: int  # what people said in other campaigns
    contradictions: int
    pending: int


class CampaignRunner(ReplayedCampaign[ResultT]):
    """Takes steps, and holds the replayed sampler between them. Use it inside its lease.

    What a campaign is about is in the subclasses, one for each kind (`kinds/*/runner.py`).
    """

    ahead = 256  # questions that lie ready for people, so that nobody waits for a step
    independent = True  # whether a question costs nothing more if answers to others are still awaited
    at_once = BATCH  # questions that a simulated oracle, which answers at once, is asked in one round

    def _set_up(self, folder: CampaignFolder, lease: Lease, inputs: Inputs) -> None:
        super()._set_up(folder, lease, inputs)
        self._others: dict[str, OtherCampaign] = {}  # the other campaigns of the workspace
        self._brought_in = KnownPairs(folder.workspace)
        self._desk: AtTheDesk | None = None  # who is answering, if somebody told us …
        self._published: Callable[[int], None] = lambda _: None  # … and wants to know that there are new questions

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
        adopted = {KNOWN_PAIRS: self._brought_in.rows, **{name: other.rows for name, other in self._others.items()}}
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
            self._clear()
        else:
            self._withdraw()
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

    # -- answers that cost nothing ------------------------------------------------------------------------------------

    def _adopt(self) -> None:
        """Take over what is known from the start, and what people said in other campaigns: nothing is asked twice."""
        adopted = self._brought_in.new_answers()
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

    def _clear(self) -> None:
        """Close what needs nobody. An answer that costs nothing may make other questions needless, and those may settle more.

        A step that left needless ones would leave them to the next one, which would then ask on although nobody said anything.
        """
        self._withdraw()
        self._infer()
        while self._withdraw():
            self._infer()

    def _withdraw(self) -> bool:
        """Close what was asked ahead and turned out to be needless: nobody is asked, and nothing is counted."""
        needless = {self.epoch.questions + n for n in self.sampler.needless()} if isinstance(self.sampler, Withdrawing) else set()
        closed = [self._logged(q, None, CLOSED) for q in self.pending() if q.id in needless] if needless else []
        self._append(closed)
        return bool(closed)

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
        questions = self._affordable(self.pending(), goal)
        while len(written) < batch:
            questions = questions or self._ask(min(batch - len(written), self._left(goal), self.at_once))
            written += (rows := self._answered(questions, goal, oracle))
            questions = []
            if not rows or self._left(goal) <= 0 or self._finished_by_itself(goal):
                break
        self._write_questions()
        if written:
            self.folder.log.append_answers(answers_table(written), guard=self.lease.check)

    def _affordable(self, questions: list[Question], goal: Goal) -> list[Question]:
        """Those for which the budget lasts, in order; a page is answered as a whole."""
        left = float(self._left(goal))
        chosen: list[Question] = []
        pages: set[int | None] = set()
        for question in questions:
            if question.page is None or question.page not in pages:
                if left <= 0:
                    break
                left -= 1.0 if question.page is None else goal.page_cost
                pages.add(question.page)
            chosen.append(question)
        return chosen

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
            self._clear()

    def _depth(self, goal: Goal) -> int:
        """How many questions should lie ready: what people answer until the next step, so that nobody waits for it."""
        answered, waiting = self.ledger.questions + self.ledger.glances, asked_at_once(self.pending())
        # Sheets that a sampler asks one after the other are about different clusters: they hardly depend on each other.
        independent = self.independent or bool(self.questions and question_kind(self.questions[-1].kind).cell_by_cell)
        if self._desk is not None:
            return for_the_desk(self._desk, waiting, answered, self._left(goal), independent=independent)
        rows = answers_of(self.folder.log.answers(since=max(0, self.ledger.position - MOST_AHEAD)))
        most = MOST_AHEAD if independent else answered // ONE_OF
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
            carried=self.ledger.carried,
            contradictions=self.ledger.contradictions,
            pending=len(self.pending()),
        )
