"""`workspace.toml`: the number of the format and the identity of a workspace, checked when it is read."""

import uuid
from collections.abc import Container
from dataclasses import dataclass

from storage import formats
from storage.errors import CorruptionError
from storage.reading import known_errors, reason
from storage.toml import load_toml
from storage.typed import made


@dataclass(frozen=True, slots=True)
class _Description:
    format: int
    uuid: str
    noun: str | None = None


def read_identity(data: bytes, where: str, also: Container[object] = ()) -> tuple[int, str]:
    """Return the number of the format and the identity; `also`: numbers that are let through though they are not read.

    `FormatError` for another number, `CorruptionError` for what is no such file.
    """
    try:
        found = load_toml(data)
        number = found["format"]
        if number not in also:
            formats.WORKSPACE.check(number, where, found.get("cccount"))
        return number, str(uuid.UUID(made(_Description, found).uuid))
    except known_errors() as error:
        wanted = f'it must have the lines `format = {formats.WORKSPACE.present}` and `uuid = "…"`'
        raise CorruptionError(f"{where} is damaged ({reason(error)}): {wanted}; restore it from a copy") from error


__all__ = ["read_identity"]
