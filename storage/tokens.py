"""`annotators.json`: who may answer, and the salted hash of each person's token; checked when it is read."""

import json
from dataclasses import dataclass

from storage.errors import CorruptionError
from storage.reading import known_errors, reason
from storage.typed import made

KEY = "annotators.json"
REPAIR = "restore it from a copy, or delete it and give everybody a new token (`cccount annotators add`)"
ANNOTATOR, LEAD = ROLES = ("annotator", "lead")  # a lead decides contradictions, too
_SALT, _DIGEST = 32, 64  # hexadecimal digits
_HEXADECIMAL = frozenset("0123456789abcdef")


@dataclass(frozen=True, slots=True)
class TokenHash:
    """What is kept of somebody's token, and what they may do."""

    salt: str
    digest: str
    role: str = ANNOTATOR

    def __post_init__(self) -> None:
        for name, text, digits in (("salt", self.salt, _SALT), ("digest", self.digest, _DIGEST)):
            if len(text) != digits or not set(text) <= _HEXADECIMAL:
                raise ValueError(f"{name} must be {digits} hexadecimal digits")
        if self.role not in ROLES:
            raise ValueError(f"role must be {' or '.join(ROLES)}")


def read_tokens(data: bytes, where: str) -> dict[str, TokenHash]:
    """Return the hash of each annotator's token; `CorruptionError` for what is no such file."""
    try:
        return {name: made(TokenHash, entry) for name, entry in dict(json.loads(data)).items()}
    except known_errors() as error:
        raise CorruptionError(f"{where} is damaged ({reason(error)}): {REPAIR}") from error


__all__ = ["ANNOTATOR", "KEY", "LEAD", "REPAIR", "ROLES", "TokenHash", "read_tokens"]
