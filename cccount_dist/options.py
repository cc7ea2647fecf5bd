"""How an option is declared: once, as a field of a frozen dataclass, with its type, default, range and one line of help.

    grid: Annotated[int, Option("Show up to so many clusters on one page.", least=1, most=24)] = 1

The command line, the Prefect flows, the Python call, `cccount methods`, the files of `cccount run` and the check of a campaign
that goes on are all made from the declaration. Light to import: the command line lists options before anything heavy is loaded.
"""

import math
import os
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self, Union, get_args, get_origin, get_type_hints

from storage.errors import InputError
from storage.settings import Scalar

Value = Scalar | tuple[str, ...] | None
Part = Literal["goal", "settings", "parameter", "call"]


@dataclass(frozen=True, slots=True)
class Option:
    """What is said about an option beside its name, type and default.

    help : one line for people
    metavar : what stands for the value in `--help`
    least, most : both included; above, below : not included
    choices : the words that are allowed
    rule : the range in words, where the usual words would not do
    shown : the default in words, where it is None or follows from others
    read : raises `InputError` for a text that cannot be meant
    where : other options and the value that they must have for this one to exist
    part : where a campaign keeps it: its goal (may change), its frozen settings or parameters, or nowhere (`call`)
    absent : what a campaign that was started without the parameter has instead
    hidden : not for the command line: one of our own stages fills it in
    located : the value with the path that is in it as seen from a folder: a file that says the option means paths beside itself
    """

    help: str
    metavar: str | None = None
    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None
    choices: tuple[str, ...] = ()
    rule: str | None = None
    shown: str | None = None
    read: Callable[[str], object] | None = None
    where: Mapping[str, Scalar] = field(default_factory=dict)
    part: Part = "parameter"
    absent: Value = None
    hidden: bool = False
    located: Callable[[str, Path], str] | None = None


@dataclass(frozen=True, slots=True)
class Wording:
    """How a refusal is put: of a named parameter, or of an option of a command."""

    refused: str
    unknown: str
    joined: str = ", "  # before the last name of a list
    choice: str | None = None  # where only some words are allowed; None: as any other
    between: str = "be"  # the verb before a range with two ends


PARAMETER_OF = Wording("{name} of {of} must {verb} {rule}, not {value!r}", "{of} has no parameter {name!r}: it has {names}")
PARAMETER_IS = Wording(
    "{name} is {value!r}: it must {verb} {rule}", "{of} has no parameter {name!r}: it takes {names}", joined=" and "
)
FLAG = Wording(
    "--{flag} must {verb} {rule}, not {value!r}",
    "{of} has no option --{flag}: it has {names}",
    choice="--{flag} takes {choices}, not {value!r}",
    between="lie",
)
KEY = Wording("{name} of {of} must {verb} {rule}, not {value!r}", "{of} has no key {name!r}: it has {names}", joined=" and ")


@dataclass(frozen=True, slots=True)
class Declared:
    """One option as it was declared."""

    name: str
    type: type  # int, float, str, bool or tuple (of words)
    optional: bool
    default: Value
    option: Option

    @property
    def flag(self) -> str:
        return self.name.replace("_", "-")

    @property
    def rule(self) -> str:
        """What a value must be, in words.

        >>> Declared("grid", int, False, 1, Option("Clusters on a page.", least=1, most=24)).rule
        'a whole number, 1 or more, at most 24'
        """
        said = self.option
        if said.rule is not None:
            return said.rule
        if said.choices:
            return f"one of {', '.join(said.choices)}"
        if self.type is int:
            return "a whole number" if said.least is None else f"a whole number, {said.least:g} or more{_up_to(said.most)}"
        if self.type is float:
            return _range(said)
        return _WORDS[self.type]

    def checked(self, value: Value, of: str, wording: Wording) -> Value:
        """Return the value as its type; `InputError` if it is none that is allowed."""
        if value is None and self.optional:
            return None
        typed = _typed(value, self.type)
        if typed is None or not self._allows(typed):
            plain = typed is None and self.option.rule is None and not self.option.choices and self.type is not int
            rule = _WORDS[self.type] if plain else self.rule
            choices = listed(self.option.choices, " or ")
            said = wording.choice if choices and wording.choice else wording.refused
            verb = wording.between if rule.startswith("between") else "be"
            facts = {"name": self.name, "flag": self.flag, "of": of, "rule": rule, "value": value, "verb": verb}
            raise InputError(said.format(**facts, choices=choices))
        if self.option.read is not None and isinstance(typed, str):
            self.option.read(typed)
        return typed

    def _allows(self, value: Value) -> bool:
        said = self.option
        if said.choices:
            return value in said.choices
        if isinstance(value, bool) or not isinstance(value, int | float):
            return True
        return (
            (said.least is None or value >= said.least)
            and (said.most is None or value <= said.most)
            and (said.above is None or value > said.above)
            and (said.below is None or value < said.below)
        )


class Options:
    """Base of a frozen dataclass whose fields are declared options; `InputError` for a value that is not allowed."""

    wording: ClassVar[Wording] = FLAG
    of: ClassVar[str] = "this"

    def __post_init__(self) -> None:
        for one in declared(type(self)):
            value = one.checked(getattr(self, one.name), self.of, self.wording)
            object.__setattr__(self, one.name, value)

    @classmethod
    def read(cls, given: Mapping[str, Value], of: str | None = None) -> Self:
        """Return the options with these values, by name; a wrong name is refused with the list of right ones.

        Names whose `where` does not hold are not there. `of` is whose options they are, for the words of a refusal.
        """
        known, of = declared(cls), of or cls.of
        defaults = {one.name: one.default for one in known} | dict(given)
        there = [one.name for one in known if all(defaults.get(name) == value for name, value in one.option.where.items())]
        for name in given:
            if name not in there:
                names = listed(there, cls.wording.joined) or "none"
                missing = [f"{one}={at}" for its in known if its.name == name for one, at in its.option.where.items()]
                more = f"; {name} is there with {listed(missing, ' and ')}" if missing else ""
                raise InputError(cls.wording.unknown.format(name=name, flag=name.replace("_", "-"), of=of, names=names) + more)
        return cls(**{one.name: one.checked(given[one.name], of, cls.wording) for one in known if one.name in given})

    def values(self) -> dict[str, Value]:
        """Every option's value, by name."""
        return {one.name: getattr(self, one.name) for one in declared(type(self))}


_known: dict[type, tuple[Declared, ...]] = {}


def declared(cls: type) -> tuple[Declared, ...]:
    """Return the options of a class, in the order in which they stand there."""
    if cls not in _known:
        _known[cls] = _read_fields(cls)
    return _known[cls]


def _read_fields(cls: type) -> tuple[Declared, ...]:
    hints = get_type_hints(cls, include_extras=True)
    found = []
    for one in fields(cls):
        default = one.default_factory() if one.default_factory is not MISSING else one.default
        kind, option = hints[one.name], Option("")
        if get_origin(kind) is Annotated:
            kind, *notes = get_args(kind)
            option = next(note for note in notes if isinstance(note, Option))
        base, optional = _plain(kind)
        found.append(Declared(one.name, base, optional, None if default is MISSING else default, option))
    return tuple(found)


def named_values(given: Sequence[str]) -> dict[str, Scalar]:
    """Return what `--parameter NAME=VALUE` says.

    >>> named_values(["nearest=3", "threshold=0.5", "refit=false", "recall=top"])
    {'nearest': 3, 'threshold': 0.5, 'refit': False, 'recall': 'top'}
    """
    named: dict[str, Scalar] = {}
    for one in given:
        name, equals, text = one.partition("=")
        if not equals or not name or not text:
            raise InputError(f"--parameter {one!r}: write NAME=VALUE")
        named[name] = _scalar(text)
    return named


def from_folder(path: str, folder: Path) -> str:
    """Return a path as seen from a folder; a place in an object store stays what it is.

    >>> from_folder("photos", Path("/data/job")), from_folder("../x.npy", Path("/data/job"))
    ('/data/job/photos', '/data/x.npy')
    >>> from_folder("s3://census/photos", Path("/data/job"))
    's3://census/photos'
    """
    return path if "://" in path else os.path.normpath(folder.absolute() / Path(path).expanduser())


def _scalar(text: str) -> Scalar:
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _plain(kind: object) -> tuple[type, bool]:
    """The type without `| None`, and whether that was there; tuple[str, ...] is tuple."""
    parts = get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)
    (base,) = (part for part in parts if part is not type(None))
    origin = get_origin(base) or base
    found = str if origin is Literal else origin
    return (found if isinstance(found, type) else str), len(parts) > 1


def _typed(value: Value, kind: type) -> Value:
    """The value as this type; None if it is of another. A whole number may stand for any number."""
    if kind is tuple:
        return tuple(value) if isinstance(value, tuple | list) and all(isinstance(one, str) for one in value) else None
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if kind is int and isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
        return None
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _range(said: Option) -> str:
    if said.least is not None and said.most is not None:
        return f"between {said.least:g} and {said.most:g}"
    if said.least is not None and said.below is not None:
        return f"at least {said.least:g} and below {said.below:g}"
    low = f"at least {said.least:g}" if said.least is not None else f"above {said.above:g}" if said.above is not None else ""
    high = f"at most {said.most:g}" if said.most is not None else f"below {said.below:g}" if said.below is not None else ""
    return " and ".join(part for part in (low, high) if part) or "a number"


def _up_to(most: float | None) -> str:
    return "" if most is None else f", at most {most:g}"


def listed(names: Sequence[str], joined: str) -> str:
    """
    >>> listed(["stop", "steady", "rates"], " and "), listed([], ", ")
    ('stop, steady and rates', '')
    """
    if not names:
        return ""
    return f"{', '.join(names[:-1])}{joined}{names[-1]}" if len(names) > 1 else names[0]


_WORDS = {str: "a word", float: "a number", int: "a whole number", bool: "true or false", tuple: "a list of words"}
