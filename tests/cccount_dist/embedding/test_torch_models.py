"""Encoders of the torch world, each from a folder of weights: they run where the extra is installed, and only there."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cccount_dist.embedding.encoders import open_encoder
from storage.errors import InputError

SCALING = {"image_mean": [0.5] * 3, "image_std": [0.25] * 3}


@pytest.fixture(scope="module")
def transformers() -> Any:
    pytest.importorskip("torch", reason="the extra `hf` is not installed")
    return pytest.importorskip("transformers", reason="the extra `hf` is not installed")


def pictures(side: int) -> list[Any]:
    return list(np.random.default_rng(0).integers(0, 256, (3, side, side, 3), np.uint8))


def as_shown(torch: Any, shown: list[Any]) -> Any:
    """The pictures as the models see them, scaled by mean .5 and deviation .25."""
    return torch.from_numpy((np.stack(shown).transpose(0, 3, 1, 2).astype(np.float32) / 255 - 0.5) / 0.25)


def write_vit(transformers: Any, folder: Path) -> Any:
    small = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
    model = transformers.ViTModel(transformers.ViTConfig(**small, image_size=32, patch_size=16))
    model.save_pretrained(folder)
    size = {"height": 32, "width": 32}
    described = {"image_processor_type": "ViTImageProcessor", "size": size, **SCALING}
    (folder / "preprocessor_config.json").write_text(json.dumps(described))
    return model.eval()


def write_clip(transformers: Any, folder: Path) -> Any:
    small = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
    text = {**small, "vocab_size": 100, "bos_token_id": 0, "eos_token_id": 1}
    vision = {**small, "image_size": 32, "patch_size": 16}
    model = transformers.CLIPModel(transformers.CLIPConfig(text_config=text, vision_config=vision, projection_dim=24))
    model.save_pretrained(folder)
    size = {"crop_size": {"height": 32, "width": 32}, "size": {"shortest_edge": 32}}
    described = {"image_processor_type": "CLIPImageProcessor", **size, **SCALING}
    (folder / "preprocessor_config.json").write_text(json.dumps(described))
    return model.eval()


@pytest.mark.parametrize(("write", "dimensions"), [(write_vit, 32), (write_clip, 24)])
def test_the_vectors_are_those_of_the_model_itself(transformers: Any, tmp_path: Path, write: Any, dimensions: int) -> None:
    import torch  # type: ignore[import-not-found,unused-ignore]

    model = write(transformers, tmp_path)
    encoder = open_encoder(f"hf:{tmp_path}")
    shown = pictures(32)
    scaled = as_shown(torch, shown)
    with torch.inference_mode():
        if dimensions == 24:
            expected = model.visual_projection(model.vision_model(pixel_values=scaled).pooler_output)
        else:
            expected = model(pixel_values=scaled).pooler_output
    assert encoder.dimensions == dimensions
    np.testing.assert_allclose(encoder.encode(shown), expected.numpy(), atol=1e-5)
    assert open_encoder(f"hf:{tmp_path}").revision == encoder.revision


def test_a_swin_of_timm_from_a_folder_as_the_megadescriptors_are(tmp_path: Path) -> None:
    """BVRA/MegaDescriptor-T-224 is this architecture; here with weights of chance, from a folder instead of the hub."""
    torch = pytest.importorskip("torch", reason="the extra `timm` is not installed")
    timm = pytest.importorskip("timm", reason="the extra `timm` is not installed")
    shape = {"embed_dim": 24, "depths": (1, 1, 1, 1)}
    own = {"mean": (0.5,) * 3, "std": (0.25,) * 3}
    module = timm.create_model("swin_tiny_patch4_window7_224", num_classes=3, pretrained_cfg_overlay=own, **shape).eval()
    timm.models.save_for_hf(module, tmp_path, model_args=shape, safe_serialization=True)
    module.reset_classifier(0)  # the vector is what the classes would be told from
    encoder = open_encoder(f"timm:local-dir:{tmp_path}")
    shown = pictures(224)
    with torch.inference_mode():
        expected = module(as_shown(torch, shown)).numpy()
    assert encoder.dimensions == 192
    np.testing.assert_allclose(encoder.encode(shown), expected, atol=1e-5)


def test_an_open_clip_model_from_a_folder(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="the extra `open_clip` is not installed")
    open_clip = pytest.importorskip("open_clip", reason="the extra `open_clip` is not installed")
    safetensors = pytest.importorskip("safetensors.torch", reason="the extra `open_clip` is not installed")
    shape = {
        "embed_dim": 24,
        "vision_cfg": {"image_size": 32, "layers": 1, "width": 64, "head_width": 32, "patch_size": 16},
        "text_cfg": {"context_length": 8, "vocab_size": 100, "width": 32, "heads": 2, "layers": 1},
    }
    module = open_clip.CLIP(**shape).eval()
    own = {"mean": [0.5] * 3, "std": [0.25] * 3}
    (tmp_path / "open_clip_config.json").write_text(json.dumps({"model_cfg": shape, "preprocess_cfg": own}))
    safetensors.save_file(
        {key: tensor.contiguous() for key, tensor in module.state_dict().items()}, tmp_path / "open_clip_model.safetensors"
    )
    encoder = open_encoder(f"open_clip:local-dir:{tmp_path}")
    shown = pictures(32)
    with torch.inference_mode():
        expected = module.encode_image(as_shown(torch, shown)).numpy()
    assert encoder.dimensions == 24
    np.testing.assert_allclose(encoder.encode(shown), expected, atol=1e-5)


def test_other_weights_are_another_revision(transformers: Any, tmp_path: Path) -> None:
    write_vit(transformers, tmp_path / "a")
    write_vit(transformers, tmp_path / "b")
    assert open_encoder(f"hf:{tmp_path / 'a'}").revision != open_encoder(f"hf:{tmp_path / 'b'}").revision


def test_pickled_weights_are_refused(transformers: Any, tmp_path: Path) -> None:
    import torch

    model = write_vit(transformers, tmp_path)
    (tmp_path / "model.safetensors").unlink()
    torch.save(model.state_dict(), tmp_path / "pytorch_model.bin")
    with pytest.raises(InputError, match="safetensors"):
        open_encoder(f"hf:{tmp_path}")
