"""Local features of a picture: SIFT points and what is around each, for `similarity/localmatches.py`. Needs the extra `local`.

SIFT on the grey picture, squeezed to a square of 224 pixels; square roots of shares in the place of values (RootSIFT), in whole
numbers. The strongest 300 points; a picture without texture has none. Memory of a picture 39,000 bytes, time about 17 ms.
"""

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cccount_dist.similarity.localmatches import COLUMNS, POINTS, SIDE, STEP, Features
from storage.errors import InputError

REVISION = 1  # of how points are found, described and matched
CONTRAST = 0.02  # of a point, at least
_SCALE, _MOST = 480.0, 127  # length of a descriptor; its numbers are cut where seven bits end, which few reach
_of_thread = threading.local()


def require_opencv() -> str:
    """Return the version of OpenCV; `InputError` with what to do if it is not there."""
    try:
        import cv2
    except ImportError as error:
        raise InputError("local matches need OpenCV: pip install 'cccount[local]'") from error
    return str(cv2.__version__)


def local_features(picture: NDArray[np.uint8]) -> Features:
    """Return the points of a picture (SIDE, SIDE, 3), the strongest first; rows of zeros behind them."""
    import cv2

    points, described = _detector().detectAndCompute(cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY), None)
    found = np.zeros((POINTS, COLUMNS), np.int8)
    if not points:
        return found
    place = np.array([point.pt for point in points])
    share = described.astype(np.float64) / np.maximum(described.sum(axis=1, dtype=np.float64, keepdims=True), 1e-9)
    rows = np.concatenate(
        [np.clip(np.rint(place / STEP), 0, SIDE / STEP - 1), np.minimum(np.rint(_SCALE * np.sqrt(share)), _MOST)], axis=1
    )
    strength = np.array([point.response for point in points])
    # By strength, and by place where that is equal: the order in which OpenCV finds them is its own affair.
    order = np.lexsort((*rows.T[::-1], -strength))[:POINTS]
    found[: len(order)] = rows[order].astype(np.int8)
    return found


def _detector() -> Any:
    """One for each thread; OpenCV's own threads would only be in the way of Dask's workers."""
    if not hasattr(_of_thread, "sift"):
        import cv2

        cv2.setNumThreads(1)
        _of_thread.sift = cv2.SIFT.create(POINTS, contrastThreshold=CONTRAST)
    return _of_thread.sift


__all__ = ["REVISION", "local_features", "require_opencv"]
