"""The interval of section 3.3 against a direct computation."""

import numpy as np
import pytest
from scipy import stats

from cccount_dist.counting.intervals import check_level, mean_interval
from storage.errors import InputError


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
def test_the_interval_is_mean_plus_minus_z_standard_errors(level: float) -> None:
    terms = np.random.default_rng(0).lognormal(3, 2, 38)
    mean, low, high = mean_interval(terms.tolist(), level)
    half = stats.norm.ppf(0.5 + level / 2) * np.std(terms, ddof=1) / np.sqrt(38)
    assert mean == pytest.approx(terms.mean(), rel=1e-12)
    assert low == pytest.approx(terms.mean() - half, rel=1e-9)
    assert high == pytest.approx(terms.mean() + half, rel=1e-9)


def test_the_order_of_the_terms_does_not_matter() -> None:
    terms = np.random.default_rng(1).lognormal(0, 5, 50).tolist()
    assert mean_interval(terms, 0.95) == mean_interval(terms[::-1], 0.95)


@pytest.mark.parametrize("level", [0.0, 1.0, -1.0, 95.0, float("nan")])
def test_a_level_outside_0_and_1_is_refused(level: float) -> None:
    with pytest.raises(InputError, match="level"):
        check_level(level)
