"""The file of `cccount run` and `cccount deploy`: the whole batch job, read into one frozen object before anything is written.

    workspace = "census"
    [collection]
    images = "photos"
    [[campaign]]
    kind = "count"

Which sections and keys there are, and of which type, is read off the declared options: nothing is said twice. Whatever is wrong
is refused in one line with file, line and what is right. Light to import.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from cccount_dist.campaign.kind import KINDS, CampaignKind
from cccount_dist.campaign.options import CampaignOptions
from cccount_dist.options import Value, declared, from_folder
from flows.compute.options import ComputeOptions, PreparingOptions, check_place
from flows.stages.jobsections import CAMPAIGN, OWN_KEYS, SECTIONS, TOP, Table, checked_values, made, require_known, section_values
from flows.stages.options import EmbedOptions, InitOptions, MatchesOptions, NeighborsOptions, ScheduleOptions
from flows.stages.tomllines import Steps, Where, lines_of
from storage.errors import InputError
from storage.reading import read_regular, reading, reason
from storage.toml import load_toml

DEFAULT_KIND = "count"


@dataclass(frozen=True, slots=True)
class CampaignJob:
    """One campaign of the job."""

    name: str
    options: CampaignOptions
    place: Steps  # in the file

    @property
    def kind(self) -> CampaignKind[Any]:
        return KINDS.get(self.options.kind)

    @property
    def needs_vectors(self) -> bool:
        return self.kind.needs_vectors(self.options.chosen.name, {**self.options.named, **self.options.own})


@dataclass(frozen=True, slots=True)
class Job:
    """Everything that a file says, checked as far as it can be without a look at the collection."""

    workspace: str
    collection: InitOptions | None
    compute: ComputeOptions
    embed: EmbedOptions
    neighbors: NeighborsOptions
    matches: MatchesOptions
    schedule: ScheduleOptions
    campaigns: tuple[CampaignJob, ...]
    content: Table  # the same as plain values, with paths as the file means them: what the Prefect flow `pipeline` takes
    where: Where

    @classmethod
    def from_file(cls, path: str | Path) -> Self:
        """Read a file. Relative paths in it start from its own folder."""
        path = Path(path)
        try:
            text = read_regular(path).decode()
        except FileNotFoundError as error:
            raise InputError(f"there is no file {path}: `cccount run --example` prints one to begin with") from error
        except UnicodeDecodeError as error:
            raise InputError(f"{path} is not a TOML file: `cccount run --example` prints one to begin with") from error
        except (OSError, ValueError) as error:
            raise InputError(
                f"cannot read {path} ({reason(error)}): `cccount run --example` prints a file to begin with"
            ) from error
        try:
            found = load_toml(text.encode())
        except tomllib.TOMLDecodeError as error:
            raise InputError(_syntax(path, text, error)) from error
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path} is not a TOML file: {reason(error)}") from error
        with reading(path):
            return cls.read(found, Where(str(path), lines_of(text)), path.parent)

    @classmethod
    def read(cls, given: Table, where: Where, folder: Path | None = None) -> Self:
        """Check everything that was given; `folder` is where relative paths start."""
        sections = ", ".join(f"[{one.name}]" for one in SECTIONS)
        require_known(where, (), given, TOP, "the file", f"workspace, {sections} and [[{CAMPAIGN}]]")
        workspace = given.get("workspace")
        if not isinstance(workspace, str) or not workspace:
            wrong = "is missing" if workspace is None else f"must be a folder or s3://bucket/prefix, not {workspace!r}"
            where.refuse(("workspace",), f'workspace {wrong}: write workspace = "census" above the first section')
        values = {one.name: section_values(where, (one.name,), given.get(one.name), one.keys, folder) for one in SECTIONS}
        campaigns = _campaigns(where, given.get(CAMPAIGN), folder)
        place = workspace if folder is None else from_folder(workspace, folder)
        compute = values["compute"]
        job = cls(
            workspace=place,
            collection=made(where, "collection", InitOptions, values["collection"]) if "collection" in given else None,
            compute=made(where, "compute", ComputeOptions, compute),
            embed=made(where, "embed", EmbedOptions, {**values["embed"], **compute}),
            neighbors=made(where, "neighbors", NeighborsOptions, {**values["neighbors"], **compute}),
            matches=made(where, "matches", MatchesOptions, {**values["matches"], **compute}),
            schedule=made(where, "schedule", ScheduleOptions, values["schedule"]),
            campaigns=campaigns,
            content=_content(place, values, given, campaigns),
            where=where,
        )
        job._check()
        return job

    @property
    def wants_neighbors(self) -> bool:
        """Whether somebody needs vectors and neighbours: a campaign, or whoever wrote the section."""
        said = "neighbors" in self.content or self.wants_matches
        return said or not self.campaigns or any(one.needs_vectors for one in self.campaigns)

    @property
    def wants_matches(self) -> bool:
        """Whether whoever wrote the file wants local matches: an optional stage, done where its section says something."""
        return bool(self.content.get("matches"))

    @property
    def wants_embed(self) -> bool:
        """Whether vectors must be made: those that are given are only shortened, and only if the file says so."""
        if self.collection is not None and self.collection.embeddings:
            return self.embed.components is not None
        return "embed" in self.content or self.wants_neighbors

    def preparing(self, campaign: CampaignJob) -> PreparingOptions:
        """Where a campaign prepares what is heavy: nothing is told to one that would not use it."""
        if "compute" not in self.content or not campaign.options.chosen.prepares:
            return PreparingOptions()
        return PreparingOptions(**{one.name: getattr(self.compute, one.name) for one in declared(PreparingOptions)})

    def _check(self) -> None:
        where = self.where
        if self.collection is not None:
            try:
                self.collection.check_source()
            except InputError as error:
                where.explain(("collection",), error)
            if (self.collection.embeddings or self.collection.distances) and self.embed.encoder not in ("auto", "given"):
                where.refuse(("embed", "encoder"), "encoder is of no use to given vectors: leave it out, or give images")
        try:
            check_place(self.compute.compute, self.compute.workers, self.compute.memory_limit)
        except InputError as error:
            where.explain(("compute",), error)
        used = self.wants_embed or self.wants_neighbors or any(one.options.chosen.prepares for one in self.campaigns)
        if self.compute != ComputeOptions() and not used:
            where.refuse(("compute",), "[compute] is of no use to this job: none of its campaigns needs vectors; leave it out")


def _syntax(path: Path, text: str, error: tomllib.TOMLDecodeError) -> str:
    said = str(error)
    found = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", said)
    line = found[1] if found and found[1] else str(max(1, len(text.splitlines())))
    return f"{path}:{line}: this is not TOML: {said[: found.start()] if found else said}"


def _campaigns(where: Where, given: object, folder: Path | None) -> tuple[CampaignJob, ...]:
    if given is None:
        return ()
    if not isinstance(given, list) or not all(isinstance(one, Mapping) for one in given):
        where.refuse((CAMPAIGN,), f"{CAMPAIGN} must be written [[{CAMPAIGN}]], with two brackets: there may be several")
    found: list[CampaignJob] = []
    for number, table in enumerate(given):
        one = _campaign(where, (CAMPAIGN, number), table, folder)
        if one.name in {before.name for before in found}:
            text = f"there are two campaigns of the name {one.name!r}: give this one another name"
            where.refuse((CAMPAIGN, number, "name"), text)
        found.append(one)
    return tuple(found)


def _campaign(where: Where, steps: Steps, table: Table, folder: Path | None) -> CampaignJob:
    kind_name, name = table.get("kind", DEFAULT_KIND), table.get("name")
    for key, value in (("kind", kind_name), ("name", name)):
        if value is not None and not isinstance(value, str):
            where.refuse((*steps, key), f"{key} of [[{CAMPAIGN}]] must be a word, not {value!r}")
    try:
        kind = KINDS.get(str(kind_name))
    except InputError as error:
        where.explain((*steps, "kind"), error)
    called = kind.name if name is None else str(name)
    known = [one for one in declared(kind.options) if not one.option.hidden]
    title = f"[[{CAMPAIGN}]] of the kind {kind.name}"
    require_known(where, steps, table, [*OWN_KEYS, *(one.name for one in known)], title)
    values = checked_values(where, steps, title, table, known, folder)
    values["parameter"] = (*_words(values.get("parameter")), *_parameters(where, steps, table.get("parameters")))
    try:
        _check_name(called)
        options: CampaignOptions = kind.options.read(values)
        options.check_method(options.chosen)
    except InputError as error:
        where.explain(steps, error)
    return CampaignJob(called, options, steps)


def _words(value: Value) -> tuple[str, ...]:
    return value if isinstance(value, tuple) else ()


def _parameters(where: Where, steps: Steps, table: object) -> tuple[str, ...]:
    """[campaign.parameters] as `--parameter` takes it."""
    if table is None:
        return ()
    if not isinstance(table, Mapping):
        where.refuse((*steps, "parameters"), f"parameters must be a section: write [{CAMPAIGN}.parameters] below [[{CAMPAIGN}]]")
    for name, value in table.items():
        if not isinstance(value, str | int | float | bool):
            where.refuse(
                (*steps, "parameters", name), f"{name} of [{CAMPAIGN}.parameters] must be a number or a word, not {value!r}"
            )
    return tuple(f"{name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in table.items())


def _check_name(name: str) -> None:
    from storage.campaigns import check_name

    check_name(name)


def _content(
    workspace: str, values: Mapping[str, Mapping[str, Value]], given: Table, campaigns: Sequence[CampaignJob]
) -> dict[str, object]:
    """What was given, as plain values with the paths filled in."""
    content: dict[str, object] = {"workspace": workspace}
    content |= {name: _plain(table) for name, table in values.items() if given.get(name) is not None}
    if campaigns:
        tables = [_plain(_told(one.options)) for one in campaigns]
        content[CAMPAIGN] = [{"name": c.name, "kind": c.options.kind, **t} for c, t in zip(campaigns, tables, strict=True)]
    return content


def _told(options: CampaignOptions) -> dict[str, Value]:
    """The options that differ from what a campaign has when nothing is said."""
    defaults = {one.name: one.default for one in declared(type(options))}
    return {name: value for name, value in options.values().items() if value != defaults[name]}


def _plain(table: Mapping[str, Value]) -> dict[str, object]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in table.items()}


__all__ = ["CampaignJob", "Job"]
