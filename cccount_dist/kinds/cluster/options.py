"""What `cccount cluster` may be told, declared once. Light to import."""

from dataclasses import dataclass
from typing import Annotated

from cccount_dist.campaign.options import BUDGET, PAGE_SECONDS, PAIR_SECONDS, SIDES, CampaignOptions
from cccount_dist.clustering.methods import DEFAULT, KIND, check_told, grouping_methods, known_clusters
from cccount_dist.clustering.spectral.parameters import PRIOR, REPEATS
from cccount_dist.options import Option, listed
from cccount_dist.sampling.methods import Method, methods_of
from storage.errors import InputError
from storage.settings import Scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOptions(CampaignOptions):
    """Which belong together; None where the user said nothing and the campaign's own setting holds."""

    kind = KIND
    default_method = DEFAULT
    method_called = "grouping method"
    oracles = ("people", "labels", "similarity")

    method: Annotated[
        str | None,
        Option("How to group; auto needs no K.", metavar="auto|evidence|apc|hacc|iu-red|…", shown="auto", part="settings"),
    ] = None
    clusters: Annotated[
        int | None,
        Option(
            "How many groups; of each side, where pictures show sides. If none is given, hacc takes the estimate of a count.",
            metavar="K", least=1, rule="at least 1",
        ),
    ] = None  # fmt: skip
    budget: Annotated[int, BUDGET] = 600
    oracle: Annotated[
        str,
        Option(
            "Who answers: people, the label column, or (ratings) the embeddings.", metavar="people|labels|similarity",
            part="goal",
        ),
    ] = "people"  # fmt: skip
    error_rate: Annotated[
        float,
        Option(
            "With labels: the share of wrong answers; with similarity: deviation of the noise.", metavar="E", least=0.0, most=1.0,
            part="goal", rule="between 0 and 1",
        ),
    ] = 0.0  # fmt: skip
    target_quality: Annotated[
        float | None,
        Option(
            "Stop when at least this share of the items is surely in the right group (catalogue).", metavar="Q", above=0.0,
            below=1.0, part="goal", rule="between 0 and 1",
        ),
    ] = None  # fmt: skip
    sides: Annotated[str | None, SIDES] = None
    pair_seconds: Annotated[float, PAIR_SECONDS] = 9.0
    page_seconds: Annotated[float, PAGE_SECONDS] = 30.0
    prior: Annotated[float | None, PRIOR] = None
    repeats: Annotated[int | None, REPEATS] = None
    clusters_from: Annotated[str | None, Option("The count campaign that K was taken from.", hidden=True)] = None
    clusters_of_sides: Annotated[str | None, Option("What it says of each side.", hidden=True)] = None

    def __post_init__(self) -> None:
        CampaignOptions.__post_init__(self)
        if self.method is not None:  # without it the campaign that is there may have another one than `auto`
            self.check_method(self.chosen)

    def is_of_kind(self, parameter: str) -> bool:
        return parameter in ("clusters", "clusters_from", "clusters_of_sides", "sides")

    def check_method(self, method: Method) -> None:
        CampaignOptions.check_method(self, method)
        if self.target_quality is not None and not method.measures:
            able = listed([name for name, one in methods_of(KIND).items() if one.measures], " or ")
            raise InputError(f"--target-quality is for methods that measure it ({able}), and {method.name} does not")
        check_told(method, self.clusters, self.given_to(method))

    def parameters(self) -> dict[str, Scalar]:
        if "clusters" in self.chosen.needs:  # before a campaign is frozen that could never run
            known_clusters(self.chosen.name, self.clusters)
        return CampaignOptions.parameters(self)

    def not_of_method(self, method: Method, name: str, value: Scalar) -> str:  # noqa: ARG002
        return f"--{name} {value} is for methods that ask for ratings: {', '.join(grouping_methods(ratings=True))}"
