"""Who holds a lease or a lock: a process, told apart from a later one with the same number, and from those of other hosts."""

import os
import secrets
import socket
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Holder:
    """A process, told apart from a later one with the same number: `started` counts from the boot in `boot`."""

    host: str
    pid: int
    started: int
    boot: str
    token: str

    @classmethod
    def this_process(cls) -> "Holder":
        pid = os.getpid()
        return cls(socket.gethostname(), pid, start_of(pid) or 0, boot(), secrets.token_hex(16))

    def is_dead(self) -> bool:
        """True only if this host can see that the process is gone; the process of another host may always be alive."""
        here = bool(self.boot) and (self.host, self.boot) == (socket.gethostname(), boot())
        return here and start_of(self.pid) != self.started


def boot() -> str:
    """Return what a process number is valid for: this boot of the machine, and this container's space of numbers."""
    try:
        return f"{Path('/proc/sys/kernel/random/boot_id').read_text().strip()} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return ""


def start_of(pid: int) -> int | None:
    """Return when a process started, in clock ticks since the boot; None if it is gone, or only waits to be buried."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


__all__ = ["Holder", "boot", "start_of"]
