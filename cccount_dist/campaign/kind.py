"""A kind of campaign is an object: its options, its runner, what it stores, how it describes itself, how its report is gathered.

Commands, flows, `advance`, `status`, `report`, `verify` and the page iterate over the registry, so a new kind is one folder (or
one plug-in) and no edit anywhere else. Light to import: what is heavy is imported inside the methods.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from cccount_dist.campaign.options import CampaignOptions
from cccount_dist.campaign.outcome import CampaignOutcome
from cccount_dist.campaign.progress import Progressing, silent
from cccount_dist.registry import Registry
from cccount_dist.sampling.methods import find_method, methods_of

if TYPE_CHECKING:
    from cccount_dist.campaign.inputs import Inputs
    from cccount_dist.campaign.preparation import Cluster
    from cccount_dist.campaign.runner import CampaignRunner, Progress
    from storage.campaigns import CampaignFolder
    from storage.collection import Collection
    from storage.lease import Lease
    from storage.schema import TableSpec
    from storage.settings import Goal
    from storage.workspace import Workspace

OptionsT = TypeVar("OptionsT", bound=CampaignOptions)


class CampaignKind(ABC, Generic[OptionsT]):
    """What a campaign can be about. One instance of each kind is registered."""

    name: ClassVar[str]  # also the command, and the campaign's name if none is given
    doing: ClassVar[str]  # beside the progress bar
    help: ClassVar[str]  # what `cccount NAME --help` says, with an example
    options: type[OptionsT]
    nothing_yet: ClassVar[str] = "Nothing yet"  # on the page, before the first result
    shown: ClassVar[tuple[str, ...]]  # columns of the newest row of `course` that `status` shows

    keeps_sides: ClassVar[bool] = False  # whether pictures of different sides are never compared (`sampling/sided.py`)

    @property
    @abstractmethod
    def course(self) -> "TableSpec":
        """The table in `results/` that has a row for each refresh: with `answers`, `questions` and `state` among its columns."""

    @property
    def prepares(self) -> bool:
        """Whether some method of this kind has a Dask cluster prepare: then the command takes --compute."""
        return any(method.prepares for method in methods_of(self.name).values())

    @property
    def tables(self) -> "tuple[TableSpec, ...]":
        """Every table that the kind keeps in `results/`."""
        return (self.course,)

    def completed(self, options: OptionsT, workspace: "Workspace") -> tuple[OptionsT, str | None]:  # noqa: ARG002
        """Return options that know what a new campaign needs and was not told, and what to say about it."""
        return options, None

    def check(self, options: OptionsT, inputs: "Inputs") -> None:
        """Raise `InputError` if the collection cannot be asked so: before a campaign is frozen that could never run."""

    def needs_vectors(self, method: str, parameters: Mapping[str, Any]) -> bool:
        """Whether embeddings and neighbours must be there."""
        found = find_method(self.name, method)
        known = {name: value for name, value in parameters.items() if found.has(name)}
        return bool({"vectors", "neighbors", "degrees"} & found.needs_of(known)) or not found.takes("ratings")

    def prepare(self, folder: "CampaignFolder", inputs: "Inputs", cluster: "Cluster") -> None:
        """Have a cluster prepare what is heavy, if that is worth it. What is not prepared the first step does."""
        from cccount_dist.campaign.prepared_sampler import prepare_sampler

        prepare_sampler(folder, self.runner_type.bare(folder, inputs), cluster)

    @property
    @abstractmethod
    def runner_type(self) -> "type[CampaignRunner[Any]]":
        """What advances a campaign of this kind."""

    def runner(
        self, folder: "CampaignFolder", lease: "Lease", inputs: "Inputs", *, strict: bool = False
    ) -> "CampaignRunner[Any]":
        """Return what advances the campaign; `strict`: refuse a log that cannot be replayed, and open no new epoch."""
        return self.runner_type(folder, lease, inputs, strict=strict)

    @abstractmethod
    def outcome(self, folder: "CampaignFolder", reached: "Progress[Any]", inputs: "Inputs", *, opening: bool) -> CampaignOutcome:
        """Return what a step came to; `opening`: somebody has just started it or raised its goal, and is told more."""

    @abstractmethod
    def brief(self, row: Mapping[str, Any]) -> str:
        """Say the result in a few words, from the newest row of `course`."""

    def found(self, row: Mapping[str, Any], goal: "Goal") -> str:  # noqa: ARG002
        """The same with the user's word for what is counted, which the goal knows."""
        return self.brief(row)

    @abstractmethod
    def report(
        self, folder: "CampaignFolder", collection: "Collection", price: float | None = None, progress: Progressing = silent
    ) -> bytes:
        """Return the report: one self-contained HTML file. `price` is that of a question."""

    report_name: ClassVar[str] = "report.html"
    refreshes_report: ClassVar[bool] = True  # False: its pictures are many, so it is written when somebody wants to look


KINDS = Registry[CampaignKind[Any]]("kind of campaign")


def declare_stored() -> None:
    """Have `cccount verify` know the tables of every kind, also of plug-ins."""
    from storage.inventory import result_table
    from storage.stored import declared, register

    for kind in KINDS:
        for spec in kind.tables:
            if not declared(f"campaigns/any/results/{spec.name}.parquet"):
                register(result_table(spec, f"results of the kind {kind.name}", f"`cccount {kind.name}`"))


def register_kind(kind: CampaignKind[Any]) -> None:
    """Make a kind of campaign known to every command, flow and page."""
    KINDS.add(kind.name, kind)
