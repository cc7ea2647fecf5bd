"""Draws of who the individuals might be: as uncertain as what is known of the errors, and never against what was said by hand."""

import numpy as np

from cccount_dist.individuals.draws import Errors, Share, draws
from cccount_dist.individuals.roster import Said

GROUPS = [tuple(range(4 * k, 4 * k + 4)) for k in range(20)]
POOR = Errors(right=Share(0.8, 0.75, 0.85), count=Share(15.0, 13.0, 17.0))


def test_the_same_seed_gives_the_same_draws_and_every_picture_is_in_one_individual() -> None:
    one, again, longer = (draws(GROUPS, [], POOR, count, seed=3) for count in (4, 4, 8))
    assert one == again == longer[:4]
    assert draws(GROUPS, [], POOR, 4, seed=4) != one
    for drawn in one:
        assert sorted(item for items in drawn.groups.values() for item in items) == list(range(80))


def test_without_known_errors_a_draw_is_the_list() -> None:
    (drawn,) = draws(GROUPS, [], Errors(), 1)
    assert sorted(drawn.groups.values()) == GROUPS
    assert (drawn.false, drawn.missed) == (0.0, 0.0)


def test_what_was_said_by_hand_is_in_every_draw() -> None:
    said = [Said(0, item, 1.0, "ana", by_hand=True) for item in (1, 2, 3)]
    said += [Said(4 * k, 4 * j, 0.0, "ana", by_hand=True) for k in range(20) for j in range(k)]
    for drawn in draws(GROUPS, said, POOR, 30):
        (home,) = [items for items in drawn.groups.values() if 0 in items]
        assert {0, 1, 2, 3} <= set(home)
        owners = [next(name for name, items in drawn.groups.items() if 4 * k in items) for k in (0, 5)]
        assert owners[0] != owners[1]


def test_answers_hold_a_picture_and_more_of_them_hold_it_better() -> None:
    checked = [Said(4 * k, 4 * k + j, 1.0, "ana") for k in range(20) for j in (1, 2, 3)]
    bad = Errors(false_same=(400.0, 1000.0))
    once = np.mean([drawn.false for drawn in draws(GROUPS, checked, bad, 40)])
    thrice = np.mean([drawn.false for drawn in draws(GROUPS, checked * 3, bad, 40)])
    assert once > 0.2
    assert thrice < once / 2


def test_a_different_between_two_individuals_keeps_them_apart_as_often_as_it_is_right() -> None:
    groups, count = [(0, 1), (2, 3)], Share(1.0, 1.0, 1.0)
    joined = [
        np.mean([len(drawn.groups) == 1 for drawn in draws(groups, said, Errors(missed=(0.0, 500.0), count=count), 200)])
        for said in ([], [Said(0, 2, 0.0, "ana")] * 3)
    ]
    assert joined[0] > 0.5  # a Poisson number with mean 1 is 0 in 37 %
    assert joined[1] == 0.0


def test_the_number_of_individuals_and_the_false_matches_cover_the_truth() -> None:
    """A list with known errors is drawn from: the middle 95 % of draws have what is true in at least 33 of 40 runs (binomial)."""
    inside, wrong = np.zeros(2), 0.2
    for run in range(40):
        chance = np.random.default_rng(run)
        truth = np.repeat(np.arange(20), 5)
        shown = truth.copy()
        moved = chance.random(100) < wrong
        shown[moved] = chance.integers(0, 20, int(moved.sum()))  # false matches
        for k in range(4):  # four animals were listed twice
            shown[np.flatnonzero(shown == k)[:2]] = 20 + k
        groups = [np.flatnonzero(shown == k).tolist() for k in range(24) if (shown == k).any()]
        right = float((shown == truth).mean() + 8 / 100)  # a fragment is not a false match
        errors = Errors(right=Share(right, right - 0.05, right + 0.05), count=Share(20.0, 18.0, 22.0))
        found = draws(groups, [], errors, 60, seed=run)
        together = np.equal.outer(shown, shown)[np.triu_indices(100, 1)]
        false = float(np.not_equal.outer(truth, truth)[np.triu_indices(100, 1)][together].mean())
        seen = np.array([(len(drawn.groups), drawn.false) for drawn in found])
        for place, true in enumerate((20, false)):
            low, high = np.quantile(seen[:, place], [0.025, 0.975])
            inside[place] += low <= true <= high
    assert (inside >= 33).all(), inside
