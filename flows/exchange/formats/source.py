"""What a format gets to write, and what it gives back. Time and memory: the collection."""

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cached_property
from pathlib import Path

from PIL import Image, UnidentifiedImageError

from cccount_dist.embedding.address import Address, Box
from cccount_dist.individuals.census import Census, Individuals
from cccount_dist.individuals.roster import Individual
from flows.exchange.places import Place
from storage.errors import CccountError
from storage.individuals import read_known_pictures

_TURNED = (5, 6, 7, 8)  # EXIF orientations in which width and height change places
_ORIENTATION = 0x0112


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What the user chose."""

    gap_minutes: float = 30.0
    occasion_days: int = 1
    first_day: date | None = None
    last_day: date | None = None
    draws: int = 0
    seed: int = 0
    side: str | None = None
    package: Path | None = None
    places: Mapping[str, Place] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Written:
    """The files of an export by name ("" for one alone), the number of rows, and what to know about them."""

    files: Mapping[str, bytes]
    rows: int
    note: str | None = None
    measures: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Source:
    """What is exported: the census, where pictures are, and what the user chose."""

    individuals: Individuals
    census: Census
    choices: Choices

    @cached_property
    def pictures(self) -> list[tuple[int, Individual]]:
        """Every picture that shows somebody, in the order of the collection."""
        return sorted(((item, one) for one in self.census.individuals for item in one.items), key=lambda pair: pair[0])

    @cached_property
    def _columns(self) -> dict[str, list[object]]:
        table = self.individuals.workspace.collection().table
        return {name: table.column(name).to_pylist() for name in ("uri", "width", "height", "side") if name in table.column_names}

    @cached_property
    def _sides(self) -> Mapping[int, str]:
        """What a catalogue says of pictures of which the collection says nothing."""
        known = read_known_pictures(self.individuals.workspace).to_pylist()
        return {row["item"]: row["side"] for row in known if row["side"]}

    @cached_property
    def _sizes(self) -> dict[str, tuple[int, int] | None]:
        return {}

    def uri(self, item: int) -> str:
        return str(self._columns["uri"][item] or "")

    def address(self, item: int) -> Address:
        """Where a picture is; its id where nothing is known."""
        return Address.parse(self.uri(item)) if self.uri(item) else Address(self.census.facts.ids[item])

    def side(self, item: int) -> str:
        """Which side a picture shows; "" if nobody said."""
        column = self._columns.get("side")
        return str((column[item] if column else None) or self._sides.get(item, ""))

    def when(self, item: int) -> datetime | None:
        return self.census.facts.when(item)

    def place(self, item: int) -> str:
        return self.census.facts.places[item] or ""

    def size(self, item: int) -> tuple[int, int] | None:
        """Width and height of the whole picture, upright, in pixels; None if neither the collection nor the picture says it."""
        address = self.address(item)
        width, height = self._columns["width"][item], self._columns["height"][item]
        if address.box is None and isinstance(width, int) and isinstance(height, int) and width and height:
            return width, height
        if not self.uri(item):  # vectors alone
            return None
        if address.path not in self._sizes:
            self._sizes[address.path] = _size_of(Address(address.path, address.offset, address.size))
        return self._sizes[address.path]

    def box(self, item: int) -> tuple[float, float, float, float] | None:
        """Left, top, width and height of what shows the animal, as shares of the picture; None for all of it, or if not known."""
        box, size = self.address(item).box, None
        if box is None or (not box.percent and (size := self.size(item)) is None):
            return None
        across, down = (100.0, 100.0) if box.percent or size is None else (float(size[0]), float(size[1]))
        return _inside(box, across, down)


def _inside(box: Box, across: float, down: float) -> tuple[float, float, float, float]:
    left, top = min(box.left / across, 1.0), min(box.top / down, 1.0)
    return left, top, min(box.width / across, 1.0 - left), min(box.height / down, 1.0 - top)


def _size_of(address: Address) -> tuple[int, int] | None:
    """Read the head of a picture."""
    try:
        with Image.open(io.BytesIO(address.read())) as image:
            width, height = image.size
            return (height, width) if image.getexif().get(_ORIENTATION) in _TURNED else (width, height)
    except (OSError, UnidentifiedImageError, Image.DecompressionBombError, CccountError):
        return None  # a format says what it does without


def called(one: Individual) -> str:
    """What an individual is called in a table of another tool."""
    return one.name or f"individual-{one.individual}"


def notes(*parts: str | None) -> str | None:
    """What there is to know, in one line; None for nothing."""
    return "; ".join(part for part in parts if part) or None


__all__ = ["Choices", "Source", "Written", "called", "notes"]
