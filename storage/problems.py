"""What `cccount verify` reports: a place that is damaged, what is wrong there, and what to do about it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One damaged place. `path` is a file or folder that exists or should exist; `repair` is something a person can do.

    >>> Problem("census/markers/embeddings/000003.json", "damaged", "delete it and run `cccount embed` again").path
    'census/markers/embeddings/000003.json'
    """

    path: str
    problem: str
    repair: str

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}; {self.repair}"


__all__ = ["Problem"]
