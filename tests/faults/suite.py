"""Every kind of fault, caused at random moments of real work, which is then finished and compared with an undisturbed run.

A fault is a method of `Suite` whose name is in `KINDS`. It raises AssertionError if an answer is lost or doubled, a shard wrong,
or the end differs by a byte from the reference; otherwise it returns how the disturbed work took it.
"""

import json
import random
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path

import pyarrow as pa

from storage.campaigns import CampaignFolder
from storage.workspace import Workspace
from tests.faults.proxy import Mode, Proxy
from tests.faults.topology import Topology, finished, kill, shards, sound, wait_until
from tests.storage.faults import fill_up

COMPUTE = {
    "kill -9 of a Dask worker": "kill_worker",
    "kill -9 of the Dask scheduler": "kill_scheduler",
    "kill -9 of the flow that computes": "kill_compute",
    "traffic to the scheduler cut": "cut_dask",
    "traffic to the scheduler delayed": "delay_dask",
    "traffic to the store cut while computing": "cut_store_computing",
    "requests to the store doubled while computing": "double_store_computing",
}
CAMPAIGN = {
    "kill -9 of the flow that counts": "kill_flow",
    "kill -9 of the flow that counts, on a disk": "kill_flow_on_disk",
    "flow stopped past its lease, then let go on": "stop_flow",
    "clock of the flow an hour ahead": "clock_ahead",
    "clock of the flow an hour back": "clock_back",
    "traffic to the store cut": "cut_store",
    "traffic to the store delayed": "delay_store",
    "requests to the store doubled": "double_store",
    "disk full": "full_disk",
    "kill -9 of the process that takes answers": "kill_reviewer",
    "kill -9 of the process that takes answers, on a disk": "kill_reviewer_on_disk",
    "store cut off while people answer": "cut_reviewer",
}
KINDS = {**COMPUTE, **CAMPAIGN}
SHORT = (  # for the short form: one of each idea
    "kill_worker", "kill_scheduler", "kill_compute", "kill_flow", "kill_flow_on_disk", "stop_flow", "clock_ahead", "cut_store",
    "double_store", "full_disk", "kill_reviewer", "cut_reviewer",
)  # fmt: skip


@dataclass
class Record:
    """What was seen of one kind of fault."""

    times: int = 0
    endings: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)  # from the fault until the work was whole


class Suite:
    """Holds the undisturbed reference and causes faults beside it."""

    def __init__(self, topology: Topology, seed: int = 0, disk: Path | None = None) -> None:
        self.on = topology
        self.chance = random.Random(seed)
        self.disk = disk
        self.records: dict[str, Record] = {}
        self._campaigns = 0
        self._campaign: dict[str, str] = {}  # of each place one that goes on from fault to fault until it is done
        self._seen: dict[str, int] = {}  # answers that it had
        self._answers = 0
        self.reference = topology.place("reference")
        topology.make_workspace(self.reference)
        topology.start_cluster()
        began = time.monotonic()
        self._finish(lambda: topology.start("compute", self.reference, topology.address))
        self.compute_seconds = time.monotonic() - began
        self.expected = shards(self.reference)
        assert len(self.expected) >= 8
        self.counted = topology.place("counted")
        topology.copy(self.reference, self.counted)
        began = time.monotonic()
        self._finish(lambda: topology.start("count", self.counted, "whole"))
        self.count_seconds = time.monotonic() - began
        self.log = self._log(self.counted, "whole")
        self.estimate = self._estimate(self.counted, "whole")
        self.local = str(topology.folder / "local")
        topology.copy(self.reference, self.local)
        began = time.monotonic()
        self._finish(lambda: topology.start("count", self.local, "whole"))
        self.local_seconds = time.monotonic() - began
        assert self._log(self.local, "whole")[1].equals(self.log[1])
        # People's answers count in all campaigns of a workspace: they get workspaces of their own here.
        self.asked, self.asked_local = topology.place("asked"), str(topology.folder / "asked")
        topology.copy(self.reference, self.asked)
        topology.copy(self.reference, self.asked_local)
        self.computed = topology.place("computed")
        topology.make_workspace(self.computed)

    def cause(self, kind: str) -> None:
        """Cause one fault and see that nothing came of it."""
        began = time.monotonic()
        ending = getattr(self, KINDS[kind])()
        record = self.records.setdefault(kind, Record())
        record.times += 1
        record.endings[ending] += 1
        record.seconds.append(time.monotonic() - began)

    def forget(self) -> None:
        """Begin afresh after a failure, so that the next fault is judged by itself."""
        for process in self.on.flows:
            kill(process)
        self.on.s3.mode = self.on.dask.mode = "pass"
        self._campaign.clear()
        self.on.forget_results(self.computed)

    # -- computing ------------------------------------------------------------------------------------------------------

    def kill_worker(self) -> str:
        return self._computing(lambda: kill(self.chance.choice(self.on.workers)))

    def kill_scheduler(self) -> str:
        assert self.on.scheduler is not None
        return self._computing(partial(kill, self.on.scheduler))

    def kill_compute(self) -> str:
        return self._computing(lambda: kill(self.on.flows[-1]))

    def cut_dask(self) -> str:
        return self._computing(self.on.dask.cut_all)

    def delay_dask(self) -> str:
        return self._computing(lambda: self._for_a_while(self.on.dask, "delay"))

    def cut_store_computing(self) -> str:
        return self._computing(lambda: self._for_a_while(self.on.s3, "cut"))

    def double_store_computing(self) -> str:
        return self._computing(lambda: self._for_a_while(self.on.s3, "duplicate"))

    def _computing(self, hurt: Callable[[], object]) -> str:
        self.on.start_cluster()
        flow = self.on.start("compute", self.computed, self.on.address)
        self.on.flows = [flow]
        flow.join(self.chance.uniform(0.2, 0.9) * self.compute_seconds)
        hurt()
        ending = self._ended(flow, again=lambda: self.on.start("compute", self.computed, self.on.address))
        assert shards(self.computed) == self.expected, "a shard differs from the undisturbed run"
        assert sound(self.computed)
        self.on.forget_results(self.computed)
        return ending

    # -- campaigns ------------------------------------------------------------------------------------------------------

    def kill_flow(self) -> str:
        return self._counting(lambda: kill(self.on.flows[-1]))

    def kill_flow_on_disk(self) -> str:
        return self._counting(lambda: kill(self.on.flows[-1]), place=self.local)

    def cut_store(self) -> str:
        return self._counting(lambda: self._for_a_while(self.on.s3, "cut"))

    def delay_store(self) -> str:
        return self._counting(lambda: self._for_a_while(self.on.s3, "delay"))

    def double_store(self) -> str:
        return self._counting(lambda: self._for_a_while(self.on.s3, "duplicate"))

    def clock_ahead(self) -> str:
        return self._counting(lambda: kill(self.on.flows[-1], signal.SIGUSR1), follow=True)

    def clock_back(self) -> str:
        return self._counting(lambda: kill(self.on.flows[-1], signal.SIGUSR2), follow=True)

    def _counting(self, hurt: Callable[[], object], *, follow: bool = False, place: str | None = None) -> str:
        """Hurt a campaign somewhere on its way. A campaign lives through several faults, until it is done and compared."""
        place = place or self.counted
        name = self._next_campaign(place)
        flow = self.on.start("count", place, name)
        self.on.flows = [flow]
        flow.join(self.chance.uniform(0.03, 0.3) * (self.count_seconds if place == self.counted else self.local_seconds))
        hurt()
        if follow:  # the clocks differ now: another flow may take the lease over, and one of the two is fenced
            self._take_over(name)
        flow.join(self.chance.uniform(0.5, 3.0))
        ending = "went on by itself" if flow.is_alive() else self._ended(flow, again=None)
        for process in self.on.flows:
            kill(process)  # what would still come is the next fault's
        self._check(place, name)
        return ending

    def stop_flow(self) -> str:
        """The lease of a stopped flow runs out and another takes over; let go on, the first must not write a byte."""
        name = self._next_campaign(self.counted)
        says = self.on.folder / "says"
        says.unlink(missing_ok=True)
        flow = self.on.start("count", self.counted, name, 1.0, TEST_SAYS=str(says))
        self.on.flows = [flow]
        wait_until(lambda: says.exists() or not flow.is_alive(), 180, "the flow takes its lease")
        flow.join(self.chance.uniform(0.0, 0.3) * self.count_seconds)
        kill(flow, signal.SIGSTOP)
        if not flow.is_alive():
            self._check(self.counted, name)
            return "was done before"
        time.sleep(1.3)
        second = self._take_over(name)
        kill(flow, signal.SIGCONT)
        code = finished(flow)
        kill(second)
        self._check(self.counted, name)
        assert code in (0, 3), self.on.failure()
        return "fenced" if code == 3 else "was done before"

    def _take_over(self, name: str) -> BaseProcess:
        second = self.on.start("count", self.counted, name)
        self.on.flows.append(second)
        second.join(self.chance.uniform(1.0, 4.0))
        return second

    def full_disk(self) -> str:
        """A workspace on a small disk that fills up in the middle of a campaign."""
        assert self.disk is not None
        place = str(self.disk / "ws")
        if not Path(place).exists():
            self.on.make_workspace(place)
            self.on.copy(self.reference, place)
        name = f"full-{self._campaigns}"
        self._campaigns += 1
        flow = self.on.start("count", place, name, CCCOUNT_CACHE=str(self.on.folder / "cache"))
        flow.join(self.chance.uniform(0.1, 0.6) * self.count_seconds)
        ballast = fill_up(self.disk)
        code = finished(flow)
        ballast.unlink()
        assert code in (0, 3), self.on.failure()
        assert code == 0 or "the disk is full" in self.on.failure(), self.on.failure()
        self._finish(lambda: self.on.start("count", place, name))
        assert self._log(place, name)[0].equals(self.log[0])
        assert self._log(place, name)[1].equals(self.log[1])
        shutil.rmtree(Path(place) / "campaigns" / name)
        return "failed in one line" if code else "was done before"

    def kill_reviewer(self) -> str:
        return self._answering(lambda flow: kill(flow), self.asked)

    def kill_reviewer_on_disk(self) -> str:
        return self._answering(lambda flow: kill(flow), self.asked_local)

    def cut_reviewer(self) -> str:
        return self._answering(lambda _: self._for_a_while(self.on.s3, "cut"), self.asked)

    def _answering(self, hurt: Callable[..., object], place: str) -> str:
        """Answers that were acknowledged are in the log or the journal, once."""
        from flows import stages

        self._answers += 1
        name = f"people-{self._answers}"
        stages.count(place, name, method="nis", budget=1000)
        notes = self.on.folder / f"{name}.acknowledged"
        flow = self.on.start("answer", place, name, f"ana{self._answers}", str(notes))
        before = notes.stat().st_size if notes.exists() else 0
        wait_until(lambda: (notes.exists() and notes.stat().st_size > before) or not flow.is_alive(), 180, "the first answer")
        flow.join(self.chance.uniform(0.1, 0.8))
        hurt(flow)
        if self.on.s3.mode != "pass" or flow.is_alive():
            flow.join(1.0)
        kill(flow)
        stages.advance(place, name)  # seals what the journal of this host holds
        ids = CampaignFolder(Workspace.open(place), name).log.answers().column("answer_id").to_pylist()
        assert len(set(ids)) == len(ids), "an answer is doubled"
        said = [json.loads(line)["id"] for line in notes.read_text().splitlines() if line.endswith("}")]
        assert set(said) <= set(ids), "an answer that was acknowledged is lost"
        Workspace.open(place).objects.delete(f"campaigns/{name}")
        return "every acknowledged answer kept" if said else "killed before the first answer"

    # -- what must hold -------------------------------------------------------------------------------------------------

    def _next_campaign(self, place: str) -> str:
        if place not in self._campaign:
            self._campaign[place] = f"hurt-{self._campaigns}"
            self._campaigns += 1
            self._seen[place] = 0
        return self._campaign[place]

    def _check(self, place: str, name: str) -> None:
        """No answer lost, none doubled, and what is there is the beginning of the undisturbed log."""
        folder = CampaignFolder(Workspace.open(place), name)
        if not folder.exists:
            return
        questions, answers = self._log(place, name)
        assert answers.num_rows >= self._seen[place], "an answer is lost"
        self._seen[place] = answers.num_rows
        ids = answers.column("answer_id").to_pylist()
        assert len(set(ids)) == len(ids), "an answer is doubled"
        for found, expected in ((answers, self.log[1]), (questions, self.log[0])):
            assert found.equals(expected.slice(0, found.num_rows)), (
                f"other than the undisturbed run: {_difference(found, expected)}"
            )
        if answers.num_rows == self.log[1].num_rows:
            self._complete(place, name)

    def _complete(self, place: str, name: str) -> None:
        """Finish the campaign, compare every row and the estimate with the undisturbed one, and forget it."""
        self._finish(lambda: self.on.start("count", place, name))
        questions, answers = self._log(place, name)
        assert questions.equals(self.log[0])
        assert answers.equals(self.log[1])
        folder = CampaignFolder(Workspace.open(place), name)
        assert list(folder.log.problems()) == []
        assert self._estimate(place, name) == self.estimate, "the estimate differs from the undisturbed run's"
        folder.workspace.objects.delete(folder.prefix)  # every campaign looks at all others
        del self._campaign[place]

    def _estimate(self, place: str, name: str) -> dict[str, object]:
        row = CampaignFolder(Workspace.open(place), name).estimates().to_pylist()[-1]
        return {column: value for column, value in row.items() if column != "refreshed_at"}

    def _log(self, place: str, name: str) -> tuple[pa.Table, pa.Table]:
        """Questions and answers, without what the clock says."""
        log = CampaignFolder(Workspace.open(place), name).log
        return log.questions().drop_columns(["asked_at"]), log.answers().drop_columns(["answered_at"])

    # -- how work ends --------------------------------------------------------------------------------------------------

    def _for_a_while(self, proxy: Proxy, mode: Mode) -> None:
        proxy.mode = mode
        time.sleep(self.chance.uniform(0.2, 1.0))
        proxy.mode = "pass"

    def _ended(self, flow: BaseProcess, *, again: Callable[[], BaseProcess] | None) -> str:
        code = finished(flow)
        assert code in (0, 3, -signal.SIGKILL), f"{code}: {self.on.failure()}"
        if code != 0 and again is not None:
            self.on.start_cluster()
            self._finish(again)
        return {0: "went on by itself", 3: "failed in one line, run again"}.get(code, "killed")

    def _finish(self, start: Callable[[], BaseProcess]) -> None:
        """Run the same command until it ends well: that is all that anybody has to do."""
        for _ in range(6):
            code = finished(start())
            if code == 0:
                return
            assert code == 3, self.on.failure()
            self.on.start_cluster()
            time.sleep(0.5)
        raise AssertionError(f"six times in vain: {self.on.failure()}")


def _difference(found: pa.Table, expected: pa.Table) -> str:
    """Where two logs part: for whoever has to find out why."""
    if found.num_rows > expected.num_rows:
        return f"{found.num_rows} rows instead of {expected.num_rows}"
    pairs = zip(found.to_pylist(), expected.slice(0, found.num_rows).to_pylist(), strict=True)
    return next(
        (f"row {row}: {ours} instead of {theirs}" for row, (ours, theirs) in enumerate(pairs) if ours != theirs), "schema"
    )
