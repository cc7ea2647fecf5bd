"""The individuals in a report: a key picture of each, with when and where it was seen, and how sure it is.

Reads only. Time: the collection and the answers; of the pictures, one is in memory at a time.
"""

from cccount_dist.campaign.noun import Noun
from cccount_dist.campaign.progress import Progressing, silent
from cccount_dist.campaign.sidesread import sides_of
from cccount_dist.individuals.census import Census, Individuals
from cccount_dist.individuals.roster import ALONE, Individual
from cccount_dist.individuals.sides import sides_now
from cccount_dist.report.collected import pictures_of
from cccount_dist.report.facts import Seen, Thumbnail
from cccount_dist.report.markup import Html, element, joined, name_of
from cccount_dist.report.wording import plural
from storage.campaigns import CampaignFolder
from storage.collection import Collection

_MOST_CHANGES = 20
MOST = 36  # that are shown: named ones first, then those with most pictures
STYLE = """
.people { display: grid; grid-template-columns: repeat(auto-fill, minmax(9rem, 1fr)); gap: 0.8rem; margin: 0; padding: 0;
  list-style: none; }
.people li { min-width: 0; border: 1px solid var(--line); border-radius: 8px; overflow: hidden; }
.people img, .people .none { width: 100%; aspect-ratio: 4 / 3; object-fit: contain; display: block; }
.people .none { display: grid; place-items: center; color: var(--soft); font-size: 0.75rem; }
.people p { margin: 0; padding: 0 0.6rem 0.5rem; font-size: 0.78rem; color: var(--soft); overflow-wrap: anywhere; }
.people p.called { padding-top: 0.45rem; padding-bottom: 0; font-size: 0.95rem; font-weight: 600; color: inherit; }
"""


def seen_individuals(folder: CampaignFolder, collection: Collection, progress: Progressing = silent) -> Seen | None:
    """Gather who is to be shown; None if the campaign has no groups, or if there is nothing that the section would show."""
    opened = Individuals(folder)
    if not opened.has_groups or not _can_be_shown(opened, collection):
        return None
    census = opened.census(remember=False)
    order = sorted(census.individuals, key=lambda one: (one.name is None, -one.photos, one.individual))[:MOST]
    pictures = pictures_of([one.key_item for one in order], collection, progress)
    shown = [(one, pictures[one.key_item]) for one in order]
    return Seen(
        shown,
        len(census.individuals),
        census.complete,
        sides_now(folder),
        " ".join(filter(None, [_beside(census), _changed(opened)])),
    )


def _can_be_shown(opened: Individuals, collection: Collection) -> bool:
    """Whether anybody has a picture or a name, or sides are kept apart. Who everybody is costs all pictures and answers.

    Every step of a campaign writes its report, and many collections are vectors alone.
    """
    pictured = collection.table.column("uri").null_count < collection.items
    return pictured or opened.anybody_is_named or sides_of(opened.folder) is not None


def _changed(opened: Individuals) -> str:
    """What changed since the individuals were listed last; nothing if they never were, or nothing did."""
    found = opened.changes()
    if not found:
        return ""
    shown = "; ".join(f"{one.title}: {one.what} ({plural(len(one.pictures), 'picture')})" for one in found[:_MOST_CHANGES])
    return f"Changed since they were listed last: {shown}{'; …' if len(found) > _MOST_CHANGES else ''}."


def _beside(census: Census) -> str:
    if not census.known:
        return ""
    missing = f" ({', '.join(census.missing[:20])}{' …' if len(census.missing) > 20 else ''})" if census.missing else ""
    said = f"{len(census.seen_again):,} seen again, {len(census.new):,} new, {len(census.missing):,} missing"
    return f"Beside the catalogue that was brought in: {said}{missing}."


def individuals_section(seen: Seen | None, noun: Noun) -> Html:
    """Return the section; nothing if nobody was seen, or has a picture or a name to be known by."""
    return joined(_sides_section(seen, noun), _gallery(seen, noun))


def _sides_section(seen: Seen | None, noun: Noun) -> Html:
    """The count for each side and for animals; nothing where sides were not kept apart."""
    if seen is None or seen.sides is None:
        return Html()
    rows = [element("tr", element("th", name), element("td", one.words())) for name, one in seen.sides.of_side.items()]
    table = element("table", element("tr", element("th", "side"), element("th", noun.many)), *rows)
    return element("section", element("h2", "Sides"), table, *(element("p", line) for line in seen.sides.words(noun)[1:]))


def _gallery(seen: Seen | None, noun: Noun) -> Html:
    if seen is None or not any(one.name or picture.picture for one, picture in seen.shown):
        return Html()
    title = f"The {noun.of(seen.total)}" if seen.complete else f"The {noun.of(seen.total)} that {_were(seen.total)} seen"
    more = seen.total - len(seen.shown)
    note = f"{len(seen.shown)} are shown; `cccount individuals` lists all of them." if more else ""
    beside = element("p", seen.catalogue) if seen.catalogue else Html()
    cards = [_card(one, picture, noun) for one, picture in seen.shown]
    return element("section", element("h2", title), beside, element("p", note, class_="note") if note else Html(),
                   element("ul", *cards, class_="people"))  # fmt: skip


def _card(one: Individual, picture: Thumbnail, noun: Noun) -> Html:
    if picture.picture is None:
        shown = element("div", "no picture", class_="none", title=picture.reason)
    else:
        shown = element("img", src=picture.picture, alt=f"item {picture.item_id}")
    told = [plural(one.photos, "picture")]
    if one.first_seen is not None and one.last_seen is not None:
        first, last = one.first_seen.date(), one.last_seen.date()
        told += [plural(one.encounters, "encounter"), f"{first}" if first == last else f"{first} to {last}"]
    if one.places:
        told.append(", ".join(one.places[:3]) + (" …" if len(one.places) > 3 else ""))
    if one.sure != ALONE:
        told.append(f"{one.sure} by {', '.join(one.checked_by)}" if one.checked_by else one.sure)
    called = name_of(one.name) if one.name else f"{noun.one} {one.individual}"
    return element("li", shown, element("p", called, class_="called"), element("p", "; ".join(told)))


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


__all__ = ["STYLE", "individuals_section", "seen_individuals"]
