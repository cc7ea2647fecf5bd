"""The individuals as they are listed: at one moment, as the table in a campaign's results, and as they are remembered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from cccount_dist.individuals.numbering import Remembered
from cccount_dist.individuals.roster import Facts, Individual
from storage.errors import InputError
from storage.schema import IDENTITIES, INDIVIDUALS


@dataclass(frozen=True, slots=True)
class Census:
    """The individuals that a campaign's groups show, at one moment."""

    campaign: str
    individuals: list[Individual]
    facts: Facts
    no_animals: tuple[int, ...]  # pictures that show no animal
    ungrouped: int  # pictures that belong to no group: not drawn by a count, or without a vector
    complete: bool = True  # False: a count drew some pictures and not all
    known: Mapping[int, str] = field(default_factory=dict)  # pictures of a catalogue that was brought in, and whom they show

    @property
    def seen_again(self) -> list[Individual]:
        """Known individuals that are on pictures which the catalogue has not."""
        return [one for one in self.individuals if one.known and not all(item in self.known for item in one.items)]

    @property
    def new(self) -> list[Individual]:
        """Those that no catalogue knows."""
        return [one for one in self.individuals if not one.known]

    @property
    def missing(self) -> list[str]:
        """Names of the catalogue that no new picture shows."""
        again = {self.known[item] for one in self.seen_again for item in one.items if item in self.known}
        return sorted(set(self.known.values()) - again)

    def find(self, individual: int) -> Individual:
        """Return one by its number; `InputError` if there is none."""
        for one in self.individuals:
            if one.individual == individual:
                return one
        raise InputError(f"campaign {self.campaign!r} has no individual {individual}: `cccount individuals` lists them")

    def of_item(self, item: int) -> Individual | None:
        """The individual that a picture shows."""
        return next((one for one in self.individuals if item in one.items), None)


def individuals_table(census: Census) -> pa.Table:
    """The census as it is stored."""
    ids = census.facts.ids
    rows = [
        {
            "individual": one.individual,
            "name": one.name,
            "note": one.note,
            "photos": one.photos,
            "encounters": one.encounters,
            "first_seen": one.first_seen,
            "last_seen": one.last_seen,
            "places": list(one.places),
            "sides": list(one.sides),
            "key_photo": ids[one.key_item],
            "checked": len(one.checked_items),
            "sure": one.sure,
            "checked_by": list(one.checked_by),
            "against": one.against,
            "known": one.known,
            "items": list(one.items),
        }
        for one in census.individuals
    ]
    return pa.Table.from_pylist(rows, schema=INDIVIDUALS.schema)


def is_settled(groups: Sequence[Sequence[int]], sure: Sequence[Sequence[int]], memory: Sequence[Remembered]) -> bool:
    """Whether everybody is as they were: then nobody needs the lock, and nothing is written."""
    of = {one.items: one.checked for one in memory if one.live}
    return all(of.get(tuple(sorted(group))) == tuple(sorted(some)) for group, some in zip(groups, sure, strict=True))


def memory_of(table: pa.Table) -> list[Remembered]:
    return [Remembered(row["individual"], tuple(row["items"]), tuple(row["checked"]), row["live"]) for row in table.to_pylist()]


def table_of(memory: Sequence[Remembered]) -> pa.Table:
    rows = [{"individual": m.individual, "items": list(m.items), "checked": list(m.checked), "live": m.live} for m in memory]
    return pa.Table.from_pylist(rows, schema=IDENTITIES.schema)


__all__ = ["Census", "individuals_table", "is_settled", "memory_of", "table_of"]
