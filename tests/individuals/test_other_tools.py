"""What goes out is read back by the tools that it is for, where they are installed: they are large, and not in the extra `dev`.

In an environment of its own, for pyinaturalist (of wildlife-datasets) and schemathesis do not agree about pyrate-limiter:
`pip install splink wildlife-datasets fiftyone pytest && pip install -e .`, then `pytest tests/individuals/test_other_tools.py`.
"""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from cccount_dist.individuals.census import Individuals
from flows.exchange.export import export
from storage.collection import LEFT, RIGHT, collection_table
from storage.workspace import Workspace
from tests.individuals.made import BEGAN, add_campaign

NAMES = ("a b%1.png", "c.png", "d.png", "e.png")


def tool(name: str) -> Any:
    with warnings.catch_warnings():  # what they warn of is theirs
        warnings.simplefilter("ignore")
        return pytest.importorskip(name, reason="installed by hand: see the head of this file", exc_type=ImportError)


@pytest.fixture
def individuals(tmp_path: Path) -> Individuals:
    """Four pictures of two animals, one of them with a box; two people said something about them."""
    for shade, name in enumerate(NAMES):
        Image.new("RGB", (100, 60), (40 * shade, 0, 0)).save(tmp_path / name)
    uris = [f"{tmp_path}/{name}{box}" for name, box in zip(NAMES, ("#xywh=10,20,40,30", "", "", ""), strict=True)]
    table = collection_table(["=a", "c", "d", "e"], uri=uris, taken_at=[BEGAN] * 4, side=[LEFT, RIGHT, LEFT, RIGHT])
    made = add_campaign(Workspace.create(tmp_path / "ws", table), "groups", (0, 0, 1, 1))
    made.census()
    made.name(1, "Luna", annotator="ana")
    made.confirm(1, annotator="ana")
    made.confirm(2, annotator="ben")
    return made


@pytest.mark.filterwarnings("ignore")
def test_wildlife_datasets_opens_the_pictures_cut_to_their_boxes(individuals: Individuals, tmp_path: Path) -> None:
    datasets, pandas = tool("wildlife_datasets.datasets"), pytest.importorskip("pandas")
    export(individuals.workspace.location, "wildlife-datasets", str(tmp_path / "metadata.csv"))
    metadata = pandas.read_csv(tmp_path / "metadata.csv")
    pictures = datasets.WildlifeDataset("/", df=metadata, img_load="auto")
    assert list(pictures.df["identity"]) == ["Luna", "Luna", "individual-2", "individual-2"]
    assert list(pictures.df["orientation"]) == ["left", "right", "left", "right"]
    assert [pictures[number].size for number in range(4)] == [(40, 30), (100, 60), (100, 60), (100, 60)]
    assert np.asarray(pictures[3])[0, 0].tolist() == [120, 0, 0]


@pytest.mark.filterwarnings("ignore")
def test_splink_judges_a_model_by_what_people_said(individuals: Individuals, tmp_path: Path) -> None:
    splink, pandas = tool("splink"), pytest.importorskip("pandas")
    comparisons = tool("splink.comparison_library")
    export(individuals.workspace.location, "pairs", str(tmp_path / "pairs.csv"))
    labels = pandas.read_csv(tmp_path / "pairs.csv")
    assert dict(labels["clerical_match_score"].value_counts()) == {1.0: 2}
    looks = pandas.DataFrame({"unique_id": ["'=a", "c", "d", "e"], "coat": ["x", "x", "y", "y"]})
    api = splink.DuckDBAPI()
    settings = splink.SettingsCreator(
        link_type="dedupe_only", comparisons=[comparisons.ExactMatch("coat")],
        blocking_rules_to_generate_predictions=[splink.block_on("coat")],
    )  # fmt: skip
    linker = splink.Linker(api.register(looks), settings)
    found = linker.evaluation.accuracy_analysis_from_labels_table(api.register(labels), output_type="table").as_pandas_dataframe()
    assert set(found["p"]) == {2}
    assert set(found["tp"]) >= {2}


@pytest.mark.filterwarnings("ignore")
def test_fiftyone_imports_the_folder_with_boxes_and_names(individuals: Individuals, tmp_path: Path) -> None:
    importers = tool("fiftyone.utils.data.importers")
    export(individuals.workspace.location, "fiftyone", str(tmp_path / "dataset"))
    reader = importers.LegacyFiftyOneDatasetImporter(str(tmp_path / "dataset"))
    with reader:
        samples = list(reader)
    assert [Path(one.filepath).name for one in samples] == list(NAMES)
    (boxed,) = samples[0]["individuals"].detections
    assert (boxed.label, [round(number, 6) for number in boxed.bounding_box]) == ("Luna", [0.1, 0.333333, 0.4, 0.5])
    assert [one["individual"].label for one in samples[1:]] == ["Luna", "individual-2", "individual-2"]
