"""The report of a count campaign: one HTML file that needs nothing else, no network and no script.

What users wrote (ids, labels, names of annotators) is escaped by `markup.element`; the content policy in the head forbids scripts
and anything from outside, whatever a name may contain.
"""

from cccount_dist.report.chart import chart
from cccount_dist.report.facts import CountFacts
from cccount_dist.report.frame import whole_file
from cccount_dist.report.gallery import gallery
from cccount_dist.report.markup import Html, element, facts_list, joined, name_of, table
from cccount_dist.report.shapes import size_chart, way_chart
from cccount_dist.report.wording import (
    against_truth,
    caution,
    cost,
    duration,
    forecast,
    headline,
    interval,
    method,
    number,
    percent,
    plural,
    standing,
    thinned,
)

_MOST_ROWS = 40  # of the table of estimates


def report_page(facts: CountFacts) -> str:
    """Return the whole file."""
    large, below = headline(facts)
    sections = (_course(facts), _found(facts), _compared(facts), _collection(facts), _how(facts), gallery(facts), _record(facts))
    body = element("body", element("main", _answer(facts, large, below), *sections), _foot(facts))
    return whole_file(large, facts.campaign, body)


def _answer(facts: CountFacts, large: str, below: str) -> Html:
    words = [element("p", standing(facts))]
    if (truth := against_truth(facts)) is not None:
        words.append(element("p", truth))
    if (ahead := forecast(facts)) is not None:
        words.append(element("p", ahead))
    warned = [*facts.warnings, *([said] if (said := caution(facts)) else [])]
    return element(
        "header",
        element("p", element("b", "cccount"), " report · campaign ", name_of(facts.campaign), class_="kicker"),
        element("h1", f"{large} ", element("span", below, class_="more")),
        element("div", *words, class_="standing"),
        *(element("p", element("b", "Take care. "), said, class_="caution") for said in warned),
        _figures(facts),
    )


def _figures(facts: CountFacts) -> Html:
    pages = f" and {facts.seconds_per_page:g} s a page" if facts.glances else ""
    shown = (
        (f"{facts.collection.items:,}", "items in the collection"),
        (f"{facts.questions:,}", f"answers given, and {plural(facts.glances, 'page')}" if facts.glances else "answers given"),
        (f"{facts.inferred:,}", "answers for free: they follow from the others"),
        (duration(facts.seconds), f"of a person's time, at {facts.seconds_per_pair:g} s a pair{pages}"),
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
        legend += " Dotted: clusters seen, which the count cannot fall below if the answers are right."
    if facts.collection.truth is not None:
        legend += " Dashed: what the labels say."
    return element(
        "section",
        title,
        chart(facts.estimates, facts.collection.truth, _described(facts)),
        element("p", legend, class_="note"),
        element("details", element("summary", "The same as numbers"), _numbers(facts)),
    )


def _described(facts: CountFacts) -> str:
    first, last = facts.estimates[0], facts.estimates[-1]
    end = f"{number(last.estimate)}, {interval(last)}, after {plural(last.questions, 'answer')}"
    if len(facts.estimates) == 1:
        return f"Chart: the estimate is {end}."
    return (
        f"Chart: the estimate goes from {number(first.estimate)}, {interval(first)}, "
        f"after {plural(first.questions, 'answer')} to {end}."
    )


def _numbers(facts: CountFacts) -> Html:
    rows = [facts.estimates[place] for place in thinned(len(facts.estimates), _MOST_ROWS)]
    cells = [[f"{row.questions:,}", number(row.estimate), number(row.low), number(row.high)] for row in rows]
    return table("The estimate over the answers", ["answers", "estimate", "low", "high"], cells, class_="numbers")


def _found(facts: CountFacts) -> Html:
    """How large the clusters are that were seen."""
    if not facts.sizes:
        return Html()
    clusters, items = sum(facts.sizes.values()), sum(size * times for size, times in facts.sizes.items())
    once = facts.sizes.get(1, 0)
    said = (
        f"{plural(items, 'random item')} {'was' if items == 1 else 'were'} placed in {plural(clusters, 'cluster')}; "
        f"{plural(once, 'cluster')} of them {'was' if once == 1 else 'were'} drawn only once. The more were drawn once, the more "
        "there are that were not drawn at all."
    )
    return element("section", element("h2", "What was found"), element("p", said), size_chart(facts.sizes))


def _compared(facts: CountFacts) -> Html:
    """What other ways to count from the same answers say."""
    if len(facts.ways) < 2:
        return Html()
    cells = [[way.name, number(way.estimate), number(way.low), number(way.high)] for way in facts.ways]
    words = (
        "The same answers, counted in several ways. The first is the result; the others assume other things about how unequal "
        "the clusters are. Where their intervals do not meet, the count needs more answers."
    )
    numbers = table("The ways to count", ["way", "estimate", "low", "high"], cells, class_="numbers", named=True)
    return element(
        "section",
        element("h2", "Other ways to count"),
        element("p", words),
        way_chart(facts.ways),
        element("details", element("summary", "The same as numbers"), numbers),
    )


def _collection(facts: CountFacts) -> Html:
    collection = facts.collection
    vectors = "given with the collection" if collection.encoder == "given" else (collection.encoder or "unknown")
    if collection.dimensions is not None:
        vectors += f", {plural(collection.dimensions, 'dimension')}"
    rows = [
        ("Items", f"{collection.items:,}"),
        ("Counted", f"{facts.settings.items:,}"),
        ("Vectors", vectors),
        ("Similarity", facts.settings.metric),
        ("Labels", "none" if collection.truth is None else f"{collection.truth:,} different ones, every counted item has one"),
    ]
    failed = Html()
    if collection.failed:
        shown = len(collection.failed_examples)
        head = f"{plural(collection.failed, 'item')} left out"
        caption = head if shown == collection.failed else f"{head}; the first {shown:,}"
        names = [[name_of(name), reason] for name, reason in collection.failed_examples]
        failed = joined(
            element("p", f"{head}: no vector could be made, so they are not in the count.", class_="caution"),
            table(caption, ["item", "reason"], names),
        )
    return element("section", element("h2", "What was counted"), facts_list(rows), failed)


def _how(facts: CountFacts) -> Html:
    settings, goal = facts.settings, facts.goal
    title, explained = method(settings.method)
    who = "people" if goal.oracle == "people" else "the label column, as a simulation of people"
    if goal.error_rate:
        who += f"; {percent(goal.error_rate)} of these answers were made wrong on purpose"
    rows: list[tuple[str, str]] = [
        ("Method", f"{title} ({settings.method})" if explained else title),
        ("Interval", f"{percent(settings.level)} level"),
        ("Budget", plural(goal.budget, "answer")),
        ("Answered by", who),
        ("Answers given", f"{facts.questions:,}{_unsure(facts)}"),
        ("Answers for free", f"{facts.inferred:,}, because they follow from given ones"),
        ("Contradictions", _contradictions(facts)),
        ("Open questions", f"{facts.pending:,}"),
        ("Effort", cost(facts)),
    ]
    if goal.target_width is not None:
        rows.insert(2, ("Wanted width", f"{percent(goal.target_width)} of the estimate"))
    people = Html()
    if goal.oracle == "people" and facts.annotators:
        ranked = sorted(facts.annotators.items(), key=lambda row: (-row[1], row[0]))
        people = table(
            "Who answered", ["annotator", "answers"], [[name_of(name), f"{count:,}"] for name, count in ranked[:_MOST_ROWS]]
        )
    words = element("p", explained) if explained else Html()
    return element("section", element("h2", "How it was obtained"), words, facts_list(rows), people)


def _unsure(facts: CountFacts) -> str:
    return f", {facts.unsure:,} of them unsure: those count neither as same nor as different" if facts.unsure else ""


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
        ("Started with", f"cccount {settings.version}"),
        *((f"Parameter {name}", str(value)) for name, value in settings.parameters.items()),
        *((f"Fingerprint of {name}", element("code", value)) for name, value in settings.fingerprints.items()),
    ]
    words = "The same collection, settings and answers give the same questions and the same result."
    return element("section", element("h2", "For the record"), element("p", words), facts_list(rows))


def _foot(facts: CountFacts) -> Html:
    when = f"{facts.written_at:%Y-%m-%d %H:%M} UTC"
    return element("footer", element("p", f"Written by cccount {facts.version} on {when}. This file needs no network."))
