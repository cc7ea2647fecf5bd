"""The sections of the file of `cccount run`, from the declared options, and how a table of it is checked. Light to import."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cccount_dist.options import KEY, Declared, Options, Value, declared, listed
from flows.compute.options import ComputeOptions
from flows.stages.options import GONE, EmbedOptions, InitOptions, MatchesOptions, NeighborsOptions, ScheduleOptions
from flows.stages.tomllines import Steps, Where
from storage.errors import InputError

Table = Mapping[str, object]  # as TOML or JSON give it: not checked yet


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the file.

    options : the class that declares its keys
    elsewhere : a class whose keys are a section of their own
    about : what it is for
    """

    name: str
    options: type[Options]
    about: str
    elsewhere: type[Options] | None = None

    @property
    def keys(self) -> tuple[Declared, ...]:
        others = {one.name for one in declared(self.elsewhere)} if self.elsewhere else set()
        return tuple(one for one in declared(self.options) if one.name not in others and not one.option.hidden)


SECTIONS = (
    Section("collection", InitOptions, "What is in the collection: images, a table, or vectors that somebody else computed."),
    Section("compute", ComputeOptions, "Where to compute vectors and neighbours; campaigns, where their method prepares much."),
    Section("embed", EmbedOptions, "A vector for each image.", elsewhere=ComputeOptions),
    Section("neighbors", NeighborsOptions, "Who is similar to whom.", elsewhere=ComputeOptions),
    Section(
        "matches",
        MatchesOptions,
        "Optional: points that pictures share with their nearest, looked for if `nearest` is set here.",
        elsewhere=ComputeOptions,
    ),
    Section("schedule", ScheduleOptions, "For `cccount deploy`: when campaigns are advanced, and when all is checked."),
)
CAMPAIGN = "campaign"
OWN_KEYS = ("name", "kind", "parameters")  # of a campaign, beside the options of its kind
TOP = ("workspace", *(one.name for one in SECTIONS), CAMPAIGN)


def require_known(where: Where, steps: Steps, table: Table, names: Sequence[str], of: str, right: str | None = None) -> None:
    """Refuse a key that does not exist, with those that do; a near miss is named, and the section that has it."""
    for key in table:
        if key in names:
            continue
        if key in GONE:
            where.refuse((*steps, key), f"{key} {GONE[key]}")
        near = difflib.get_close_matches(key, names, n=1)
        section = next((one for one in SECTIONS if (one.name,) != steps and key in {known.name for known in one.keys}), None)
        hint = f"did you mean {near[0]}? " if near else f"{key} is of [{section.name}]; " if section else ""
        where.refuse((*steps, key), f"{of} has no key {key!r}: {hint}it has {right or listed(list(names), ' and ')}")


def section_values(where: Where, steps: Steps, table: object, known: Sequence[Declared], folder: Path | None) -> dict[str, Value]:
    """Return the options that a table sets, each checked by itself."""
    title = f"[{steps[0]}]"
    if table is None:
        return {}
    if not isinstance(table, Mapping):
        where.refuse(steps, f"{steps[0]} must be a section: write {title} on a line of its own, and its keys below")
    require_known(where, steps, table, [one.name for one in known], title)
    return checked_values(where, steps, title, table, known, folder)


def checked_values(
    where: Where, steps: Steps, title: str, table: Table, known: Sequence[Declared], folder: Path | None
) -> dict[str, Value]:
    values: dict[str, Value] = {}
    for one in known:
        given: Any = table.get(one.name)  # of any type: that is what is checked
        if given is None:
            continue
        if one.type is tuple and isinstance(given, str):
            given = [given]
        try:
            value = one.checked(tuple(given) if isinstance(given, list) else given, title, KEY)
        except InputError as error:
            where.explain((*steps, one.name), error)
        values[one.name] = _located(one, value, folder)
    return values


def _located(one: Declared, value: Value, folder: Path | None) -> Value:
    """The value with the path that is in it as the file means it."""
    at = one.option.located
    if at is None or folder is None:
        return value
    if isinstance(value, tuple):
        return tuple(at(part, folder) for part in value)
    return at(value, folder) if isinstance(value, str) else value


def made(where: Where, section: str, options: Any, values: Mapping[str, Value]) -> Any:
    """The options object of a section; what does not go together is refused at the section."""
    try:
        return options.read(values)
    except InputError as error:
        where.explain((section,), error)
