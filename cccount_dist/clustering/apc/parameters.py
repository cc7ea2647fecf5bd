"""What can be chosen about APC: every variant of the paper's ablation, and the limits of its stages; checked once."""

from collections.abc import Mapping
from dataclasses import dataclass, fields

from storage.errors import InputError

PROBABILITIES = ("plus", "times", "all", "centre")  # P₊ (4), P× (3), P (2), P_c
RECALLS = ("descending", "top")


@dataclass(frozen=True, slots=True)
class ApcParameters:
    """The defaults are the paper's, or where it is silent those of docs/grouping.md."""

    probability: str = "plus"  # that two clusters are one: `plus`, `times`, `all` or `centre`
    recall: str = "descending"  # pairs that are looked at: above a falling threshold, or the `top` as many as clusters
    threshold: float = 0.0  # P_l, if it is to be one and the same throughout; 0: .7, .6, … .1 one after the other
    compactness: float = 0.7  # τ of the purity test; 0 leaves the test out
    pseudo_classes: int = 0  # classes of the k-means behind the first probabilities; 0: found by the graph
    nearest: int = 4  # members of the other cluster that an item is compared with in P₊ and P×
    partition_questions: int = 20  # that splitting one cluster may take
    partition_groups: int = 4  # that it may make
    centroids: int = 10  # nearest centroids that are candidates although no neighbour edge leads there
    outliers: bool = True  # ask at the end where single items belong
    attach: float = 0.5  # P₊ from which an outlier that nobody was asked about is put into a cluster; 0 leaves it alone
    refit: bool = True  # learn the probabilities again from what people said
    stop: float = 0.0  # stop when the best question is expected to gain less of the clustering's entropy than this

    def __post_init__(self) -> None:
        _one_of("probability", self.probability, PROBABILITIES)
        _one_of("recall", self.recall, RECALLS)
        for name in ("threshold", "compactness", "attach", "stop"):
            if not 0.0 <= getattr(self, name) < 1.0:
                raise InputError(f"{name} is {getattr(self, name)}: it must be at least 0 and below 1")
        limits = (("pseudo_classes", 0), ("nearest", 1), ("centroids", 0), ("partition_questions", 0), ("partition_groups", 2))
        for name, least in limits:
            if getattr(self, name) < least:
                raise InputError(f"{name} is {getattr(self, name)}: it must be at least {least}")

    @property
    def levels(self) -> tuple[float, ...]:
        """The thresholds P_l, one after the other."""
        if self.recall == "top":
            return (0.0,)
        return (self.threshold,) if self.threshold else (0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)


def parameters_from(given: Mapping[str, str | int | float | bool]) -> ApcParameters:
    """Return the parameters with these values; a wrong name or kind of value is refused.

    >>> parameters_from({"probability": "times", "threshold": 0.5}).levels
    (0.5,)
    """
    known = {field.name: type(field.default) for field in fields(ApcParameters)}
    values: dict[str, object] = {}
    for name, value in given.items():
        if name not in known:
            raise InputError(f"apc has no parameter {name!r}: it takes {', '.join(known)}")
        kind = known[name]
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if type(value) is not kind:
            raise InputError(f"{name} is {value!r}: it must be a {_WORDS[kind]}")
        values[name] = value
    return ApcParameters(**values)  # type: ignore[arg-type]


_WORDS = {str: "word", float: "number", int: "whole number", bool: "true or false"}


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise InputError(f"{name} is {value!r}: use one of {', '.join(allowed)}")
