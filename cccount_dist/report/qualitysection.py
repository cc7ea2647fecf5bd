"""How good a grouping is, as a section of its report: measured on random pages; and the items to look at first."""

from collections.abc import Sequence
from dataclasses import dataclass

from cccount_dist.campaign.noun import Noun
from cccount_dist.report.facts import Thumbnail
from cccount_dist.report.gallery import picture
from cccount_dist.report.markup import Html, element, table
from cccount_dist.report.measured import CountBounds, QualityOutcome
from cccount_dist.report.wording import percent, plural


@dataclass(frozen=True, slots=True)
class QualityFacts:
    """What random pages say about the groups."""

    quality: QualityOutcome | None  # None: too few random pages for an honest interval
    count: CountBounds | None
    pages: int
    hour: float | None
    least_sure: Sequence[Thumbnail]
    doubtful: Sequence[int]


def quality_section(facts: QualityFacts, noun: Noun) -> Html:
    """Return the section; it says so if nothing can be said yet."""
    said = [
        element(
            "p", f"Measured on {plural(facts.pages, 'random page')}, which are asked now and then for this alone.", class_="note"
        )
    ]
    if facts.quality is None:
        said.append(element("p", "Too few of them are answered for an honest interval."))
    else:
        said += [element("p", facts.quality.words()), _table(facts.quality)]
    if facts.count is not None:
        said.append(element("p", facts.count.words(noun)))
    if facts.hour is not None:
        said.append(
            element(
                "p", f"One more hour of a person should bring about {percent(round(facts.hour, 3))} of the items to their group."
            )
        )
    if facts.doubtful:
        said.append(element("p", f"Groups to look at first: {', '.join(f'{one:,}' for one in facts.doubtful)}."))
    if facts.least_sure:
        cells = [element("li", picture(side)) for side in facts.least_sure]
        said += [element("h3", "The least sure items"), element("ul", *cells, class_="sheet")]
    return element("section", element("h2", "How good the groups are"), *said)


def _table(quality: QualityOutcome) -> Html:
    measures = [
        ("items in the right group", quality.right, quality.low, quality.high),
        (
            "pairs that are together and belong together (precision)",
            quality.precision,
            quality.precision_low,
            quality.precision_high,
        ),
        ("pairs that belong together and are together (recall)", quality.recall, quality.recall_low, quality.recall_high),
    ]
    rows = [[name, _share(value), f"{_share(low)} to {_share(high)}"] for name, value, low, high in measures if value is not None]
    return table("Measures with their 95 % intervals", ["measure", "estimate", "interval"], rows, class_="numbers")


def _share(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f} %"
