"""Numbers, times and results in words that a person reads. Spaces inside a quantity do not break."""

import math
from collections.abc import Sequence

from cccount_dist.campaign import answerwords
from cccount_dist.campaign.answerwords import parts, time_words
from cccount_dist.campaign.effort import Effort
from cccount_dist.campaign.noun import Noun, noun_of, whole, whole_range
from cccount_dist.report.facts import CountFacts, Estimate
from cccount_dist.report.markup import name_of
from cccount_dist.sampling.methods import methods_of
from storage.epochs import Epoch
from storage.settings import Goal, Settings

_NBSP = "\u00a0"


DIFFERENT = Noun("different one", "different ones")  # what a count found, where the user gave no word


def ends(low: float, high: float) -> tuple[str, str]:
    """The ends of an interval as people read them: whole, and never narrower than it was.

    >>> ends(8.9, 11.04), ends(1234.6, 2000.0)
    (('8', '12'), ('1,234', '2,000'))
    """
    first, last = whole_range(low, high)
    return f"{first:,}", f"{last:,}"


def sentence(text: str) -> str:
    """A remark as a sentence of its own.

    >>> sentence("after 20 answers nothing is certain"), sentence("Stop.")
    ('After 20 answers nothing is certain.', 'Stop.')
    """
    said = text.strip()
    return said[:1].upper() + said[1:] + ("" if said.endswith((".", "!", "?")) else ".")


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
    return answerwords.plural(count, one, many).replace(" ", _NBSP, 1)


def duration(seconds: float) -> str:
    """
    >>> duration(45), duration(600), duration(27000), duration(900000)
    ('45\\xa0seconds', '10\\xa0minutes', '7\\xa0h\\xa030', '250\\xa0hours')
    """
    return time_words(seconds).replace(" ", _NBSP)


def interval(estimate: Estimate) -> str:
    low, high = ends(estimate.low, estimate.high)
    return "with no other number in the interval" if low == high else f"between {low} and {high}"


def headline(facts: CountFacts) -> tuple[str, str]:
    """The answer in one sentence, in two parts: what is said large, and what is said below it."""
    effort, last, noun = facts.effort, facts.last, noun_of(facts.goal, DIFFERENT)
    answers = plural(effort.answers, "answer")
    if facts.exact is not None:
        decide = "decides" if effort.answers == 1 and not effort.carried else "decide"
        return f"Exactly {noun.of(facts.exact)}", f"{answers}{_further(facts)} {decide} every pair."
    if last is not None:
        said, level = f"About {noun.of(whole(last.estimate))}", percent(facts.settings.level)
        answers = f"{_rests_on(facts, last)}{_further(facts)}"
        low, high = ends(last.low, last.high)
        if low == high:  # an interval without width is no proof
            return said, f"From {answers}. The {level} interval has no other number."
        return said, f"{level} sure {interval(last)}, from {answers}."
    if effort.answers:
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
    spent = facts.effort.spent(goal)
    if spent >= goal.budget:
        reached = f"the budget of {plural(goal.budget, 'answer')} is used"
        return f"Complete: {reached}." if wanted is None else f"Stopped: {reached}, and the interval is wider than wanted."
    given = budget_words(facts.effort, goal)
    if goal.oracle == "people" and facts.pending:
        return f"Waiting for people: {plural(facts.pending, 'question')} open, {given}."
    return f"Under way: {given}. The same command goes on from here."


def forecast(facts: CountFacts) -> str | None:
    """What a narrower interval takes; None if that is not known, or reached."""
    ahead, goal = facts.forecast, facts.goal
    if ahead is None or facts.exact is not None or ahead.answers < facts.effort.spent(goal) + 1:
        return None
    each = " (a page counts as the pairs that take as long)" if facts.effort.pages else ""
    hours = duration(ahead.answers * goal.pair_seconds)
    return f"About {plural(ahead.answers, 'answer')} in all{each}, {hours}, would bring it to ±{percent(ahead.width / 2)}."


def budget_words(effort: Effort, goal: Goal) -> str:
    """How much of the budget is used: in answers, and what pages count as where there are some."""
    if not effort.pages:
        return f"{effort.answers:,} of {plural(goal.budget, 'answer')} given"
    used = f"{math.floor(effort.spent(goal)):,} of the budget of {goal.budget:,}"
    return (
        f"{plural(effort.answers, 'answer')} given, {parts(effort.pairs, effort.pages)}; they use {used}, in which a page counts "
        f"as {goal.page_cost:.2g} pairs"
    )


def people_rows(effort: Effort, most: int) -> list[list[str]]:
    """Who answered how much, whoever answered most first; the last row adds up."""
    rows = [[name_of(one.name), *_numbers(one.pairs, one.pages, one.answers, one.checks)] for one in effort.people[:most]]
    if len(effort.people) > most:
        rest = effort.people[most:]
        totals = (sum(getattr(one, name) for one in rest) for name in ("pairs", "pages", "answers", "checks"))
        rows.append([f"{len(rest):,} others", *_numbers(*totals)])
    if len(effort.people) > 1:
        pairs, pages = sum(one.pairs for one in effort.people), sum(one.pages for one in effort.people)
        rows.append(["all", *_numbers(pairs, pages, effort.given, effort.checks)])
    return rows


PEOPLE_HEAD = ["annotator", "pairs", "pages", "answers", "checks"]


def people_note(effort: Effort) -> str:
    """How the totals of people and the campaign's answers go together."""
    said = [f"{plural(effort.given, 'answer')} of people"]
    if effort.further:
        said.append(f"{effort.answers:,} that settle a question, and {plural(effort.further, 'further vote')} on one")
    note = ": ".join(said) + "."
    if effort.checks:
        tell = "tells" if effort.checks == 1 else "tell"
        note += f" {plural(effort.checks, 'check')} beside them {tell} only how reliable people are."
    if effort.carried:
        note += f" {plural(effort.carried, 'answer')} came from other campaigns, where they are counted."
    if effort.waits:
        times, longest = plural(len(effort.waits), "time"), f"{max(effort.waits):.1f} s at the longest"
        note += f" Somebody at the page had nothing to answer {times}: {longest}, {sum(effort.waits):.0f} s in all."
    return note


def _numbers(*counts: int) -> list[str]:
    return [f"{count:,}" for count in counts]


def _rests_on(facts: CountFacts, last: Estimate) -> str:
    """The answers that an estimate knows of; others may have come since."""
    effort = facts.effort
    if last.answers < effort.answers:
        return f"the first {last.answers:,} of {plural(effort.answers, 'answer')}"
    said = parts(effort.pairs, effort.pages)
    return plural(last.answers, "answer") + (f" ({said})" if said else "")


def _further(facts: CountFacts) -> str:
    return answerwords.further_words(facts.effort.free, facts.effort.carried)


def said_price(questions: float, price: float) -> str:
    """Say what so many questions cost.

    >>> said_price(143_000, 0.0025)
    'At 0.0025 a question that is 357.50.'
    """
    return f"At {price:g} a question that is {questions * price:,.2f}."


def cost_rows(price: float | None, effort: Effort, goal: Goal) -> list[tuple[str, str]]:
    """Return what the answers cost, if the price of a question is known; a page counts as the pairs that take as long."""
    if price is None:
        return []
    return [("Price", said_price(effort.pairs + effort.pages * goal.page_cost, price))]


def cost(facts: CountFacts) -> str:
    """What the answers took, by the cost model."""
    effort, goal = facts.effort, facts.goal
    costs = effort.costs_or(goal)
    pairs = f"{plural(effort.pairs, 'pair')} at {costs.pair:.3g} s"
    pages = f", {plural(effort.pages, 'page')} at {costs.whole_page:.3g} s" if effort.pages else ""
    measured = ", as measured" if costs.pairs + costs.pages else ""
    return f"{duration(effort.seconds(goal))}: {pairs}{pages}{measured}"


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
    answers, items, known = facts.effort.answers, facts.settings.items, methods_of(facts.settings.kind).get(facts.settings.method)
    if known is None or not known.early or facts.last is None or facts.exact is not None or answers >= items:
        return None
    return f"There are fewer answers ({answers:,}) than items ({items:,}). {known.early}"


def verdict(value: float | None) -> str:
    """
    >>> verdict(1.0), verdict(0.0), verdict(None), verdict(0.7)
    ('same', 'different', 'unsure', 'rated 0.7')
    """
    if value is None:
        return "unsure"
    known = {1.0: "same", 0.0: "different"}
    return known.get(value) or f"rated {value:.3g}"


WAYS = {
    "chao": "Chao's bound",
    "mixture": "size mixture",
    "if_equal": "… if sizes are about equal",
    "if_unequal": "… if they are unequal",
    "if_very_unequal": "… if they are very unequal",
    "inverse": "inverse sampling",
}


def method(settings: Settings) -> tuple[str, str]:
    """A method's name in words, and what it does; the bare name for one that this version does not describe."""
    known = methods_of(settings.kind).get(settings.method)
    return (known.title or settings.method, known.explained) if known is not None else (settings.method, "")


def epoch_rows(epochs: Sequence[Epoch]) -> list[tuple[str, str]]:
    """Where another sampler took over, and why, for the list of how a result was obtained."""
    later = [one for one in epochs if one.number]
    said = [f"since {one.opened_at}, after {one.answers:,} answers, with cccount {one.version}: {one.reason}" for one in later]
    return [(f"Epoch {one.number + 1}", words) for one, words in zip(later, said, strict=True)]


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
