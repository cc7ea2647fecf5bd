"""Answers that the groups go against: what a person said once, and the method held for a slip."""

import numpy as np

from cccount_dist.kinds.cluster.outweighed import outweighed, said_outweighed
from cccount_dist.sampling.ledger import LoggedAnswer

LABELS = np.array([0, 0, 1, -1])


def said(u: int, v: int, value: float | None) -> LoggedAnswer:
    return LoggedAnswer(f"{u}-{v}-{value}", 0, u, v, value, "people")


def test_an_answer_is_outweighed_where_the_groups_say_the_other_thing() -> None:
    wrong = [said(0, 1, 0.0), said(1, 2, 1.0)]
    right = [said(0, 1, 1.0), said(0, 2, 0.0)]
    assert outweighed([*right, *wrong], LABELS) == wrong


def test_unsure_and_items_without_a_group_go_against_nothing() -> None:
    assert outweighed([said(0, 1, None), said(2, 3, 1.0), said(0, 9, 1.0)], LABELS) == []
    assert outweighed([said(0, 1, 0.0)], np.empty(0, np.int64)) == []


def test_one_answer_and_many() -> None:
    assert said_outweighed(1).startswith("the groups go against 1 answer:")
    assert said_outweighed(1200).startswith("the groups go against 1,200 answers:")
