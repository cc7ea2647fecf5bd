"""A made census with all that a real one has: sides, bursts, two seasons, paired cameras, a death, a wrong clock, a catalogue.

`make_census(folder)` draws small photographs of invented animals, with EXIF times, and writes the tables that go in with them;
`plan_census()` says the same without drawing, in a millisecond, for hundreds of seeded runs. One seed is one census.

    python -m benchmarks.census --folder FOLDER
    cccount init ws --images FOLDER/season1 --times exif --place-from 1

In FOLDER: season1/STATION/CAMERA/IMG_0001_L.jpg (the names repeat in season2), truth.csv, known.csv (who is known before),
deaths.csv, stations.csv (coordinates), cameras.csv (which stand opposite each other), bursts.csv (encounters, by a person).
"""

import argparse
import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
from PIL import Image

SEASONS = {"season1": datetime(2025, 5, 1, tzinfo=UTC), "season2": datetime(2026, 5, 1, tzinfo=UTC)}
NIGHTS = 30  # that a season lasts
SIDES = {"left": "L", "right": "R"}
PAIRED = "b"  # the camera opposite of camera a, where there is one
PIXELS = 64
_CELLS = 8  # spots of a coat, in each direction


@dataclass(frozen=True, slots=True)
class Photo:
    """One photograph. `taken` is true; the file says `says`, which is another time if the camera's clock was wrong."""

    path: str  # below the folder of the census; the id is what follows the season
    season: str
    station: str
    camera: str
    animal: str
    side: str
    encounter: int  # of one animal at one station: a burst, from one camera or from both
    taken: datetime
    says: datetime

    @property
    def id(self) -> str:
        """Its id in a workspace that was made from the folder of its season."""
        return self.path.removeprefix(f"{self.season}/")


@dataclass(frozen=True, slots=True)
class MadeCensus:
    """What there is to find out."""

    photos: Sequence[Photo]
    stations: Mapping[str, tuple[float, float]]  # latitude and longitude
    paired: Sequence[str]  # stations with two cameras that stand opposite each other
    known: Mapping[str, str]  # path -> name of animals that were known before
    died: Mapping[str, datetime]  # animal -> when it was found dead
    wrong_clock: str | None  # the folder of the camera whose clock was wrong, below the season 2

    def of(self, season: str) -> list[Photo]:
        return [photo for photo in self.photos if photo.season == season]

    def animals(self, season: str | None = None, side: str | None = None) -> set[str]:
        """Who was photographed, by whom and on which side."""
        return {p.animal for p in self.photos if season in (None, p.season) and side in (None, p.side)}


def plan_census(
    animals: int = 8,
    *,
    encounters: float = 3.0,
    stations: int = 4,
    paired: int = 1,
    burst: int = 3,
    even: float = 2.0,
    seed: int = 0,
) -> MadeCensus:
    """Say who passes which camera when.

    `encounters`: of an animal in a season, on average; they differ between animals, the more the smaller `even` is. At a station
    with one camera an encounter shows one side, by the way that the animal walks; `paired` stations show both. A burst has one to
    `burst` photographs. One animal dies after season 1; half of those of season 1 are in the catalogue, by one photograph each.
    """
    rng = np.random.default_rng(seed)
    names = [f"animal{number:03d}" for number in range(animals)]
    places = {f"st{number}": (60.0 + 0.2 * number, 25.0 + 0.1 * number) for number in range(1, stations + 1)}
    with_two = list(places)[:paired]
    dead = names[0]
    photos: list[Photo] = []
    number = 0
    counters: dict[str, int] = {}
    wrong = f"{list(places)[-1]}/a"
    for season, began in SEASONS.items():
        rates = rng.gamma(even, encounters / even, animals)
        for animal, rate in zip(names, rates, strict=True):
            if animal == dead and season == "season2":
                continue
            for moment in _moments(rng, int(rng.poisson(rate)), began):
                station = str(rng.choice(list(places)))
                seen = list(SIDES) if station in with_two else [str(rng.choice(list(SIDES)))]
                for camera, side in zip(("a", PAIRED), seen, strict=False):
                    for frame in range(int(rng.integers(1, burst + 1))):
                        folder = f"{season}/{station}/{camera}"
                        counters[folder] = counters.get(folder, 0) + 1
                        path = f"{folder}/IMG_{counters[folder]:04d}_{SIDES[side]}.jpg"
                        taken = moment + timedelta(seconds=2 * frame)
                        off = timedelta(days=-365 * 20) if folder == f"season2/{wrong}" else timedelta()
                        photos.append(Photo(path, season, station, camera, animal, side, number, taken, taken + off))
                number += 1
    there = sorted({p.animal for p in photos if p.season == "season1"})
    known: dict[str, str] = {}
    for animal in there[: max(1, len(there) // 2)]:
        first = next(p for p in photos if p.animal == animal and p.season == "season1")
        known[first.path] = f"Known {animal.removeprefix('animal')}"
    found_dead = SEASONS["season1"] + timedelta(days=NIGHTS + 30)
    return MadeCensus(photos, places, with_two, known, {dead: found_dead} if dead in there else {}, wrong)


def _moments(rng: np.random.Generator, times: int, began: datetime) -> list[datetime]:
    """Nights of a season on which an animal is met, each once: nobody is at two stations in one night."""
    nights = sorted(rng.choice(NIGHTS, size=min(times, NIGHTS), replace=False).tolist())
    return [began + timedelta(days=int(night), hours=float(rng.uniform(20, 28))) for night in nights]


def photograph(photo: Photo, *, take: int, seed: int = 0) -> Image.Image:
    """Draw it: the coat of this side of the animal, in another light each time."""
    rng = np.random.default_rng((seed, take))
    coat = np.random.default_rng([seed, *photo.animal.encode(), *photo.side.encode()]).integers(0, 2, (_CELLS, _CELLS))
    light, ground = rng.uniform(0.75, 1.0), rng.integers(0, 30)
    grey = np.clip((40 + 170 * coat) * light + ground, 0, 255).astype(np.uint8)
    picture = Image.fromarray(grey).resize((PIXELS, PIXELS), Image.Resampling.BILINEAR)
    noisy = np.asarray(picture, np.float64) + rng.normal(0, 8, (PIXELS, PIXELS))
    return Image.fromarray(np.clip(noisy, 0, 255).astype(np.uint8)).convert("RGB")


def make_census(folder: Path, animals: int = 8, *, seed: int = 0, **how: float) -> MadeCensus:
    """Draw the photographs of a census below a new folder, and write the tables that go in with them."""
    census = plan_census(animals, seed=seed, **how)  # type: ignore[arg-type]
    for take, photo in enumerate(census.photos):
        path = folder / photo.path
        path.parent.mkdir(parents=True, exist_ok=True)
        exif = Image.Exif()
        exif.get_ifd(0x8769)[0x9003] = photo.says.strftime("%Y:%m:%d %H:%M:%S")
        _put_gps(exif, *census.stations[photo.station])
        photograph(photo, take=take, seed=seed).save(path, exif=exif, quality=90)
    _write(folder / "truth.csv", "path,id,season,station,camera,animal,side,encounter,taken", (
        (p.path, p.id, p.season, p.station, p.camera, p.animal, p.side, p.encounter, p.taken.isoformat()) for p in census.photos
    ))  # fmt: skip
    by_path = {photo.path: photo for photo in census.photos}
    _write(folder / "known.csv", "id,name", ((by_path[path].id, name) for path, name in census.known.items()))
    _write(folder / "deaths.csv", "name,died", (
        (f"Known {animal.removeprefix('animal')}", when.date().isoformat()) for animal, when in census.died.items()
    ))  # fmt: skip
    _write(folder / "stations.csv", "place,latitude,longitude", ((name, *at) for name, at in census.stations.items()))
    _write(folder / "cameras.csv", "camera,opposite", ((f"{one}/a", f"{one}/{PAIRED}") for one in census.paired))
    _write(folder / "bursts.csv", "id,encounter", ((p.id, p.encounter) for p in census.of("season1")))
    return census


def _put_gps(exif: Image.Exif, latitude: float, longitude: float) -> None:
    gps = exif.get_ifd(0x8825)
    for tag, value, letters in ((1, latitude, "NS"), (3, longitude, "EW")):
        seconds = round(abs(value) * 3600)  # 30 m are near enough
        gps[tag] = letters[value < 0]
        gps[tag + 1] = (float(seconds // 3600), float(seconds // 60 % 60), float(seconds % 60))


def _write(path: Path, header: str, rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(header.split(","))
        out.writerows(rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("made-census"))
    made = make_census(parser.parse_args().folder)
    print("| photographs | animals | known before |\n|---|---|---|")
    print(f"| {len(made.photos)} | {len(made.animals())} | {len(made.known)} |")
