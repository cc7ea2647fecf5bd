"""The kind `subcluster`: a few clean images of each class."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cccount_dist.campaign.kind import CampaignKind
from cccount_dist.campaign.progress import Progressing, silent
from cccount_dist.kinds.subcluster.options import SubclusterOptions
from cccount_dist.kinds.subcluster.outcome import SubclusterOutcome
from cccount_dist.subclustering.methods import KIND
from storage.errors import InputError

if TYPE_CHECKING:
    from cccount_dist.campaign.inputs import Inputs
    from cccount_dist.campaign.preparation import Cluster
    from cccount_dist.campaign.runner import Progress
    from cccount_dist.kinds.subcluster.runner import SubclusterRunner
    from cccount_dist.subclustering.result import Subclusters
    from storage.campaigns import CampaignFolder
    from storage.collection import Collection
    from storage.schema import TableSpec
    from storage.workspace import Workspace


class SubclusterKind(CampaignKind[SubclusterOptions]):
    """Who stands where."""

    name = KIND
    doing = "Subclusters"
    nothing_yet = "No subclusters yet"
    help = """Find a few clean images of each class, to browse the collection; subclusters.parquet is the result.

    Without --budget to spend (--budget 0) it is what the vectors alone give. `cccount browse` then shows all of them on one page.

    Example: cccount subcluster census --clusters 24 --size 10 --oracle labels
    """
    options = SubclusterOptions
    shown = ("subclusters", "sjc", "coverage", "purity")
    report_name = "browse.html"
    refreshes_report = False
    keeps_sides = True

    @property
    def course(self) -> "TableSpec":
        from storage.schema import SUBCLUSTERINGS

        return SUBCLUSTERINGS

    @property
    def tables(self) -> "tuple[TableSpec, ...]":
        from storage.schema import SUBCLUSTERS

        return (self.course, SUBCLUSTERS)

    def completed(self, options: SubclusterOptions, workspace: "Workspace") -> tuple[SubclusterOptions, str | None]:
        """Where K was not told, the best count of this workspace says it."""
        from cccount_dist.kinds.count.estimates import best_count

        if options.clusters is not None:
            return options, None
        counted = best_count(workspace)
        if counted is None:
            raise InputError(
                f"how many classes are there? Give --clusters K, or run `cccount count {workspace.location}` first: "
                "it has no count campaign with an estimate"
            )
        return replace(options, **counted.told(options.sides)), None

    def check(self, options: SubclusterOptions, inputs: "Inputs") -> None:
        from cccount_dist.clustering.methods import check_clusters

        if inputs.metric == "euclidean" and not inputs.of_distances:
            raise InputError(
                "subcluster works with cosine or correlation, and the neighbours were computed with euclidean: run "
                "`cccount neighbors` with --metric cosine first"
            )
        check_clusters(options.clusters or 0, inputs.most_of_a_side)
        restricted = int(options.parameters().get("restricted", 0))
        if restricted and restricted < (options.clusters or 0):
            raise InputError(
                f"restricted is {restricted}, too few for {options.clusters} centroids: use {options.clusters} or more"
            )

    def prepare(self, folder: "CampaignFolder", inputs: "Inputs", cluster: "Cluster") -> None:
        from cccount_dist.kinds.subcluster.prepared import prepare_lists

        if inputs.sides is None:
            prepare_lists(folder, inputs, cluster)
        else:
            super().prepare(folder, inputs, cluster)

    @property
    def runner_type(self) -> "type[SubclusterRunner]":
        from cccount_dist.kinds.subcluster.runner import SubclusterRunner

        return SubclusterRunner

    def outcome(
        self,
        folder: "CampaignFolder",
        reached: "Progress[Subclusters]",
        inputs: "Inputs",
        *,
        opening: bool,  # noqa: ARG002
    ) -> SubclusterOutcome:
        last, settings, result = folder.last_row(self.course) or {}, folder.settings(), reached.result
        parameters = settings.parameters
        from_count = parameters.get("clusters_from")
        return SubclusterOutcome(
            campaign=folder.name,
            method=settings.method,
            subclusters=result.count,
            size=int(parameters["size"]),
            clusters=int(parameters["clusters"]),
            clusters_from=_text(from_count),
            questions=reached.questions,
            inferred=reached.inferred,
            carried=reached.carried or None,
            state=reached.state,
            file=f"{folder.workspace.location}/{folder.prefix}/results/subclusters.parquet",
            checked=int(result.checked[~result.surplus].sum()),
            empty=result.empty,
            surplus=int(result.surplus.sum()),
            pending=reached.pending,
            contradictions=reached.contradictions,
            workspace=folder.workspace.location,
            noun=folder.goal().noun,
            sjc=last.get("sjc"),
            coverage=last.get("coverage"),
            purity=last.get("purity"),
            of_side=_of_sides(result, inputs),
            clusters_of_sides=_text(parameters.get("clusters_of_sides")),
        )

    def brief(self, row: Mapping[str, Any]) -> str:
        return f"{row['subclusters']:,} subcluster{'' if row['subclusters'] == 1 else 's'}"

    def report(
        self,
        folder: "CampaignFolder",
        collection: "Collection",
        price: float | None = None,
        progress: Progressing = silent,
    ) -> bytes:
        from cccount_dist.kinds.subcluster.sheet import sheet_of

        return sheet_of(folder, collection, price, progress)


def _of_sides(result: "Subclusters", inputs: "Inputs") -> dict[str, int] | None:
    """How many subclusters each side has; None where sides are not kept apart."""
    import numpy as np

    from cccount_dist.campaign.inputs import SIDES_KEPT

    if inputs.sides is None:
        return None
    side = inputs.sides[result.members[~result.surplus, 0]]
    return {name: int(n) for code, name in enumerate(SIDES_KEPT) if (n := np.count_nonzero(side == code))}


def _text(value: object) -> str | None:
    return None if value is None else str(value)
