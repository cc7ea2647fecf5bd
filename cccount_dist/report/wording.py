"""Numbers, times and results in words that a person reads. Spaces inside a quantity do not break."""

import math

from cccount_dist.report.facts import CountFacts, Estimate

_NBSP = "\u00a0"


def number(value: float) -> str:
    """A count that need not be whole: one decimal as long as it matters.

    >>> number(9.94), number(10.0), number(99.96), number(1234.6)
    ('9.9', '10.0', '100', '1,235')
    """
    return f"{value:,.1f}" if round(value, 1) < 100 else f"{value:,.0f}"


def percent(share: float) -> str:
    """
    >>> percent(0.95), percent(0.999)
    ('95\\xa0%', '99.9\\xa0%')
    """
    return f"{share * 100:.6g}{_NBSP}%"


def plural(count: int, one: str, many: str | None = None) -> str:
    """
    >>> plural(1, "answer"), plural(2000, "answer"), plural(0, "reply", "replies")
    ('1\\xa0answer', '2,000\\xa0answers', '0\\xa0replies')
    """
    return f"{count:,}{_NBSP}{one if count == 1 else many or one + 's'}"


def duration(seconds: float) -> str:
    """
    >>> duration(45), duration(600), duration(27000), duration(900000)
    ('45\\xa0seconds', '10\\xa0minutes', '7.5\\xa0hours', '250\\xa0hours')
    """
    if seconds < 90:
        return plural(round(seconds), "second")
    if seconds < 5400:
        return plural(round(seconds / 60), "minute")
    hours = seconds / 3600
    return f"{hours:,.1f}{_NBSP}hours" if hours < 100 else f"{hours:,.0f}{_NBSP}hours"


def interval(estimate: Estimate) -> str:
    low, high = number(estimate.low), number(estimate.high)
    return f"that it is {low}" if low == high else f"between {low} and {high}"


def headline(facts: CountFacts) -> tuple[str, str]:
    """The answer in one sentence, in two parts: what is said large, and what is said below it."""
    answers = plural(facts.questions, "answer")
    last = facts.last
    if facts.exact is not None:
        return f"Exactly {facts.exact:,} different ones", f"{answers} decide every pair."
    if last is not None:
        sure = f"{percent(facts.settings.level)} sure {interval(last)}"
        return f"About {number(last.estimate)} different ones", f"{sure}, from {plural(last.questions, 'answer')}."
    if facts.questions:
        return "No estimate yet", f"{answers} so far are too few to say more than: at least 1, at most {facts.settings.items:,}."
    if facts.pending:
        return "No answers yet", f"{plural(facts.pending, 'question')} {_wait(facts.pending)} for people."
    return "No answers yet", "Nothing has been asked so far."


def standing(facts: CountFacts) -> str:
    """Where the campaign stands, and what it waits for."""
    goal = facts.goal
    last = facts.last
    wanted = goal.target_width
    if facts.exact is not None:
        return "Complete: nothing is left to ask."
    if wanted is not None and last is not None and (last.high - last.low) <= wanted * last.estimate:
        return f"Complete: the interval is narrower than the wanted {percent(wanted)} of the estimate."
    spent = facts.questions + facts.glances * goal.page_cost
    if spent >= goal.budget:
        reached = f"the budget of {plural(goal.budget, 'answer')} is used"
        return f"Complete: {reached}." if wanted is None else f"Stopped: {reached}, and the interval is wider than wanted."
    given = f"{math.floor(spent):,} of {plural(goal.budget, 'answer')} given"
    if goal.oracle == "people" and facts.pending:
        return f"Waiting for people: {plural(facts.pending, 'question')} open, {given}."
    return f"Under way: {given}. The same command goes on from here."


def forecast(facts: CountFacts) -> str | None:
    """What a narrower interval takes; None if that is not known, or reached."""
    ahead = facts.forecast
    if ahead is None or facts.exact is not None or ahead.answers <= facts.questions:
        return None
    hours = duration(ahead.answers * facts.seconds_per_pair)
    return f"About {plural(ahead.answers, 'answer')} in all, {hours}, would bring it to ±{percent(ahead.width / 2)}."


def cost(facts: CountFacts) -> str:
    """What the answers took, by the cost model."""
    pairs = f"{plural(facts.questions, 'pair')} at {facts.seconds_per_pair:g} s"
    pages = f", {plural(facts.glances, 'page')} at {facts.seconds_per_page:g} s" if facts.glances else ""
    return f"{duration(facts.seconds)}: {pairs}{pages}"


def against_truth(facts: CountFacts) -> str | None:
    """What the labels of the collection say beside the estimate; None if there are none."""
    truth, last = facts.collection.truth, facts.last
    if truth is None:
        return None
    said = f"The labels of the collection say {truth:,}"
    if facts.exact is not None:
        return f"{said}, too." if truth == facts.exact else f"{said}: the answers differ from them."
    if last is None:
        return f"{said}."
    return f"{said}, which lies {'inside' if last.low <= truth <= last.high else 'outside'} the interval."


def caution(facts: CountFacts) -> str | None:
    """What a reader must know before using the number; None if there is nothing to warn of."""
    answers, items = facts.questions, facts.settings.items
    if facts.settings.method not in PAPERS or facts.last is None or facts.exact is not None or answers >= items:
        return None
    return (
        f"There are fewer answers ({answers:,}) than items ({items:,}). With this method the estimate is then often far off, "
        "mostly too high, and its interval too narrow: more answers bring both closer to the truth."
    )


def verdict(value: float | None) -> str:
    """
    >>> verdict(1.0), verdict(0.0), verdict(None), verdict(0.7)
    ('same', 'different', 'unsure', 'rated 0.7')
    """
    if value is None:
        return "unsure"
    known = {1.0: "same", 0.0: "different"}
    return known.get(value) or f"rated {value:.3g}"


_NIS = (
    "Items are drawn at random, those that few others resemble more often, and each is compared with items drawn by their "
    "similarity to it. How often the two are the same says how large the item's cluster is, and from the sizes follows the "
    "number of clusters. That some are drawn more often than others is weighed out again, so with many answers a poor "
    "similarity costs precision and does not shift the result (Perez, Sheldon, Van Horn and Maji, 2023)."
)
_NESTED_MC = (
    "Items are drawn evenly at random, and each is compared with others that are also drawn evenly. How often the two are "
    "the same says how large the item's cluster is, and from the sizes follows the number of clusters."
)
_RELEASED = " The item itself is forced into each comparison, as in the program that the paper's authors released."
_PLACING = (
    "Items are drawn evenly at random, and each is compared with one member of every cluster found so far, the likeliest first, "
    "until somebody says that they are the same; an item that differs from all of them is a new cluster. How often clusters were "
    "drawn once, twice and so on says how many were not drawn at all: by Chao's bound, and by a posterior over how unequal "
    "clusters are. The interval holds both. Where answers may be wrong, unlikely ones are asked again, and false splits that are "
    "expected to be left are taken out."
)
_INVERSE = (
    "An item is drawn at random, then others until one is the same. The number of draws is the number of clusters on average, "
    "exactly, whatever their sizes: nothing is assumed about them, at the price of a wider interval."
)
_PCKMEANS = (
    "k-means that keeps to the answers, for every number of clusters; the number is where its objective bends. No interval."
)
METHODS = {
    "placing": ("Placing random items", _PLACING),
    "inverse": ("Inverse sampling", _INVERSE),
    "nis": ("Nested importance sampling", _NIS),
    "nested-mc": ("Nested Monte Carlo", _NESTED_MC),
    "nis-released": ("Nested importance sampling, as released", _NIS + _RELEASED),
    "nested-mc-released": ("Nested Monte Carlo, as released", _NESTED_MC + _RELEASED),
    "pckmeans-random": ("PCK-means, random questions", _PCKMEANS),
    "pckmeans-explore": ("PCK-means, farthest-first questions", _PCKMEANS),
}
PAPERS = ("nis", "nested-mc", "nis-released", "nested-mc-released")  # far off while answers are few
WAYS = {"chao": "Chao's bound", "mixture": "size mixture", "inverse": "inverse sampling"}


def method(name: str) -> tuple[str, str]:
    """A method's name in words, and what it does; the bare name for one that this version does not describe."""
    return METHODS.get(name, (name, ""))


def thinned(count: int, most: int) -> list[int]:
    """At most `most` of the places 0 … count - 1, evenly over them, first and last among them.

    >>> thinned(3, 10), thinned(10, 4), thinned(5, 1)
    ([0, 1, 2], [0, 3, 6, 9], [0])
    """
    if count <= most:
        return list(range(count))
    step = (count - 1) / max(1, most - 1)
    return [math.floor(place * step + 0.5) for place in range(most)]


def _wait(count: int) -> str:
    return "waits" if count == 1 else "wait"
