"""What `cccount count` may be told, declared once. Light to import."""

from dataclasses import dataclass
from typing import Annotated

from cccount_dist.campaign.options import BUDGET, PAGE_SECONDS, PAIR_SECONDS, SIDES, CampaignOptions
from cccount_dist.counting.methods import DEFAULT, KIND
from cccount_dist.counting.parameters import GRID, SEARCH, WRONG_ANSWERS
from cccount_dist.options import Option
from cccount_dist.sampling.methods import Method
from storage.settings import Scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class CountOptions(CampaignOptions):
    """How many there are; None where the user said nothing and the campaign's own setting holds."""

    kind = KIND
    default_method = DEFAULT
    method_called = "counting method"

    method: Annotated[
        str | None, Option("How to count; auto chooses.", metavar="auto|placing|sheets|nis|…", shown="auto", part="settings")
    ] = None
    budget: Annotated[int, BUDGET] = 2000
    target_width: Annotated[
        float | None,
        Option("Stop when the interval's width is at most W times the estimate.", metavar="W", above=0.0, part="goal"),
    ] = None
    level: Annotated[
        float | None,
        Option(
            "How sure the interval is: 0.95 is 95 %.", above=0.0, below=1.0, shown="0.95", part="settings", rule="between 0 and 1"
        ),
    ] = None
    grid: Annotated[int | None, GRID] = None
    wrong_answers: Annotated[str | None, WRONG_ANSWERS] = None
    search: Annotated[str | None, SEARCH] = None
    sides: Annotated[str | None, SIDES] = None
    pair_seconds: Annotated[float, PAIR_SECONDS] = 9.0
    page_seconds: Annotated[float, PAGE_SECONDS] = 30.0

    def is_of_kind(self, parameter: str) -> bool:
        return parameter == "sides"

    def not_of_method(self, method: Method, name: str, value: Scalar) -> str:  # noqa: ARG002
        if method.has("cells"):
            return f"--grid and --search are for the method placing: {method.name} asks sheets, see --parameter cells=N"
        return (
            f"--grid, --wrong-answers and --search are for the method placing: {method.name} asks pairs, and takes answers as "
            "they are"
        )
