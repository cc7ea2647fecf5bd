"""Hostile files for every reader and importer: what comes out is a result or one of our errors in one line, and nothing hangs."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from cccount_dist.embedding.images import UnreadableImageError, load_image
from flows.exchange import facts
from flows.exchange.catalogue import import_catalogue
from flows.exchange.export import export
from flows.exchange.places import read_places
from flows.stages.jobfile import Job
from storage.collection import collection_table
from storage.errors import CccountError
from storage.workspace import Workspace
from tests.attack.corpus import (
    BURSTS,
    CAMERAS,
    COCO,
    DEATHS,
    GOLD,
    GOOD,
    JOB,
    KNOWN,
    NO_FILES,
    PACK,
    PAIRED,
    PLACES,
    READERS,
    Case,
    as_json,
    file,
    npy_bytes,
    table_bytes,
    with_pictures,
)
from tests.flows.calls import import_answers, import_gold, initialise
from tests.individuals.made import add_campaign
from tests.review.campaigns import make_folder, pairs

LONGEST = 2000  # characters of a line that a person is told


def init(option: str) -> Callable[[Path, Path], None]:
    return lambda given, home: void(initialise(str(home / "ws"), **{option: str(given)}))


def void(_: object) -> None:
    return None


def label(given: Path, home: Path) -> None:
    np.save(home / "good.npy", GOOD)
    initialise(str(home / "ws"), embeddings=str(home / "good.npy"), labels=str(given))


def dated(home: Path) -> str:
    """The place of a workspace whose pictures have times, places and names."""
    place = home.parent / "dated"
    if not place.exists():
        moments = [datetime(2026, 5, 1 + item, tzinfo=UTC) for item in range(20)]
        groups = [("ford", "hill")[item % 2] for item in range(20)]
        Workspace.create(place, collection_table([f"image {item}" for item in range(20)], group=groups, taken_at=moments))
        names = "".join(f"image {item},{('Luna', 'Ben')[item % 2]}\n" for item in range(6))
        (home.parent / "names.csv").write_text(f"id,name\n{names}")
        import_catalogue(str(place), str(home.parent / "names.csv"))
    return str(place)


def asked(root: Path) -> None:
    """A workspace with a campaign whose questions people answer, and one with groups."""
    add_campaign(make_folder(root / "asked", pairs(6), items=20).workspace, "groups", [item // 4 for item in range(20)])


READ: dict[str, Callable[[Path, Path], None]] = {
    "coco": init("manifest"),
    "manifest": init("manifest"),
    "images": init("images"),
    "vectors": init("embeddings"),
    "distances": init("distances"),
    "labels": label,
    "answers": lambda given, home: void(import_answers(str(home.parent / "asked"), "c", str(given))),
    "gold": lambda given, home: void(import_gold(str(home.parent / "asked"), str(given))),
    "job": lambda given, _: void(Job.from_file(given)),
    "catalogue": lambda given, home: void(import_catalogue(str(home.parent / "asked"), str(given))),
    "places": lambda given, _: void(read_places(given)),
    "encounters": lambda given, home: void(facts.encounters(dated(home), str(given))),
    "cameras": lambda given, home: void(facts.cameras(dated(home), str(given))),
    "deaths": lambda given, home: void(facts.deaths(dated(home), str(given))),
    "package": lambda given, home: void(
        export(str(home.parent / "asked"), "camtrap-dp", str(home / "out"), campaign="groups", package=str(given))
    ),
}


def wrong(case: Case, home: Path) -> str | None:
    """What is wrong with how a case was met; None if it was met well."""
    files = home / "files"
    files.mkdir(parents=True)
    given = case.write(files)
    try:
        READ[case.reader](given, home)
    except CccountError as error:
        if "\n" in str(error).strip() or len(str(error)) > LONGEST:
            return f"{case.name}: not one line: {str(error)[:200]!r}"
    except Exception as error:  # noqa: BLE001 (whatever it is, it should not have come out)
        return f"{case.name}: {type(error).__name__}: {str(error)[:200]}"
    return None


@pytest.mark.timeout(120)
@pytest.mark.parametrize("kind", READERS)
def test_no_reader_lets_anything_but_our_errors_out(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    asked(tmp_path)
    found = [wrong(case, tmp_path / str(number)) for number, case in enumerate(READERS[kind]())]
    assert [one for one in found if one is not None] == []
    assert not (tmp_path / "executed").exists(), "something that a file said was run"


def test_the_corpus_has_at_least_300_files() -> None:
    assert sum(1 for make in READERS.values() for _ in make()) >= 300


WHOLE: dict[str, Case] = {
    "coco": Case("coco", "whole", with_pictures(file("coco.json", as_json(COCO)))),
    "manifest": Case("manifest", "whole", with_pictures(file("m.csv", "path;id\n0.png;a\n1.png;b\n"))),
    "images": Case("images", "whole", with_pictures(lambda folder: folder)),
    "vectors": Case("vectors", "whole", file("x.npy", npy_bytes(GOOD))),
    "distances": Case("distances", "whole", file("d.parquet", table_bytes(pa.table(PAIRED)))),
    "labels": Case("labels", "whole", file("y.csv", "label\n" + "a\nb\n" * 3)),
    "answers": Case("answers", "whole", file("a.json", as_json(PACK))),
    "gold": Case("gold", "whole", file("a.json", as_json(GOLD))),
    "job": Case("job", "whole", file("job.toml", JOB)),
    "catalogue": Case("catalogue", "whole", file("a.json", as_json(KNOWN))),
    "places": Case("places", "whole", file("a.json", as_json(PLACES))),
    "encounters": Case("encounters", "whole", file("a.json", as_json(BURSTS))),
    "cameras": Case("cameras", "whole", file("a.json", as_json(CAMERAS))),
    "deaths": Case("deaths", "whole", file("a.json", as_json(DEATHS))),
    "package": next(case for case in READERS["packages"]() if case.name == "whole"),
}


@pytest.mark.parametrize("reader", READ)
def test_the_file_that_hostile_ones_are_made_from_is_read(reader: str, tmp_path: Path) -> None:
    asked(tmp_path)
    files = tmp_path / "0" / "files"
    files.mkdir(parents=True)
    READ[reader](WHOLE[reader].write(files), tmp_path / "0")


@pytest.mark.parametrize("what", NO_FILES)
def test_what_is_no_file_among_pictures_is_left_out_with_a_reason(what: str, tmp_path: Path) -> None:
    case = next(case for case in READERS["folders"]() if case.name == f"folder: {what} among the pictures")
    found = initialise(str(tmp_path / "ws"), images=str(case.write(tmp_path)))
    if what == "folder":  # one without pictures in it
        assert (found["items"], found["failed"]) == (2, [])
        return
    assert (found["items"], [one["id"] for one in found["failed"]]) == (3, ["odd.jpg"])
    reason = found["failed"][0]["reason"]
    assert any(word in reason for word in ("not a file", "symbolic links", "No such file"))
    with pytest.raises(UnreadableImageError):  # and whoever opens it later does not wait either
        load_image(str(tmp_path / "odd.jpg"))
