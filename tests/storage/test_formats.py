"""Numbers of formats: who carries one, who is refused, and a column that is added later breaks nothing."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from storage import chain, formats, inventory, layout
from storage.campaigns import CampaignFolder
from storage.collection import collection_table
from storage.errors import CorruptionError, FormatError
from storage.formats import Format
from storage.journal import JOURNAL, Journal
from storage.objects import LocalObjects
from storage.parts import decode_part, encode_part
from storage.querylog import QueryLog
from storage.schema import CHAINED, EMBEDDINGS, QUESTIONS
from storage.settings import Goal, Settings
from storage.version import __version__
from storage.workspace import Workspace
from tests.laterversion import later
from tests.storage.rows import answers, ids, numbered, questions
from tests.storage.workers import PREFIX

SETTINGS = Settings("count", "nis", 1, 0.95, "cosine", 3, "2026-01-01", "0.1.0", {}, {})
ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def log(tmp_path: Path) -> QueryLog:
    return QueryLog(LocalObjects(tmp_path), PREFIX)


@pytest.fixture
def folder(tmp_path: Path) -> CampaignFolder:
    """A campaign with questions, answers, a journal and an array."""
    workspace = Workspace.create(tmp_path / "ws", collection_table(["a", "b", "c"]))
    array = workspace.create_array(EMBEDDINGS, (3, 2), attributes={"encoder": "given"})
    array.write_shard(0, np.ones((3, 2), np.float32))
    folder = CampaignFolder(workspace, "census")
    folder.create(SETTINGS, Goal(10, "people"))
    folder.log.append_questions(questions(0, 3))
    folder.log.append_answers(numbered(0, 2))
    with folder.journal() as journal:
        journal.record(numbered(2, 3))
    return folder


def again(log: QueryLog) -> QueryLog:
    return QueryLog(log.objects, log.prefix)


def test_the_registry_is_whole() -> None:
    assert set(chain.COVERED) == set(formats.CHAIN.since)
    for one in formats.FORMATS.values():
        assert one.present in one.since
        oldest = min([*one.migrations, one.present])
        assert set(range(oldest, one.present)) <= set(one.migrations), f"{one.name}: a step is missing"
    assert formats.as_table() in (ROOT / "docs/reference/workspace.md").read_text(), (
        "put what `python -m storage.formats` prints there"
    )


def test_version_1_of_the_chain_is_what_0_1_0_wrote() -> None:
    found = list(chain.digests(numbered(0, 3), chain.START, version=1))
    assert found == ["ee97f5fda913e644", "f1275061955d67e4", "e59d3c9d2f4377cd"]


def test_everything_carries_its_number_and_who_wrote_it(folder: CampaignFolder) -> None:
    top = Path(folder.workspace.location)
    assert "\nformat = 2\n" in (top / "workspace.toml").read_text()
    for name in ("campaign.toml", "goal.toml"):
        assert f'\nformat = 1\ncccount = "{__version__}"\n' in (top / folder.prefix / name).read_text()
    for part in sorted((top / folder.prefix).rglob("*.parquet")):
        said = pq.read_metadata(part).metadata
        assert (said[b"cccount.format"], said[b"cccount.version"]) == (b"1", __version__.encode())
        assert said.get(b"cccount.chain") == (b"1*2" if part.parent.name == "answers" else None)
    with closing(sqlite3.connect(folder.journal_path)) as database:
        assert database.execute("PRAGMA user_version").fetchone() == (1,)
        assert database.execute("SELECT cccount FROM about").fetchone() == (__version__,)
    attribute = json.loads((top / "embeddings.zarr/zarr.json").read_text())["attributes"]["cccount"]
    assert f" format 1 by cccount {__version__} " in attribute


def test_the_number_of_an_array_is_outside_of_its_fingerprint(folder: CampaignFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    fingerprint = folder.workspace.array(EMBEDDINGS).fingerprint()
    assert folder.workspace.array(EMBEDDINGS).attributes == {"encoder": "given"}
    monkeypatch.setattr(layout, "__version__", "0.9.0")
    other = Workspace.create(Path(folder.workspace.location).parent / "other", collection_table(["a", "b", "c"]))
    array = other.create_array(EMBEDDINGS, (3, 2), attributes={"encoder": "given"})
    array.write_shard(0, np.ones((3, 2), np.float32))
    assert array.fingerprint() == fingerprint


def newer_workspace(folder: CampaignFolder) -> str:
    return _replaced(folder, "workspace.toml", ("format = 2", "format = 7"), (f'cccount = "{__version__}"', 'cccount = "0.9.0"'))


def newer_campaign(folder: CampaignFolder) -> str:
    name = f"{folder.prefix}/campaign.toml"
    return _replaced(folder, name, ("format = 1", "format = 7"), (f'cccount = "{__version__}"', 'cccount = "0.9.0"'))


def newer_goal(folder: CampaignFolder) -> str:
    name = f"{folder.prefix}/goal.toml"
    return _replaced(folder, name, ("format = 1", "format = 7"), (f'cccount = "{__version__}"', 'cccount = "0.9.0"'))


def newer_array(folder: CampaignFolder) -> str:
    change = (f"format 1 by cccount {__version__}", "format 7 by cccount 0.9.0")
    _replaced(folder, layout.copy_key(EMBEDDINGS), change)
    return _replaced(folder, layout.metadata_key(EMBEDDINGS), change)


def newer_journal(folder: CampaignFolder) -> str:
    with closing(sqlite3.connect(folder.journal_path)) as database:
        database.execute("UPDATE about SET cccount = '0.9.0'")
        database.execute("PRAGMA user_version = 7")
        database.commit()
    return str(folder.journal_path)


def newer_answers(folder: CampaignFolder) -> str:
    return _part(folder, "answers", numbered(0, 2))


def newer_questions(folder: CampaignFolder) -> str:
    return _part(folder, "questions", questions(0, 3))


def newer_chain(folder: CampaignFolder) -> str:
    table = numbered(0, 2).append_column("chain", pa.array(["7:" + "a" * 16] * 2))
    return _part(folder, "answers", table, number=1)


def _part(folder: CampaignFolder, name: str, table: pa.Table, number: int = 7) -> str:
    key = f"{folder.prefix}/{name}/part-000000000000.parquet"
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(formats.FORMATS, name, Format(name, "-", {number: "0.9.0"}))
        patch.setattr("storage.parts.__version__", "0.9.0")
        folder.workspace.objects.replace(key, encode_part(table, QUESTIONS if name == "questions" else CHAINED))
    return f"{folder.workspace.location}/{key}"


def _replaced(folder: CampaignFolder, key: str, *changes: tuple[str, str]) -> str:
    path = Path(folder.workspace.location) / key
    text = "".join(line for line in path.read_text().splitlines(keepends=True) if "# cccount-blake2b" not in line)
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)
    return str(path)


NEWER: list[tuple[Callable[[CampaignFolder], str], Callable[[CampaignFolder], object]]] = [
    (newer_workspace, lambda folder: Workspace.open(folder.workspace.location)),
    (newer_campaign, lambda folder: folder.settings()),
    (newer_goal, lambda folder: folder.goal()),
    (newer_questions, lambda folder: again(folder.log).questions()),
    (newer_answers, lambda folder: again(folder.log).answers()),
    (newer_answers, lambda folder: again(folder.log).append_answers(numbered(5, 6))),
    (newer_chain, lambda folder: again(folder.log).answers()),
    (newer_journal, lambda folder: Journal(folder.journal_path)),
    (newer_array, lambda folder: folder.workspace.array(EMBEDDINGS)),
    (newer_array, lambda folder: folder.workspace.create_array(EMBEDDINGS, (3, 2), attributes={})),
]


@pytest.mark.parametrize(("change", "use"), NEWER)
def test_what_is_newer_is_refused_with_the_version_that_reads_it(
    folder: CampaignFolder, change: Callable[[CampaignFolder], str], use: Callable[[CampaignFolder], object]
) -> None:
    path = change(folder)
    with pytest.raises(FormatError) as caught:
        use(folder)
    line = str(caught.value)
    assert "\n" not in line
    assert line.startswith(path)
    assert "made by a newer cccount: format 7" in line
    assert line.endswith("use cccount 0.9.0 or newer")
    found = list(inventory.problems(folder.workspace.objects))
    assert caught.value.problem in found
    assert {problem.path for problem in found} == {path}, "nothing else is said to be wrong"


def test_an_array_of_a_newer_format_is_not_made_anew_where_only_its_copy_is_left(folder: CampaignFolder) -> None:
    path = Path(newer_array(folder))
    path.unlink()
    with pytest.raises(FormatError, match=r"markers/embeddings/array\.json: made by a newer cccount"):
        folder.workspace.create_array(EMBEDDINGS, (3, 2), attributes={})
    assert folder.workspace.objects.keys("embeddings.zarr")


def test_what_says_no_number_is_of_format_1(folder: CampaignFolder) -> None:
    top = Path(folder.workspace.location)
    for name in ("campaign.toml", "goal.toml"):
        _replaced(folder, f"{folder.prefix}/{name}", ("format = 1\n", ""), (f'cccount = "{__version__}"\n', ""))
    _replaced(folder, "workspace.toml", ("format = 2", "format = 1"))
    with closing(sqlite3.connect(folder.journal_path)) as database:
        database.execute("PRAGMA user_version = 0")
        database.execute("DROP TABLE about")
        database.commit()
    assert (folder.settings(), folder.goal()) == (SETTINGS, Goal(10, "people"))
    with folder.journal() as journal:
        assert journal.seal(folder.log) == 1
    assert ids(again(folder.log).answers()) == ["a0", "a1", "a2"]
    assert list(Workspace.open(top).problems()) == []


def test_a_number_that_is_none_is_refused() -> None:
    for number in ("x", True, None, 0, -1):
        with pytest.raises(FormatError, match=r"^here: made by another cccount: .* reads 1; use the version that made it$"):
            formats.ANSWERS.check(number, "here", "0.9.0")
    old = Format("answers", "-", {2: "0.2.0"}, {1: lambda _: iter(())})
    with pytest.raises(FormatError, match="run `cccount upgrade` on the workspace"):
        old.check(1, "here")


def with_more(table: pa.Table, name: str, values: list[float | None]) -> pa.Table:
    return table.append_column(pa.field(name, pa.float64()), pa.array(values, pa.float64()))


def stored(log: QueryLog) -> pa.Table:
    """All answer parts as another reader of parquet sees them."""
    tables = [pq.read_table(Path(log.objects.location) / key) for key in log.objects.keys(f"{PREFIX}/answers")]
    return pa.concat_tables(tables, promote_options="default")


@pytest.mark.parametrize("kind", ["answers", "questions"])
def test_a_column_that_nobody_here_knows_is_kept_through_appends_and_compactions(log: QueryLog, kind: str) -> None:
    objects = log.objects
    if kind == "answers":
        table = numbered(0, 2)
        linked = table.append_column("chain", pa.array(list(chain.digests(table, chain.START))))
        objects.create(f"{PREFIX}/answers/part-000000000000.parquet", encode_part(with_more(linked, "sure", [0.5, None])))
        read: Callable[[], pa.Table] = lambda: again(log).answers()  # noqa: E731
        expected = numbered(0, 6)
    else:
        first = with_more(questions(0, 2), "sure", [0.5, None])
        objects.create(f"{PREFIX}/questions/part-000000000000.parquet", encode_part(first, QUESTIONS))
        read = lambda: again(log).questions()  # noqa: E731
        expected = questions(0, 6)
    for start in (2, 4):
        if kind == "answers":
            log.append_answers(numbered(start, start + 2))
        else:
            log.append_questions(questions(start, start + 2))
        assert read().equals(expected.slice(0, start + 2))
        log.compact(most_parts=1)
    assert read().equals(expected)
    assert len(objects.keys(f"{PREFIX}/{kind}")) == 1
    part = pq.read_table(Path(objects.location) / objects.keys(f"{PREFIX}/{kind}")[0])
    assert part.column("sure").to_pylist() == [0.5, None, None, None, None, None]
    assert list(again(log).problems()) == []


def test_a_covering_part_is_compared_also_where_later_parts_have_more_columns(log: QueryLog) -> None:
    log.append_answers(numbered(0, 2))
    log.append_answers(numbered(2, 4))
    log.compact(most_parts=1)
    table = numbered(4, 5)
    linked = table.append_column("chain", pa.array(list(chain.digests(table, log.tip()[1]))))
    log.objects.create(f"{PREFIX}/answers/part-000000000004.parquet", encode_part(with_more(linked, "sure", [0.5])))
    other = again(log)
    other.append_answers(numbered(5, 6))
    other.compact(most_parts=2)
    assert list(again(log).problems()) == []
    assert stored(log).column("sure").to_pylist() == [None] * 4 + [0.5, None]


def test_a_column_that_may_not_be_empty_cannot_be_ignored() -> None:
    table = numbered(0, 1).append_column(pa.field("needed", pa.int64(), nullable=False), pa.array([3]))
    with pytest.raises(FormatError, match=r"^part: made by another cccount: it needs the column 'needed'"):
        decode_part(encode_part(table), CHAINED, "part")


def test_a_later_column_of_two_types_is_damage(log: QueryLog) -> None:
    for row, values in enumerate((pa.array([1.0]), pa.array(["x"]))):
        table = numbered(row, row + 1).append_column("sure", values)
        log.objects.create(f"{PREFIX}/answers/part-{row:012d}.parquet", encode_part(table))
    with pytest.raises(CorruptionError, match="column 'sure' has another type"):
        log.answers()


LATER_WRITES = """
import sys
from pathlib import Path
import pyarrow as pa
from storage.journal import Journal, JOURNAL
from storage.objects import LocalObjects
from storage.querylog import QueryLog
from tests.storage.rows import answers, questions
from tests.storage.workers import PREFIX
root = Path(sys.argv[1])
log = QueryLog(LocalObjects(root), PREFIX)
print(len(list(log.problems())))
journal = Journal(root / PREFIX / JOURNAL)
table = answers(["later0", "later1"])
log.append_answers(table.set_column(table.schema.get_field_index("confidence"), "confidence", pa.array([0.25, None])))
journal.record(answers(["later2"]))
journal.seal(log)
log.append_questions(questions(3, 4))
log.compact(most_parts=1)
journal.record(answers(["later3"]))
print(log.answers().column("confidence").to_pylist())
print([problem.problem for problem in QueryLog(log.objects, PREFIX).problems()])
"""
LATER_LOOKS = """
import sys
from pathlib import Path
from storage.objects import LocalObjects
from storage.querylog import QueryLog
from tests.storage.workers import PREFIX
log = QueryLog(LocalObjects(Path(sys.argv[1])), PREFIX)
print([problem.problem for problem in log.problems()])
print(log.answers().column("confidence").to_pylist())
"""
KNOWN = ["a0", "a1", "a2", "later0", "later1", "pending", "later2"]


@pytest.fixture
def old(log: QueryLog, tmp_path: Path) -> QueryLog:
    """A log of this version, with an answer that waits in the journal."""
    log.append_questions(questions(0, 3))
    log.append_answers(numbered(0, 3))
    with closing(Journal(tmp_path / PREFIX / JOURNAL)) as journal:
        journal.record(answers(["pending"]))
    return log


def test_a_log_goes_on_with_a_column_more_and_this_version_goes_on_after_it(old: QueryLog, tmp_path: Path) -> None:
    done = later(tmp_path, code=LATER_WRITES)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["0", "[None, None, None, 0.25, None, None, None]", "[]"]
    log = again(old)
    assert ids(log.answers()) == KNOWN
    assert list(log.problems()) == []
    log.append_answers(answers(["mine"]))
    log.compact(most_parts=1)
    assert list(again(log).problems()) == []
    looked = later(tmp_path, code=LATER_LOOKS)
    assert looked.stdout.splitlines() == ["[]", "[None, None, None, 0.25, None, None, None, None]"], looked.stderr


def test_a_chain_goes_on_in_a_later_version_and_covers_what_that_version_says(old: QueryLog, tmp_path: Path) -> None:
    done = later(tmp_path, code=LATER_WRITES, chain=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["0", "[None, None, None, 0.25, None, None, None]", "[]"]
    (key,) = old.objects.keys(f"{PREFIX}/answers")
    assert pq.read_metadata(tmp_path / key).metadata[b"cccount.chain"] == b"1*3 2*4"
    with pytest.raises(FormatError, match="made by a newer cccount: format 2 of the chain, this one reads 1"):
        again(old).answers()
    for row, confidence, said in ((3, 0.5, "row 3 (answer 'later0') breaks the chain"), (0, 0.5, None)):
        before = old.objects.read(key)
        forged = later(tmp_path / key, str(row), str(confidence), code=FORGE, chain=True)
        assert forged.returncode == 0, forged.stderr
        looked = later(tmp_path, code=LATER_LOOKS, chain=True).stdout.splitlines()[0]
        assert said in looked if said else looked == "[]", "a row of version 1 does not cover the column"
        old.objects.replace(key, before)


FORGE = """
import sys
from pathlib import Path
import pyarrow as pa
from storage.parts import decode_part, encode_part
from storage.schema import CHAINED
path = Path(sys.argv[1])
table = decode_part(path.read_bytes(), CHAINED, "part")
values = table.column("confidence").to_pylist()
values[int(sys.argv[2])] = float(sys.argv[3])
path.write_bytes(encode_part(table.set_column(table.schema.get_field_index("confidence"), "confidence", pa.array(values))))
"""
