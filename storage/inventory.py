"""Everything that cccount stores in a workspace, declared; and the walk over all of it that `cccount verify` is.

`python -m storage.inventory` prints the table of `docs/reference/workspace.md`. Time of the walk: every stored byte is read
once (the log of a campaign some times); memory: the names of all keys, and what `checks.py` says of each kind.
"""

import itertools
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath

from storage import checks, layout, parquet
from storage.handouts import HANDOUTS
from storage.journal import JOURNAL
from storage.journal import REPAIR as JOURNAL_REPAIR
from storage.lease import REPAIR as LEASE_REPAIR
from storage.nameentries import FOLDER as INDIVIDUALS_FOLDER
from storage.nameentries import NAMES, names_check
from storage.objects import LocalObjects, Objects
from storage.parts import REPAIR as PART_REPAIR
from storage.problems import Problem
from storage.reading import damage, known_errors, unusable
from storage.schema import (
    ARRAYS,
    COLLECTION,
    EMBEDDINGS,
    ESTIMATES,
    GROUPINGS,
    IDENTITIES,
    INDIVIDUALS,
    KNOWN_PAIRS,
    KNOWN_PICTURES,
    LABELS,
    NEXT,
    SEEN,
    SUBCLUSTERINGS,
    SUBCLUSTERS,
    ArraySpec,
    TableSpec,
    candidates,
)  # fmt: skip
from storage.snapshots import FOLDER, check_blob, check_document
from storage.stored import STORED, Beside, Check, Expected, Place, Stored, always, declared, never, register
from storage.tokens import REPAIR as TOKENS_REPAIR

_CAMPAIGN = "campaigns/{campaign}"
_BACKUP = "restore it from a backup"
_ADVANCE = "`cccount advance --campaign {campaign}` writes it again"
_AGAIN = "delete it: the next step that needs it makes it again"
BESIDE_SQLITE = ("-wal", "-shm", "-journal")  # they come and go, also while somebody looks
_FOREIGN = re.compile(r"\.DS_Store|\._.*|\.nfs.*|\.fuse_hidden.*|\.directory|Thumbs\.db|desktop\.ini", re.IGNORECASE)


def _is_projected(place: Place) -> bool:
    """Whether embeddings.zarr says that it was made with a projection."""
    metadata = layout.read_or_none(place.objects, layout.metadata_key(EMBEDDINGS))
    try:
        return metadata is not None and "projection" in layout.Layout.parse(metadata).attributes
    except known_errors():  # it is damaged, which its own check says
        return False


def _has_begun(place: Place) -> bool:
    """Whether a campaign has got further than its goal, which is written first."""
    start = place.named(f"{_CAMPAIGN}/")
    return any(key.startswith(start) and not key.endswith(("/goal.toml", "/zarr.json")) and declared(key) for key in place.keys)


def _array(spec: ArraySpec, spec_of: Callable[[str], ArraySpec] | None = None) -> Stored:
    shard = layout.shard_key(spec, 0).replace("/c/0", "/c/{number}", 1)
    patterns = (layout.metadata_key(spec), shard, layout.copy_key(spec), f"{layout.marker_folder(spec)}/{{number}}.json")
    check = checks.array(spec_of or (lambda _: spec))
    return Stored(patterns, spec.meaning, spec.made_by, check, f"run {spec.made_by} again")


def _database(name: str) -> tuple[str, ...]:
    """SQLite has files of its own beside a database, while it is open or after a process died."""
    return tuple(f"{_CAMPAIGN}/{name}{ending}" for ending in ("", *BESIDE_SQLITE))


def _group(*patterns: str) -> Stored:
    return Stored(patterns, "says to other readers of zarr that there are arrays below", "who writes the arrays", checks.group,
                  "cccount does not need it")  # fmt: skip


def result(name: str, meaning: str, made_by: str, check: Check, *, expected: Expected = never, remedy: str = _ADVANCE) -> Stored:
    """Declare a file of `results/` of a campaign, which follows from its log."""
    return Stored((f"{_CAMPAIGN}/results/{name}",), meaning, made_by, check, remedy, expected=expected)


def result_table(spec: TableSpec, meaning: str, made_by: str, *, later: Iterable[str] = (), refreshes: bool = False) -> Stored:
    """Declare a table of `results/`. `later`: files that are written after it; `refreshes`: a row for each refresh."""
    check: Check = checks.history(spec) if refreshes else checks.table(spec)
    expected = Beside(tuple(f"{_CAMPAIGN}/results/{name}" for name in later))
    return result(f"{spec.name}.parquet", meaning, made_by, check, expected=expected)


WORKSPACE = (
    Stored(("workspace.toml",), "format, version, identity; written last, so a folder without it is no workspace",
           "`cccount init`, `cccount upgrade`", checks.identity, _BACKUP, rebuilt=False, expected=always),
    Stored((".init",), "there while `cccount init` is under way", "`cccount init`", checks.empty, "nothing needs it"),
    Stored(("collection.parquet",), f"the items: {', '.join(COLLECTION.schema.names)}", "`cccount init`", checks.collection,
           "restore the file from a copy, or make the workspace again with `cccount init`", rebuilt=False, expected=always),
    *(_array(spec) for spec in ARRAYS),
    _group("neighbors.zarr/zarr.json", "campaigns/zarr.json"),
    Stored(("projection.npz",), "the map of the collection, or principal components, by which embeddings.zarr was made",
           "`cccount embed`", checks.arrays_file, "run `cccount embed` again", expected=_is_projected),
    Stored(("gold.parquet",), "pairs whose answer is known, for checking people", "`cccount gold import`", checks.gold,
           "delete it and import the gold pairs again (`cccount gold import`)", rebuilt=False),
    Stored(("annotators.json",), "who may answer: names and salted hashes of their tokens", "`cccount annotators add`",
           checks.tokens, TOKENS_REPAIR, rebuilt=False),
    Stored((f"{INDIVIDUALS_FOLDER}/{IDENTITIES.name}.parquet",), "the pictures behind the number of every individual",
           "`cccount individuals`, the page", checks.table(IDENTITIES), _BACKUP, rebuilt=False),
    Stored((f"{NAMES}/{{number}}.json",), "names and notes of individuals: a journal, one file for an entry",
           "`cccount individuals name`, the page", names_check, _BACKUP, rebuilt=False),
    Stored((f"{INDIVIDUALS_FOLDER}/{KNOWN_PICTURES.name}.parquet",), "which pictures show whom, by catalogues brought in",
           "`cccount catalogue import`", checks.table(KNOWN_PICTURES), "import the catalogue again", rebuilt=False),
    Stored((f"{INDIVIDUALS_FOLDER}/{KNOWN_PAIRS.name}.parquet",), "what is known about pairs of pictures from the start",
           "`cccount catalogue import`", checks.table(KNOWN_PAIRS), "import the catalogue again", rebuilt=False),
    Stored(("backups/{step}/{path}",), "files as they were before an upgrade changed them; may be deleted when all is well",
           "`cccount upgrade`", checks.kept, "nothing needs it"),
)  # fmt: skip

CAMPAIGN = (
    Stored((f"{_CAMPAIGN}/campaign.toml",), "method, seed, level, fingerprints of the inputs: frozen at the start",
           "`cccount count`, `cluster`, …", checks.settings, _BACKUP, rebuilt=False, expected=_has_begun),
    Stored((f"{_CAMPAIGN}/goal.toml",), "budget, target width, who answers: may grow", "`cccount count`, `cluster`, …",
           checks.goal, f"{_BACKUP}, or give the goal again with the command that started the campaign", rebuilt=False,
           expected=Beside((f"{_CAMPAIGN}/campaign.toml",))),
    Stored((f"{_CAMPAIGN}/epochs/{{number}}.toml",), "where another sampler took over, and why: created once",
           "`cccount advance`", checks.epoch, _BACKUP, rebuilt=False),
    Stored((f"{_CAMPAIGN}/questions/part-{{number}}.parquet", f"{_CAMPAIGN}/questions/part-{{number}}-{{last}}.parquet",
            f"{_CAMPAIGN}/answers/part-{{number}}.parquet", f"{_CAMPAIGN}/answers/part-{{number}}-{{last}}.parquet"),
           "the log: what was asked and what people said; append-only", "every step, the review page, `cccount answers import`",
           checks.log, PART_REPAIR, rebuilt=False),
    Stored(_database(JOURNAL),
           "single answers that are durable and not yet in a part", "the review page", checks.journal, JOURNAL_REPAIR,
           rebuilt=False),
    Stored(_database(HANDOUTS),
           "which sheets are in whose hands", "the review page", checks.handouts, "sheets are handed out again"),
    Stored((f"{_CAMPAIGN}/lease.json",), "who advances the campaign, and the fencing number", "every step", checks.lease,
           LEASE_REPAIR, rebuilt=False),
    Stored((f"{_CAMPAIGN}/{FOLDER}/{{name}}.json",),
           "where a sampler stands, what it prepared, what the last step came to: saves a replay", "every step",
           check_document, _AGAIN),
    Stored((f"{_CAMPAIGN}/{FOLDER}/data/{{digest}}.bin",), "arrays of it, named by their digest", "every step", check_blob,
           _AGAIN),
    result("finished.json", "what the campaign said when it was finished: it says so until it gets a larger goal",
           "`cccount advance`", checks.json_object),
    _group(f"{_CAMPAIGN}/zarr.json"),
)  # fmt: skip

RESULTS_OF = {  # by kind of campaign
    "count": (
        result_table(ESTIMATES, "a row for each refresh of a count", "`cccount count`", later=("count.json",), refreshes=True),
        result_table(SEEN, "which items a count saw together, if it places them", "`cccount count`"),
        result("count.json", "what the report of a count shows beside the estimates", "`cccount count`", checks.json_object),
    ),
    "cluster": (
        result_table(GROUPINGS, "a row for each refresh of a grouping", "`cccount cluster`", later=("labels.parquet",),
                     refreshes=True),
        result_table(LABELS, "the cluster of every item", "`cccount cluster`", later=("next.parquet",)),
        result_table(NEXT, "what would be asked now", "`cccount cluster`"),
        Stored((f"{_CAMPAIGN}/consensus.npz",), "the k-means runs of Active-HACC", "`cccount cluster --method hacc`",
               checks.arrays_file, "the next step computes it again"),
    ),
    "subcluster": (
        result_table(SUBCLUSTERINGS, "a row for each refresh of a subclustering", "`cccount subcluster`",
                     later=("subclusters.parquet",), refreshes=True),
        result_table(SUBCLUSTERS, "the items of every subcluster", "`cccount subcluster`"),
        _array(candidates("{campaign}"), candidates),
        result("browse.html", "all subclusters on one page", "`cccount browse`", checks.page,
               remedy="`cccount browse --campaign {campaign}` writes it again"),
    ),
}  # fmt: skip

PAGES = (
    result(f"{INDIVIDUALS.name}.parquet", "the individuals: name, key picture, encounters, when, where, how sure",
           "`cccount individuals`", checks.table(INDIVIDUALS),
           remedy="`cccount individuals --campaign {campaign}` writes it again"),
    result("sides.json", "the count for each side, and for animals", "`cccount count`, `cccount cluster`", checks.json_object),
    result("report.html", "the report of a count or a grouping", "`cccount report`, every step", checks.page,
           remedy="`cccount report --campaign {campaign}` writes it again"),
)  # fmt: skip

DISPOSABLE = (
    Stored((".cache/pictures/{name}",), "pictures as the review page shows them, on each host; the oldest go at 1 GiB",
           "the review page", checks.picture_cache, "it is made again"),
    Stored((".cache/{name}.npy",), "rows of arrays for fast reading, on each host; never the truth", "whoever reads rows",
           checks.row_cache, "it is built again"),
    Stored((".scratch/{pass}/{path}",), "partial results of a stage that is under way or was killed", "`cccount neighbors`",
           checks.partial, "the same command computes it again"),
    Stored((".scratch/neighbors.json",), "in an object store: who is at work on the neighbours", "`cccount neighbors`",
           checks.lease, "the next `cccount neighbors` writes it"),
)  # fmt: skip

register(*WORKSPACE, *CAMPAIGN)
for _kind in RESULTS_OF.values():
    register(*_kind)
register(*PAGES, *DISPOSABLE)


def problems(
    objects: Objects, *, cache: Path | None = None, state: Path | None = None, checked: Callable[[], None] | None = None
) -> Iterator[Problem]:
    """Check everything that is stored, and report every key that nobody declared. Nothing is raised for damage.

    `cache` and `state` are the folders of this host that belong to the workspace and lie outside of it.
    """
    place = Place(objects, frozenset(objects.keys("")), checked=checked or (lambda: None))
    found: set[Problem] = set()  # two checks may see the same: it is said once
    for problem in itertools.chain(_walk(place, state or Path(objects.location)), _on_host(place, state, cache)):
        if problem not in found:
            found.add(problem)
            yield problem
    named = {problem.path for problem in found}
    yield from (problem for problem in _strangers(place) if problem.path not in named)


def _walk(place: Place, state: Path) -> Iterator[Problem]:
    there = _sorted_out(place)
    campaigns = sorted({campaign for _, campaign in there} - {""})
    for number, stored in enumerate(STORED):
        for campaign in campaigns if stored.of_campaign else [""]:
            journal = state / "campaigns" / campaign / JOURNAL
            here = replace(place, campaign=campaign, journal=journal if journal.is_file() else None)
            yield from stored.missing(here)
            keys = there.get((number, campaign), [])
            odd = [stored.problem(here, key, why) for key in keys if (why := _no_file(place, key)) is not None]
            yield from odd
            if keys and not odd:
                yield from stored.check(here, stored, keys)


def _no_file(place: Place, key: str) -> str | None:
    """Why what is there is no file: a pipe, a device, a link to nowhere. In an object store there are only objects."""
    if place.objects.locks_can_break:
        return None
    path = f"{place.objects.location}/{key}"
    if key.endswith(BESIDE_SQLITE) and not os.path.lexists(path):  # a server has just closed its database
        return None
    return unusable(path)


def _on_host(place: Place, state: Path | None, cache: Path | None) -> Iterator[Problem]:
    """Check what belongs to the workspace and lies elsewhere on this host; there nothing is missing, and nothing strange."""
    for folder, prefix in ((state, ""), (cache, ".cache/")):
        if folder is None or not folder.is_dir():
            continue
        objects = LocalObjects(folder)
        host = replace(place, objects=objects, keys=frozenset(objects.keys("")))
        for (number, campaign), keys in sorted(_sorted_out(host, prefix).items()):
            yield from STORED[number].check(replace(host, campaign=campaign), STORED[number], keys)


def _sorted_out(place: Place, prefix: str = "") -> dict[tuple[int, str], list[str]]:
    """Return the keys that are there, by the number of their declaration and the campaign."""
    there: dict[tuple[int, str], list[str]] = {}
    numbers = {id(stored): number for number, stored in enumerate(STORED)}
    for key in sorted(place.keys):
        for match in declared(prefix + key)[:1]:
            there.setdefault((numbers[id(match.stored)], match.names.get("campaign", "")), []).append(key)
    return there


def _strangers(place: Place) -> Iterator[Problem]:
    """Report what nobody declared. A folder that holds nothing else is named once, however much is in it."""
    strange = [key for key in sorted(place.keys) if not declared(key) and not _FOREIGN.fullmatch(key.rpartition("/")[2])]
    pictures = _pictures(place) if strange else set()
    known = {str(folder) for key in place.keys - set(strange) | pictures for folder in PurePosixPath(key).parents}
    count: Counter[str] = Counter()
    for key in (key for key in strange if key not in pictures):
        above = [str(folder) for folder in reversed(PurePosixPath(key).parents)]
        count[next((folder for folder in above if folder not in known), key)] += 1
    for name, files in count.items():
        what = (
            "cccount does not know this file"
            if name in place.keys
            else f"cccount does not know this folder, and what is in it ({files} files)"
        )
        yield Problem(place.where(name), what, "move it away or delete it")


def _pictures(place: Place) -> set[str]:
    """Return the keys of images that the collection names: a user may keep them inside the workspace."""
    top = place.objects.location if place.objects.locks_can_break else str(Path(place.objects.location).resolve())
    try:
        uris = parquet.from_bytes(place.objects.read("collection.parquet")).column("uri").to_pylist()
    except damage():  # it is damaged, which its own check says
        return set()
    inside = [uri.removeprefix(f"{top}/") for uri in uris if uri is not None and uri.startswith(f"{top}/")]
    return {name for uri in inside for name in (uri, uri.rpartition("#")[0]) if name}


def as_table() -> str:
    """Return the table of everything declared, for `docs/reference/workspace.md`."""
    lines = ["| key | what it is | written by | comes back |", "|---|---|---|---|"]
    for stored in STORED:
        keys = "<br>".join(f"`{pattern}`" for pattern in stored.patterns)
        lines.append(f"| {keys} | {stored.meaning} | {stored.made_by} | {'made again' if stored.rebuilt else 'from a backup'} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    import sys

    sys.stdout.write(as_table())


__all__ = [
    "BESIDE_SQLITE",
    "CAMPAIGN",
    "DISPOSABLE",
    "PAGES",
    "RESULTS_OF",
    "WORKSPACE",
    "as_table",
    "problems",
    "result",
    "result_table",
]
