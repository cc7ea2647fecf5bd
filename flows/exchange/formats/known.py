"""What a campaign knows of its errors: of people, by checks and further votes; of groups, by its last row."""

from collections.abc import Mapping
from typing import Any

from cccount_dist.campaign.advancing import kind_of
from cccount_dist.individuals.draws import Drawn, Errors, Share
from cccount_dist.review.rates import Rate, reliability_of
from flows.exchange.formats.source import Source, notes

MEASURES = ("false_matches", "missed_matches")


def errors_of(source: Source) -> Errors:
    """Gather it."""
    votes = reliability_of(source.individuals.campaign.ledger).votes
    last = source.individuals.folder.last_row(kind_of(source.individuals.folder).course) or {}
    return Errors(_counted(votes.false_same), _counted(votes.miss), _share(last, "right"), _count(source, last))


def measured(source: Source) -> dict[str, float]:
    """What the campaign measured on random pages: shares of pairs of pictures, with their intervals; empty if it did not."""
    last = source.individuals.folder.last_row(kind_of(source.individuals.folder).course) or {}
    found: dict[str, float] = {}
    for name, column in zip(MEASURES, ("precision", "recall"), strict=True):
        if (share := _share(last, column)) is not None:
            found |= {name: 1 - share.value, f"{name}_low": 1 - share.high, f"{name}_high": 1 - share.low}
    return found


def over(drawn: list[Drawn]) -> dict[str, float]:
    """The same shares, by the draws: their mean, and the middle 95 %."""
    found: dict[str, float] = {}
    for name, values in ((MEASURES[0], sorted(one.false for one in drawn)), (MEASURES[1], sorted(one.missed for one in drawn))):
        cut = int(0.025 * len(values))
        found |= {name: sum(values) / len(values), f"{name}_low": values[cut], f"{name}_high": values[-1 - cut]}
    return found


def unmeasured(source: Source, errors: Errors) -> str | None:
    """What the draws leave out, because nobody measured it."""
    looks = sum(1 for one in source.census.individuals for item in one.items if item not in one.checked_items and one.photos > 1)
    return notes(
        f"{looks:,} pictures that nobody compared stay where they are (`cccount cluster --method catalogue` measures them)"
        if errors.right is None and looks else None,
        "people were not checked: the usual rates of errors were taken (`cccount gold import` makes checks)"
        if not errors.false_same[1] else None,
        "there is no count, so two individuals that are really one stay two" if errors.count is None else None,
    )  # fmt: skip


def _counted(rate: Rate) -> tuple[float, float]:
    return float(rate.wrong), float(rate.trials)


def _share(row: Mapping[str, Any], name: str) -> Share | None:
    value, low, high = (row.get(f"{name}{end}") for end in ("", "_low", "_high"))
    return None if value is None or low is None or high is None else Share(value, low, high)


def _count(source: Source, row: Mapping[str, Any]) -> Share | None:
    """How many individuals the listed groups are: those of a grouping; a count's estimate is of all, seen or not."""
    if not source.census.complete:
        return None
    if (found := _share(row, "count")) is not None:
        return found
    expected = row.get("expected_classes")
    return None if expected is None else Share(expected, expected, expected)


__all__ = ["errors_of", "measured", "over", "unmeasured"]
