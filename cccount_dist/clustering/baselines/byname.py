"""The baselines by name."""

from collections.abc import Callable

from cccount_dist.clustering.baselines.asking import Asker, Labels, Vectors
from cccount_dist.clustering.baselines.cobra import cobra
from cccount_dist.clustering.baselines.np3 import np3
from cccount_dist.clustering.baselines.npu import npu
from cccount_dist.clustering.baselines.pck import ffqs, random_p
from cccount_dist.clustering.baselines.random_s import random_s
from cccount_dist.clustering.baselines.urasc import urasc

Baseline = Callable[[Vectors, int, Asker, int], Labels]  # vectors, K, whom to ask, seed
BASELINES: dict[str, Baseline] = {
    "random-p": random_p,
    "random-s": random_s,
    "ffqs": ffqs,
    "npu": npu,
    "urasc": urasc,
    "cobra": cobra,
    "np3": np3,
}
