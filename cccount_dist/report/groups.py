"""The report of a grouping campaign: quality over the answers, sizes, pictures of the groups, doubts, and what comes next.

One HTML file without scripts, like that of a count; what users wrote is escaped by `markup.element`.
"""

from collections.abc import Mapping

from cccount_dist.report.facts import JudgedPair
from cccount_dist.report.frame import whole_file
from cccount_dist.report.gallery import picture
from cccount_dist.report.groupfacts import GroupingFacts, NextPair, Sheet
from cccount_dist.report.lines import lines
from cccount_dist.report.markup import Html, element, facts_list, joined, name_of, table
from cccount_dist.report.spectral import ratings_section
from cccount_dist.report.wording import plural, thinned, verdict

_MOST_ROWS = 40
_STYLE = """
.sheet { display: grid; grid-template-columns: repeat(8, 1fr); gap: 0.4rem; margin: 0; padding: 0; list-style: none; }
.sheet figure { margin: 0; min-width: 0; }
.sheet img, .sheet .none { width: 100%; aspect-ratio: 1; object-fit: contain; display: block; border: 1px solid var(--line); }
.sheet .none { display: grid; place-items: center; text-align: center; color: var(--soft); font-size: 0.7rem; }
.sheet figcaption { color: var(--soft); font-size: 0.65rem; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
@media (max-width: 40rem) { .sheet { grid-template-columns: repeat(4, 1fr); } }
"""
_METHODS = {
    "evidence": "Answers are evidence: they teach a model which blocks of similar items are one, and can be out-voted.",
    "apc": "Active probabilistic clustering: many pure clusters, joined and split by answers about their central items.",
    "iu-red": "Spectral clustering of ratings: asks for the rating that would move the least certain item most.",
    "hacc": "Active hierarchical clustering: the question whose answer is expected to change the clusters most.",
}


def groups_page(facts: GroupingFacts) -> str:
    """Return the whole file."""
    large, below = _headline(facts)
    rated = Html() if facts.ratings is None else ratings_section(facts.ratings)
    sections = (_course(facts), rated, _sizes(facts), _sheets(facts), _doubts(facts), _next(facts), _how(facts))
    when = f"{facts.written_at:%Y-%m-%d %H:%M} UTC"
    foot = element("footer", element("p", f"Written by cccount {facts.version} on {when}. This file needs no network."))
    body = element("body", element("main", _answer(facts, large, below), *sections), foot)
    return whole_file(large, facts.campaign, body, style=_STYLE)


def _headline(facts: GroupingFacts) -> tuple[str, str]:
    if facts.last is None:
        return "No groups yet", "Nothing has been computed so far."
    items, answers = plural(facts.collection.items, "item"), plural(facts.questions, "answer")
    return plural(facts.last.clusters, "group"), f"of {items}, from {answers}."


def _answer(facts: GroupingFacts, large: str, below: str) -> Html:
    last = facts.last
    words = [element("p", _standing(facts))]
    if last is not None and last.expected_classes is not None:
        count = plural(round(last.expected_classes), "class", "classes")
        words.append(element("p", f"As a count: about {count}. What is probably a part of another group is not counted."))
    if last is not None and last.nmi is not None and last.ari is not None:
        agreed = f"Agreement with the labels of the collection: NMI {last.nmi:.3f}, ARI {last.ari:.3f}"
        if facts.fission is not None:
            agreed += f"; {facts.fission:.2f} groups for each class (fission rate; 1 is right)"
        words.append(element("p", f"{agreed}."))
    warned = element("p", element("b", "Take care. "), facts.warning, class_="caution") if facts.warning else Html()
    return element(
        "header",
        element("p", element("b", "cccount"), " report · campaign ", name_of(facts.campaign), class_="kicker"),
        element("h1", f"{large} ", element("span", below, class_="more")),
        element("div", *words, class_="standing"),
        warned,
    )


def _standing(facts: GroupingFacts) -> str:
    if facts.pending and facts.goal.oracle == "people":
        return f"Waiting for people: {plural(facts.pending, 'question')} open."
    if facts.questions >= facts.goal.budget:
        return f"Complete: the budget of {plural(facts.goal.budget, 'answer')} is used. A larger one goes on from here."
    return f"{facts.questions:,} of {plural(facts.goal.budget, 'answer')} given."


def _course(facts: GroupingFacts) -> Html:
    title = element("h2", "Quality over the answers")
    if not facts.course:
        return element("section", title, element("p", "There is no grouping yet."))
    x = [row.questions for row in facts.course]
    parts: list[str] = []
    known = [row for row in facts.course if row.nmi is not None and row.ari is not None]
    if known:
        curves = {"NMI": [row.nmi or 0.0 for row in known], "ARI": [row.ari or 0.0 for row in known]}
        said = f"Chart: NMI ends at {curves['NMI'][-1]:.3f} and ARI at {curves['ARI'][-1]:.3f}."
        parts.append(lines([row.questions for row in known], curves, said, top=1.02))
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
    cells = [[f"{row.questions:,}", f"{row.clusters:,}", *map(_figure, (row.entropy, row.nmi, row.ari))] for row in rows]
    return table("The grouping over the answers", ["answers", "groups", "entropy", "NMI", "ARI"], cells, class_="numbers")


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _sizes(facts: GroupingFacts) -> Html:
    rows = [[label, f"{groups:,}", f"{items:,}"] for label, groups, items in size_classes(facts.sizes)]
    return element(
        "section",
        element("h2", "How large the groups are"),
        table("Groups by size", ["items in the group", "groups", "items in all"], rows, class_="numbers"),
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
    title = element("h2", "The largest groups")
    pictures = [side for sheet in facts.sheets for side in sheet.pictures]
    if not pictures:
        return element("section", title, element("p", "There are no groups to show."))
    if all(side.picture is None for side in pictures):
        rows = [[f"{s.cluster:,}", f"{s.size:,}", joined(*_names(s))] for s in facts.sheets]
        words = "The collection has vectors only, so there are no pictures to show."
        return element(
            "section", title, element("p", words), table("Groups and some items", ["group", "items", "among them"], rows)
        )
    shown = [
        part
        for sheet in facts.sheets
        for part in (
            element("h3", f"Group {sheet.cluster:,}: {plural(sheet.size, 'item')}"),
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
    answers = plural(facts.questions, "answer")
    if not facts.against_count:
        return element("section", title, element("p", f"The groups go against none of the {answers}."))
    words = (
        f"The groups go against {facts.against_count:,} of {answers}: other answers, or the items around them, outweigh these. "
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
        ("Answers given", f"{facts.questions:,}, {facts.unsure:,} of them unsure"),
        ("Answers for free", f"{facts.inferred:,}, because they follow from given ones"),
        ("Contradicting answers", f"{facts.contradictions:,}"),
        ("Items", f"{facts.collection.items:,}, {facts.collection.failed:,} of them without a vector and without a group"),
        ("Similarity", settings.metric),
        ("Seed", str(settings.seed)),
        ("Started", f"{settings.started_at} with cccount {settings.version}"),
        *((f"Parameter {name}", str(value)) for name, value in settings.parameters.items()),
        *((f"Answers of {name}", f"{count:,}") for name, count in sorted(facts.annotators.items())[:_MOST_ROWS]),
        *((f"Fingerprint of {name}", element("code", value)) for name, value in settings.fingerprints.items()),
    ]
    words = element("p", _METHODS.get(settings.method, ""))
    return element("section", element("h2", "How it was obtained"), words, facts_list(rows))
