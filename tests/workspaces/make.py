"""Makes the workspaces of a release, to be kept as fixtures: `tests/workspaces/<version>/`.

    git worktree add /tmp/old 493ba61
    .venv/bin/python tests/workspaces/make.py /tmp/old

It knows a release only by its command line, its review server and the files that are promised to others, so that the same script
makes those of the next one. Workspaces are made in /tmp/ws, pictures in /tmp/photos: nothing else of this machine gets into them.
Then the release itself goes on with a copy, and what it says is written down (`expected.json`; the logs are in the archive).
It takes some minutes. Fixtures of a release are made once and never again: they are what its users have.
"""

import argparse
import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from PIL import Image
from sklearn.datasets import load_digits

HERE = Path(__file__).parent
PLACE, PHOTOS = Path("/tmp/ws"), Path("/tmp/photos")
CLOCKS = {"asked_at", "answered_at", "refreshed_at", "epoch"}  # an epoch is said with its time
PATHS = ("report", "labels", "file")  # fields of the JSON that say where a file is
Json = dict[str, Any]


class Release:
    """The command of a checkout."""

    def __init__(self, checkout: Path) -> None:
        plain = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "CCCOUNT_"))}
        self.environment = {**plain, "PYTHONPATH": str(checkout.resolve()), "DO_NOT_TRACK": "1"}

    def start(self, *arguments: object, **more: Any) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "flows", *map(str, arguments), "--json"]
        return subprocess.Popen(command, cwd=PLACE, env=self.environment, stdout=subprocess.PIPE, text=True, **more)

    def __call__(self, *arguments: object, may_fail: bool = False) -> Json:
        """Run a command to its end and return its JSON."""
        process = self.start(*arguments, stderr=subprocess.PIPE)
        out, err = process.communicate()
        if process.returncode and not may_fail:
            raise SystemExit(f"{' '.join(map(str, arguments))}: {err.strip()}")
        sys.stderr.write(f"{' '.join(map(str, arguments))}\n")
        found: Json = json.loads(out)
        return found


def digits(items: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Digits in 16 dimensions."""
    data = load_digits()
    pooled = data.images[:items].reshape(items, 4, 2, 4, 2).mean(axis=(2, 4)).reshape(items, 16)
    return pooled.astype(np.float32), data.target[:items]


def vectors(cccount: Release, name: str, items: int, *neighbors: object) -> tuple[Path, NDArray[np.int64]]:
    """A workspace of vectors with neighbours, and its labels."""
    x, y = digits(items)
    np.savez(PLACE / f"{name}.npz", x=x, y=y)
    cccount("init", PLACE / name, "--embeddings", PLACE / f"{name}.npz")
    cccount("neighbors", PLACE / name, "--k", 10, "--workers", 1, *neighbors)
    return PLACE / name, y


def kill_between_writes(cccount: Release, place: Path, name: str, *arguments: object) -> None:
    """Kill a command with a simulated oracle when questions of a later step are written, and their answers are not."""
    folder = place / "campaigns" / name

    def parts(what: str) -> int:
        try:
            return sum(one.name.startswith("part-") for one in os.scandir(folder / what))
        except FileNotFoundError:
            return 0

    for _ in range(40):
        shutil.rmtree(folder, ignore_errors=True)
        process = cccount.start(*arguments, "--campaign", name, stderr=subprocess.DEVNULL)
        while process.poll() is None:
            if (asked := parts("questions")) > 1 and asked > parts("answers"):
                process.kill()
                break
        process.communicate()
        if parts("questions") > parts("answers"):
            return
    raise SystemExit(f"{name}: it was never hit between its two writes")


# -- what lies in them ------------------------------------------------------------------------------------------------------


def make_counts(cccount: Release) -> None:
    """Every counting method, with labels."""
    place, _ = vectors(cccount, "counts", 100)
    labelled = ("--oracle", "labels")
    for method in ("placing", "nis", "nested-mc", "nis-released", "nested-mc-released", "inverse", "pckmeans-random"):
        cccount("count", place, "--campaign", method, "--method", method, "--budget", 60, *labelled, "--seed", 3)
    parameters = ("--parameter", "clusters=12")
    cccount(
        "count", place, "--campaign", "pckmeans-explore", "--method", "pckmeans-explore", "--budget", 60, *labelled, *parameters
    )
    cccount("count", place, "--campaign", "errors", "--budget", 60, *labelled, "--error-rate", 0.05, "--level", 0.9)
    cccount("count", place, "--campaign", "pages", "--budget", 60, *labelled, "--grid", 6, "--search", "full")
    cccount("count", place, "--campaign", "target", "--budget", 90, *labelled, "--target-width", 0.4)
    kill_between_writes(cccount, place, "killed", "count", place, "--budget", 110, *labelled, "--seed", 5)
    cccount("report", place, "--campaign", "placing")
    cccount("report", place, "--campaign", "nis")


def make_groups(cccount: Release) -> None:
    """Every grouping method, and ratings, with labels; Euclidean neighbours."""
    place, _ = vectors(cccount, "groups", 80, "--metric", "euclidean")
    labelled = ("--oracle", "labels")
    for method in ("evidence", "apc"):
        cccount("cluster", place, "--campaign", method, "--method", method, "--budget", 40, *labelled)
    cccount("cluster", place, "--campaign", "hacc", "--method", "hacc", "--clusters", 10, "--budget", 40, *labelled)
    for method in ("iu-red", "iu-red-pure", "s-and-t", "s-and-t-pure", "random-ratings"):
        cccount("cluster", place, "--campaign", method, "--method", method, "--clusters", 2, "--budget", 40, *labelled)
    prior = ("--method", "iu-red", "--clusters", 4, "--prior", 0.2, "--repeats", 2, "--budget", 40)
    cccount("cluster", place, "--campaign", "prior", *prior, "--oracle", "similarity", "--error-rate", 0.05)
    cccount("count", place, "--campaign", "count", "--budget", 60, *labelled)
    cccount("count", place, "--campaign", "count-nis", "--method", "nis", "--budget", 60, *labelled)
    kill_between_writes(cccount, place, "killed", "cluster", place, "--budget", 80, *labelled, "--seed", 5)
    for campaign in ("evidence", "iu-red"):
        cccount("report", place, "--campaign", campaign)


def make_subclusters(cccount: Release) -> None:
    """Subclusters with labels, from random and from chosen centroids."""
    place, _ = vectors(cccount, "subclusters", 80)
    labelled = ("--budget", 40, "--oracle", "labels")
    cccount("subcluster", place, "--clusters", 10, "--size", 3, *labelled)
    pam = ("--clusters", 6, "--size", 3, "--start", "pam", "--error-rate", 0.05)
    cccount("subcluster", place, "--campaign", "pam", *pam, *labelled)
    cccount("browse", place, "--campaign", "subcluster")


def make_pictures(cccount: Release) -> None:
    """Pictures that were embedded and made shorter, one of them unreadable; correlation."""
    place, data = PLACE / "pictures", load_digits()
    shutil.rmtree(PHOTOS, ignore_errors=True)
    PHOTOS.mkdir()
    with (PLACE / "pictures.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["path", "species"])
        for number in range(40):
            picture = Image.fromarray((data.images[number] * 15.9).astype(np.uint8)).resize((32, 32))
            picture.save(PHOTOS / f"{number:02}.png")
            writer.writerow([f"{number:02}.png", data.target[number]])
    (PHOTOS / "07.png").write_bytes(b"no picture")
    cccount("init", place, "--manifest", PLACE / "pictures.csv", "--images", PHOTOS, "--labels", "species")
    cccount("embed", place, "--encoder", "hog", "--components", 8, "--workers", 1)
    cccount("neighbors", place, "--k", 8, "--metric", "correlation", "--workers", 1)
    cccount("count", place, "--budget", 50, "--oracle", "labels")
    cccount("cluster", place, "--budget", 40, "--oracle", "labels")
    cccount("subcluster", place, "--clusters", 8, "--size", 2, "--budget", 30, "--oracle", "labels")
    cccount("report", place, "--campaign", "count")
    cccount("browse", place, "--campaign", "subcluster")


def make_grown(cccount: Release) -> None:
    """One campaign of each kind and each main method, and a collection that grew: one went on in an epoch, the others will."""
    place, _ = vectors(cccount, "grown", 60)
    labelled = ("--budget", 40, "--oracle", "labels")
    for method in ("placing", "nis"):
        cccount("count", place, "--campaign", method, "--method", method, *labelled)
    for method, more in (("evidence", ()), ("apc", ()), ("hacc", ("--clusters", 10)), ("iu-red", ("--clusters", 2))):
        cccount("cluster", place, "--campaign", method, "--method", method, *labelled, *more)
    cccount("subcluster", place, "--clusters", 10, "--size", 2, *labelled)
    kill_between_writes(cccount, place, "killed", "cluster", place, "--budget", 80, "--oracle", "labels", "--seed", 5)
    x, y = digits(72)
    np.savez(PLACE / "more.npz", x=x[60:], y=y[60:])
    cccount("extend", place, "--embeddings", PLACE / "more.npz", "--prefix", "more/", "--yes")
    cccount("neighbors", place, "--k", 10, "--workers", 1, "--yes")
    cccount("count", place, "--campaign", "placing", "--budget", 60, "--oracle", "labels")
    assert "epoch 2" in next(one for one in cccount("status", place)["campaigns"] if one["campaign"] == "placing")["epoch"]


def make_sheets(cccount: Release) -> None:
    """Sheets (`catalogue`): by labels, killed, and by two people with undo, flag and gold; then the collection grew."""
    place, labels = vectors(cccount, "sheets", 80)
    catalogue = ("cluster", place, "--method", "catalogue")
    cccount(*catalogue, "--campaign", "labels", "--budget", 60, "--oracle", "labels")
    cccount(*catalogue, "--campaign", "grown", "--budget", 40, "--oracle", "labels", "--seed", 2)
    kill_between_writes(cccount, place, "killed", *catalogue, "--budget", 120, "--oracle", "labels", "--seed", 5)
    cccount(*catalogue, "--campaign", "people", "--budget", 120)
    tokens = {name: cccount("annotators", "add", place, name)["token"] for name in ("ana", "ben")}
    with serving(cccount, place, signal.SIGINT) as url:
        people = [Person(url, name, token, labels) for name, token in tokens.items()]
        for _ in range(3):
            for person in people:
                person.answer("people", 2)
            cccount("advance", place, "--campaign", "people")
        people[0].take_back("people")
        people[1].flag("people", 5)
    cccount("advance", place, "--campaign", "people")
    x, y = digits(90)
    np.savez(PLACE / "sheets-more.npz", x=x[80:], y=y[80:])
    cccount("extend", place, "--embeddings", PLACE / "sheets-more.npz", "--prefix", "more/", "--yes")
    cccount("neighbors", place, "--k", 10, "--workers", 1, "--yes")
    cccount(*catalogue, "--campaign", "grown", "--budget", 60, "--oracle", "labels", "--seed", 2)
    cccount("report", place)
    log = rows_of(place, "people", "answers")
    assert any(row["undoes"] for row in log)
    assert {"people", "flag"} <= {row["source"] for row in log}
    assert all(row["kind"] == "sheet" for row in rows_of(place, "people", "questions"))


# Budgets are such that a step asks what is left of them: beyond 16 questions it matters how fast people answered lately.
PEOPLE: dict[str, tuple[object, ...]] = {
    "pairs": ("count", "--budget", 80),
    "pages": ("count", "--budget", 80, "--grid", 6),
    "votes": ("cluster", "--budget", 30, "--overlap", 2),
    "doubtful": ("cluster", "--budget", 60, "--method", "apc"),
    "ratings": ("cluster", "--budget", 36, "--method", "iu-red", "--clusters", 3),
    "classes": ("subcluster", "--budget", 36, "--clusters", 6, "--size", 3),
}
ANSWERED = {"pairs": 40, "pages": 60, "votes": 40, "doubtful": 50, "ratings": 26, "classes": 26}  # about so many in all


def make_people(cccount: Release) -> None:
    """Two people at the page: votes, gold, repeats, undo, flags, contradictions, files, adopted answers, an open journal."""
    place, labels = vectors(cccount, "people", 72)
    with (PLACE / "gold.csv").open("w") as file:
        pairs = [(u, v) for u in range(40, 72) for v in range(u + 1, 72)][::13]
        file.write("u,v,value\n" + "".join(f"{u},{v},{int(labels[u] == labels[v])}\n" for u, v in pairs))
    cccount("gold", "import", place, "--file", PLACE / "gold.csv")
    tokens = {name: cccount("annotators", "add", place, name)["token"] for name in ("ana", "ben")}
    for campaign, (kind, *options) in PEOPLE.items():
        cccount(kind, place, "--campaign", campaign, *options)
    with serving(cccount, place, signal.SIGINT) as url:
        people = [Person(url, name, token, labels) for name, token in tokens.items()]
        for _ in range(3):
            for campaign in PEOPLE:
                for person in people:
                    person.answer(campaign, ANSWERED[campaign] // 6)
                cccount("advance", place, "--campaign", campaign)
        for campaign in PEOPLE:
            people[0].take_back(campaign)
        people[1].flag("pairs", 5)
        people[0].flag("votes", 9)
    for campaign in PEOPLE:
        cccount("advance", place, "--campaign", campaign)
    cccount("count", place, "--campaign", "adopting", "--method", "nis", "--budget", 70)
    cccount("answers", "import", place, "--campaign", "adopting", "--file", filled(cccount, place, "adopting", labels, most=20))
    cccount("advance", place, "--campaign", "adopting")
    cccount("report", place)
    with serving(cccount, place, signal.SIGKILL) as url:
        for name, token in tokens.items():
            Person(url, name, token, labels, begins=1000).answer("pairs", 4)
    log = rows_of(place, "pairs", "answers") + rows_of(place, "votes", "answers")
    assert any(row["undoes"] for row in log)
    for source in ("people", "gold", "repeat", "flag", "inferred"):
        if not any(row["source"].startswith(source) for row in log):
            raise SystemExit(f"nobody gave an answer of the source {source}")
    assert any(row["source"].startswith("campaign ") for row in rows_of(place, "adopting", "answers"))
    assert any(row["contradictions"] for row in cccount("status", place)["campaigns"])


@contextmanager
def serving(cccount: Release, place: Path, end: signal.Signals) -> Iterator[str]:
    """The review server, and how it ends."""
    process = cccount.start("review", place, "--port", 0, "--no-advance", "--gold", 0.2, "--repeats", 0.2)
    assert process.stdout is not None
    try:
        yield json.loads(process.stdout.readline())["url"]
    finally:
        process.send_signal(end)
        process.communicate(timeout=90)


class Person:
    """Somebody at the page, who errs now and then."""

    def __init__(self, url: str, name: str, token: str, labels: NDArray[np.int64], begins: int = 0) -> None:
        self.name, self.labels, self.given = name, labels, begins
        self.client = httpx.Client(base_url=url, timeout=60.0)
        self.client.post("/api/login", json={"token": token}).raise_for_status()

    def answer(self, campaign: str, sheets: int) -> None:
        for sheet in self._get(campaign, f"sheets?count={max(1, sheets)}")["sheets"]:
            body = [self._answer(sheet, candidate) for candidate in sheet["candidates"]]
            receipt = self._post(campaign, "answers", body)
            assert not receipt["rejected"], receipt

    def take_back(self, campaign: str) -> None:
        entry = self._get(campaign, "recent")["entries"][-1]
        self._post(campaign, "undo", {"id": self._id(), "answer_id": entry["answers"][-1]["id"]})

    def flag(self, campaign: str, item: int) -> None:
        self._post(campaign, "flag", {"id": self._id(), "item": item, "reason": "blurred"})

    def _answer(self, sheet: Json, candidate: Json) -> Json:
        same = bool(self.labels[sheet["anchor"]["item"]] == self.labels[candidate["item"]["item"]])
        name = self._id()
        wrong = self.given % (9 if self.name == "ana" else 6) == 0
        value = None if self.given % 17 == 0 else float(same != wrong)
        if sheet["kind"] == "rating" and value is not None:
            value = 0.15 + 0.7 * value
        return {"id": name, "question_id": candidate["question_id"], "value": value, "seconds": 3.0}

    def _id(self) -> str:
        self.given += 1
        return f"{self.name}-{self.given:06}"

    def _get(self, campaign: str, what: str) -> Json:
        found: Json = self.client.get(f"/api/{campaign}/{what}").raise_for_status().json()
        return found

    def _post(self, campaign: str, what: str, body: object) -> Json:
        found: Json = self.client.post(f"/api/{campaign}/{what}", json=body).raise_for_status().json()
        return found


def filled(cccount: Release, place: Path, campaign: str, labels: NDArray[np.int64], most: int | None = None) -> Path:
    """The file of a campaign's open questions, with answers to the first of them."""
    path = PLACE / f"{campaign}.csv"
    path.unlink(missing_ok=True)
    cccount("answers", "export", place, "--campaign", campaign, "--file", path)
    with path.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if not row["answer_id"]]
    for row in rows[:most]:
        same = labels[int(row["u"])] == labels[int(row["v"])]
        rating = "0.85" if same else "0.15"
        row["value"] = rating if row["kind"] == "rating" else "same" if same else "different"
        row |= {"annotator": "cleo", "answer_id": f"file-{campaign}-{row['question_id']}"}
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]) if rows else ["question_id"])
        writer.writeheader()
        writer.writerows(rows[:most])
    return path


# -- what the release says of them ----------------------------------------------------------------------------------------------


def rows_of(place: Path, campaign: str, what: str) -> list[Json]:
    """The log of a campaign without what the clock says."""
    files = sorted((place / "campaigns" / campaign / what).glob("part-*.parquet"))
    rows: list[Json] = pa.concat_tables([pq.read_table(file) for file in files]).to_pylist() if files else []
    return [{name: value for name, value in row.items() if name not in CLOCKS} for row in rows]


def results_of(place: Path, campaign: str) -> Json:
    """The labels and subclusters as they are, and of what has a row for each refresh the last row."""
    found: Json = {}
    for file in sorted((place / "campaigns" / campaign / "results").glob("*.parquet")):
        table = pq.read_table(file)
        table = table.drop_columns([name for name in table.column_names if name in CLOCKS])
        refreshed = file.stem in ("estimates", "groupings", "subclusterings")
        found[file.stem] = table.slice(table.num_rows - 1).to_pylist() if refreshed else table.to_pydict()
    return found


def said(found: Json) -> Json:
    """What a command printed, without paths and times."""
    return {name: value for name, value in found.items() if name not in CLOCKS.union(PATHS)}


def going_on(cccount: Release, place: Path, after: Path) -> Json:
    """Have the release go on with the workspace: what it says goes back, the logs and the files it was given go to `after`."""
    campaigns: Json = {}
    for standing in cccount("status", place)["campaigns"]:
        name = standing["campaign"]
        campaigns[name] = {
            "kind": tomllib.loads((place / "campaigns" / name / "campaign.toml").read_text())["kind"],
            "goal": tomllib.loads((place / "campaigns" / name / "goal.toml").read_text()),
            "status": {field: value for field, value in standing.items() if field != "hindrance"},  # which names a path
            "results": results_of(place, name),
        }
    for name, expected in campaigns.items():
        expected["advance"] = said(cccount("advance", place, "--campaign", name))
        keep(place, name, after / "advanced", expected)
    labels = np.array(pq.read_table(place / "collection.parquet").column("label").to_pylist())
    for name, expected in campaigns.items():
        goal = expected["goal"]
        if goal["oracle"] == "people":
            shutil.copy(filled(cccount, place, name, labels), after / f"{name}.csv")
            imported = cccount("answers", "import", place, "--campaign", name, "--file", after / f"{name}.csv")
            assert not imported["rejected"], imported
            expected["further"] = said(cccount("advance", place, "--campaign", name))
        else:
            more = ("--budget", goal["budget"] + 40, "--oracle", goal["oracle"], "--error-rate", goal.get("error_rate", 0.0))
            expected["further"] = said(cccount(expected["kind"], place, "--campaign", name, *more))
        keep(place, name, after / "further", expected)
        expected["results_further"] = results_of(place, name)
    return campaigns


def keep(place: Path, campaign: str, folder: Path, expected: Json) -> None:
    """Write down the log of a campaign, and in `expected` how long it is and where it begins and ends."""
    folder.mkdir(exist_ok=True)
    log = {what: rows_of(place, campaign, what) for what in ("questions", "answers")}
    (folder / f"{campaign}.json").write_text(json.dumps(log))
    asked = log["questions"]
    expected[f"log_{folder.name}"] = {what: len(rows) for what, rows in log.items()} | {"first": asked[:1], "last": asked[-1:]}


def in_lines(expected: Json) -> str:
    """JSON with a line for each thing that was said of a campaign: a change is seen where it is."""
    campaigns = (
        f" {json.dumps(name)}: {{\n" + ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in one.items()) + "}"
        for name, one in expected["campaigns"].items()
    )
    rest = "".join(f"{json.dumps(key)}: {json.dumps(value)},\n" for key, value in expected.items() if key != "campaigns")
    return "{" + rest + '"campaigns": {\n' + ",\n".join(campaigns) + "}}\n"


def pack(folder: Path, archive: Path) -> None:
    """One archive that says nothing of when and by whom it was packed."""

    def nobody(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname = 0, 0, 0, "", ""
        entry.mode = 0o755 if entry.isdir() else 0o644
        return entry

    with tarfile.open(archive, "w:xz", format=tarfile.PAX_FORMAT, preset=9) as tar:
        for file in sorted(folder.rglob("*")):
            tar.add(file, str(file.relative_to(folder)), recursive=False, filter=nobody)


def check_private(folder: Path, checkout: Path) -> None:
    """No path of this machine may get into a fixture, but for those that were chosen for it."""
    for secret in (str(checkout.resolve()), str(Path.home()), str(HERE.parent.parent), sys.prefix):
        for file in folder.rglob("*"):
            if len(secret) > 4 and file.is_file() and secret.encode() in file.read_bytes():
                raise SystemExit(f"{file} names {secret}")


def keep_one_snapshot(workspace: Path) -> None:
    """Snapshots would be most of the archive, and are never the truth: the smallest one is kept, to be an old one later."""
    folders = list(workspace.glob("campaigns/*/snapshot"))
    for folder in sorted(folders, key=lambda one: sum(file.stat().st_size for file in one.rglob("*")))[1:]:
        shutil.rmtree(folder)


WORKSPACES = {
    "counts": make_counts,
    "groups": make_groups,
    "subclusters": make_subclusters,
    "pictures": make_pictures,
    "people": make_people,
    "grown": make_grown,  # since 0.2.0
    "sheets": make_sheets,  # since 0.2.0
}


def store(cccount: Release, name: str, checkout: Path) -> None:
    """Have the release go on with a copy of the workspace, and put it away with what the release said."""
    staged, copy = PLACE / f"{name}.staged", PLACE / f"{name}.copy"
    for folder in (staged, copy):
        shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(PLACE / name, staged / "workspace")
    (staged / "after").mkdir()
    shutil.copytree(PLACE / name, copy)
    # Releases may call what a killed step left a problem, until the next step has recovered it.
    verified = cccount("verify", copy, may_fail=True)["ok"]
    campaigns = going_on(cccount, copy, staged / "after")
    assert cccount("verify", copy)["ok"]
    keep_one_snapshot(staged / "workspace")
    check_private(staged, checkout)
    into = HERE / tomllib.loads((PLACE / name / "workspace.toml").read_text())["cccount"]
    into.mkdir(exist_ok=True)
    pack(staged, into / f"{name}.tar.xz")
    said_of = {"holds": WORKSPACES[name].__doc__, "verify": verified, "campaigns": campaigns}
    (into / f"{name}.json").write_text(in_lines(said_of))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path, help="a worktree of the release")
    parser.add_argument("names", nargs="*", default=[], help=f"which ones, of {', '.join(WORKSPACES)}; default: all")
    parser.add_argument("--made", action="store_true", help=f"they lie in {PLACE} already: go on with them")
    given = parser.parse_args()
    cccount = Release(given.checkout)
    PLACE.mkdir(exist_ok=True)
    for name in given.names or WORKSPACES:
        if not given.made:
            shutil.rmtree(PLACE / name, ignore_errors=True)
            WORKSPACES[name](cccount)
        store(cccount, name, given.checkout)


if __name__ == "__main__":
    main()
