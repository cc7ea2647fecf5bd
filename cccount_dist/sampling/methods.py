"""The registry of methods: each is declared once, with its name, what it needs, what may be set about it, and how it is made.

`cccount methods`, the commands, the flows, the estimators and the report read it from here. A method of your own is one
`register_method` in one file: docs/how-to/write-your-own-sampler.md. Light to import: `build` imports the
sampler when it is wanted.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from cccount_dist.options import Options, Value, declared, listed
from cccount_dist.registry import Registry
from cccount_dist.room import Size, require_room
from cccount_dist.sampling.types import Sampler
from storage.errors import InputError
from storage.settings import Scalar

Need = Literal["vectors", "neighbors", "degrees", "clusters", "ratings", "matches"]
AUTO = "auto"
PAPER = "paper"  # the preset that is the printed algorithm with the printed numbers


@dataclass(frozen=True, slots=True)
class NoParameters(Options):
    """A method about which nothing can be set."""


@dataclass(frozen=True, slots=True)
class Start:
    """What is known about a campaign when a method says what it is frozen with."""

    simulated: bool  # answers come from labels, at once
    error_rate: float = 0.0
    overlap: int = 1  # people who answer each question


@dataclass(frozen=True, slots=True)
class Method:
    """One way to ask and to conclude.

    name : what a user types
    kind : of campaign: count, cluster, subcluster, or one of your own
    help : one line for people
    build : makes the sampler from the kind's inputs and this method's parameters
    parameters : an `Options` class: name, type, default, range and help of each
    needs : `vectors`, `neighbors`, `degrees`, `matches` of the collection, `clusters` (K must be told), `ratings` (people rate)
    may_use : what it can make use of but does without
    paper : where it was published
    checks : whether the sampler is told gold answers, and (`all`) repeated ones too, to learn how often people err
    believes : whether every answer is true to it: then people who err are warned of
    started : what a new campaign is frozen with, from what was given by name and how it is started
    also_needs : further needs that follow from the parameters
    prepares : whether a Dask cluster may prepare what it computes before its first question
    measures : whether it measures how good its groups are, so that a target can stop it
    memory : what its sampler takes, in bytes, beyond the process and the mapped vectors: refused if it cannot be had
    consensus : whether it starts from k-means runs, which are kept beside the campaign
    presets : named settings of it, each the parameters that it stands for: `paper` is the algorithm as printed
    revision : raised when the same answers no longer give the same questions: campaigns then go on in a new epoch
    title, explained : its name and what it does in words, for the report
    early : what a reader must know while there are fewer answers than items
    """

    name: str
    kind: str
    help: str
    build: Callable[[Any, Any], Sampler[Any]]
    parameters: type[Options] = NoParameters
    needs: tuple[Need, ...] = ()
    may_use: tuple[Need, ...] = ()
    paper: str | None = None
    checks: Literal["none", "gold", "all"] = "none"
    believes: bool = False
    started: Callable[[Mapping[str, Scalar], Start], Mapping[str, Scalar]] | None = None
    also_needs: Callable[[Any], tuple[Need, ...]] | None = None
    prepares: bool = False
    measures: bool = False
    memory: Callable[[Size, Any], int] | None = None
    consensus: bool = False
    presets: Mapping[str, Mapping[str, Scalar]] = field(default_factory=dict)
    revision: int = 1
    title: str = ""
    explained: str = ""
    early: str = ""

    def read(self, given: Mapping[str, Value]) -> Any:
        """Return the parameters as an instance of their class; a wrong one is refused by name, with the list of right ones."""
        return self.parameters.read(given, self.name)

    def preset(self, name: str | None, given: Mapping[str, Value] | None = None) -> dict[str, Scalar]:
        """Return the parameters that a preset stands for; none without a name.

        What is given by name wins, so a parameter of the preset that is not there beside it (`Option.where`) is left out.
        """
        if name is None:
            return {}
        if name not in self.presets:
            have = [one.name for one in methods_of(self.kind).values() if name in one.presets]
            own = f"it has {listed(list(self.presets), ' and ')}" if self.presets else "it has none"
            there = f"; {name} is a preset of {listed(have, ' and ')}" if have else ""
            raise InputError(f"{self.name} has no preset {name!r}: {own}{there}")
        found = dict(self.presets[name])
        all_values = {one.name: one.default for one in declared(self.parameters)} | found | dict(given or {})
        hidden = [
            one.name
            for one in declared(self.parameters)
            if any(all_values.get(other) != value for other, value in one.option.where.items())
        ]
        return {parameter: value for parameter, value in found.items() if parameter not in hidden}

    def frozen(self, given: Mapping[str, Scalar], start: Start) -> dict[str, Scalar]:
        """Return the parameters that a new campaign is frozen with; what cannot be is refused before."""
        found = dict(given) if self.started is None else dict(self.started(given, start))
        self.read(found)
        return found

    def needs_of(self, given: Mapping[str, Value]) -> frozenset[Need]:
        """What it needs with these parameters."""
        more = () if self.also_needs is None else self.also_needs(self.read(given))
        return frozenset((*self.needs, *more))

    def require_memory(self, size: Size, given: Mapping[str, Value], beside: Callable[[Size], int] = lambda _: 0) -> None:
        """Raise `ComputeError` if its sampler cannot have the memory that it would take; a method that projects none passes.

        `beside`: what whoever runs it takes.
        """
        if self.memory is not None:
            parameters, projected = self.read(given), self.memory
            require_room(
                self.name, lambda size: projected(size, parameters) + beside(size), size,
                instead="take a sample of the items, or another method (`cccount methods`)",
            )  # fmt: skip

    def takes(self, need: Need) -> bool:
        return need in self.needs or need in self.may_use

    def has(self, parameter: str) -> bool:
        return any(one.name == parameter for one in declared(self.parameters))


METHODS = Registry[Method]("method")


def register_method(method: Method) -> None:
    """Make a method known to every command, page and report."""
    METHODS.add(f"{method.kind}/{method.name}", method)


def methods_of(kind: str) -> dict[str, Method]:
    """Return the methods of a kind of campaign, by name."""
    return {method.name: method for method in METHODS if method.kind == kind}


def find_method(kind: str, name: str, called: str | None = None) -> Method:
    """Return the method; `InputError` that lists the names if there is none. `called`: what a method of this kind is called."""
    known = methods_of(kind)
    if name not in known:
        raise InputError(f"{called or f'{kind} method'} {name!r} is not known: use one of {AUTO}, {', '.join(known)}")
    return known[name]
