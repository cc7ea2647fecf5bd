"""What a result rests on is said in the same words by commands, status and reports, answers of other campaigns included."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cccount_dist.campaign.campaign import Campaign, Response
from cccount_dist.campaign.effort import effort_of
from cccount_dist.campaign.outcome import CampaignOutcome
from flows.stages.campaigns import status
from tests.cccount_dist.report.reading import check


def test_a_result_that_rests_on_other_campaigns_says_so_in_the_same_words_everywhere(
    workspace: Path, labels: NDArray[np.int64]
) -> None:
    """Before: `from 0 answers and 2 free ones` of groups that 66 answers of a count had decided."""
    place = str(workspace)
    first = Campaign.create(place, "first", "count", budget=100)
    first.advance()
    first.tell([Response(q.id, float(labels[q.u] == labels[q.v])) for q in first.ask(66)])
    given = first.advance().questions
    assert given > 10
    groups = Campaign.create(place, "groups", "cluster", budget=100)
    reached = groups.advance()
    assert isinstance(reached, CampaignOutcome)
    assert (reached.questions, reached.carried, reached.json()["carried"]) == (0, given, given)
    (row,) = (one for one in status(place).campaigns if one.campaign == "groups")
    free = f", {row.free:,} that followed from others" if row.free else ""
    words = f"from 0 answers{free} and {given} of other campaigns"
    report = check(Path(groups.report()).read_text(encoding="utf-8")).text.replace("\xa0", " ")
    assert words in reached.words()
    assert words in status(place).words()
    assert words in report
    assert effort_of(groups.ledger).carried == given
