"""The report of a count campaign: one HTML file that needs nothing else, no network and no script.

What users wrote (ids, labels, names of annotators) is escaped by `markup.element`; the content policy in the head forbids scripts
and anything from outside, whatever a name may contain.
"""

from cccount_dist.campaign.answerwords import answers_words, parts
from cccount_dist.campaign.noun import whole
from cccount_dist.report.chart import chart, leaves_the_chart
from cccount_dist.report.facts import CountFacts
from cccount_dist.report.frame import whole_file
from cccount_dist.report.gallery import gallery
from cccount_dist.report.individualsection import STYLE, individuals_section
from cccount_dist.report.markup import Html, element, facts_list, joined, name_of, table
from cccount_dist.report.shapes import size_chart, way_chart
from cccount_dist.report.wording import (
    PEOPLE_HEAD,
    against_truth,
    caution,
    cost,
    cost_rows,
    duration,
    ends,
    epoch_rows,
    forecast,
    headline,
    interval,
    method,
    people_note,
    people_rows,
    percent,
    plural,
    sentence,
    standing,
    thinned,
)

_MOST_ROWS = 40  # of the table of estimates


def report_page(facts: CountFacts) -> str:
    """Return the whole file."""
    large, below = headline(facts)
    who = individuals_section(facts.individuals, facts.noun)
    told = (_course(facts), _found(facts), who, _compared(facts), _collection(facts), _how(facts))
    sections = (*told, gallery(facts), _record(facts))
    body = element("body", element("main", _answer(facts, large, below), *sections), _foot(facts))
    return whole_file(large, facts.campaign, body, style=STYLE)


def _answer(facts: CountFacts, large: str, below: str) -> Html:
    words = [element("p", standing(facts))]
    if (truth := against_truth(facts)) is not None:
        words.append(element("p", truth))
    if (ahead := forecast(facts)) is not None:
        words.append(element("p", ahead))
    warned = [*map(sentence, facts.warnings), *([said] if (said := caution(facts)) else [])]
    return element(
        "header",
        element("p", element("b", "cccount"), " report · campaign ", name_of(facts.campaign), class_="kicker"),
        element("h1", f"{large} ", element("span", below, class_="more")),
        element("div", *words, class_="standing"),
        *(element("p", element("b", "Take care. "), said, class_="caution") for said in warned),
        _figures(facts),
    )


def _figures(facts: CountFacts) -> Html:
    effort, goal = facts.effort, facts.goal
    costs = effort.costs_or(goal)
    pages = f" and {costs.whole_page:.3g} s a page" if effort.pages else ""
    said = parts(effort.pairs, effort.pages)
    shown = (
        (f"{facts.collection.items:,}", "items in the collection"),
        (f"{effort.answers:,}", f"answers given: {said}" if said else "answers given"),
        (f"{effort.free:,}", "answers for free: they follow from the others"),
        (duration(effort.seconds(goal)), f"of a person's time, at {costs.pair:.3g} s a pair{pages}"),
    )
    return element(
        "ul", *(element("li", element("b", large), element("span", small)) for large, small in shown), class_="figures"
    )


def _course(facts: CountFacts) -> Html:
    title = element("h2", "The estimate over the answers")
    if facts.last is None:
        return element("section", title, element("p", "There is no estimate yet: the curve begins with the first answers."))
    level = percent(facts.settings.level)
    legend = f"Line: the estimate. Shaded: the {level} interval."
    if any(row.seen is not None and row.seen > 1.0 for row in facts.estimates):
        legend += f" Dotted: {facts.noun.many} seen, which the count cannot fall below if the answers are right."
    if facts.collection.truth is not None:
        legend += " Dashed: what the labels say."
    if leaves_the_chart(facts.estimates, facts.collection.truth):
        legend += " ▲ ▼: the interval goes on beyond the picture; the numbers have its ends."
    return element(
        "section",
        title,
        chart(facts.estimates, facts.collection.truth, _described(facts)),
        element("p", legend, class_="note"),
        element("details", element("summary", "The same as numbers"), _numbers(facts)),
    )


def _described(facts: CountFacts) -> str:
    first, last = facts.estimates[0], facts.estimates[-1]
    end = f"{whole(last.estimate):,}, {interval(last)}, after {plural(last.answers, 'answer')}"
    if len(facts.estimates) == 1:
        return f"Chart: the estimate is {end}."
    return (
        f"Chart: the estimate goes from {whole(first.estimate):,}, {interval(first)}, "
        f"after {plural(first.answers, 'answer')} to {end}."
    )


def _numbers(facts: CountFacts) -> Html:
    rows = [facts.estimates[place] for place in thinned(len(facts.estimates), _MOST_ROWS)]
    cells = [[f"{row.answers:,}", f"{whole(row.estimate):,}", *ends(row.low, row.high)] for row in rows]
    return table("The estimate over the answers", ["answers", "estimate", "low", "high"], cells, class_="numbers")


def _found(facts: CountFacts) -> Html:
    """How large the clusters are that were seen."""
    if not facts.sizes:
        return Html()
    noun = facts.noun
    clusters, items = sum(facts.sizes.values()), sum(size * times for size, times in facts.sizes.items())
    once = facts.sizes.get(1, 0)
    said = (
        f"{plural(items, 'random item')} {'shows' if items == 1 else 'show'} {noun.of(clusters)}; {once:,} of them "
        f"{'was' if once == 1 else 'were'} drawn only once. The more were drawn once, the more there are that were not drawn at "
        "all."
    )
    return element("section", element("h2", "What was found"), element("p", said), size_chart(facts.sizes, noun))


def _compared(facts: CountFacts) -> Html:
    """What other ways to count from the same answers say."""
    if len(facts.ways) < 2:
        return Html()
    cells = [[way.name, f"{whole(way.estimate):,}", *ends(way.low, way.high)] for way in facts.ways]
    words = (
        "The same answers, counted in several ways. The first is the result; the others assume other things about how unequal "
        f"the {facts.noun.many} are. Where their intervals do not meet, the count needs more answers."
    )
    numbers = table("The ways to count", ["way", "estimate", "low", "high"], cells, class_="numbers", named=True)
    return element(
        "section",
        element("h2", "Other ways to count"),
        element("p", words),
        way_chart(facts.ways, facts.noun),
        element("details", element("summary", "The same as numbers"), numbers),
    )


def _collection(facts: CountFacts) -> Html:
    collection = facts.collection
    vectors = "given with the collection" if collection.encoder in ("given", "distances") else (collection.encoder or "unknown")
    if collection.dimensions is not None:
        vectors += f", {plural(collection.dimensions, 'dimension')}"
    rows = [
        ("Items", f"{collection.items:,}"),
        ("Counted", f"{facts.settings.items:,}"),
        ("Vectors", vectors),
        ("Similarity", facts.settings.metric),
        ("Labels", "none" if collection.truth is None else f"{collection.truth:,}, and every counted item has one"),
    ]
    failed = Html()
    if collection.failed:
        shown = len(collection.failed_examples)
        head, are = f"{plural(collection.failed, 'item')} left out", "it is" if collection.failed == 1 else "they are"
        caption = head if shown == collection.failed else f"{head}; the first {shown:,}"
        names = [[name_of(name), reason] for name, reason in collection.failed_examples]
        failed = joined(
            element("p", f"{head}: no vector could be made, so {are} not in the count.", class_="caution"),
            table(caption, ["item", "reason"], names),
        )
    return element("section", element("h2", "What was counted"), facts_list(rows), failed)


def _how(facts: CountFacts) -> Html:
    settings, goal = facts.settings, facts.goal
    title, explained = method(settings)
    who = "people" if goal.oracle == "people" else "the label column, as a simulation of people"
    if goal.error_rate:
        who += f"; {percent(goal.error_rate)} of these answers were made wrong on purpose"
    rows: list[tuple[str, str]] = [
        ("Method", f"{title} ({settings.method})" if explained else title),
        ("Interval", f"{percent(settings.level)} level"),
        ("Budget", plural(goal.budget, "answer")),
        ("Answered by", who),
        ("Answers given", answers_words(facts.effort.pairs, facts.effort.pages)),
        ("Unsure", _unsure(facts)),
        ("Answers for free", f"{facts.effort.free:,}, because they follow from given ones"),
        ("From other campaigns", plural(facts.effort.carried, "answer")),
        ("Contradictions", _contradictions(facts)),
        ("Open questions", f"{facts.pending:,}"),
        ("Effort", cost(facts)),
        *cost_rows(facts.price, facts.effort, goal),
    ]
    if goal.target_width is not None:
        rows.insert(2, ("Wanted width", f"{percent(goal.target_width)} of the estimate"))
    people = Html()
    if goal.oracle == "people" and facts.effort.people:
        who_answered = table("Who answered", PEOPLE_HEAD, people_rows(facts.effort, _MOST_ROWS), class_="numbers", named=True)
        people = joined(who_answered, element("p", people_note(facts.effort), class_="note"))
    words = element("p", explained) if explained else Html()
    return element("section", element("h2", "How it was obtained"), words, facts_list(rows), people)


def _unsure(facts: CountFacts) -> str:
    return f"{plural(facts.unsure, 'pair')}: those count neither as same nor as different" if facts.unsure else "none"


def _contradictions(facts: CountFacts) -> str:
    if not facts.contradictions:
        return "none"
    return f"{facts.contradictions:,}: answers that disagree with earlier ones; both are kept, and the earlier one counts"


def _record(facts: CountFacts) -> Html:
    settings = facts.settings
    rows: list[tuple[str, str]] = [
        ("Campaign", name_of(facts.campaign)),
        ("Kind", settings.kind),
        ("Method", settings.method),
        ("Seed", str(settings.seed)),
        ("Level", f"{settings.level:g}"),
        ("Metric", settings.metric),
        ("Items", f"{settings.items:,}"),
        ("Started", settings.started_at),
        *epoch_rows(facts.epochs),
        ("Started with", f"cccount {settings.version}"),
        *([("Preset", settings.preset)] if settings.preset else []),
        *((f"Parameter {name}", str(value)) for name, value in settings.parameters.items()),
        *((f"Fingerprint of {name}", element("code", value)) for name, value in settings.fingerprints.items()),
    ]
    words = "The same collection, settings and answers give the same questions and the same result."
    return element("section", element("h2", "For the record"), element("p", words), facts_list(rows))


def _foot(facts: CountFacts) -> Html:
    when = f"{facts.written_at:%Y-%m-%d %H:%M} UTC"
    return element("footer", element("p", f"Written by cccount {facts.version} on {when}. This file needs no network."))
