"""How often people are wrong, each and all together: from gold, from questions that several answered, and from repeats.

Everything goes through one Dawid-Skene estimate, in which gold is known. Intervals are those of a Beta distribution with
Jeffreys' prior over the expected counts: 95 %, and a little narrow where most answers have to be inferred from votes. Time:
linear in the votes on such questions, times some dozens of iterations.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import betainc, betaincinv

from cccount_dist.review.dawid_skene import Consensus, dawid_skene
from cccount_dist.review.kappas import kappas, krippendorff
from cccount_dist.sampling.ledger import GOLD, REPEAT, Ledger, LoggedAnswer
from cccount_dist.sampling.reading import Reading
from cccount_dist.sampling.settling import first_votes
from cccount_dist.sampling.types import DIFFERENT, SAME
from storage.campaigns import CampaignFolder

_LEVEL = 0.95
ENOUGH = 20  # checks, from which on something is said about a person
_SUSPICION = 0.01  # chance that somebody as good as the others is named, in a whole team


@dataclass(frozen=True, slots=True)
class Rate:
    """A rate of wrong answers, with the expected counts that it rests on."""

    wrong: float
    trials: float

    @property
    def value(self) -> float | None:
        """The share of wrong ones; None while there was no trial."""
        return None if self.trials <= 0.0 else self.wrong / self.trials

    @property
    def interval(self) -> tuple[float, float] | None:
        if self.trials <= 0.0:
            return None
        right = max(self.trials - self.wrong, 0.0)
        low, high = (float(betaincinv(0.5 + self.wrong, 0.5 + right, p)) for p in ((1 - _LEVEL) / 2, (1 + _LEVEL) / 2))
        return low, high


@dataclass(frozen=True, slots=True)
class Rates:
    """How often an answer is wrong: "different" though the same (miss), "same" though different."""

    miss: Rate
    false_same: Rate

    @property
    def known(self) -> bool:
        """Whether both rest on something."""
        return self.miss.trials > 0.0 and self.false_same.trials > 0.0


@dataclass(frozen=True, slots=True)
class Said:
    """What people said to one question: a gold one, whose truth is known, or one that several answered and that was settled."""

    votes: Mapping[str, float]
    truth: float = math.nan
    told: float | None = None  # what the sampler was told
    before: float | None = None  # a repeat: what the one who voted had said about the same pair


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything that the rates are estimated from."""

    said: list[Said]
    steadiness: dict[str, Rate]


@dataclass(frozen=True, slots=True)
class Reliability:
    """What is known about everybody."""

    people: dict[str, Rates]
    steadiness: dict[str, Rate]  # repeats: how often somebody answers a pair otherwise than before
    suspects: list[str]  # who errs clearly more often than the others
    votes: Rates  # of a single vote, whoever gave it
    settled: Rates  # of what the sampler was told
    alpha: float | None  # Krippendorff's
    kappas: list[tuple[str, str, float | None, int]]  # Cohen's, of every two people, and the questions that both answered
    checks: dict[str, int] = field(default_factory=dict)  # answers of everybody that could be compared with something


def reliability_of(ledger: Ledger) -> Reliability:
    """Estimate everybody's rates from the answers that are not taken back."""
    return estimate(evidence_of(ledger))


def estimate(evidence: Evidence) -> Reliability:
    """Estimate everybody's rates. Needs nothing but the evidence, so answers may come in meanwhile."""
    said = evidence.said
    names = sorted({name for one in said for name in one.votes})
    number = {name: place for place, name in enumerate(names)}
    rows = [(question, number[name], value == SAME) for question, one in enumerate(said) for name, value in one.votes.items()]
    rows += [(q, number[name], one.before == SAME) for q, one in enumerate(said) if one.before is not None for name in one.votes]
    table = np.array(rows, dtype=np.int64).reshape(-1, 3)
    known = np.array([one.truth for one in said], dtype=np.float64)
    found = dawid_skene(table[:, 0], table[:, 1], table[:, 2].astype(bool), known)
    people = {name: Rates(*_rates(found, place)) for name, place in number.items()}
    votes = Rates(
        Rate(float(found.missed.sum()), float(found.same_votes.sum())),
        Rate(float(found.false.sum()), float(found.different_votes.sum())),
    )
    shared = [one.votes for one in said if math.isnan(one.truth) and one.before is None]
    alpha, pairs = krippendorff([list(each.values()) for each in shared]), kappas(shared)
    settled, checks = _settled(said, found), _checks(said)
    return Reliability(people, evidence.steadiness, _suspects(people), votes, settled, alpha, pairs, checks)


def evidence_of(ledger: Ledger) -> Evidence:
    """Gather gold answers, questions that several people answered, and repeats. Linear in the answers, and quick."""
    truth_of = {source: value for value, source in GOLD.items()}
    rows = ledger.rows()
    said = [Said({r.annotator: r.value}, truth_of[r.source]) for r in rows if r.source in truth_of and r.value is not None]
    for question_id in ledger.shared:
        votes = {name: value for name, value in first_votes(ledger.votes(question_id)).items() if value is not None}
        if len(votes) > 1:
            settled = ledger.settled(question_id)
            said.append(Said(votes, told=None if settled is None else settled.value))
    repeats = _repeats(rows)
    for row, before in repeats:
        if row.value is not None and before is not None:
            said.append(Said({row.annotator: row.value}, before=before))
    return Evidence(said, _steadiness(repeats))


def measured_rates(folder: CampaignFolder) -> Rates:
    """Return how often the answers that this campaign's sampler is told are wrong, as far as it was measured."""
    reading = Reading(folder)
    reading.refresh()
    return rates_of(reading.ledger)


def rates_of(ledger: Ledger) -> Rates:
    """The same from answers that were read already: of single votes, or of what several votes settle."""
    found = reliability_of(ledger)
    return found.votes if ledger.overlap == 1 else found.settled


def _checks(said: Sequence[Said]) -> dict[str, int]:
    """How many answers of everybody can be compared: gold, and questions that others answered, too.

    Of two people who differ nobody knows who is wrong: votes count only in a team of three or more.
    """
    team = {name for one in said if math.isnan(one.truth) and one.before is None for name in one.votes}
    counts: Counter[str] = Counter()
    for one in said:
        if not math.isnan(one.truth) or (len(team) > 2 and len(one.votes) > 1):
            counts.update(one.votes.keys())
    return dict(counts)


def _rates(found: Consensus, place: int) -> tuple[Rate, Rate]:
    return (
        Rate(float(found.missed[place]), float(found.same_votes[place])),
        Rate(float(found.false[place]), float(found.different_votes[place])),
    )


def _repeats(rows: Sequence[LoggedAnswer]) -> list[tuple[LoggedAnswer, float | None]]:
    """Repeats, each with what the same person had said about the pair."""
    before: dict[tuple[str, int, int], float | None] = {}
    found = []
    for row in rows:
        pair = row.annotator, min(row.u, row.v), max(row.u, row.v)
        if row.source == REPEAT:
            found.append((row, before.get(pair, row.value)))
        elif row.is_vote:
            before[pair] = row.value
    return found


def _steadiness(repeats: Sequence[tuple[LoggedAnswer, float | None]]) -> dict[str, Rate]:
    changed: dict[str, list[bool]] = {}
    for row, before in repeats:
        changed.setdefault(row.annotator, []).append(before != row.value)
    return {name: Rate(float(sum(flips)), float(len(flips))) for name, flips in changed.items()}


def _suspects(people: Mapping[str, Rates]) -> list[str]:
    """Whoever errs more often than the others together by more than chance, and by half as much again at least."""
    totals = {name: (r.miss.wrong + r.false_same.wrong, r.miss.trials + r.false_same.trials) for name, r in people.items()}
    named = []
    all_wrong, all_trials = (sum(total[place] for total in totals.values()) for place in (0, 1))
    for name, (wrong, trials) in totals.items():
        rate = (2.0 + all_wrong - wrong) / (50.0 + all_trials - trials)  # of the others
        # The chance of so many wrong ones at the others' rate: the binomial tail, which takes expected counts as well.
        chance = float(betainc(wrong, trials - wrong + 1.0, rate)) if wrong >= 1.0 else 1.0
        if chance < _SUSPICION / len(totals) and wrong / trials > 1.5 * rate:
            named.append(name)
    return named


def _settled(said: Sequence[Said], found: Consensus) -> Rates:
    """Expected errors of settled answers, by the probabilities that their votes have."""
    wrong = {SAME: 0.0, DIFFERENT: 0.0}
    seen = {SAME: 0.0, DIFFERENT: 0.0}
    for one, same in zip(said, found.same.tolist(), strict=True):
        if one.told in (SAME, DIFFERENT):
            for truth, weight in ((SAME, same), (DIFFERENT, 1.0 - same)):
                seen[truth] += weight
                wrong[truth] += weight if one.told != truth else 0.0
    return Rates(Rate(wrong[SAME], seen[SAME]), Rate(wrong[DIFFERENT], seen[DIFFERENT]))
