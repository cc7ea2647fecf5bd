"""What the report of a campaign says if its questions are ratings: how far the groups are from right, and what they cost.

The yardsticks are the spectral clustering of all similarities, where it can be known, and the labels of the collection.
"""

from dataclasses import dataclass

from cccount_dist.report.markup import Html, element, facts_list, table
from cccount_dist.report.wording import duration, percent, plural


@dataclass(frozen=True, slots=True)
class RatingFacts:
    """Ratings of pairs, and what is known about the result."""

    items: int
    ratings: int  # answers that somebody gave, repeats and unsure ones among them
    pairs: int  # different pairs that were rated
    error_complete: float | None  # share of items in another group than with all similarities; None: not known
    error_truth: float | None  # share of items in another group than the labels say; None: no labels
    seconds: float  # of a person for a question
    price: float | None  # of a question; None: not told

    @property
    def all_pairs(self) -> int:
        return self.items * (self.items - 1) // 2


def ratings_section(facts: RatingFacts) -> Html:
    """Return the section about error and cost."""
    share = round(facts.pairs / max(1, facts.all_pairs), 4)
    repeated = plural(facts.ratings - facts.pairs, "answer")
    rows = [
        ("Rated", f"{facts.pairs:,} of {plural(facts.all_pairs, 'pair')} ({percent(share)})"),
        ("Repeats and unsure ones", f"{repeated} beyond the first rating of a pair"),
        ("Error against all similarities", _error(facts.error_complete, "not known, for not all pairs were rated")),
        ("Error against the labels", _error(facts.error_truth, "not known, for the collection has no labels")),
    ]
    return element("section", element("h2", "Error and cost"), facts_list(rows), _cost(facts))


def _error(value: float | None, unknown: str) -> str:
    return unknown if value is None else f"{percent(round(value, 3))} of the items are in another group"


def _cost(facts: RatingFacts) -> Html:
    """What was spent, and what it would have cost to have every pair rated once and three times."""
    cases = (
        ("this campaign", facts.ratings),
        ("every pair once", facts.all_pairs),
        ("every pair three times", 3 * facts.all_pairs),
    )
    head = ["", "answers", "a person's time", *(["cost"] if facts.price is not None else [])]
    rows = [[name, f"{count:,}", duration(count * facts.seconds), *_money(count, facts.price)] for name, count in cases]
    each = f"{facts.seconds:g} seconds"
    if facts.price is not None:
        each += f" and {facts.price:,.3f}"
    return table(f"Cost, at {each} a question", head, rows, class_="numbers", named=True)


def _money(count: int, price: float | None) -> list[str]:
    return [] if price is None else [f"{count * price:,.2f}"]
