"""The count for each side and for animals, from the groups of a campaign and from what joins the two sides of an animal.

Sides are joined by what is certain: one picture that shows both, cameras that stand opposite each other, encounters, a catalogue,
a correction by hand. Time and memory: a census.
"""

from collections import Counter
from dataclasses import replace

from cccount_dist.campaign.sidesread import sides_of
from cccount_dist.campaign.sidewords import OneSide, SideFigures
from cccount_dist.counting.result import CountResult
from cccount_dist.counting.sided import SIDE
from cccount_dist.individuals.census import Census, Individuals
from cccount_dist.individuals.roster import GAP_MINUTES, encounters_of
from cccount_dist.individuals.sidecount import animals, meetings_of
from cccount_dist.sampling.sided import NO_SIDE
from storage.campaigns import CampaignFolder
from storage.collection import KEY, LEFT, RIGHT, read_collection, write_collection
from storage.errors import InputError
from storage.workspace import Workspace

UNKNOWN = "unknown"  # what a person calls the side of a picture of which nobody knows it


def side_figures(folder: CampaignFolder, counted: CountResult | None = None) -> SideFigures | None:
    """Return the figures of a campaign that keeps sides apart; `counted`: what a count that drew some pictures says of each."""
    opened = Individuals(folder)
    if not opened.has_groups:
        return None
    census, sides = opened.census(remember=False), folder.workspace.collection().sides()
    seen = of_census(census, sides, seed=folder.settings().seed, level=folder.settings().level)
    if counted is None or (counted.estimate is not None and counted.low == counted.high):
        return seen
    details = counted.details
    names = [name.removeprefix(SIDE).removesuffix("_low") for name in details if name.startswith(SIDE) and name.endswith("_low")]
    of_side = {
        name: OneSide(estimate=details.get(f"{SIDE}{name}"), low=details[f"{SIDE}{name}_low"], high=details[f"{SIDE}{name}_high"])
        for name in names
    }
    least = max(one.low for one in of_side.values())
    most = sum(one.high for one in of_side.values())
    return SideFigures(of_side=of_side, least=least, most=most, joined=seen.joined, grouped=False)


def sides_now(folder: CampaignFolder) -> SideFigures | None:
    """Return the figures of the last step with what joins sides by now; None for a campaign that does not keep sides apart."""
    stored = sides_of(folder)
    if stored is None:
        return None
    census = Individuals(folder).census(remember=False)
    found = of_census(census, folder.workspace.collection().sides(), seed=folder.settings().seed, level=folder.settings().level)
    return found if stored.grouped else replace(stored, joined=found.joined)


def of_census(census: Census, sides: list[str | None], *, seed: int = 0, level: float = 0.95) -> SideFigures:
    """Return the figures of individuals; whose sides are joined is one of them."""
    counts = Counter(side for one in census.individuals for side in {sides[item] or NO_SIDE for item in one.items})
    meetings, others = [], 0
    for one in census.individuals:
        met = meetings_of([sides[item] for item in meeting] for meeting in encounters_of(one.items, census.facts, GAP_MINUTES))
        shown = {sides[item] for item in one.items}
        if shown & {LEFT, RIGHT}:
            meetings.append(met)
        else:
            others += 1
    found = animals(meetings, others=others, level=level, seed=seed)
    order = [name for name in (LEFT, RIGHT, "other", NO_SIDE) if counts[name]]
    return SideFigures(
        of_side={name: OneSide(estimate=counts[name], low=counts[name], high=counts[name]) for name in order},
        least=max([*counts.values(), 0]),
        most=len(census.individuals),
        joined=found.joined,
        estimate=found.estimate,
        low=found.low,
        high=found.high,
        grouped=census.complete and not census.ungrouped,
    )


def set_side(workspace: Workspace, items: list[int], side: str | None) -> dict[int, str | None]:
    """Say which side pictures show (left, right, other; None: not known), and return what was said before, to take it back.

    Campaigns that keep sides apart begin a new epoch at their next step; what people answered stays known.
    """
    if not items:
        raise InputError("name the pictures that show this side")
    with workspace.objects.locked(KEY):
        collection = read_collection(workspace.objects)
        changed = collection.with_sides(dict.fromkeys(items, side))
        before = {item: collection.sides()[item] for item in items}
        if not changed.table.equals(collection.table):
            write_collection(workspace.objects, changed.table)
    return before


__all__ = ["UNKNOWN", "of_census", "set_side", "side_figures", "sides_now"]
