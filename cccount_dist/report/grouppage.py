"""The report of a grouping campaign: quality over the answers, sizes, pictures of the groups, doubts, and what comes next.

One HTML file without scripts, like that of a count; what users wrote is escaped by `markup.element`.
"""

from collections.abc import Mapping

from cccount_dist.campaign.answerwords import answers_words, further_words
from cccount_dist.campaign.noun import GROUP, Noun, noun_of, whole
from cccount_dist.report.facts import JudgedPair
from cccount_dist.report.frame import whole_file
from cccount_dist.report.gallery import picture
from cccount_dist.report.groupfacts import GroupingFacts, NextPair, Sheet
from cccount_dist.report.individualsection import STYLE, individuals_section
from cccount_dist.report.lines import lines
from cccount_dist.report.markup import Html, element, facts_list, joined, name_of, table
from cccount_dist.report.qualitysection import quality_section
from cccount_dist.report.ratingsection import ratings_section
from cccount_dist.report.wording import (
    PEOPLE_HEAD,
    budget_words,
    cost_rows,
    epoch_rows,
    method,
    people_note,
    people_rows,
    plural,
    sentence,
    thinned,
    verdict,
)

_CLASS = Noun("class", "classes")
_MOST_ROWS = 40
_STYLE = """
.sheet { display: grid; grid-template-columns: repeat(4, minmax(0, 1fr)); gap: 0.6rem; margin: 0; padding: 0; list-style: none; }
.sheet figure { margin: 0; min-width: 0; }
.sheet img, .sheet .none { width: 100%; aspect-ratio: 1; object-fit: contain; display: block; border: 1px solid var(--line); }
.sheet .none { display: grid; place-items: center; text-align: center; color: var(--soft); font-size: 0.7rem; }
.sheet figcaption { font-size: 0.75rem; }
@media (max-width: 40rem) { .sheet { grid-template-columns: repeat(2, minmax(0, 1fr)); } }
"""


def groups_page(facts: GroupingFacts) -> str:
    """Return the whole file."""
    large, below = _headline(facts)
    rated = Html() if facts.ratings is None else ratings_section(facts.ratings)
    good = Html() if facts.quality is None else quality_section(facts.quality, noun_of(facts.goal, _CLASS))
    who = individuals_section(facts.individuals, noun_of(facts.goal, GROUP))
    told = (good, _course(facts), rated, _sizes(facts), who, _sheets(facts), _doubts(facts))
    sections = (*told, _next(facts), _how(facts))
    when = f"{facts.written_at:%Y-%m-%d %H:%M} UTC"
    foot = element("footer", element("p", f"Written by cccount {facts.version} on {when}. This file needs no network."))
    body = element("body", element("main", _answer(facts, large, below), *sections), foot)
    return whole_file(large, facts.campaign, body, style=_STYLE + STYLE)


def _headline(facts: GroupingFacts) -> tuple[str, str]:
    if facts.last is None:
        return f"No {facts.noun.many} yet", "Nothing has been computed so far."
    effort, items = facts.effort, plural(facts.collection.items, "item")
    given = answers_words(effort.pairs, effort.pages) + further_words(effort.free, effort.carried)
    return facts.noun.of(facts.last.clusters), f"of {items}, from {given}."


def _answer(facts: GroupingFacts, large: str, below: str) -> Html:
    last = facts.last
    words = [element("p", _standing(facts))]
    if last is not None and last.expected_classes is not None:
        count = noun_of(facts.goal, _CLASS).of(whole(last.expected_classes))
        words.append(element("p", f"As a count: about {count}. What is probably a part of another group is not counted."))
    if last is not None and last.nmi is not None and last.ari is not None:
        agreed = f"Agreement with the labels of the collection: NMI {last.nmi:.3f}, ARI {last.ari:.3f}"
        agreed += "".join(
            f", {name} {value:.3f}" for name, value in (("JCC", last.jcc), ("RWCP", last.rwcp)) if value is not None
        )
        if facts.fission is not None:
            agreed += f"; {facts.fission:.2f} groups for each class (fission rate; 1 is right)"
        words.append(element("p", f"{agreed}."))
    warned = element("p", element("b", "Take care. "), sentence(facts.warning), class_="caution") if facts.warning else Html()
    return element(
        "header",
        element("p", element("b", "cccount"), " report · campaign ", name_of(facts.campaign), class_="kicker"),
        element("h1", f"{large} ", element("span", below, class_="more")),
        element("div", *words, class_="standing"),
        warned,
    )


def _standing(facts: GroupingFacts) -> str:
    if facts.pending and facts.goal.oracle == "people":
        given = budget_words(facts.effort, facts.goal)
        return f"Waiting for people: {plural(facts.pending, 'question')} open, {given}."
    if facts.effort.spent(facts.goal) >= facts.goal.budget:
        return f"Complete: the budget of {plural(facts.goal.budget, 'answer')} is used. A larger one goes on from here."
    return f"{sentence(budget_words(facts.effort, facts.goal))}"


def _course(facts: GroupingFacts) -> Html:
    title = element("h2", "The groups over the answers" if facts.quality is not None else "Quality over the answers")
    if not facts.course:
        return element("section", title, element("p", "There is no grouping yet."))
    x = [row.answers for row in facts.course]
    parts: list[str] = []
    known = [row for row in facts.course if row.nmi is not None and row.ari is not None]
    if known:
        curves = {"NMI": [row.nmi or 0.0 for row in known], "ARI": [row.ari or 0.0 for row in known]}
        said = f"Chart: NMI ends at {curves['NMI'][-1]:.3f} and ARI at {curves['ARI'][-1]:.3f}."
        parts.append(lines([row.answers for row in known], curves, said, top=1.02))
    else:
        parts.append(element("p", "The collection has no labels, so these are the machine's own measures.", class_="note"))
    entropies = [row.entropy for row in facts.course]
    parts.append(lines(x, {"entropy": entropies}, f"Chart: the entropy of the groups ends at {entropies[-1]:.2f} nats."))
    note = (
        "Entropy of the group sizes in nats: it falls while parts of one class are joined, and rises when a mixed one is split."
    )
    parts.append(element("p", note, class_="note"))
    return element("section", title, *parts, element("details", element("summary", "The same as numbers"), _numbers(facts)))


def _numbers(facts: GroupingFacts) -> Html:
    rows = [facts.course[place] for place in thinned(len(facts.course), _MOST_ROWS)]
    cells = [[f"{row.answers:,}", f"{row.clusters:,}", *map(_figure, (row.entropy, row.nmi, row.ari, row.jcc))] for row in rows]
    return table(
        "The grouping over the answers", ["answers", facts.noun.many, "entropy", "NMI", "ARI", "JCC"], cells, class_="numbers"
    )


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _sizes(facts: GroupingFacts) -> Html:
    rows = [[label, f"{groups:,}", f"{items:,}"] for label, groups, items in size_classes(facts.sizes)]
    return element(
        "section",
        element("h2", f"How many items each {facts.noun.one} has"),
        table("Groups by size", ["items in one", facts.noun.many, "items in all"], rows, class_="numbers"),
    )


def size_classes(sizes: Mapping[int, int]) -> list[tuple[str, int, int]]:
    """Return sizes put together by powers of two: what they are called, how many groups, how many items.

    >>> size_classes({1: 5, 2: 1, 3: 2, 40: 1})
    [('1', 5, 5), ('2 to 3', 3, 8), ('32 to 63', 1, 40)]
    """
    found: dict[int, tuple[int, int]] = {}
    for size, count in sorted(sizes.items()):
        level = size.bit_length() - 1
        groups, items = found.get(level, (0, 0))
        found[level] = groups + count, items + size * count
    names = {level: "1" if level == 0 else f"{1 << level:,} to {(2 << level) - 1:,}" for level in found}
    return [(names[level], *found[level]) for level in found]


def _sheets(facts: GroupingFacts) -> Html:
    title = element("h2", f"The {facts.noun.many} with most items")
    pictures = [side for sheet in facts.sheets for side in sheet.pictures]
    if not pictures:
        return element("section", title, element("p", "There are no groups to show."))
    if all(side.picture is None for side in pictures):
        rows = [[f"{s.cluster:,}", f"{s.size:,}", joined(*_names(s))] for s in facts.sheets]
        words = "The collection has vectors only, so there are no pictures to show."
        return element(
            "section", title, element("p", words), table("Groups and some items", ["group", "items", "among them"], rows)
        )
    called = sentence(facts.noun.one).rstrip(".")
    shown = [
        part
        for sheet in facts.sheets
        for part in (
            element("h3", f"{called} {sheet.cluster:,}: {plural(sheet.size, 'item')}"),
            element("ul", *(element("li", picture(side)) for side in sheet.pictures), class_="sheet"),
        )
    ]
    words = "Items are spread evenly over each group. All labels are in labels.parquet."
    return element("section", title, element("p", words, class_="note"), *shown)


def _names(sheet: Sheet) -> list[str]:
    names = [name_of(side.item_id) for side in sheet.pictures]
    return [part for at, name in enumerate(names) for part in ((", ", name) if at else (name,))]


def _doubts(facts: GroupingFacts) -> Html:
    title = element("h2", "Contradictions")
    if not facts.against_count:
        return element("section", title, element("p", "The groups go against no answer."))
    words = (
        f"The groups go against what was said about {plural(facts.against_count, 'pair')}: other answers, or the items around "
        "them, outweigh these. "
        "A person who looks at them again helps most."
    )
    said = [f"{verdict(pair.value)} · question {pair.question_id:,}" for pair in facts.against]
    cards = [element("li", _two(pair), element("p", below)) for pair, below in zip(facts.against, said, strict=True)]
    return element("section", title, element("p", words), element("ul", *cards, class_="pairs"))


def _next(facts: GroupingFacts) -> Html:
    title = element("h2", "What is uncertain")
    if not facts.next:
        return element("section", title, element("p", "Nothing is left that would be asked next."))
    cards = [element("li", _two(pair), element("p", pair.purpose)) for pair in facts.next]
    words = "These pairs would be asked next: their answers are expected to change the groups most."
    return element("section", title, element("p", words), element("ul", *cards, class_="pairs"))


def _two(pair: JudgedPair | NextPair) -> Html:
    return element("div", picture(pair.first), picture(pair.second), class_="two")


def _how(facts: GroupingFacts) -> Html:
    settings, goal = facts.settings, facts.goal
    simulated = "the embeddings" if goal.oracle == "similarity" else "the label column"
    who = "people" if goal.oracle == "people" else f"{simulated}, as a simulation of people"
    if goal.error_rate:
        who += f"; {goal.error_rate:.3g} of these answers were made wrong on purpose"
    rows: list[tuple[str, str]] = [
        ("Method", settings.method),
        ("Answered by", who),
        ("Answers given", answers_words(facts.effort.pairs, facts.effort.pages)),
        ("Unsure", f"{plural(facts.unsure, 'pair')}: those count neither as same nor as different" if facts.unsure else "none"),
        *cost_rows(facts.price, facts.effort, goal),
        ("Answers for free", f"{facts.effort.free:,}, because they follow from given ones"),
        ("From other campaigns", plural(facts.effort.carried, "answer")),
        ("Contradicting answers", f"{facts.contradictions:,}"),
        ("Items", f"{facts.collection.items:,}, {facts.collection.failed:,} of them without a vector and without a group"),
        ("Similarity", settings.metric),
        ("Seed", str(settings.seed)),
        ("Started", f"{settings.started_at} with cccount {settings.version}"),
        *epoch_rows(facts.epochs),
        *([("Preset", settings.preset)] if settings.preset else []),
        *((f"Parameter {name}", str(value)) for name, value in settings.parameters.items()),
        *((f"Fingerprint of {name}", element("code", value)) for name, value in settings.fingerprints.items()),
    ]
    words = element("p", method(settings)[1])
    people = Html()
    if goal.oracle == "people" and facts.effort.people:
        who_answered = table("Who answered", PEOPLE_HEAD, people_rows(facts.effort, _MOST_ROWS), class_="numbers", named=True)
        people = joined(who_answered, element("p", people_note(facts.effort), class_="note"))
    return element("section", element("h2", "How it was obtained"), words, facts_list(rows), people)
