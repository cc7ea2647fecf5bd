"""What a grouping came to: the JSON and the words of `cccount cluster`. Light to import."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from cccount_dist.campaign.answerwords import rest_words, time_words
from cccount_dist.campaign.noun import GROUP, Noun, read_noun, whole
from cccount_dist.campaign.outcome import CampaignOutcome, optional
from cccount_dist.report.measured import CountBounds, QualityOutcome

_STEADY = 20  # answers in a row that change nothing, from which it is worth a word


@dataclass(frozen=True, slots=True)
class Against:
    """A sure answer that the groups go against, because it contradicts others: 1 same, 0 different."""

    u: int
    v: int
    value: float


def _also(jcc: float | None, rwcp: float | None) -> str:
    return "".join(f", {name} {value:.3f}" for name, value in (("JCC", jcc), ("RWCP", rwcp)) if value is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOutcome(CampaignOutcome):
    """How many groups there are, and where the labels lie."""

    clusters: int
    expected_classes: float | None
    steady_answers: int | None
    clusters_from: str | None
    labels: str
    warning: str | None
    nmi: float | None = optional()
    ari: float | None = optional()
    jcc: float | None = optional()
    rwcp: float | None = optional()
    against: Sequence[Against] = ()
    glances: int = 0
    human_seconds: float = 0.0
    quality: QualityOutcome | None = None
    count: CountBounds | None = None

    shown: ClassVar[tuple[str, ...]] = ("method", "state", "clusters", "questions", "inferred", "pending", "contradictions")

    def words(self) -> str:
        noun = Noun("class", "classes") if self.noun is None else read_noun(self.noun)
        called = GROUP if self.noun is None or self.expected_classes is not None else noun
        paid = f"from {rest_words(self.questions, self.glances, self.inferred, self.carried or 0)} ({self.method})"
        text = f"{called.of(self.clusters) if self.clusters else 'No groups yet'}, {paid}."
        if self.quality is not None:
            text += f" {self.quality.words()}"
        if self.count is not None:
            text += f" {self.count.words(noun)}"
        elif self.expected_classes is not None:
            text += f" As a count: about {noun.of(whole(self.expected_classes))}: probable parts of others are not counted."
        if self.glances:
            text += f" About {time_words(self.human_seconds)} of a person's time."
        if self.steady_answers is not None and self.steady_answers >= _STEADY:
            text += f" The last {self.steady_answers:,} answers left the groups as they were."
        if self.nmi is not None and self.ari is not None:
            text += f" Agreement with the labels: NMI {self.nmi:.3f}, ARI {self.ari:.3f}{_also(self.jcc, self.rwcp)}."
        if self.sides_found is not None:
            text += "\n" + "\n".join(self.sides_found.words(noun))
        if self.warning:
            text += f"\nTake care: {self.warning.rstrip('.')}."
        return "\n".join([text, *self.standing, self.labels])
