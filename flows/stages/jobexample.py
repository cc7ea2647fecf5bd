"""`cccount run --example`: a file to begin with, made from the declared options, each with its help and default."""

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from cccount_dist.campaign.kind import KINDS
from cccount_dist.options import KEY, Declared, Value, declared, named_values
from flows.stages.jobsections import CAMPAIGN, SECTIONS
from storage.errors import InputError

WIDTH = 100
_CHOSEN: dict[str, Mapping[str, Value]] = {"collection": {"images": "photos"}}  # what is not commented out
_OPENING = """\
The whole batch job in one file:
    cccount run FILE.toml       does what is missing; killed, or run again, it goes on
    cccount deploy FILE.toml    the same on a Prefect server, with the schedule below
Relative paths start from this file. What is commented out has its default; a value in <…> has none.
"""


def example() -> str:
    """Return the file; it is itself a valid job."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield from _comment(_OPENING)
    yield ""
    yield from _comment("The workspace: a folder, or s3://bucket/prefix. It is made if it is not there.")
    yield 'workspace = "census"'
    for section in SECTIONS:
        yield ""
        yield from _comment(section.about)
        yield f"[{section.name}]"
        yield from _keys(section.keys, _CHOSEN.get(section.name, {}))
    yield ""
    yield from _comment(
        f"Campaigns, in the order in which they run: any number, each with a name of its own (its kind, if it has none). "
        f"Parameters of a method (`cccount methods NAME`) go below it into [{CAMPAIGN}.parameters]."
    )
    for kind in KINDS:
        known = [one for one in declared(kind.options) if not one.option.hidden and one.name != "parameter"]
        yield ""
        yield from _comment(kind.help.strip().splitlines()[0])
        yield f"[[{CAMPAIGN}]]"
        yield f'name = "{kind.name}"'
        yield f'kind = "{kind.name}"'
        yield from _keys(known, {})


def _keys(known: Sequence[Declared], chosen: Mapping[str, Value]) -> Iterator[str]:
    for one in known:
        yield from _comment(one.option.help.replace("--", ""))
        value = chosen.get(one.name, one.default)
        yield f"{one.name} = {_written(value)}" if one.name in chosen else f"# {one.name} = {_shown(one)}"


def _shown(one: Declared) -> str:
    """The default as TOML, or what stands for a value where there is none."""
    said = one.option
    if one.default not in (None, ()):
        return _written(one.default)
    if said.shown is not None:
        with suppress(InputError):  # words that are no value
            return _written(one.checked(next(iter(named_values([f"x={said.shown}"]).values())), one.name, KEY))
    return f"<{said.shown or said.metavar or one.rule}>"


def _written(value: Value) -> str:
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)


def _comment(text: str) -> list[str]:
    lines = [part for line in text.splitlines() for part in (textwrap.wrap(line, WIDTH, drop_whitespace=False) or [""])]
    return [f"# {line}".rstrip() for line in lines]
