"""What a subclustering came to: the JSON and the words of `cccount subcluster`. Light to import."""

from dataclasses import dataclass
from typing import ClassVar

from cccount_dist.campaign.answerwords import rest_words
from cccount_dist.campaign.outcome import CampaignOutcome, optional


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

    shown: ClassVar[tuple[str, ...]] = ("method", "state", "clusters", "questions", "inferred", "pending", "contradictions")

    def words(self) -> str:
        origin = f" (K = {self.clusters:,} from the campaign {self.clusters_from!r})" if self.clusters_from else ""
        found = f"{self.subclusters:,} subclusters of up to {self.size} images{origin}, {self.checked:,} images checked"
        lines = [f"{found}, from {rest_words(self.questions, 0, self.inferred, self.carried or 0)}."]
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
