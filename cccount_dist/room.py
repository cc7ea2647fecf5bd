"""Memory that cannot suffice is refused before the work begins, with what would fit: never killed by the kernel hours later.

A method projects what its sampler takes beyond the process and the memory-mapped vectors (`Method.memory`): an upper limit, for
data without clear groups, where lists are longest. What a command takes stands in `taken.py`. Light to import; constant time.
"""

import os
import resource
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from storage.errors import ComputeError, InputError

VARIABLE = "CCCOUNT_MEMORY"
_UNITS = {"": 1, "B": 1, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "KB": 10**3, "MB": 10**6, "GB": 10**9}
_GROUPS = Path("/sys/fs/cgroup")


@dataclass(frozen=True, slots=True)
class Size:
    """What the memory of a sampler or of a command grows with."""

    items: int
    dimensions: int = 0
    neighbors: int = 0
    clusters: int | None = None  # as far as it was told
    answers: int = 0
    shown: int = 0  # pictures on a page

    def words(self) -> str:
        """
        >>> Size(1000, 128).words(), Size(10, answers=7).words()
        ('1,000 items of 128 dimensions', '10 items with 7 answers')
        """
        vectors = f" of {self.dimensions:,} dimensions" if self.dimensions else ""
        return f"{self.items:,} items{vectors}{f' with {self.answers:,} answers' if self.answers else ''}"


def require_room(what: str, needed: Callable[[Size], int], size: Size, *, instead: str) -> None:
    """Raise `ComputeError` if `what` needs more memory than this process can have, with how many items would fit."""
    there, projected = available_bytes(), needed(size)
    if projected <= there:
        return
    fits = _largest(lambda items: needed(replace(size, items=items)) <= there, size.items)
    raise ComputeError(
        f"{what}{f' on {size.words()}' if size.items else ''} needs about {gibibytes(projected)} of memory, and "
        f"{gibibytes(there)} can be had here: {f'about {fits:,} items would fit; ' if fits else ''}{instead}, or use a machine "
        f"with more ({VARIABLE}=64GiB says how much may be taken)"
    )


def available_bytes() -> int:
    """Return how much memory this process can still have: the machine's, or less if a limit is set for it.

    The variable `CCCOUNT_MEMORY` (such as 12GiB) says it instead.
    """
    if told := os.environ.get(VARIABLE):
        return size_in_bytes(told)
    found = [_machine(), *_containers()]
    soft = resource.getrlimit(resource.RLIMIT_AS)[0]
    if soft != resource.RLIM_INFINITY:
        found.append(soft - _number(Path("/proc/self/statm"), 0) * resource.getpagesize())
    return max(0, min(found))


def size_in_bytes(text: str) -> int:
    """
    >>> size_in_bytes("12GiB"), size_in_bytes("1.5 GB")
    (12884901888, 1500000000)
    """
    digits = text.strip().rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ")
    unit = text.strip()[len(digits) :].strip().upper()
    try:
        return int(float(digits) * _UNITS[unit])
    except (ValueError, KeyError, OverflowError) as error:
        raise InputError(f"{VARIABLE} must be a size such as 12GiB, not {text!r}") from error


def gibibytes(count: int) -> str:
    """
    >>> gibibytes(25 * 2**30), gibibytes(300 * 2**20), gibibytes(49 * 2**20)
    ('25.0 GiB', '0.3 GiB', '49 MiB')
    """
    return f"{count / 2**30:,.1f} GiB" if 10 * count >= 2**30 else f"{count / 2**20:,.0f} MiB"


def _machine() -> int:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")  # another system: all that is there
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _containers() -> list[int]:
    """What the control groups of a container leave: version 2, and version 1. Pages of files count as used, but can be had."""
    files = (
        ("memory.max", "memory.current", "memory.stat", "file"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat", "total_cache"),
    )
    return [
        limit - _number(_GROUPS / now, 0) + _line(_GROUPS / details, pages)
        for most, now, details, pages in files
        if (limit := _number(_GROUPS / most, 0)) > 0
    ]


def _line(path: Path, name: str) -> int:
    try:
        return next((int(line.split()[1]) for line in path.read_text().splitlines() if line.split()[0] == name), 0)
    except (OSError, ValueError, IndexError):
        return 0


def _number(path: Path, missing: int) -> int:
    try:
        return int(path.read_text().split()[0])
    except (OSError, ValueError, IndexError):  # no such file, or the word "max"
        return missing


def _largest(fits: Callable[[int], bool], most: int) -> int:
    """Return the largest number for which it fits, to two digits; 0 if none does."""
    low, high = 0, most
    while high - low > max(1, low // 100):
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


__all__ = ["Size", "available_bytes", "gibibytes", "require_room", "size_in_bytes"]
