"""The items of a workspace while a server runs: the collection grows (`cccount extend`), and pictures move (`cccount relocate`).

Read again only when an item is asked for that was not there, or a picture is not where it was. Memory: the collection table.
"""

import threading

from storage.collection import Collection
from storage.workspace import Workspace


class Items:
    """The collection as it was read last. Safe for threads."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._lock = threading.Lock()
        self._read = workspace.collection()

    @property
    def collection(self) -> Collection:
        return self._read

    def with_item(self, item: int) -> Collection:
        """Return a collection that has this item, if there is one by now."""
        return self._read if item < self._read.items else self.again()

    def again(self) -> Collection:
        """Read the collection once more."""
        with self._lock:
            self._read = self._workspace.collection()
            return self._read

    def uri(self, item: int) -> str | None:
        return self.with_item(item).uri(item)


__all__ = ["Items"]
