"""Partial results of a stage, where all workers see them: files of a folder, or objects of the workspace's store."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from storage.errors import MissingObjectError
from storage.objects import Objects, explaining, temporary_beside


@dataclass(frozen=True, slots=True)
class StorePath:
    """One object, with what a stage uses of `pathlib.Path`."""

    objects: Objects
    key: str

    def __truediv__(self, name: str) -> "StorePath":
        return StorePath(self.objects, f"{self.key}/{name}")

    def __str__(self) -> str:
        return f"{self.objects.location}/{self.key}"

    def exists(self) -> bool:
        return self.objects.size(self.key) is not None

    def read_bytes(self) -> bytes:
        return self.objects.read(self.key)

    def unlink(self, *, missing_ok: bool = False) -> None:
        if not missing_ok and not self.exists():
            raise MissingObjectError(f"{self} does not exist")
        self.objects.delete(self.key)


ScratchPath = Path | StorePath


def write_whole(path: ScratchPath, pieces: list[bytes | memoryview]) -> None:
    """Write a file, whole or not at all; it is not waited for the disk."""
    if isinstance(path, StorePath):
        path.objects.replace(path.key, b"".join(pieces))
        return
    temporary = temporary_beside(path)
    try:
        with explaining(path):
            with temporary.open("xb") as sink:
                for piece in pieces:
                    sink.write(piece)
            temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def remove_all(folder: ScratchPath) -> None:
    """Remove a folder of partial results."""
    if isinstance(folder, StorePath):
        folder.objects.delete(folder.key)
        return
    with explaining(folder):
        shutil.rmtree(folder)


def read_whole(path: ScratchPath) -> bytes:
    if isinstance(path, StorePath):
        return path.read_bytes()
    with explaining(path):
        return path.read_bytes()


__all__ = ["ScratchPath", "StorePath", "read_whole", "remove_all", "write_whole"]
