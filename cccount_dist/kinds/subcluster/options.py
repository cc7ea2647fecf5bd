"""What `cccount subcluster` may be told, declared once. Light to import."""

from dataclasses import dataclass
from typing import Annotated

from cccount_dist.campaign.options import SIDES, CampaignOptions
from cccount_dist.options import Option
from cccount_dist.subclustering.methods import DEFAULT, KIND
from cccount_dist.subclustering.parameters import SIZE, START
from storage.errors import InputError
from storage.settings import Scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class SubclusterOptions(CampaignOptions):
    """A few clean images of each class; None where the user said nothing and the campaign's own setting holds."""

    kind = KIND
    default_method = DEFAULT
    method_called = "subclustering method"

    clusters: Annotated[
        int | None,
        Option(
            "How many classes there are; of each side, where pictures show sides.", metavar="K", least=1, rule="at least 1",
            shown="the estimate of the newest count campaign",
        ),
    ] = None  # fmt: skip
    size: Annotated[int | None, SIZE] = None
    start: Annotated[str | None, START] = None
    sides: Annotated[str | None, SIDES] = None
    clusters_from: Annotated[str | None, Option("The count campaign that K was taken from.", hidden=True)] = None
    clusters_of_sides: Annotated[str | None, Option("What it says of each side.", hidden=True)] = None

    def is_of_kind(self, parameter: str) -> bool:
        return parameter in ("clusters", "clusters_from", "clusters_of_sides", "sides")

    def parameters(self) -> dict[str, Scalar]:
        if self.clusters is None:
            raise InputError("the number of subclusters is not known: give --clusters K")
        return CampaignOptions.parameters(self)
