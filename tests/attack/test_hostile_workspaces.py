"""TOML and JSON of a workspace with other types and values than cccount writes: our errors only, and `verify` sees the same."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from cccount_dist.campaign.campaign import Campaign
from cccount_dist.review.annotators import Annotators
from storage.campaigns import CampaignFolder
from storage.epochs import Epoch
from storage.errors import CccountError, CorruptionError, StoreError
from storage.gold import read_gold
from storage.lease import is_held
from storage.schema import EMBEDDINGS
from storage.settings import Goal
from storage.workspace import Workspace
from tests.attack.corpus import GOOD, NO_FILES, ROUNDS, as_json, assigned, deep, flipped, mutated
from tests.flows.calls import import_gold, initialise, status, verify
from tests.review.campaigns import SETTINGS, ask, pairs

CAMPAIGN = "campaigns/c"
TOML = ("workspace.toml", f"{CAMPAIGN}/campaign.toml", f"{CAMPAIGN}/goal.toml", f"{CAMPAIGN}/epochs/0001.toml")
JSON = (
    "annotators.json",
    f"{CAMPAIGN}/lease.json",
    "embeddings.zarr/zarr.json",
    "markers/embeddings/array.json",
    "markers/embeddings/000000.json",
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with one of each small file. Do not write to it."""
    home = tmp_path_factory.mktemp("whole")
    np.save(home / "x.npy", GOOD)
    initialise(str(home / "ws"), embeddings=str(home / "x.npy"))
    workspace = Workspace.open(home / "ws")
    folder = CampaignFolder(workspace, "c")
    folder.create(SETTINGS, Goal(10, "people"))
    ask(folder, pairs(3))
    folder.open_epoch(Epoch(1, 2, "a test", "2026-01-01T00:00:00+00:00", "0.2.0", questions=3))
    folder.lease().release()
    Annotators(workspace).add("ana")
    (home / "gold.csv").write_text("u,v,value\n0,1,same\n")
    import_gold(str(home / "ws"), str(home / "gold.csv"))
    assert verify(str(home / "ws"))["ok"]
    return home / "ws"


def read_all(place: Path) -> Iterator[Callable[[], object]]:
    """Everything that reads the small files."""
    yield lambda: status(str(place))
    workspace = Workspace.open(place)
    folder = CampaignFolder(workspace, "c")
    yield folder.settings
    yield folder.goal
    yield folder.epochs
    yield lambda: Campaign.open(str(place), "c").ask(3)
    yield Annotators(workspace).names
    yield lambda: Annotators(workspace).who("token")
    yield lambda: is_held(workspace.objects, f"{CAMPAIGN}/lease.json")
    yield lambda: read_gold(workspace)
    yield lambda: workspace.array(EMBEDDINGS).read()
    yield lambda: workspace.array(EMBEDDINGS).fingerprint()


def met(place: Path, key: str) -> list[str]:
    """What is wrong with how a workspace with a hostile file is met."""
    refusals, found = [], []
    readers = read_all(place)
    while True:
        try:
            read = next(readers, None)
            if read is None:
                break
            read()
        except (CorruptionError, StoreError) as error:
            refusals.append(str(error))
        except CccountError:  # a campaign or a shard that is not there, say: no damage
            continue
        except Exception as error:  # noqa: BLE001 (whatever it is, it should not have come out)
            found.append(f"{key}: {type(error).__name__}: {str(error)[:200]}")
    try:
        told = verify(str(place))
    except CccountError as error:
        return [*found, *([] if key == "workspace.toml" else [f"{key}: verify: {error}"])]
    except Exception as error:  # noqa: BLE001
        return [*found, f"{key}: verify: {type(error).__name__}: {str(error)[:200]}"]
    if refusals and told["ok"]:
        found.append(f"{key}: verify is content, and a reader says: {refusals[0][:200]}")
    return found + [f"{key}: no repair for {one['problem']}" for one in told["problems"] if not one["repair"]]


def hostile(whole: Path, key: str) -> Iterator[bytes]:
    """Contents that cccount never writes there, without the stamp that would give them away."""
    data = (whole / key).read_bytes()
    if key.endswith(".toml"):
        lines = [line for line in data.decode().splitlines() if "blake2b" not in line]
        texts = [assigned("\n".join(lines), seed) for seed in range(20 * ROUNDS)]
        texts += ["", "=", "a = " + deep("[", "]"), "a" + ".b" * 50_000 + " = 1", "\0"]
    else:
        document = {name: value for name, value in json.loads(data).items() if name != "stamp"}
        texts = [as_json(mutated(document, seed)) for seed in range(16 * ROUNDS)]
        texts += ["", "[]", "7", "null", deep("[", "]"), "{"]
    yield from (text.encode() for text in texts)
    yield flipped(data, 1)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("key", [*TOML, *JSON])
def test_a_small_file_with_other_types_or_values_is_named_and_verify_says_the_same(whole: Path, tmp_path: Path, key: str) -> None:
    found = []
    for number, data in enumerate(hostile(whole, key)):
        place = tmp_path / str(number)
        shutil.copytree(whole, place)
        (place / key).write_bytes(data)
        found += met(place, key)
    assert found == []


@pytest.mark.timeout(120)
@pytest.mark.parametrize("what", NO_FILES)
def test_nobody_waits_for_a_pipe_in_a_workspace(whole: Path, tmp_path: Path, what: str) -> None:
    found = []
    # A folder is no key: of one in the place of a file that need not be there `verify` knows nothing.
    for key in (*TOML[1:], *(JSON[:2] if what != "folder" else ()), *(["gold.parquet"] if what != "folder" else ())):
        place = tmp_path / key.replace("/", "-")
        shutil.copytree(whole, place)
        (place / key).unlink()
        NO_FILES[what](place / key)
        found += met(place, key)
    assert found == []


WRONG = [
    ("goal.toml", 'oracle = "people"', 'oracle = "pepole"', "oracle must be people, labels or similarity, not 'pepole'"),
    ("goal.toml", "budget = 10", "budget = -1", "budget must be 0 or more, not -1"),
    ("goal.toml", "budget = 10", 'budget = "10"', "budget must be a whole number, not '10'"),
    ("goal.toml", "budget = 10", "budget = true", "budget must be a whole number, not True"),
    ("goal.toml", "error_rate = 0.0", "error_rate = nan", "error_rate must be a finite number, not nan"),
    ("campaign.toml", "level = 0.95", "level = 95", "level must lie between 0 and 1, not 95"),
    ("campaign.toml", "seed = 0", "seed = 1.5", "seed must be a whole number, not 1.5"),
    ("campaign.toml", 'method = "nis"\n', "", "method is missing"),
    ("campaign.toml", "[parameters]", "[parameters]\nratio = [1]", "parameters must be a table of"),
    ("epochs/0001.toml", "number = 1", "number = 2", "it holds epoch 2"),
    ("epochs/0001.toml", "questions = 3", "questions = -3", "questions must be 0 or more, not -3"),
]


@pytest.mark.parametrize(("name", "before", "after", "words"), WRONG)
def test_a_mistyped_setting_is_named_with_its_repair(
    whole: Path, tmp_path: Path, name: str, before: str, after: str, words: str
) -> None:
    place = shutil.copytree(whole, tmp_path / "ws")
    path = place / CAMPAIGN / name
    text = "\n".join(line for line in path.read_text().splitlines() if "blake2b" not in line) + "\n"
    assert before in text
    path.write_text(text.replace(before, after))
    folder = CampaignFolder(Workspace.open(place), "c")
    with pytest.raises(CccountError) as refused:
        [read() for read in (folder.settings, folder.goal, folder.epochs)]
    assert words in str(refused.value)
    assert "backup" in str(refused.value)
    (problem,) = verify(str(place))["problems"]
    assert (problem["path"], words in problem["problem"], "backup" in problem["repair"]) == (str(path), True, True)
