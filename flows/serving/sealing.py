"""Seal answers into an object store from the host that takes them, where somebody else advances the campaign.

An answer is durable on this host's disk when it is acknowledged; `advance` on another host sees it when it is in the store. A
seal costs some requests whatever the answers, so they are gathered for `GATHER_SECONDS`; a store that is away is tried again.
"""

import threading
from types import TracebackType
from typing import Self

from flows.compute.logs import event
from storage.campaigns import CampaignFolder
from storage.errors import ConflictError, StoreError
from storage.workspace import Workspace

GATHER_SECONDS = 1.0


class Sealer:
    """Watches a review page (`cccount review --no-advance`) on a workspace in an object store."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._waiting: set[str] = set()
        self._wake, self._stop = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="sealer", daemon=True)

    def __enter__(self) -> Self:
        self._waiting.update(self.workspace.campaigns())  # what an earlier process could not seal
        self._wake.set()
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stop.set()
        self._wake.set()
        self._thread.join()

    def answered(self, campaign: str, count: int) -> None:  # noqa: ARG002
        """Take note that answers came."""
        self._waiting.add(campaign)
        self._wake.set()

    def at_the_desk(self, campaign: str, people: int, missing: int) -> None:
        """Nothing is to be done: somebody else runs `cccount advance`."""

    def _run(self) -> None:
        while not self._stop.is_set():
            self._wake.wait()
            self._wake.clear()
            self._stop.wait(GATHER_SECONDS)
            for campaign in list(self._waiting):
                self._waiting.discard(campaign)
                if not self._seal(campaign):
                    self._waiting.add(campaign)
                    self._wake.set()

    def _seal(self, campaign: str) -> bool:
        folder = CampaignFolder(self.workspace, campaign)
        if not folder.journal_path.exists():
            return True
        try:
            with folder.journal() as journal:
                journal.seal(folder.log)
        except (StoreError, ConflictError) as error:
            event("not sealed yet", campaign=campaign, error=str(error))
            return False
        return True


__all__ = ["Sealer"]
