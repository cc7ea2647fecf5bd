"""Two stages of EfficientNet-Lite0 and HOG side by side: the default encoder, together with the map of the collection.

The end of the network says what an object is, a stage in its middle what it looks like, HOG how it is drawn. Each part is made
a unit vector and weighted; the weights were chosen on halves of four image sets and confirmed on the other halves
(`benchmarks/encoder_accuracy.py`). The network runs once: about 0.4 ms an image more than without. By plain cosine these 2,852
numbers are worse than the network's own 1,280: they are made for the map (`embedding/mapping.py`), which sorts out what counts.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cccount_dist.embedding.encoders import efficientnet
from cccount_dist.embedding.encoders.hog import Hog
from cccount_dist.embedding.encoders.onnx import OnnxEncoder
from cccount_dist.similarity.metrics import prepare

NAME = "composite"
INNER = 11  # the block that is looked into: the last at a sixteenth of the picture's side
WEIGHTS = (1.0, 3.5, 0.5)  # of the end of the network, the inner stage, HOG


class Composite:
    """[unit sqrt end, 3.5 unit sqrt inner stage, 0.5 unit HOG]."""

    name = NAME
    side = efficientnet.SIDE
    batch = OnnxEncoder.batch

    def __init__(self) -> None:
        model = efficientnet.build(efficientnet.tensors(), inner=INNER)
        revision = f"1-{efficientnet.WEIGHTS_DIGEST[:8]}"
        self._network = OnnxEncoder(NAME, model, revision=revision, side=self.side, scaling=efficientnet.SCALING)
        self._hog = Hog()
        self.revision = f"{self._network.revision}-hog{self._hog.revision}"
        self.dimensions = self._network.dimensions + self._hog.dimensions

    def encode(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        stages = self._network.encode(images)
        parts = (stages[:, : efficientnet.DIMENSIONS], stages[:, efficientnet.DIMENSIONS :], self._hog.encode(images))
        return np.concatenate(
            [np.float32(weight) * prepare(part, "cosine") for weight, part in zip(WEIGHTS, parts, strict=True)], axis=1
        )


__all__ = ["Composite"]
