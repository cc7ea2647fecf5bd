"""The map of a collection on a Dask cluster: the order of its tasks. Run again, it goes on where it was.

encoded.zarr is looked at once for the components and once for the rows; then neighbours are searched twice, by the engine of
`cccount neighbors`. What is found is stored in projection.npz, with what speaks for it; images that are added later go through it
as it is, until there are so many that it is fitted again.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import distributed

from cccount_dist.campaign.answerwords import percent_words
from cccount_dist.embedding.encoders import NEEDS_MAP
from cccount_dist.embedding.fitting import FEWEST_DIMENSIONS, FEWEST_ITEMS, Judged
from cccount_dist.embedding.mapping import (
    MapJob,
    MapPass,
    find_components,
    find_whitening,
    fitted,
    has_directions,
    judge_map,
    sum_moments,
    turn_rows,
)
from cccount_dist.embedding.projection import Projection, load_projection, save_projection, unchanged
from cccount_dist.embedding.shard import failures
from cccount_dist.similarity.remaining import Remaining, scratch_folder, scratch_name
from flows.compute.clients import run_tasks
from flows.stages.passes import require_memory, run_stages
from storage.arrays import JSON
from storage.errors import InputError
from storage.schema import ENCODED
from storage.scratch import is_sound
from storage.workspace import Workspace

GROWTH = 1.2  # so many times the items that it was fitted to, and a map is fitted again
_REVISION = 1  # of what a map is: one that was fitted by another stays until it is asked for anew
_FITTING = 2  # of how it is found: what a fit that was killed has left is of use for the same only


@dataclass(frozen=True, slots=True)
class MapReport:
    """What became of the map, for people and programs."""

    used: bool
    components: int  # numbers of an item afterwards
    fitted_items: int  # that had a vector when it was fitted
    mutual_before: float | None  # share of near neighbours that are mutual, among items that a map was not fitted to
    mutual_after: float | None
    reason: str | None  # why it is not used

    def words(self) -> str:
        if not self.used:
            return f"No map of the collection: {self.reason}."
        shares = ""
        if self.mutual_before is not None and self.mutual_after is not None:
            before, after = percent_words(self.mutual_before), percent_words(self.mutual_after)
            shares = f"; of near neighbours {before} were mutual before, {after} with it"
        return f"A map fitted to {self.fitted_items:,} items leaves {self.components} numbers of each{shares}."


def stored_map(workspace: Workspace, attributes: Mapping[str, JSON]) -> Projection | None:
    """Return the map of these vectors that is stored, if it may still stand for the whole collection."""
    stored = load_projection(workspace.objects)
    if stored is None or _belonging(stored) != {**attributes, "map": _REVISION}:
        return None
    return stored if workspace.array(ENCODED).shape[0] <= GROWTH * int(str(stored.attributes["items"])) else None


def map_for(workspace: Workspace, attributes: Mapping[str, JSON], client: distributed.Client) -> tuple[Projection, int]:
    """Return the map of the collection, stored before or fitted now, and the largest memory of a worker."""
    stored = stored_map(workspace, attributes)
    if stored is not None:
        return stored, 0
    encoded = workspace.array(ENCODED)
    items, dimensions = encoded.shape
    usable = items - len(failures(encoded))
    about: dict[str, JSON] = {**attributes, "map": _REVISION, "items": items, "usable": usable, "before": None, "after": None}
    reason = None if attributes["encoder"] in NEEDS_MAP else _too_small(usable, dimensions)
    if reason is not None:
        return _kept(workspace, unchanged(dimensions, {**about, "reason": reason})), 0
    fingerprint = encoded.fingerprint()
    scratch = scratch_name("map", _REVISION, _FITTING, fingerprint)
    job = MapJob(workspace.location, fingerprint, items, usable, dimensions, scratch)
    require_memory(client, job.task_bytes())
    with scratch_folder(workspace, scratch):
        found, judged, peak = _fit(job, client)
        if judged is not None:
            about |= {"before": judged.before, "after": judged.after}
        if not found.basis.shape[1]:
            reason = "all vectors are equal"
        elif attributes["encoder"] not in NEEDS_MAP and (judged is None or not judged.helps):
            reason = "neighbourhoods would fall apart with it: far fewer near neighbours would be mutual"
        found = Projection(found.mean, found.basis, {**about, "reason": None}, found.whitening)
        return _kept(workspace, found if reason is None else unchanged(dimensions, {**about, "reason": reason})), peak


def report_of(projection: Projection) -> MapReport:
    """Say what is known of a stored map."""
    about = projection.attributes
    shares = [None if about[name] is None else float(str(about[name])) for name in ("before", "after")]
    reason = None if about["reason"] is None else str(about["reason"])
    return MapReport(reason is None, projection.dimensions, int(str(about["usable"])), shares[0], shares[1], reason)


def refuse_without(encoder: str) -> None:
    """Raise `InputError` for vectors that are of no use without a map."""
    if encoder in NEEDS_MAP:
        raise InputError(
            f"the vectors of {encoder} are made for a map, and are worse than others without: leave out --map and --components, "
            "or choose another --encoder (efficientnet-lite0)"
        )


def _belonging(stored: Projection) -> dict[str, JSON]:
    return {name: stored.attributes.get(name) for name in ("encoder", "revision", "components", "map")}


def _too_small(usable: int, dimensions: int) -> str | None:
    if usable < FEWEST_ITEMS:
        return f"{usable} items with a vector are too few to tell whether it helps ({FEWEST_ITEMS} are enough)"
    if dimensions < FEWEST_DIMENSIONS:
        return f"vectors of {dimensions} numbers are too short for it ({FEWEST_DIMENSIONS} are enough)"
    return None


def _kept(workspace: Workspace, found: Projection) -> Projection:
    save_projection(workspace.objects, found)
    return found


def _fit(job: MapJob, client: distributed.Client) -> tuple[Projection, Judged | None, int]:
    peaks = [0]

    def each(name: str, function: Callable[[MapJob, int], int], numbers: range, describe: str, unit: str) -> None:
        missing = [number for number in numbers if not is_sound(job.file(name, number))]
        done = len(numbers) - len(missing)
        peaks.extend(run_tasks(client, partial(function, job), missing, describe=describe, unit=unit, done_before=done))

    if job.by_moments and not is_sound(job.file("components")):
        each("moments", sum_moments, range(job.groups), "map: looking at vectors", "parts")
    each("components", find_components, range(1), "map: finding components", "passes")
    if not has_directions(job):
        return fitted(job), None, max(peaks)
    each("rows", turn_rows, range(len(job.runs)), "map: turning vectors", "parts")
    for number in range(job.rounds):
        if not is_sound(job.file("white", number)):
            peaks.extend(_search(job.search(number), client, f"map: neighbours, round {number + 1} of {job.rounds}"))
            each("white", find_whitening, range(number, number + 1), "map: what neighbours differ by", "passes")
    judged = run_tasks(client, partial(judge_map, job), [0], describe="map: looking whether it helps", unit="passes")[0]
    return fitted(job), judged, max(peaks)


def _search(search: MapPass, client: distributed.Client, describe: str) -> list[int]:
    missing = [block for block in range(search.grid.blocks) if not is_sound(search.found(block))]
    return run_stages(search, Remaining(search, missing), client, describe)[1]


__all__ = ["GROWTH", "MapReport", "map_for", "refuse_without", "report_of", "stored_map"]
