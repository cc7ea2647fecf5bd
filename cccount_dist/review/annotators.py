"""Who may answer: a name and a token each. The token is shown once; `annotators.json` holds only a salted hash of it.

Tokens have 192 random bits, so a plain salted hash is enough. Looking somebody up costs one hash for each annotator, always all
of them, compared in constant time.
"""

import hashlib
import json
import re
import secrets
from dataclasses import replace

from storage.errors import ConflictError, InputError, MissingObjectError
from storage.stamp import BLANK, filled
from storage.tokens import ANNOTATOR, KEY, LEAD, ROLES, TokenHash, read_tokens
from storage.workspace import Workspace

_NAME = re.compile(r"[\w][\w .@'-]{0,62}[\w.]|[\w]", re.UNICODE)
_TOKEN = re.compile(r"[A-Za-z0-9_-]{32,128}")


class Annotators:
    """The annotators of a workspace. Every call reads the file anew: a token that was taken away is of no use at once."""

    def __init__(self, workspace: Workspace) -> None:
        self._objects = workspace.objects
        self._where = f"{workspace.location}/{KEY}"

    def names(self) -> list[str]:
        return sorted(self._read())

    def roles(self) -> dict[str, str]:
        """What everybody is: an annotator, or a lead."""
        return {name: entry.role for name, entry in sorted(self._read().items())}

    def is_lead(self, name: str) -> bool:
        return self.roles().get(name) == LEAD

    def set_role(self, name: str, role: str) -> None:
        """Say what somebody is from now on; the token stays."""
        _check_role(role)
        with self._objects.locked(KEY):
            entries = self._read()
            if name not in entries:
                raise InputError(f"there is no annotator {name!r} (there are: {', '.join(sorted(entries)) or 'none'})")
            self._write({**entries, name: replace(entries[name], role=role)})

    def add(self, name: str, token: str | None = None, role: str = ANNOTATOR) -> str:
        """Return a new token for a new annotator; it cannot be shown again.

        A token that was made elsewhere may be given; given again, for the same annotator, it changes nothing.
        """
        if not _NAME.fullmatch(name):
            raise InputError(f"an annotator's name is 1 to 64 letters, digits, spaces and . @ ' - _, not {name!r}")
        _check_role(role)
        if token is not None and not _TOKEN.fullmatch(token):
            raise InputError("a token is 32 to 128 random letters, digits, - and _: `openssl rand -hex 24` makes one")
        made = token or secrets.token_urlsafe(24)
        salt = secrets.token_hex(16)
        with self._objects.locked(KEY):
            entries = self._read()
            if token is not None and self.who(token) == name:
                return token
            if name in entries:
                raise ConflictError(f"there is an annotator {name!r} already: remove them first for a new token")
            self._write({**entries, name: TokenHash(salt, _digest(salt, made), role)})
        return made

    def remove(self, name: str) -> None:
        """Take a token away. What the annotator answered stays."""
        with self._objects.locked(KEY):
            entries = self._read()
            if name not in entries:
                raise InputError(f"there is no annotator {name!r} (there are: {', '.join(sorted(entries)) or 'none'})")
            del entries[name]
            self._write(entries)

    def who(self, token: str) -> str | None:
        """Return whose token this is; None if it is nobody's."""
        found = None
        for name, entry in self._read().items():
            if secrets.compare_digest(_digest(entry.salt, token), entry.digest):
                found = name
        return found

    def _read(self) -> dict[str, TokenHash]:
        try:
            return read_tokens(self._objects.read(KEY), self._where)
        except MissingObjectError:
            return {}

    def _write(self, entries: dict[str, TokenHash]) -> None:
        content = {name: {"salt": entry.salt, "digest": entry.digest} for name, entry in sorted(entries.items())}
        for name, entry in entries.items():
            if entry.role != ANNOTATOR:
                content[name]["role"] = entry.role
        for first in list(content.values())[:1]:
            first["stamp"] = BLANK  # inside an entry, where no annotator's name can be: an earlier version reads past it
        self._objects.replace(KEY, filled(json.dumps(content, indent=1).encode()))


def _check_role(role: str) -> None:
    if role not in ROLES:
        raise InputError(f"a role is {' or '.join(ROLES)}, not {role!r}")


def _digest(salt: str, token: str) -> str:
    return hashlib.blake2b(token.encode(), salt=bytes.fromhex(salt)[:16], digest_size=32).hexdigest()


__all__ = ["KEY", "Annotators"]
