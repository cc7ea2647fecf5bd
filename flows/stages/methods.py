"""`cccount methods`: every registered method, with what it needs and what may be set about it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cccount_dist.campaign.outcome import Outcome
from cccount_dist.options import Value, declared
from cccount_dist.sampling.methods import METHODS, Method
from storage.errors import InputError


@dataclass(frozen=True, slots=True)
class ParameterFacts:
    """One parameter of a method; `values` says which are allowed, `where` what must be set for it to be there."""

    name: str
    type: str
    default: Value
    help: str
    values: str
    where: dict[str, Value]


@dataclass(frozen=True, slots=True)
class MethodFacts:
    """One method."""

    name: str
    kind: str
    help: str
    needs: Sequence[str]
    paper: str | None
    parameters: Sequence[ParameterFacts]
    presets: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Methods(Outcome):
    """All methods, or one."""

    methods: Sequence[MethodFacts]
    detailed: bool

    def json(self) -> dict[str, object]:
        return {name: value for name, value in Outcome.json(self).items() if name == "methods"}

    def words(self) -> str:
        return "\n".join(
            _described(one) if self.detailed else f"{one.kind:<10} {one.name:<20} {one.help}" for one in self.methods
        )


def list_methods(name: str | None = None) -> Methods:
    """Every method, or the ones of this name (kinds of campaign may each have one)."""
    found = [_facts(one) for one in METHODS if name is None or one.name == name]
    if not found:
        raise InputError(f"there is no method {name!r}: there are {', '.join(one.name for one in METHODS)}")
    return Methods(found, name is not None)


def _facts(method: Method) -> MethodFacts:
    parameters = [
        ParameterFacts(one.name, one.type.__name__, one.default, one.option.help, one.rule, dict(one.option.where))
        for one in declared(method.parameters)
    ]
    return MethodFacts(method.name, method.kind, method.help, method.needs, method.paper, parameters, method.presets)


def _described(one: MethodFacts) -> str:
    lines = [f"{one.name}: {one.help}", f"  for cccount {one.kind}; needs {', '.join(one.needs) or 'nothing but the items'}"]
    lines += [f"  published as: {one.paper}"] if one.paper else []
    lines += ["  it has no parameters"] if not one.parameters else ["  --parameter NAME=VALUE:"]
    for given in one.parameters:
        only = "".join(f", with {name}={value}" for name, value in given.where.items())
        lines.append(f"    {given.name}={_plain(given.default)}  {given.help} ({given.values}{only})")
    for name, values in one.presets.items():
        lines.append(f"  --preset {name}: {', '.join(f'{key}={_plain(value)}' for key, value in values.items())}")
    return "\n".join(lines)


def _plain(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)
