"""Every kind of fault, caused at random moments of real work, which is then finished and compared with an undisturbed run.

A fault is a method of `Suite` whose name is in `KINDS`. It raises AssertionError if an answer is lost or doubled, a shard wrong,
or the end differs by a byte from the reference; otherwise it returns how the disturbed work took it.
"""

import json
import random
import shutil
import signal
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path

from storage.campaigns import CampaignFolder
from storage.workspace import Workspace
from tests.faults.compare import check_beginning, check_whole, estimate_of, log_of
from tests.faults.proxy import Mode, Proxy
from tests.faults.topology import Topology, finished, kill, shards, sound, wait_until
from tests.storage.faults import fill_up

COMPUTE = {
    "kill -9 of a Dask worker": "kill_worker",
    "kill -9 of all Dask workers": "kill_workers",
    "kill -9 of the Dask scheduler": "kill_scheduler",
    "kill -9 of the flow that computes": "kill_compute",
    "traffic to the scheduler cut": "cut_dask",
    "traffic to the scheduler delayed": "delay_dask",
    "traffic to the store cut while computing": "cut_store_computing",
    "traffic to the store delayed while computing": "delay_store_computing",
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


class Suite:
    """Holds the undisturbed reference and causes faults beside it."""

    def __init__(self, topology: Topology, seed: int = 0, disk: Path | None = None) -> None:
        self.on = topology
        self.chance = random.Random(seed)
        self.disk = disk
        self._campaigns = 0
        self._campaign: dict[str, str] = {}  # of each place one that goes on from fault to fault until it is done
        self._seen: dict[str, int] = {}  # answers that it had
        self._began = self._went_on = 0.0  # of the last fault: when it was caused, and when the work went on
        self.reference = topology.place("reference")
        topology.make_workspace(self.reference)
        topology.start_cluster()
        self.compute_requests = self._compute(self.reference)  # faults come within these
        self.expected = shards(self.reference)
        assert len(self.expected) >= 8
        self.computed = topology.place("computed")
        topology.make_workspace(self.computed)
        self.counted, self.local = topology.place("counted"), str(topology.folder / "local")
        self.seconds = {self.counted: self._count(self.counted), self.local: self._count(self.local)}
        self.log, self.estimate = log_of(self.counted, "whole"), estimate_of(self.counted, "whole")
        check_whole(self.local, "whole", self.log, self.estimate)
        # People's answers count in all campaigns of a workspace: they get workspaces of their own here.
        self.asked, self.asked_local = topology.place("asked"), str(topology.folder / "asked")
        topology.copy(self.reference, self.asked)
        topology.copy(self.reference, self.asked_local)

    def _compute(self, place: str) -> int:
        """Embed and find neighbours; return how many requests to the store that took."""
        began = self.on.s3.seen
        self._finish(lambda: self.on.start("compute", place, self.on.address))
        return self.on.s3.seen - began

    def _count(self, place: str) -> float:
        """Count once undisturbed, and return the seconds that it held its lease: faults come within them."""
        self.on.copy(self.reference, place)
        flow = self._holding(place, "whole")
        began = time.monotonic()
        assert finished(flow) == 0, self.on.failure()
        return time.monotonic() - began

    def cause(self, kind: str) -> tuple[str, float]:
        """Cause one fault and see that nothing came of it: how the work took it, and the seconds until it went on."""
        ending = getattr(self, KINDS[kind])()
        return ending, self._went_on - self._began

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

    def kill_workers(self) -> str:
        def all_of_them() -> None:
            for worker in self.on.workers:
                kill(worker)

        return self._computing(all_of_them)

    def kill_scheduler(self) -> str:
        scheduler = self.on.start_cluster()
        return self._computing(lambda: kill(scheduler))

    def kill_compute(self) -> str:
        return self._computing(lambda: kill(self.on.flows[-1]))

    def cut_dask(self) -> str:
        return self._computing(self.on.dask.cut_all)

    def delay_dask(self) -> str:
        return self._computing(lambda: self._for_a_while(self.on.dask, "delay"))

    def cut_store_computing(self) -> str:
        return self._computing(lambda: self._for_a_while(self.on.s3, "cut"))

    def delay_store_computing(self) -> str:
        return self._computing(lambda: self._for_a_while(self.on.s3, "delay"))

    def double_store_computing(self) -> str:
        return self._computing(lambda: self._for_a_while(self.on.s3, "duplicate"))

    def _computing(self, hurt: Callable[[], object]) -> str:
        """Hurt embedding and neighbours somewhere on their way, and compare every stored byte at the end."""
        self.on.start_cluster()
        moment = self.on.s3.seen + self.chance.uniform(0.02, 0.95) * self.compute_requests
        flow = self.on.start("compute", self.computed, self.on.address)
        self.on.flows = [flow]
        wait_until(lambda: self.on.s3.seen >= moment or not flow.is_alive(), 240, "embedding and neighbours to get there")
        done = not flow.is_alive()
        self._hurt(hurt)
        ending = self._ended(flow)
        if flow.exitcode != 0:
            self.on.start_cluster()
            self._compute(self.computed)
        self._whole()
        assert shards(self.computed) == self.expected, "a shard differs from the undisturbed run"
        assert sound(self.computed)
        self.on.forget_results(self.computed)
        return "was done before" if done else ending

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
        """Hurt a campaign somewhere on its way. It lives through several faults, until it is done and compared as a whole."""
        place = place or self.counted
        name = self._next_campaign(place)
        # A clock is looked at when the lease is renewed: a short one has it happen while both flows are at work.
        flow = self._holding(place, name, lease=1.5 if follow else 60.0, early=self.chance.random() < 0.2)
        flow.join(self.chance.uniform(0.0, 0.3) * self.seconds[place])
        done = not flow.is_alive()
        self._hurt(hurt)
        if follow:  # the clocks differ now: another flow may take the lease over, and one of the two is fenced
            self._another(place, name).join(self.chance.uniform(1.0, 3.0))
        self._until_it_goes_on(place, name)
        ending = "went on by itself" if flow.is_alive() else self._ended(flow)
        for process in self.on.flows:
            kill(process)  # what would still come is the next fault's
        self._check(place, name)
        return "was done before" if done else ending

    def stop_flow(self) -> str:
        """The lease of a stopped flow runs out and another takes over; let go on, the first must not write a byte."""
        name = self._next_campaign(self.counted)
        flow = self._holding(self.counted, name, lease=1.0)
        flow.join(self.chance.uniform(0.0, 0.3) * self.seconds[self.counted])
        self._hurt(lambda: kill(flow, signal.SIGSTOP))
        if flow.is_alive():
            time.sleep(1.3)
            self._another(self.counted, name)
        self._until_it_goes_on(self.counted, name)
        kill(flow, signal.SIGCONT)
        ending = self._ended(flow)
        for process in self.on.flows:
            kill(process)
        self._check(self.counted, name)
        return "was done before" if flow.exitcode == 0 else ending

    def full_disk(self) -> str:
        """A workspace on a small disk that fills up in the middle of a campaign."""
        assert self.disk is not None
        place = str(self.disk / "ws")
        if not Path(place).exists():
            self.on.copy(self.reference, place)
        name = f"full-{self._campaigns}"
        self._campaigns += 1
        flow = self._holding(place, name)
        flow.join(self.chance.uniform(0.0, 0.8) * self.seconds[self.local])
        ballast: list[Path] = []
        self._hurt(lambda: ballast.append(fill_up(self.disk or Path())))
        ending = self._ended(flow)
        assert flow.exitcode == 0 or "the disk is full" in self.on.failure(flow), self.on.failure(flow)
        ballast[0].unlink()
        self._finish(lambda: self.on.start("count", place, name))
        self._whole()
        check_whole(place, name, self.log, self.estimate)
        shutil.rmtree(Path(place) / "campaigns" / name)
        return "was done before" if flow.exitcode == 0 else ending

    def kill_reviewer(self) -> str:
        return self._answering(lambda flow: kill(flow), self.asked)

    def kill_reviewer_on_disk(self) -> str:
        return self._answering(lambda flow: kill(flow), self.asked_local)

    def cut_reviewer(self) -> str:
        return self._answering(lambda _: self._for_a_while(self.on.s3, "cut"), self.asked)

    def _answering(self, hurt: Callable[[BaseProcess], object], place: str) -> str:
        """Answers that were acknowledged are in the log or the journal, once."""
        from tests.flows.calls import stage

        self._campaigns += 1
        name = f"people-{self._campaigns}"
        stage("count", place, name, method="nis", budget=1000)
        notes = self.on.folder / f"{name}.acknowledged"
        flow = self.on.start("answer", place, name, f"ana{self._campaigns}", str(notes))
        wait_until(lambda: (notes.exists() and notes.stat().st_size > 0) or not flow.is_alive(), 180, "the first answer")
        flow.join(self.chance.uniform(0.1, 0.8))
        self._hurt(lambda: hurt(flow))
        flow.join(1.0)
        kill(flow)
        stage("advance", place, name)  # seals what the journal of this host holds
        self._whole()
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

    def _rows(self, place: str, name: str) -> int:
        folder = CampaignFolder(Workspace.open(place), name)
        return int(folder.log.answers().num_rows) if folder.exists else 0

    def _check(self, place: str, name: str) -> None:
        """No answer lost, none doubled, and what is there is the beginning of the undisturbed log."""
        found = log_of(place, name)
        check_beginning(found, self.log, self._seen[place])
        self._seen[place] = found.answers.num_rows
        if found.answers.num_rows == self.log.answers.num_rows:
            self._complete(place, name)

    def _complete(self, place: str, name: str) -> None:
        """Finish the campaign, compare every row and the estimate with the undisturbed one, and forget it."""
        self._finish(lambda: self.on.start("count", place, name))
        check_whole(place, name, self.log, self.estimate)
        folder = CampaignFolder(Workspace.open(place), name)
        folder.workspace.objects.delete(folder.prefix)  # every campaign looks at all others
        del self._campaign[place]

    # -- how work begins and ends ---------------------------------------------------------------------------------------

    def _holding(self, place: str, name: str, *, lease: float = 60.0, early: bool = False) -> BaseProcess:
        """Start a count, and wait until it holds its lease, unless it is to be hurt early, while it opens its campaign."""
        says = self.on.folder / "says"
        says.unlink(missing_ok=True)
        flow = self.on.start("count", place, name, lease, TEST_SAYS=str(says))
        self.on.flows = [flow]
        if not early:
            wait_until(lambda: says.exists() or not flow.is_alive(), 180, "the flow takes its lease")
        return flow

    def _another(self, place: str, name: str) -> BaseProcess:
        self.on.flows.append(self.on.start("count", place, name))
        return self.on.flows[-1]

    def _hurt(self, hurt: Callable[[], object]) -> None:
        self._began = time.monotonic()
        hurt()

    def _whole(self) -> None:
        self._went_on = time.monotonic()

    def _until_it_goes_on(self, place: str, name: str) -> None:
        """Wait for answers that the log did not have right after the fault; if no flow is left, the same command brings them."""
        before = self._rows(place, name)
        deadline = time.monotonic() + 120
        while self._rows(place, name) == before < self.log.answers.num_rows:
            assert time.monotonic() < deadline, f"no answer came within 120 s after the fault: {self.on.failure()}"
            if not any(process.is_alive() for process in self.on.flows):
                self._another(place, name)
            time.sleep(0.05)
        self._whole()

    def _for_a_while(self, proxy: Proxy, mode: Mode) -> None:
        proxy.mode = mode
        time.sleep(self.chance.uniform(0.2, 1.0))
        proxy.mode = "pass"

    def _ended(self, flow: BaseProcess) -> str:
        """How a flow took it; anything but a good end, a kill or a failure that is explained is a bug."""
        code = finished(flow)
        assert code in (0, 3, -signal.SIGKILL), f"{code}: {self.on.failure(flow)}"
        if code == 3:
            return "fenced" if self.on.failure(flow).startswith("LeaseError") else "failed in one line, run again"
        return "killed" if code else "went on by itself"

    def _finish(self, start: Callable[[], BaseProcess]) -> None:
        """Run the same command until it ends well: that is all that anybody has to do."""
        for _ in range(6):
            flow = start()
            if finished(flow) == 0:
                return
            assert flow.exitcode == 3, self.on.failure(flow)
            self.on.start_cluster()
            time.sleep(0.5)
        raise AssertionError(f"six times in vain: {self.on.failure()}")
