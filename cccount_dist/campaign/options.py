"""What every kind of campaign may be told, declared once; and the check of a campaign that goes on. Light to import."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, ClassVar

from cccount_dist.campaign.noun import check_question, read_noun
from cccount_dist.options import Option, Options, Value, declared, listed, named_values
from cccount_dist.sampling.methods import AUTO, Method, Start, find_method
from cccount_dist.sampling.settling import check_overlap
from storage.errors import InputError
from storage.settings import Goal, Scalar, Settings

PEOPLE = "people"
STRICT_REPLAY = Option(
    "Refuse a campaign whose log this version does not replay bit for bit, instead of going on in a new epoch.", part="call"
)
BUDGET = Option(
    "How many questions may be asked, in all. A larger one goes on from where it stands.", least=0, rule="0 or more", part="goal"
)

APART, TOGETHER = "apart", "together"


def _check_sides(sides: str) -> str:
    if sides not in (APART, TOGETHER):
        raise InputError(f"--sides takes {APART} or {TOGETHER}, not {sides!r}")
    return sides


SIDES = Option(
    "Pictures of different sides: apart (never compared), or together (they can be).", metavar=f"{APART}|{TOGETHER}",
    part="parameter", read=_check_sides, shown=APART,
)  # fmt: skip
PAIR_SECONDS = Option("Seconds that a pair takes a person.", metavar="S", above=0.0, below=math.inf, part="goal", rule="above 0")
PAGE_SECONDS = Option(
    "Seconds that a page takes: in the budget it counts as the pairs that take as long.",
    metavar="S", above=0.0, below=math.inf, part="goal",
    rule="above 0",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignOptions(Options):
    """What a campaign was told; None where the user said nothing and the campaign's own setting holds."""

    kind: ClassVar[str]
    default_method: ClassVar[str]
    method_called: ClassVar[str]  # what a method of this kind is called in an error
    oracles: ClassVar[tuple[str, ...]] = (PEOPLE, "labels")

    method: Annotated[
        str | None, Option("The method; `cccount methods` lists them.", metavar="auto|NAME", shown="auto", part="settings")
    ] = None
    budget: Annotated[int, BUDGET] = 1000
    oracle: Annotated[
        str, Option("Who answers: people, or the label column (simulation).", metavar="people|labels", part="goal")
    ] = PEOPLE
    error_rate: Annotated[
        float,
        Option(
            "With --oracle labels: the share of the answers that is made wrong.", metavar="E", least=0.0, most=1.0, part="goal",
            rule="between 0 and 1",
        ),
    ] = 0.0  # fmt: skip
    overlap: Annotated[
        int | None, Option("How many people answer each question.", metavar="1..5", shown="1", part="settings", absent=1)
    ] = None
    seed: Annotated[
        int | None,
        Option("The same seed and answers give the same questions.", least=0, rule="0 or more", shown="0", part="settings"),
    ] = None
    parameter: Annotated[
        tuple[str, ...],
        Option(
            "A parameter of the method (`cccount methods NAME` lists them); may be given several times.",
            metavar="NAME=VALUE",
            part="call",
        ),
    ] = ()

    preset: Annotated[
        str | None,
        Option("A named setting of the method: paper is the algorithm as printed.", metavar="NAME", part="settings"),
    ] = None

    noun: Annotated[
        str | None,
        Option(
            "What is counted, for words on page and report: individual, or person/people.", metavar="WORD", part="goal",
            read=read_noun,
        ),
    ] = None  # fmt: skip
    question: Annotated[
        str | None,
        Option("What people are asked about two pictures.", metavar="TEXT", part="goal", read=check_question),
    ] = None

    strict_replay: Annotated[bool, STRICT_REPLAY] = False

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if self.oracle not in self.oracles:
            raise InputError(f"--oracle takes {' or '.join(self.oracles)}, not {self.oracle!r}")
        if self.overlap is not None:
            check_overlap(self.overlap)
            if self.oracle != PEOPLE and self.overlap > 1:
                raise InputError("--overlap is for --oracle people: labels answer each question once")
        if self.oracle == PEOPLE and self.error_rate:
            raise InputError("--error-rate is for --oracle labels: people err by themselves")

    @property
    def chosen(self) -> Method:
        """The method, also where the user said `auto` or nothing."""
        name = self.default_method if self.method in (None, AUTO) else str(self.method)
        return find_method(self.kind, name, self.method_called)

    @property
    def named(self) -> dict[str, Scalar]:
        """Parameters of the method that were given by name: `--parameter NAME=VALUE`."""
        return named_values(self.parameter)

    def given_to(self, method: Method) -> dict[str, Scalar]:
        """The method's parameters: those of the preset, of `--parameter`, of options of their own; a later one wins."""
        said = self.named | {name: value for name, value in self.own.items() if method.has(name) and not self.is_of_kind(name)}
        return method.preset(self.preset, said) | said

    @property
    def own(self) -> dict[str, Scalar]:
        """Parameters that are options of their own and were given."""
        found = {one.name: getattr(self, one.name) for one in declared(type(self)) if one.option.part == "parameter"}
        return {name: value for name, value in found.items() if value is not None}

    def check_method(self, method: Method) -> None:
        """Refuse parameters that the method does not have or cannot take."""
        for name, value in self.own.items():
            one = next(one for one in declared(type(self)) if one.name == name)
            if not (method.has(name) or self.is_of_kind(name) or value == one.option.absent):
                raise InputError(self.not_of_method(method, name, value))
        own = {
            one.name: f"--{one.flag}" for one in declared(type(self)) if one.option.part == "parameter" and method.has(one.name)
        }
        try:
            method.read(self.given_to(method))
        except InputError as error:
            if own and any(not method.has(name) for name in self.named):
                raise InputError(f"{error}; {method.name} has {listed(list(own.values()), ' and ')}") from error
            raise

    def is_of_kind(self, parameter: str) -> bool:  # noqa: ARG002
        """Whether a parameter belongs to the campaign whatever its method."""
        return False

    def not_of_method(self, method: Method, name: str, value: Scalar) -> str:
        """Why an option cannot be used with a method."""
        return f"--{name.replace('_', '-')} {value} is not for {method.name}: see `cccount methods {method.name}`"

    def parameters(self) -> dict[str, Scalar]:
        """What a new campaign is frozen with beyond seed and level."""
        method = self.chosen
        self.check_method(method)
        start = Start(simulated=self.oracle != PEOPLE, error_rate=self.error_rate, overlap=self.overlap or 1)
        of_kind = {name: value for name, value in self.own.items() if self.is_of_kind(name)}
        return of_kind | method.frozen(self.given_to(method), start)

    def goal(self) -> Goal:
        """How far the campaign should go, and who answers."""
        known = {one.name for one in fields(Goal)}
        chosen: dict[str, Any] = {name: value for name, value in self.values().items() if name in known}
        return Goal(**chosen)


def require_same(options: CampaignOptions, settings: Settings, campaign: str) -> None:
    """Raise `InputError` if a campaign that is there was started with something else than is wanted now."""
    if settings.kind != options.kind:
        raise InputError(f"campaign {campaign!r} is a {settings.kind} campaign: choose another --campaign name")
    frozen: dict[str, Value] = {"method": settings.method, "seed": settings.seed, "level": settings.level}
    frozen["overlap"] = settings.overlap or 1
    frozen["preset"] = settings.preset
    wanted: dict[str, Value] = {}
    for one in declared(type(options)):
        if one.option.part in ("settings", "parameter"):
            wanted[one.name] = getattr(options, one.name)
            frozen.setdefault(one.name, one.option.absent)
    frozen |= settings.parameters
    wanted["method"] = None if options.method in (None, AUTO) else options.chosen.name
    for name, given in (wanted | options.named).items():
        if given is not None and given != frozen.get(name):
            raise InputError(_changed(campaign, name, given, frozen, named=name in options.named))


def _changed(campaign: str, name: str, given: Value, frozen: Mapping[str, Value], *, named: bool) -> str:
    option = f"--parameter {name}=" if named else f"--{name.replace('_', '-')} "
    said = f"with {option}{frozen[name]}, not {given}" if frozen.get(name) is not None else f"without {option}{given}"
    return f"campaign {campaign!r} was started {said}: leave the option out to go on, or choose another --campaign name"
