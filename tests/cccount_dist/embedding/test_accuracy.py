"""Neighbours on real collections, where they are at hand: leave-one-out 5-NN accuracy of the encoders."""

from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from cccount_dist.embedding.encoders import open_encoder
from cccount_dist.embedding.images import decode


def collection(name: str) -> dict[str, NDArray[np.generic]]:
    beside = (folder / "shared" / "data" / f"{name}.npz" for folder in Path(__file__).parents)
    path = next((file for file in beside if file.is_file()), None)
    if path is None:
        pytest.skip(f"{name}.npz is not at hand: it may be used for research only and is not in the repository")
    with np.load(path, allow_pickle=False) as arrays:
        return dict(arrays)


def five_nearest(vectors: NDArray[np.float32], labels: NDArray[np.generic]) -> float:
    """Leave-one-out: the most frequent label of the five nearest by cosine, the nearer one when two are equally frequent."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    similarity = unit @ unit.T
    np.fill_diagonal(similarity, -2)
    nearest = np.argsort(-similarity, axis=1, kind="stable")[:, :5]
    votes = [Counter(labels[row].tolist()).most_common(1)[0][0] for row in nearest]  # most_common keeps the order of ties
    return float(np.mean(np.array(votes) == labels))


def encoded_by(name: str, pictures: list[NDArray[np.uint8]]) -> NDArray[np.float32]:
    encoder = open_encoder(name)
    return np.concatenate([encoder.encode(pictures[i : i + 64]) for i in range(0, len(pictures), 64)])


def test_hog_knows_handwritten_characters() -> None:
    omniglot = collection("omniglot_28x28")
    first = omniglot["labels"] < 200  # type: ignore[operator]
    pictures = [np.repeat(image[:, :, None], 3, axis=2).astype(np.uint8) for image in omniglot["images"][first]]
    assert five_nearest(encoded_by("hog", pictures), omniglot["labels"][first]) >= 0.53


def test_the_default_encoder_knows_chimpanzee_faces() -> None:
    czoo = collection("chimp_czoo_112px_jpeg")
    data, cuts = czoo["jpeg"].tobytes(), czoo["offsets"].tolist()
    pictures = [decode(data[a:b], side=192) for a, b in pairwise(cuts)]
    assert five_nearest(encoded_by("auto", pictures), czoo["labels"]) >= 0.70
    assert five_nearest(encoded_by("pixels", pictures), czoo["labels"]) < 0.5
