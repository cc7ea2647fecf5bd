"""Metrics, as rows that are ready for dot products. Minimal: replaced by the neighbours' version."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from storage.errors import InputError

Metric = Literal["cosine", "correlation", "euclidean"]


def prepare(x: NDArray[np.float32], metric: Metric) -> NDArray[np.float32]:
    """Return unit rows (cosine) or centred unit rows (correlation); rows of zeros stay zero."""
    if metric not in ("cosine", "correlation"):
        raise InputError(f"metric {metric!r} is not known here: use cosine or correlation")
    rows = x.astype(np.float64)
    if metric == "correlation":
        rows -= rows.mean(axis=1, keepdims=True)
    norms = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    return (rows / np.where(norms > 0, norms, 1.0)).astype(np.float32)
