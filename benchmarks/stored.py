"""A file of the runs that a benchmark has done, one to a line, so that it may be ended and go on later; and tables."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any


class Runs:
    """What came out of every run, by its name. Nothing is begun after `until` (`time.monotonic`)."""

    def __init__(self, path: Path | None, until: float = float("inf")) -> None:
        self._path, self._until = path, until
        self._done: dict[str, Any] = {}
        if path is not None and path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                key, value = json.loads(line)
                self._done[key] = value

    def get(self, key: str, work: Callable[[], object]) -> None:
        """Do the work, unless it was done or the time is over."""
        if key not in self._done and time.monotonic() < self._until:
            self._done[key] = work()
            if self._path is not None:
                with self._path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps([key, self._done[key]]) + "\n")

    def of(self, start: str, seeds: int) -> Iterator[Any]:
        """What came out, for all seeds that were done."""
        return (self._done[key] for seed in range(seeds) if (key := f"{start}, {seed}") in self._done)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows)]
