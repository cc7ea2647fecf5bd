"""What a subclustering came to: the JSON and the words of `cccount subcluster`. Light to import."""

from dataclasses import dataclass
from typing import ClassVar

from cccount_dist.campaign.answerwords import rest_words
from cccount_dist.campaign.outcome import CampaignOutcome, for_words, optional
from cccount_dist.campaign.sideclusters import said


@dataclass(frozen=True, slots=True, kw_only=True)
class SubclusterOutcome(CampaignOutcome):
    """How many subclusters there are, and where they lie."""

    subclusters: int
    size: int
    clusters: int
    clusters_from: str | None
    file: str
    checked: int
    empty: int
    surplus: int
    sjc: float | None = optional()
    coverage: float | None = optional()
    purity: float | None = optional()
    of_side: dict[str, int] | None = optional()  # noqa: RUF009  (subclusters of each side, where they are kept apart)
    clusters_of_sides: str | None = for_words()

    shown: ClassVar[tuple[str, ...]] = ("method", "state", "clusters", "questions", "inferred", "pending", "contradictions")

    def words(self) -> str:
        told = f"{self.clusters:,}" if self.clusters_of_sides is None else said(self.clusters_of_sides)
        origin = f" (K = {told} from the campaign {self.clusters_from!r})" if self.clusters_from else ""
        found = f"{self.subclusters:,} subclusters of up to {self.size} images{origin}, {self.checked:,} images checked"
        lines = [f"{found}, from {rest_words(self.questions, 0, self.inferred, self.carried or 0)}."]
        if self.of_side is not None:
            sides = ", ".join(f"{side} {count:,}" for side, count in self.of_side.items())
            lines.append(f"By side: {sides}. Pictures of different sides were not compared.")
        if self.sjc is not None:
            lines.append(
                f"Against the labels: SJC {self.sjc:.3f}, coverage {self.coverage or 0.0:.3f}, purity {self.purity or 0.0:.3f}."
            )
        if self.surplus:
            lines.append(
                f"{self.surplus:,} left out, because their class has a subcluster already: K = {self.clusters:,} is too large."
            )
        if self.empty:
            lines.append(f"{self.empty:,} places are empty: nothing was found for them.")
        return "\n".join([*lines, *self.standing, self.file])
