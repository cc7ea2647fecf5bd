"""A campaign brought to where its log ends: the ledger of what was said, and a sampler that was told and asked all of it again.

Everything that decides a campaign is in its log, and nothing else is trusted: opening replays it, from the last snapshot on.
Where inputs or code are others than the log's, a new epoch begins (`epochs.py`). Time of opening: the ledger, linear in the
answers, and a replay of what came since the last snapshot; memory: the sampler, the ledger and all questions.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Generic, Self, TypeVar

import pyarrow as pa

from cccount_dist.campaign.epochs import Earlier, changed_inputs, from_log, next_epoch, to_sampler
from cccount_dist.campaign.inputs import Inputs
from cccount_dist.campaign.knowledge import Carried, Knowledge, carried_votes
from cccount_dist.campaign.snapshots import SamplerSnapshots
from cccount_dist.sampling.ledger import CLOSED, Ledger, LoggedAnswer
from cccount_dist.sampling.logged import answers_of, answers_table, rounds_of
from cccount_dist.sampling.methods import find_method
from cccount_dist.sampling.replay import ReplayError, Round, replay
from cccount_dist.sampling.types import Answer, Question, Sampler, tell_all
from storage.campaigns import CampaignFolder
from storage.epochs import Epoch
from storage.errors import WorkspaceError
from storage.lease import Lease

ResultT = TypeVar("ResultT")


class ReplayedCampaign(ABC, Generic[ResultT]):
    """Holds the replayed sampler and the ledger. Use it inside the campaign's lease.

    What a campaign is about is in the subclasses, one for each kind (`kinds/*/runner.py`).
    """

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

    @property
    def is_current(self) -> bool:
        """Whether nobody else has asked questions, or begun an epoch, since this runner did."""
        return self.folder.log.questions().num_rows == len(self.questions) and self.folder.epochs()[-1] == self.epoch

    @property
    def more_items(self) -> int:
        """How many items came with the present epoch."""
        if len(self._epochs) == 1:
            return 0
        before, now = (epoch.items for epoch in self._epochs[-2:])
        return 0 if before is None or now is None else now - before

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
        epoch = next_epoch(self.epoch, revision, reason, rounds, answers, self.inputs, self.found_so_far())
        self.folder.open_epoch(epoch)
        self._epochs.append(epoch)

    def _close_earlier(self) -> None:
        """Nobody waits for questions of earlier epochs any more; who answers one all the same is heard."""
        left = [q for q in self.pending() if q.id < self.epoch.questions]
        self._append([self._logged(q, None, CLOSED) for q in left])

    def found_so_far(self) -> dict[str, float] | None:
        """What the results say when an epoch begins, if its results need that; before the log is read."""
        return None

    def begin(self) -> None:
        """Make what a subclass counts beside the sampler; before the log is read."""

    def given(self) -> dict[str, object]:
        """What the sampler is made from, by name: a snapshot refers to it. The same objects that `make_sampler` uses."""
        return {"vectors": self.inputs.vectors, "degree": self.inputs.degree}

    @abstractmethod
    def make_sampler(self) -> Sampler[ResultT]:
        """Return the sampler that the campaign was started with."""

    def beside(self, row: LoggedAnswer) -> Sequence[Answer]:  # noqa: ARG002
        """What a row tells the sampler beside the settled answer to its question; nothing, unless a subclass makes use of it."""
        return ()

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

    def _append(self, answers: list[LoggedAnswer]) -> None:
        if answers:
            self.folder.log.append_answers(answers_table(answers), guard=self.lease.check)
        self._read_answers()

    def pending(self) -> list[Question]:
        return self.ledger.pending(self.questions)

    def _logged(self, q: Question, value: float | None, source: str) -> LoggedAnswer:
        return LoggedAnswer(self._answer_id(q, source), q.id, q.u, q.v, value, source, source)

    def _answer_id(self, question: Question, source: str) -> str:
        # The position makes the id unique even where an inferred answer was withdrawn and comes again.
        return f"{source}-{question.id}-{self.ledger.position}"
