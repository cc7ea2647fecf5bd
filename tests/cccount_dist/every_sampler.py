"""Every sampler, over collections that are easy and awkward: what the suite for samplers runs on."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering import methods as grouping
from cccount_dist.clustering.baselines.random_constraints import RandomConstraints
from cccount_dist.clustering.hacc.build import knowledge_of
from cccount_dist.clustering.present import PresentItems
from cccount_dist.counting import methods as counting
from cccount_dist.sampling.methods import find_method
from cccount_dist.sampling.types import Sampler
from cccount_dist.similarity.inmemory import Neighbors, neighbors_in_memory
from cccount_dist.similarity.metrics import usable
from cccount_dist.similarity.rows import degree
from cccount_dist.similarity.sharp import SharpRows
from cccount_dist.subclustering.methods import SubclusterInputs
from cccount_dist.subclustering.passive import Options, draw_candidates
from cccount_dist.subclustering.subcluster_sampler import ActiveSubclustering
from cccount_dist.testing import SamplerCase
from storage.settings import Scalar
from tests.cccount_dist.samplers import Labels, blobs

Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class Collection:
    """Prepared vectors, NaN where there is none, and the true classes."""

    name: str
    vectors: Vectors
    labels: Labels

    @property
    def items(self) -> list[int]:
        """Those that have a vector."""
        return np.flatnonzero(usable(self.vectors)).tolist()

    @property
    def classes(self) -> int:
        return len(np.unique(self.labels[self.items]))

    def neighbors(self) -> Neighbors:
        return neighbors_in_memory(self.vectors, min(8, len(self.items) - 1))


@cache
def collections() -> tuple[Collection, ...]:
    plain, plain_labels = blobs((5, 4, 3, 2, 1, 1), noise=0.8)
    few, few_labels = blobs((2, 2, 1), noise=0.5, seed=1)
    odd = np.concatenate([few, few[[0, 0, 3]], few[:2]])  # items that look exactly alike, also of different classes
    odd[[4, 9]] = np.nan
    return (
        Collection("plain", plain, plain_labels),
        Collection("odd", odd, np.concatenate([few_labels, [0, 1, 1], few_labels[:2]])),
        Collection("three", blobs((2, 1))[0], np.array([0, 0, 1])),
        Collection("two", blobs((1, 1))[0], np.array([0, 1])),
    )


@dataclass(frozen=True)
class Variant:
    """A method with parameters, and what it promises beyond the protocol, or less: see `check_sampler`."""

    name: str
    build: Callable[[Collection], Sampler[object]]
    rating: bool = False
    own_closure: bool = False
    replaces: bool = True

    def case(self, collection: Collection, questions: int = 30) -> SamplerCase:
        make = partial(self.build, collection)
        return SamplerCase(make, collection.labels, collection.items, self.rating, questions, self.own_closure, self.replaces)


@dataclass(frozen=True)
class _Counts:
    method: str
    parameters: Mapping[str, Scalar] = field(default_factory=dict)

    def __call__(self, collection: Collection) -> Sampler[object]:
        vectors = collection.vectors
        return counting.make_counter(
            self.method,
            vectors=vectors,
            degree=degree(vectors),
            seed=3,
            parameters=self.parameters,
            sharp=lambda: SharpRows(vectors, collection.neighbors().index),
            neighbors=lambda: collection.neighbors().index,
        )


@dataclass(frozen=True)
class _Groups:
    method: str
    parameters: Mapping[str, Scalar] = field(default_factory=dict)

    def __call__(self, collection: Collection) -> Sampler[object]:
        return grouping.make_grouper(self.method, self.inputs(collection))

    def inputs(self, collection: Collection) -> grouping.GroupingInputs:
        found = collection.neighbors()
        clusters = collection.classes if "clusters" in grouping.grouping_method(self.method).needs else None
        return grouping.GroupingInputs(collection.vectors, found.index, found.similarity, 3, clusters, self.parameters)


def _random_constraints(collection: Collection) -> Sampler[object]:
    inputs = _Groups("hacc", {"runs": 10}).inputs(collection)
    inside = RandomConstraints(knowledge_of(inputs, inputs.present), 3)
    return PresentItems(inside, inputs.present, len(collection.labels))


def _subclusters(size: int, start: str, collection: Collection, *, likely: bool = False) -> Sampler[object]:
    options = Options(min(collection.classes, 4), size, seed=3, start=start, likely=likely)
    return ActiveSubclustering(draw_candidates(collection.vectors, options), options)


def _printed_subclusters(preset: str, collection: Collection) -> Sampler[object]:
    method = find_method("subcluster", "active")
    inputs = SubclusterInputs(min(collection.classes, 4), 3, partial(draw_candidates, collection.vectors))
    made: Sampler[object] = method.build(inputs, method.read({**method.preset(preset), "size": 3}))
    return made


_MORE_COUNTS: dict[str, dict[str, Scalar]] = {
    "grid": {"grid": 8},
    "estimate": {"wrong_answers": "estimate"},
    "twice": {"wrong_answers": "estimate", "same_pair": 2, "grid": 4},
    "one-posterior": {"interval": "one"},
    "rates": {"wrong_answers": "0.04,0.02", "grid": 4},
    "fast": {"search": "fast"},
    "sharp": {"space": "sharp"},
    "lanes": {"lanes": 4},
    "many-lanes": {"lanes": 64, "wrong_answers": "estimate"},
    "likely-lanes": {"lanes": 64, "wrong_answers": "estimate", "ahead": "likely", "same_pair": 2},
    "likely-lanes-pages": {"lanes": 64, "wrong_answers": "estimate", "ahead": "likely", "grid": 8, "search": "fast"},
    "likely-lanes-exact": {"lanes": 64, "ahead": "likely"},
}
_MORE_GROUPS: list[tuple[str, dict[str, Scalar]]] = [
    ("evidence", {"steady": 20}),
    ("hacc", {"runs": 10, "units": 12}),
    ("hacc", {"runs": 10, "effects": "local"}),
    ("iu-red", {"prior": 0.2}),
    ("iu-red", {"repeats": 1}),
    ("iu-red", {"unavailable": "0-1,2-4", "begin": "identity"}),
]


def _printed() -> Iterator[tuple[str, str, dict[str, Scalar]]]:
    """The presets of the grouping methods, small."""
    for method, preset, more in (
        ("apc", "paper", {}), ("hacc", "paper", {"runs": 10}), ("hacc", "paper-h2", {"runs": 10, "units": 6}),
        ("iu-red", "paper", {}), ("iu-red-pure", "paper-noisy", {}), ("iu-red", "paper-median", {}),
    ):  # fmt: skip
        yield f"{method}-{preset}", method, {**grouping.grouping_method(method).preset(preset), **more}


def every_sampler() -> Iterator[Variant]:
    """Every method that a user can choose, with the parameters that change what it asks; and samplers to compare with."""
    for method in counting.counting_methods():
        yield Variant(method, _Counts(method), replaces=method not in ("inverse", "pckmeans-explore"))
    for name, parameters in _MORE_COUNTS.items():
        yield Variant(f"placing-{name}", _Counts("placing", parameters), replaces="lanes" not in name)
    for method in grouping.grouping_methods():
        yield _grouper(method, method, {"runs": 10} if method == "hacc" else {})
    for method, parameters in _MORE_GROUPS:
        yield _grouper(f"{method}-{'-'.join(str(value) for value in parameters.values())}", method, parameters)
    for name, method, parameters in _printed():
        yield _grouper(name, method, parameters)
    for preset in ("paper", "paper-threshold"):
        yield Variant(f"subcluster-{preset}", partial(_printed_subclusters, preset), own_closure=True)
    yield Variant("nis-paper", _Counts("nis", {**counting.counting_method("nis").preset("paper"), "clusters": 2}))
    for method in ("evidence", "apc", "hacc"):  # many questions open at a time: some follow from answers to others
        ahead = _grouper(f"{method}-ahead", method, {"open": 64, **({"runs": 10} if method == "hacc" else {})})
        yield replace(ahead, own_closure=False)
    yield Variant("hacc-random", _random_constraints)
    for size, start in ((3, "random"), (1, "pam")):
        yield Variant(f"subcluster-{size}-{start}", partial(_subclusters, size, start), own_closure=True, replaces=False)
    yield Variant("subcluster-likely", partial(_subclusters, 3, "random", likely=True), own_closure=True, replaces=False)


def _grouper(name: str, method: str, parameters: Mapping[str, Scalar]) -> Variant:
    known = grouping.grouping_method(method)
    rating = known.takes("ratings")
    return Variant(name, _Groups(method, parameters), rating, known.believes, replaces=not rating)
