"""Fast-PAM makes the swaps of PAM on the same restricted set; the eager way ends where no swap helps."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cccount_dist.subclustering.fast_pam import fast_pam
from storage.errors import InputError
from tests.cccount_dist.subclustering.reference import pam


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**20), st.integers(1, 5), st.booleans())
def test_fast_pam_is_pam_on_the_same_restricted_set(seed: int, clusters: int, ties: bool) -> None:
    random = np.random.default_rng(seed)
    x = random.integers(0, 6, (40, 2)).astype(np.float64) if ties else random.standard_normal((40, 2))
    rows = random.permutation(40)[:15]
    distances = np.sqrt(((x[rows][:, None] - x) ** 2).sum(axis=2)).astype(np.float32)
    expected, losses = pam(distances.astype(np.float64), list(range(clusters)))
    found = fast_pam(distances, np.arange(clusters), eager=False)
    assert found.loss == pytest.approx(losses[-1], rel=1e-6)
    if not ties and clusters > 1:
        assert found.medoids.tolist() == expected
        assert found.swaps == len(losses) - 1
    for medoids in (found, fast_pam(distances, np.arange(clusters))):
        assert medoids.loss == pytest.approx(float(distances[medoids.medoids].min(axis=0).sum()), rel=1e-6)
        nearest = distances[medoids.medoids[medoids.labels], np.arange(40)]
        assert (nearest == distances[medoids.medoids].min(axis=0)).all()
        again, after = pam(distances.astype(np.float64), medoids.medoids.tolist())
        assert after[-1] == pytest.approx(medoids.loss, rel=1e-6)
        assert len(set(again)) == clusters


def test_the_same_candidate_twice_is_refused() -> None:
    with pytest.raises(InputError, match="different candidates"):
        fast_pam(np.zeros((3, 3), np.float32), np.array([1, 1]))
