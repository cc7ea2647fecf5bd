"""What `cccount verify` reports: the damaged file, what is wrong with it, and how to repair it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    path: str
    problem: str
    repair: str
