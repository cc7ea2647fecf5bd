"""Capture histories: who was caught on which occasion, and where; for secr and MARK; once, or as several draws.

An occasion is some days, from the first day on (UTC). With `--draws` there is one file for each draw of who the individuals might
be instead (`individuals/draws.py`): a population model that is run on each, and whose results are put together, has the error of
identification in its interval.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from cccount_dist.campaign.answerwords import plural
from cccount_dist.individuals.draws import Drawn, draws
from cccount_dist.individuals.spoken import answers_about
from flows.exchange.csvfiles import csv_bytes
from flows.exchange.formats.known import errors_of, measured, over, unmeasured
from flows.exchange.formats.source import Source, Written, called, notes
from flows.exchange.formats.words import token
from flows.exchange.places import in_metres
from storage.collection import LEFT, RIGHT
from storage.errors import InputError

Histories = Mapping[str, Sequence[int]]  # who -> their pictures
_NO_PLACE = "place"
_MOST_OCCASIONS = 10_000  # 27 years of days: each is a column of every history


@dataclass(frozen=True, slots=True)
class _Occasions:
    """Which occasion each picture is of."""

    of: Mapping[int, int]  # item -> occasion, from 1
    count: int
    note: str


def secr(source: Source) -> Written:
    """For `secr::read.capthist`: session, ID, occasion, detector; one row for an individual, occasion and place; traps."""
    found = _written(source, _secr, "captures", ".txt")
    if not source.choices.places:
        return Written(found.files, found.rows, notes(found.note, "no traps file: --places FILE makes one"), found.measures)
    files = dict(found.files)
    if "" in files:
        files["captures.txt"] = files.pop("")
    files["traps.txt"] = _traps(source)
    return Written(files, found.rows, found.note, found.measures)


def mark(source: Source) -> Written:
    """An .inp of MARK: a history of 0 and 1 for each individual, and its number of animals, which is 1."""
    return _written(source, _mark, "histories", ".inp")


def _written(
    source: Source, form: Callable[[Source, Histories, _Occasions, str], tuple[bytes, int]], name: str, end: str
) -> Written:
    occasions = _occasions(source)
    listed = {called(one): one.items for one in source.census.individuals}
    rates = measured(source)
    said = _told(rates)
    data, rows = form(source, listed, occasions, said)
    if not source.choices.draws:
        return Written({"": data}, rows, notes(occasions.note, said or "errors of identification were not measured"), rates)
    errors = errors_of(source)
    groups = [one.items for one in source.census.individuals]
    answers = answers_about(source.individuals.workspace, source.individuals.campaign, source.individuals.others())
    drawn = draws(groups, answers, errors, source.choices.draws, source.choices.seed)
    files = {f"{name}{end}": data}
    for number, one in enumerate(drawn, start=1):
        who = _named(one, list(listed))
        files[f"draw-{number:04d}{end}"] = form(source, who, occasions, f"draw {number} of {len(drawn)}")[0]
    files["errors.csv"] = _errors(rates, drawn)
    told = _told(over(drawn))
    return Written(files, rows, notes(occasions.note, plural(len(drawn), "draw"), told, unmeasured(source, errors)), over(drawn))


def _named(drawn: Drawn, names: Sequence[str]) -> dict[str, Sequence[int]]:
    return {
        names[place] if place < len(names) else f"new-{place - len(names) + 1}": items for place, items in drawn.groups.items()
    }


def _occasions(source: Source) -> _Occasions:
    side = source.choices.side
    kept = [item for item, _ in source.pictures if side is None or source.side(item) == side]
    if not kept:
        raise InputError(f"no picture shows the {side} side: `cccount individuals` lists the sides that there are")
    days = {item: moment.date() for item in kept if (moment := source.when(item)) is not None}
    if not days:
        raise InputError("no picture has a time: capture histories need one (`cccount init --manifest`, column taken_at)")
    first, last = source.choices.first_day or min(days.values()), source.choices.last_day or max(days.values())
    if last < first:
        raise InputError(f"the last day {last} is before the first, {first}: --from and --until take days in order")
    length = timedelta(days=source.choices.occasion_days)
    if (count := (last - first) // length + 1) > _MOST_OCCASIONS:
        raise InputError(
            f"from {first} to {last} there are {count:,} occasions, and at most {_MOST_OCCASIONS:,} can be written: make them"
            " longer with --occasion-days, or see whether those times are right (`cccount individuals` lists them)"
        )
    of = {item: (day - first) // length + 1 for item, day in days.items() if first <= day <= last}
    if not of:
        raise InputError(f"no picture was taken from {first} to {last}: the first is of {min(days.values())}")
    untimed, outside = len(kept) - len(days), len(days) - len(of)
    note = notes(
        f"{plural(count, 'occasion')} of {plural(source.choices.occasion_days, 'day')} from {first} (UTC)",
        f"{plural(untimed, 'picture')} without a time left out" if untimed else None,
        f"{plural(outside, 'picture')} of other days left out" if outside else None,
        f"of the {side} side alone" if side else _apart(source),
    )
    return _Occasions(of, count, note or "")


def _apart(source: Source) -> str | None:
    """Whether one animal may be two histories: nobody knows which left sides and right sides belong together."""
    shown = [{source.side(item) for item in one.items} & {LEFT, RIGHT} for one in source.census.individuals]
    alone = [next(iter(sides)) for sides in shown if len(sides) == 1]
    if len(set(alone)) < 2:
        return None
    return (
        f"{len(alone):,} were seen from one side only: one animal may be two histories (--side left, or right, writes one side)"
    )


def _secr(source: Source, who: Histories, occasions: _Occasions, said: str) -> tuple[bytes, int]:
    words, places = _Words(), _places(source)
    rows = sorted({
        (words.of(name), occasions.of[item], places.of(source.place(item) or _NO_PLACE))
        for name, items in who.items() for item in items if item in occasions.of
    })  # fmt: skip
    text = "".join(f"1 {name} {occasion} {place}\n" for name, occasion, place in rows)
    head = f"# {said}\n" if said else ""
    return f"# Session ID Occasion Detector\n{head}{text}".encode(), len(rows)


def _mark(_: Source, who: Histories, occasions: _Occasions, said: str) -> tuple[bytes, int]:
    words, lines = _Words(), []
    for name, items in who.items():
        if seen := {occasions.of[item] for item in items if item in occasions.of}:
            lines.append(f"/* {words.of(name)} */ {''.join('01'[k in seen] for k in range(1, occasions.count + 1))} 1;\n")
    head = f"/* {said} */\n" if said else ""
    return f"{head}{''.join(lines)}".encode(), len(lines)


class _Words:
    """Names as single words, each another one: two animals must not become one because a space became a line."""

    def __init__(self) -> None:
        self._of: dict[str, str] = {}
        self._taken: set[str] = set()

    def of(self, name: str) -> str:
        if name not in self._of:
            word, number = token(name), 1
            while word in self._taken:
                number += 1
                word = f"{token(name)}.{number}"
            self._of[name] = word
            self._taken.add(word)
        return self._of[name]


def _places(source: Source) -> _Words:
    """The words of all places, the same in captures and traps."""
    words = _Words()
    for name in sorted({source.place(item) or _NO_PLACE for item, _ in source.pictures} | set(source.choices.places)):
        words.of(name)
    return words


def _traps(source: Source) -> bytes:
    """A line for each place with x and y in metres. A camera that photographed nobody is a trap, too."""
    where = in_metres(source.choices.places)
    used = {source.place(item) or _NO_PLACE for item, _ in source.pictures}
    if missing := sorted(used - set(where)):
        raise InputError(f"--places has no coordinates of {', '.join(repr(name) for name in missing[:5])}: add a row for each")
    places = _places(source)
    lines = [f"{places.of(name)} {x:.2f} {y:.2f}\n" for name, (x, y) in sorted(where.items())]
    return f"# Detector X Y (metres)\n{''.join(lines)}".encode()


def _told(rates: Mapping[str, float]) -> str:
    """
    >>> _told({"false_matches": 0.012, "false_matches_low": 0.0, "false_matches_high": 0.04})
    'false matches 1.2 % (0.0 to 4.0 %) of pairs'
    """
    names = [name for name in rates if not name.endswith(("_low", "_high"))]
    shares = []
    for name in names:
        share, low, high = (f"{100 * rates[f'{name}{end}']:.1f}" for end in ("", "_low", "_high"))
        shares.append(f"{name.replace('_', ' ')} {share} % ({low} to {high} %)")
    return f"{', '.join(shares)} of pairs" if shares else ""


def _errors(rates: Mapping[str, float], drawn: Iterable[Drawn]) -> bytes:
    """A table: what was measured, what the draws have all together, and each of them."""
    drawn = list(drawn)
    rows: list[dict[str, object]] = []
    for source, found in (("measured on random pages", rates), ("all draws", over(drawn))):
        rows += [
            {"from": source, "what": name, "value": found[name], "low": found[f"{name}_low"], "high": found[f"{name}_high"]}
            for name in found if not name.endswith(("_low", "_high"))
        ]  # fmt: skip
    for number, one in enumerate(drawn, start=1):
        for name, value in (("individuals", len(one.groups)), ("false_matches", one.false), ("missed_matches", one.missed)):
            rows.append({"from": f"draw {number}", "what": name, "value": value, "low": "", "high": ""})
    return csv_bytes(rows, ("from", "what", "value", "low", "high"))


def day(said: str | None, option: str) -> date | None:
    """Read a day that the user chose."""
    try:
        return None if said is None else date.fromisoformat(said)
    except ValueError:
        raise InputError(f"{option} takes a day such as 2026-05-01, not {said!r}") from None


__all__ = ["day", "mark", "secr"]
