"""Answers of people that the groups go against, because other answers or the items around them weigh more.

A method that weighs answers may hold one single answer for a slip. That is its right; the person who gave it must see it.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from cccount_dist.campaign.answerwords import plural
from cccount_dist.sampling.ledger import CLOSED, INFERRED, Ledger, LoggedAnswer
from cccount_dist.sampling.types import DIFFERENT, SAME, Question


def settled_by_people(ledger: Ledger, questions: Iterable[Question]) -> list[LoggedAnswer]:
    """Return what was answered about each question, without those that followed from others or were closed."""
    settled = (ledger.settled(question.id) for question in questions)
    return [row for row in settled if row is not None and row.source not in (INFERRED, CLOSED)]


def outweighed(answers: Iterable[LoggedAnswer], labels: NDArray[np.int64]) -> list[LoggedAnswer]:
    """Return the answers that the groups go against; an item without a group goes against nothing.

    Linear in the answers.
    """
    grouped = labels >= 0
    return [
        row
        for row in answers
        if row.value in (SAME, DIFFERENT)
        and max(row.u, row.v) < len(labels)
        and grouped[row.u]
        and grouped[row.v]
        and (labels[row.u] == labels[row.v]) != (row.value == SAME)
    ]


def said_outweighed(count: int) -> str:
    """Say how many answers were outweighed.

    >>> said_outweighed(2)
    'the groups go against 2 answers: other answers, or similar items, weigh more; the report shows them'
    """
    return f"the groups go against {plural(count, 'answer')}: other answers, or similar items, weigh more; the report shows them"
