"""`onnx:PATH` and the models that need an extra."""

from pathlib import Path

import numpy as np
import pytest

from cccount_dist.embedding.encoders import open_encoder
from cccount_dist.embedding.encoders.onnx import IMAGENET
from cccount_dist.embedding.encoders.onnxfile import GraphWriter
from storage.errors import InputError
from tests.cccount_dist.embedding.pictures import noise


def small_model(path: Path, shape: tuple[int | str, ...] = ("n", 3, 8, 8)) -> str:
    """A convolution with a known answer, written by our own writer and read by onnxruntime."""
    graph = GraphWriter("pictures", shape)
    kernel = np.arange(24, dtype=np.float32).reshape(2, 3, 2, 2)
    x = graph.op(
        "Conv", ["pictures", graph.weight(kernel), graph.weight(np.array([0.5, -300.0]))], strides=(2, 2), kernel_shape=(2, 2)
    )
    path.write_bytes(graph.model(graph.op("Flatten", [graph.op("GlobalAveragePool", [x])], axis=1), ("n", 2)))
    return f"onnx:{path}"


def test_a_model_of_the_users_gives_the_vectors_that_it_should(tmp_path: Path) -> None:
    encoder = open_encoder(small_model(tmp_path / "m.onnx"))
    pictures = [noise(seed, 8, 8) for seed in range(3)]
    scaled = (np.stack(pictures) / 255 - np.array(IMAGENET.mean)) / np.array(IMAGENET.deviation)
    kernel = np.arange(24).reshape(2, 3, 2, 2)
    windows = scaled.reshape(3, 4, 2, 4, 2, 3)
    expected = np.einsum("nicjdk,okcd->no", windows, kernel) / 16 + np.array([0.5, -300.0])
    assert (encoder.side, encoder.dimensions) == (8, 2)
    np.testing.assert_allclose(encoder.encode(pictures), expected, rtol=1e-4)


def test_the_revision_changes_with_the_file(tmp_path: Path) -> None:
    first = open_encoder(small_model(tmp_path / "a.onnx")).revision
    second = open_encoder(small_model(tmp_path / "b.onnx", ("n", 3, 16, 16))).revision
    assert first != second
    assert open_encoder(small_model(tmp_path / "c.onnx")).revision == first


def test_a_model_without_a_fixed_size_gets_224_pixels(tmp_path: Path) -> None:
    assert open_encoder(small_model(tmp_path / "m.onnx", ("n", 3, "h", "w"))).side == 224


def test_models_that_take_no_pictures_are_refused(tmp_path: Path) -> None:
    (tmp_path / "text.onnx").write_text("not a model")
    graph = GraphWriter("x", ("n", 5))
    (tmp_path / "flat.onnx").write_bytes(graph.model(graph.op("Sqrt", ["x"]), ("n", 5)))
    said = {"gone.onnx": "no such file", "text.onnx": "cannot load", "flat.onnx": r"\(n, 3, h, w\)"}
    for name, words in said.items():
        with pytest.raises(InputError, match=words) as caught:
            open_encoder(f"onnx:{tmp_path / name}")
        assert len(str(caught.value).splitlines()) == 1
    with pytest.raises(InputError, match="must be square"):
        open_encoder(small_model(tmp_path / "wide.onnx", ("n", 3, 8, 16)))


@pytest.mark.parametrize("name", ["timm:resnet18", "open_clip:ViT-B-32", "hf:facebook/dinov2-small"])
def test_a_missing_extra_is_named_with_the_way_to_install_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(InputError, match=rf"{name} needs the extra '{name.partition(':')[0]}': pip install 'cccount\["):
        open_encoder(name)
