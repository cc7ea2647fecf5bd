"""The kind `cluster`: a group for every item."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cccount_dist.campaign.kind import CampaignKind
from cccount_dist.campaign.noun import GROUP, noun_of, whole, whole_range
from cccount_dist.campaign.progress import Progressing, silent
from cccount_dist.campaign.sideclusters import said
from cccount_dist.clustering.methods import KIND, check_collection
from cccount_dist.kinds.cluster.options import ClusterOptions
from cccount_dist.kinds.cluster.outcome import Against, ClusterOutcome
from cccount_dist.report.measured import CountBounds, QualityOutcome
from cccount_dist.sampling.methods import find_method

if TYPE_CHECKING:
    from cccount_dist.campaign.inputs import Inputs
    from cccount_dist.campaign.preparation import Cluster
    from cccount_dist.campaign.runner import Progress
    from cccount_dist.clustering.result import Grouping
    from cccount_dist.kinds.cluster.runner import ClusterRunner
    from storage.campaigns import CampaignFolder
    from storage.collection import Collection
    from storage.schema import TableSpec
    from storage.settings import Goal
    from storage.workspace import Workspace


class ClusterKind(CampaignKind[ClusterOptions]):
    """Labels, and how they came about."""

    name = KIND
    doing = "Grouping"
    nothing_yet = "No groups yet"
    keeps_sides = True
    help = """Give every item its group, from as few questions as possible; labels.parquet is the result.

    Most methods ask whether two items are the same. iu-red asks how similar they are, on a scale, and needs neither embeddings
    nor neighbours; also iu-red-pure, s-and-t, s-and-t-pure, random-ratings.

    Example: cccount cluster census --budget 600 --oracle labels

    Example: cccount cluster photos --method iu-red --clusters 2 --budget 900
    """
    options = ClusterOptions
    shown = (
        "clusters",
        "nmi",
        "ari",
        "jcc",
        "rwcp",
        "against",
        "right",
        "right_low",
        "right_high",
        "count",
        "count_low",
        "count_high",
    )

    @property
    def course(self) -> "TableSpec":
        from storage.schema import GROUPINGS

        return GROUPINGS

    @property
    def tables(self) -> "tuple[TableSpec, ...]":
        from storage.schema import LABELS, NEXT

        return (self.course, LABELS, NEXT)

    def completed(self, options: ClusterOptions, workspace: "Workspace") -> tuple[ClusterOptions, str | None]:
        """Where K is needed and was not told, the best count of this workspace says it."""
        from cccount_dist.kinds.count.estimates import best_count

        counted = best_count(workspace) if "clusters" in options.chosen.needs and options.clusters is None else None
        if counted is None:
            return options, None
        low, high = whole_range(counted.low, counted.high)
        told = counted.told(options.sides)
        by_side = told.get("clusters_of_sides")
        clusters = counted.clusters if by_side is None else said(str(by_side))
        note = (
            f"--clusters was not given: K = {clusters} is the estimate of the count campaign {counted.campaign!r} "
            f"({low:,} to {high:,} at level {counted.level:g}{'' if by_side is None else ', all sides'}, "
            f"from {counted.answers:,} answers)"
        )
        return replace(options, **told), note

    def check(self, options: ClusterOptions, inputs: "Inputs") -> None:
        check_collection(options.chosen, options.clusters, inputs.most_of_a_side)

    def prepare(self, folder: "CampaignFolder", inputs: "Inputs", cluster: "Cluster") -> None:
        if find_method(self.name, folder.settings().method).consensus and inputs.sides is None:
            from cccount_dist.kinds.cluster.consensus import prepare_consensus
            from cccount_dist.kinds.cluster.runner import grouping_inputs

            prepare_consensus(folder, grouping_inputs(folder, inputs), inputs.fingerprints["embeddings"], cluster)
        else:
            super().prepare(folder, inputs, cluster)

    @property
    def runner_type(self) -> "type[ClusterRunner]":
        from cccount_dist.kinds.cluster.runner import ClusterRunner

        return ClusterRunner

    def outcome(
        self,
        folder: "CampaignFolder",
        reached: "Progress[Grouping]",
        inputs: "Inputs",
        *,
        opening: bool,  # noqa: ARG002
    ) -> ClusterOutcome:
        from cccount_dist.campaign.effort import measured_costs
        from cccount_dist.campaign.sidesread import sides_of

        last, goal = folder.last_row(self.course) or {}, folder.goal()
        from_count = folder.settings().parameters.get("clusters_from")
        return ClusterOutcome(
            campaign=folder.name,
            method=folder.settings().method,
            clusters=reached.result.clusters,
            expected_classes=reached.result.expected_classes,
            steady_answers=reached.result.steady_answers,
            clusters_from=None if from_count is None else str(from_count),
            questions=reached.questions,
            inferred=reached.inferred,
            carried=reached.carried or None,
            state=reached.state,
            labels=f"{folder.workspace.location}/{folder.prefix}/results/labels.parquet",
            pending=reached.pending,
            contradictions=reached.contradictions,
            warning=reached.result.warning,
            workspace=folder.workspace.location,
            noun=goal.noun,
            sides_found=sides_of(folder, inputs),
            nmi=last.get("nmi"),
            ari=last.get("ari"),
            jcc=last.get("jcc"),
            rwcp=last.get("rwcp"),
            against=[Against(*pair) for pair in reached.result.against],
            glances=reached.glances,
            human_seconds=measured_costs(folder).seconds(reached.questions, reached.glances),
            quality=QualityOutcome.of(last),
            count=CountBounds.of(last),
        )

    def brief(self, row: Mapping[str, Any]) -> str:
        return GROUP.of(row["clusters"])

    def found(self, row: Mapping[str, Any], goal: "Goal") -> str:
        expected, noun = row.get("expected_classes"), noun_of(goal, GROUP)
        if not row["clusters"]:
            return "no groups yet"
        if (count := CountBounds.of(row)) is not None and goal.noun is not None:
            return f"{GROUP.of(row['clusters'])}, {noun.about(count.estimate, count.low, count.high)}"
        if expected is None or goal.noun is None:
            return noun.of(row["clusters"])
        return f"{GROUP.of(row['clusters'])}, about {noun.of(whole(expected))}"

    def report(
        self, folder: "CampaignFolder", collection: "Collection", price: float | None = None, progress: Progressing = silent
    ) -> bytes:
        from cccount_dist.kinds.cluster.report import gather
        from cccount_dist.report.grouppage import groups_page

        return groups_page(gather(folder, collection, price, progress)).encode()
