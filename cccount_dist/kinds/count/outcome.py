"""What a count came to: the JSON and the words of `cccount count`. Light to import."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from cccount_dist.campaign.answerwords import percent_words, rest_words, time_words
from cccount_dist.campaign.noun import CLUSTER, Noun, read_noun, whole_range
from cccount_dist.campaign.outcome import CampaignOutcome, optional


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastOutcome:
    """What an interval of some width takes in all; `guess`: before the first answers, from the vectors alone."""

    width: float
    questions: int
    hours: float
    guess: bool = False
    glances: int | None = optional()
    clusters: int | None = optional()

    def words(self) -> str:
        return self.said(CLUSTER)

    def said(self, noun: Noun) -> str:
        """The forecast, with the user's word for what is counted."""
        wanted, hours = f"for ±{percent_words(self.width / 2)}", time_words(self.hours * 3600)
        if not self.guess:
            return f"About {self.questions:,} answers in all, {hours}, {wanted}."
        pages = f" and {self.glances:,} pages" if self.glances else ""
        return (
            f"A guess before the first answers: about {self.questions:,} pairs{pages}, {hours}, {wanted}, if there are some "
            f"{noun.of(self.clusters or 1)} as the vectors suggest. It may be wrong by a factor of ten; answers soon refine it."
        )

    def lies_ahead(self, seconds: float) -> bool:
        """Whether it takes at least one answer more than what has taken `seconds` of people's time."""
        return self.guess or (self.questions > 0 and self.hours * 3600 - seconds >= self.hours * 3600 / self.questions)


@dataclass(frozen=True, slots=True, kw_only=True)
class CountOutcome(CampaignOutcome):
    """The number of clusters with its interval, and what it took."""

    estimate: float | None  # the likeliest number of clusters; null: not enough answers yet
    low: float  # lower end of the interval
    high: float  # upper end of the interval
    level: float  # of the interval: 0.95 is 95 %
    method_reason: str  # why this method
    clusters_seen: float  # clusters of which an item was seen
    glances: int  # pages and sheets that were answered
    human_seconds: float  # of people's time so far
    forecast: ForecastOutcome | None  # what the wanted width takes in all
    forecast_questions: int | None  # the same as a number of answers
    warnings: Sequence[str]  # what to know before relying on the number
    details: Mapping[str, float]  # numbers of the method, for the report

    shown: ClassVar[tuple[str, ...]] = (
        "method", "state", "estimate", "low", "high", "questions", "inferred", "pending", "contradictions",
    )  # fmt: skip

    def words(self) -> str:
        lines = [*self._result(), *([] if self.sides_found is None else self.sides_found.words(self._noun)), *self.standing]
        ahead = self.forecast
        if ahead is not None and self.state in ("waiting", "done") and ahead.lies_ahead(self.human_seconds):
            lines.append(ahead.said(self._noun))
        if self.state == "stopped":
            enough = self.forecast_questions or 0
            # A forecast of no more than was given already says nothing: the interval is not what it expected.
            would = f"about {enough:,} answers in all would do" if enough > self.questions + self.glances else "it takes more"
            lines.append(f"The budget is used up before the interval is narrow enough: {would} (--budget).")
        if self.contradictions:
            lines.append(
                f"{self.contradictions:,} {'answer contradicts' if self.contradictions == 1 else 'answers contradict'} others."
            )
        return "\n".join([*lines, *(f"Take care: {said}" for said in self.warnings)])

    def _result(self) -> list[str]:
        if self.estimate is None:
            low, high = whole_range(self.low, self.high)
            return [f"No estimate yet: between {low:,} and {self._noun.of(high)}, for certain."]
        found = self._noun.about(self.estimate, self.low, self.high)
        paid = f"from {rest_words(self.questions, self.glances, self.inferred, self.carried or 0)} ({self.method})"
        first, last = whole_range(self.low, self.high)
        level = percent_words(self.level)
        sure = f", {level} sure, {paid}" if first < last else f", {paid}. The {level} interval has no other number"
        lines = [f"{found[:1].upper()}{found[1:]}{sure}."]
        if self.clusters_seen > 1:
            hours = f"; about {time_words(self.human_seconds)} of a person's time" if self.human_seconds else ""
            lines.append(f"{self._noun.of(round(self.clusters_seen))} were seen{hours}.")
        return lines

    @property
    def _noun(self) -> Noun:
        return CLUSTER if self.noun is None else read_noun(self.noun)
