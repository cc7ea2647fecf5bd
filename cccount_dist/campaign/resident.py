"""A campaign that is kept open between steps: a step then costs its new answers, and no replay and no reading of inputs.

The lease is held only while something is done, so `cccount advance` beside it works as ever; what somebody else did meanwhile is
noticed at the next step, and the campaign is opened again. Memory: the sampler, the ledger and the inputs, as long as it is open.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cccount_dist.campaign.activity import AtTheDesk
from cccount_dist.campaign.advancing import keeps_sides, kind_of, patient_lease, read_inputs
from cccount_dist.campaign.inputs import Inputs, has_matches, sides_fingerprint
from cccount_dist.sampling.methods import find_method
from storage.campaigns import CampaignFolder
from storage.errors import CccountError
from storage.lease import Lease
from storage.schema import DEGREE, EMBEDDINGS, MATCHES
from storage.workspace import Workspace

if TYPE_CHECKING:
    from cccount_dist.campaign.runner import CampaignRunner

_LOOK_SECONDS = 5.0  # between looks whether the inputs are still those that were read: embeddings are rarely made anew


class Resident:
    """One campaign of a workspace. Not for several threads at once. `patience`: seconds to wait for another process's lease."""

    def __init__(self, workspace: str, campaign: str, *, patience: float = 0.0) -> None:
        self._workspace = workspace
        self._campaign = campaign
        self._patience = patience
        self._runner: CampaignRunner[Any] | None = None
        self._looked = 0.0
        self._behind = False
        self._pause = 0.0  # seconds that the results took last

    @property
    def is_open(self) -> bool:
        """Whether it holds the campaign in memory."""
        return self._runner is not None

    @property
    def is_behind(self) -> bool:
        """Whether the results are older than what was taken in: `conclude` has something to do."""
        return self._behind

    def supply(self, desk: AtTheDesk, published: Callable[[int], None] = lambda _: None) -> int:
        """Take in new answers, keep questions ready for who is at the desk, and return how many were asked.

        `published` is told of them a few at a time, as soon as they can be read. `LeaseError` if another process advances the
        campaign just now.
        """
        with self._opened() as runner:
            self._behind = True
            return runner.supply(replace(desk, pause=self._pause), published)

    def conclude(self) -> str:
        """Refresh the results and return the state of the campaign."""
        began = time.monotonic()
        with self._opened() as runner:
            self._behind = False
            state = runner.conclude().state
        self._pause = time.monotonic() - began
        return state

    def close(self) -> None:
        """Let go of the memory; the next step opens the campaign again."""
        self._runner = None

    @contextmanager
    def _opened(self) -> "Iterator[CampaignRunner[Any]]":
        """The runner, under the lease. After a failure it is opened anew: nothing that is only in memory is trusted."""
        runner = self._runner
        folder = CampaignFolder(Workspace.open(self._workspace), self._campaign) if runner is None else runner.folder
        with patient_lease(folder, self._patience) as lease:
            try:
                if runner is not None:
                    runner.lease = lease
                if runner is None or self._is_overtaken(runner):
                    runner = self._runner = None  # the memory of the old one is free before the new one needs it
                    runner = self._runner = self._open(lease)
                yield runner
            except BaseException:
                self._runner = None
                raise

    def _open(self, lease: Lease) -> "CampaignRunner[Any]":
        folder = CampaignFolder(Workspace.open(self._workspace), self._campaign)
        kind, settings = kind_of(folder), folder.settings()
        inputs = read_inputs(folder.workspace, kind, settings.method, settings.parameters)
        self._looked = time.monotonic()
        return kind.runner(folder, lease, inputs)

    def _is_overtaken(self, runner: "CampaignRunner[Any]") -> bool:
        """Whether somebody else asked questions or began an epoch meanwhile, or made the inputs anew."""
        if not runner.is_current:
            return True
        if time.monotonic() - self._looked < _LOOK_SECONDS:
            return False
        self._looked = time.monotonic()
        method, workspace = find_method(runner.settings.kind, runner.settings.method), Workspace.open(self._workspace)
        now = _fingerprints(workspace, runner.inputs, matches=method.takes("matches"))
        if keeps_sides(kind_of(runner.folder), runner.settings.parameters):  # somebody may have set some, on the page, say
            sides = sides_fingerprint(workspace, runner.inputs)
            now = {**now, "sides": sides} if sides is not None else {name: now[name] for name in now if name != "sides"}
        return now != runner.inputs.fingerprints


def _fingerprints(workspace: Workspace, inputs: Inputs, *, matches: bool) -> dict[str, str]:
    """The fingerprints that the inputs have now, as far as they can be read; `matches`: those that came meanwhile are used."""
    found = dict(inputs.fingerprints)
    looked_at = {"embeddings": EMBEDDINGS, "degree": DEGREE, "matches": MATCHES}
    for name, spec in looked_at.items():
        try:
            if name in found or (name == "matches" and matches and "embeddings" in found and has_matches(workspace)):
                found[name] = workspace.array(spec).fingerprint()
        except CccountError:  # being written just now: the next look tells
            continue
    return found


__all__ = ["Resident"]
