"""The default encoder: its parts against the encoders that they come from, its weights, and pictures without any gradient."""

import numpy as np
import pytest

from cccount_dist.embedding.encoders import DEFAULT_ENCODER, efficientnet, open_encoder
from cccount_dist.embedding.encoders.composite import INNER, WEIGHTS
from tests.cccount_dist.embedding.pictures import noise
from tests.cccount_dist.embedding.test_efficientnet import Reference

END, INSIDE = efficientnet.DIMENSIONS, 672


class InnerStage(Reference):
    """The independent forward pass, stopped in the middle."""

    class Reached(Exception):  # noqa: N818 (not an error: it carries what was reached)
        pass

    def norm(self, x, name):  # type: ignore[no-untyped-def]
        found = super().norm(x, name)
        if name == f"_blocks.{INNER}._bn0":
            raise self.Reached(np.clip(found, 0, 6).mean(axis=(1, 2)))
        return found


def unit(rows: np.ndarray) -> np.ndarray:
    return np.asarray(rows / np.linalg.norm(rows, axis=-1, keepdims=True))


def test_the_default_encoder_is_the_composite_one() -> None:
    encoder = open_encoder("auto")
    assert (
        (encoder.name, encoder.dimensions, encoder.side) == (DEFAULT_ENCODER, END + INSIDE + 900, 192) == ("composite", 2852, 192)
    )


def test_its_parts_are_those_of_the_encoders_it_is_made_of() -> None:
    pictures = [noise(seed, 192, 192) for seed in range(3)]
    vectors = open_encoder("composite").encode(pictures)
    end, inside, drawn = np.split(vectors, (END, END + INSIDE), axis=1)
    np.testing.assert_allclose(end, WEIGHTS[0] * unit(open_encoder("efficientnet-lite0").encode(pictures)), atol=1e-5)
    np.testing.assert_allclose(drawn, WEIGHTS[2] * unit(open_encoder("hog").encode(pictures)), atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(inside, axis=1), WEIGHTS[1], rtol=1e-6)


def test_the_inner_stage_equals_an_independent_forward_pass() -> None:
    picture = noise(5, 192, 192)
    with pytest.raises(InnerStage.Reached) as reached:
        InnerStage(efficientnet.tensors())(picture)
    expected = WEIGHTS[1] * unit(np.sqrt(reached.value.args[0]))
    np.testing.assert_allclose(open_encoder("composite").encode([picture])[0, END : END + INSIDE], expected, atol=1e-4)


def test_a_picture_has_the_same_vector_in_any_batch_and_a_flat_one_has_a_vector_too() -> None:
    encoder = open_encoder("composite")
    pictures = [*(noise(seed, 192, 192) for seed in range(4)), np.full((192, 192, 3), 128, np.uint8)]
    together = encoder.encode(pictures)
    assert np.isfinite(together).all()
    np.testing.assert_array_equal(together[-1, END + INSIDE :], 0)
    for row, picture in enumerate(pictures):
        np.testing.assert_allclose(encoder.encode([picture])[0], together[row], atol=1e-5)
