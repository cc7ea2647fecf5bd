"""The catalogue: it groups completely, its arithmetic is that of slow references, and nothing that was said is lost."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cccount_dist.clustering.agreement import ari
from cccount_dist.clustering.catalogue.best import KNOWN, PAIRED, SURE, TAPER, WORTH_SHOWING, best_cells, best_seed
from cccount_dist.clustering.catalogue.candidates import LISTED
from cccount_dist.clustering.catalogue.catalogue_sampler import CatalogueSampler
from cccount_dist.clustering.catalogue.clusters import Clusters
from cccount_dist.clustering.catalogue.pairs import JUDGES, MOST, cluster_pairs
from cccount_dist.clustering.catalogue.parameters import CatalogueParameters
from cccount_dist.clustering.catalogue.posterior import fitted_level, fitted_platt
from cccount_dist.clustering.catalogue.quality import SHIFTS, shift_posterior
from cccount_dist.clustering.catalogue.rates import SheetRates, learned_rates
from cccount_dist.clustering.catalogue.sheet import ITEM, Kind
from cccount_dist.clustering.catalogue.state import ON_CLUSTER, ON_GROUP, ON_SEED, RandomPage, State
from cccount_dist.clustering.catalogue.votes import Votes
from cccount_dist.estimators.clusterer import PairwiseClusterer
from cccount_dist.sampling.types import Answer, OutsideAnswer, Question
from cccount_dist.similarity.inmemory import neighbors_in_memory
from storage.errors import InputError
from tests.cccount_dist.samplers import blobs

VECTORS, LABELS = blobs((30, 24, 18, 14, 10, 8, 6, 5, 4, 3, 2, 1, 1), dimensions=12, noise=0.7, seed=2)
FOUND = neighbors_in_memory(VECTORS, 20)


def sampler(seed: int = 0, **parameters: int | str) -> CatalogueSampler:
    return CatalogueSampler(VECTORS, FOUND.index, seed, CatalogueParameters(**parameters))  # type: ignore[arg-type]


def pages(questions: list[Question]) -> list[list[Question]]:
    return [[q for q in questions if q.page == page] for page in sorted({q.page for q in questions if q.page is not None})]


def right(question: Question) -> Answer:
    return Answer(question.id, question.u, question.v, float(LABELS[question.u] == LABELS[question.v]))


def played(catalogue: CatalogueSampler, glances: int, ahead: int = 1, wrong: float = 0.0, seed: int = 0) -> int:
    """Answer so many sheets, and return how many were there."""
    chance, waiting = np.random.default_rng(seed), list[list[Question]]()
    for number in range(glances):
        waiting += pages(list(catalogue.ask(ahead - len(waiting))))
        if not waiting:
            return number
        sheet = waiting.pop(0)
        answers = [right(question) for question in sheet]
        catalogue.tell([replace(a, value=1.0 - (a.value or 0.0)) if chance.random() < wrong else a for a in answers])
    return glances


@pytest.fixture(scope="module")
def state() -> State:
    """A catalogue after some sheets, some of them answered wrongly."""
    catalogue = sampler()
    played(catalogue, 14, wrong=0.05)
    return catalogue._look()


# -- what it is for ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ahead", [1, 8])
def test_right_answers_lead_to_the_right_groups_and_to_an_end(ahead: int) -> None:
    catalogue = sampler(open=16, random_every=4)
    glances = played(catalogue, 200, ahead)
    result = catalogue.result()
    assert catalogue.done
    assert glances < 90, "a complete grouping of 126 items takes a moderate number of glances"
    assert ari(LABELS, result.labels) == 1.0
    assert result.quality is not None
    assert result.quality.right is not None
    assert result.quality.right.high == 1.0
    assert result.count is not None
    assert result.count.low <= 13 <= result.count.high


def test_open_sheets_share_no_unplaced_item_and_no_pair_of_clusters() -> None:
    catalogue = sampler(open=24)
    played(catalogue, 20)
    catalogue.ask(12)
    state = catalogue._look()
    items, pairs = list[int](), list[tuple[int, int]]()
    for sheet in state.open:
        about = int(state.book.clusters.label[sheet.anchor])
        for cell, role in zip(sheet.cells, sheet.roles, strict=True):
            if role == ITEM:
                items.append(cell)
            else:
                other = int(state.book.clusters.label[cell])
                pairs.append((min(about, other), max(about, other)))
    assert len(state.open) > 3
    assert len(items) == len(set(items))
    assert len(pairs) == len(set(pairs))


def test_a_sheet_has_up_to_24_cells_about_one_anchor_and_none_twice() -> None:
    catalogue = sampler()
    for _ in range(30):
        sheet = list(catalogue.ask(1))
        assert 1 <= len(sheet) <= 24
        assert len({q.u for q in sheet}) == 1
        assert len({q.v for q in sheet}) == len(sheet)
        assert all(q.kind == "sheet" and q.purpose.startswith(("vote", "confirm")) for q in sheet)
        catalogue.tell([right(q) for q in sheet])


def test_one_sheet_in_eight_is_a_random_page() -> None:
    catalogue = sampler()
    played(catalogue, 32)
    kinds = [sheet.kind for sheet in catalogue._look().asked]
    assert [number for number in range(32) if kinds[number] is Kind.RANDOM and number % 8 == 7] == [7, 15, 23, 31]


# -- against slow references -------------------------------------------------------------------------------------------------


def slow_row(state: State, i: int, *, leave: bool = False) -> tuple[dict[int, float], float, float]:
    """Probability of each candidate, of a new cluster, and the log of the normaliser, one by one."""
    clusters, space, fit = state.book.clusters, state.fit.space, state.fit
    own = int(clusters.label[i])
    near: dict[int, float] = {}
    for j, away in zip(space.lists[i].tolist(), space.apart[i].tolist(), strict=True):
        c = int(clusters.label[j]) if j >= 0 else -1
        if c >= 0 and not (leave and c == own) and len(near) < LISTED:
            near.setdefault(c, away)
    for c in (int(clusters.alias[one]) for one in fit.means[i] if one >= 0):
        if clusters.size[c] and not (c == own and (leave or clusters.size[c] < 2)):
            near.setdefault(c, float(space.apart[i, -1]))
    scores, row = {}, space.rows[i].astype(np.float64)
    for c, away in near.items():
        others = [m for m in clusters.members[c].tolist() if m != i]
        mean = space.rows[others].astype(np.float64).mean(axis=0)
        distance = float(np.square(row - mean).sum())
        yes, no = state.book.votes.on(i, clusters.alias).get(c, (0.0, 0.0))
        scores[c] = (
            -fit.weight[0] * distance / (1 + 1 / len(others)) - fit.weight[1] * (away - space.apart[i, 0])
            + fit.weight[2] * math.log(len(others)) + yes * fit.rates.mark + no * fit.rates.no_mark
        )  # fmt: skip
    new = fit.weight[3] - fit.weight[4] * float(space.apart[i, 0]) + fit.level
    top = max([new, *scores.values()])
    whole = sum(math.exp(one - top) for one in [new, *scores.values()])
    return {c: math.exp(one - top) / whole for c, one in scores.items()}, math.exp(new - top) / whole, top + math.log(whole)


@pytest.mark.parametrize("leave", [False, True])
def test_the_posterior_is_that_of_a_slow_computation(state: State, leave: bool) -> None:
    items = np.arange(state.items)
    rows = state.score(items, leave=leave)
    for i in items.tolist():
        chance, new, norm = slow_row(state, i, leave=leave)
        found = rows.of(i)
        assert sorted(found) == sorted(chance)
        assert all(found[c] == pytest.approx(chance[c], abs=2e-4) for c in chance)
        assert rows.new[i] == pytest.approx(new, abs=2e-4)
        assert rows.norm[i] == pytest.approx(norm, rel=1e-4, abs=1e-3)


def test_rows_that_were_renewed_piece_by_piece_are_those_of_all_items_at_once() -> None:
    catalogue = sampler()
    for _ in range(25):
        played(catalogue, 1, wrong=0.05)
        state = catalogue._look()
        whole = state.score(np.arange(state.items))
        assert np.array_equal(whole.cluster, state.rows.cluster)
        assert np.array_equal(whole.chance, state.rows.chance)
        assert np.array_equal(whole.norm, state.rows.norm)


def curve(state: State, number: int, chance: float) -> float:
    slope, shift = state.fit.platt[number].tolist()
    sane = min(max(chance, 1e-6), 1 - 1e-6)
    return 1 / (1 + math.exp(-(slope * math.log(sane / (1 - sane)) + shift)))


def test_the_best_cells_of_a_cluster_are_those_of_a_slow_computation(state: State) -> None:
    clusters, pairs = state.book.clusters, cluster_pairs(state)
    taken, clear = np.zeros(state.items, np.bool_), np.ones(state.items)
    taken[[3, 40, 77]] = True
    found = best_cells(state, pairs, taken, clear)
    for c in clusters.live.tolist():
        values = []
        for i in range(state.items):
            own = int(clusters.label[i])
            if taken[i]:
                continue
            if (
                own < 0
                and (q := curve(state, ON_CLUSTER, state.rows.of(i).get(c, 0.0))) > WORTH_SHOWING
                and c in state.rows.of(i)
            ):
                values.append(q * (1 - TAPER * max(q - KNOWN, 0.0) / (1 - KNOWN)))
            elif own == c and clusters.size[c] > 1 and state.own[i] < SURE:
                values.append(1 - state.own[i])
        for a, b, p in zip(pairs.first.tolist(), pairs.second.tolist(), pairs.chance.tolist(), strict=True):
            if c in (a, b) and p > PAIRED:
                values.append(min(clusters.size[a], clusters.size[b], 6) * p)
        wanted = sorted(values, reverse=True)[:24]
        assert found.value[c][: len(wanted)].tolist() == pytest.approx(wanted, rel=1e-6)
        assert not found.value[c][len(wanted) :].any()


def test_the_best_new_anchor_is_that_of_a_slow_computation(state: State) -> None:
    label, space, w = state.book.clusters.label, state.fit.space, state.fit.weight
    values = {}
    for u in np.flatnonzero(label < 0).tolist():
        q = []
        for j, away in zip(space.lists[u].tolist(), space.apart[u].tolist(), strict=True):
            if j >= 0 and label[j] < 0:
                score = -w[0] * away / 2 - w[1] * max(away - space.apart[j, 0], 0.0)
                q.append(curve(state, ON_SEED, 1 / (1 + math.exp(state.rows.norm[j] - score))))
        q += state.rows.of(u).values()
        values[u] = sum(sorted(q, reverse=True)[:24]) + state.rows.new[u]
    value, item = best_seed(state, np.arange(state.items), np.zeros(state.items, np.bool_), np.ones(state.items))
    assert value == pytest.approx(max(values.values()), rel=1e-5)
    assert values[item] == pytest.approx(value, rel=1e-5)


def test_the_chance_of_two_clusters_is_that_of_a_slow_computation(state: State) -> None:
    clusters, pairs = state.book.clusters, cluster_pairs(state)
    slow: dict[tuple[int, int], float] = {}
    for c in clusters.live.tolist():
        members = clusters.members[c]
        judges = members[np.linspace(0, len(members) - 1, JUDGES).astype(int)] if len(members) > JUDGES else members
        for b in clusters.live.tolist():
            if b != c:
                mean = float(np.mean([slow_row(state, int(i), leave=True)[0].get(b, 0.0) for i in judges]))
                key = min(b, c), max(b, c)
                slow[key] = max(slow.get(key, 0.0), mean)
    for a, b, prior, chance in zip(
        *(one.tolist() for one in (pairs.first, pairs.second, pairs.prior, pairs.chance)), strict=True
    ):
        assert prior == pytest.approx(min(max(slow[a, b], 1e-4), MOST), abs=1e-3)
        yes, no = state.book.votes.pairs.get((a, b), (0.0, 0.0))
        before = curve(state, ON_GROUP, prior)
        odds = math.log(before / (1 - before)) + yes * state.fit.rates.mark + no * state.fit.rates.no_mark
        assert chance == pytest.approx(1 / (1 + math.exp(-odds)), abs=1e-6)


# -- additive things ---------------------------------------------------------------------------------------------------------

MOVES = st.lists(
    st.tuples(st.sampled_from(["found", "place", "leave", "merge"]), st.integers(0, 19), st.integers(0, 19)), max_size=40
)


@given(MOVES)
@settings(max_examples=60, deadline=None)
def test_means_and_sizes_are_those_from_scratch_bit_for_bit_whatever_way_led_there(moves: list[tuple[str, int, int]]) -> None:
    rows = np.random.default_rng(0).normal(size=(20, 16)).astype(np.float32)
    clusters = Clusters.none(rows)
    for what, x, y in moves:
        live = clusters.live.tolist()
        if what == "found" and clusters.label[x] < 0:
            clusters.found(x)
        elif what == "place" and live:
            clusters.place([x, y], live[y % len(live)])
        elif what == "leave":
            clusters.place([x], -1)
        elif what == "merge" and len(live) > 1:
            clusters.merge(live[x % len(live)], live[(x + 1) % len(live)])
    for c in range(len(clusters.members)):
        inside = np.flatnonzero(clusters.label == c)
        assert clusters.members[c].tolist() == inside.tolist()
        assert clusters.size[c] == len(inside)
        if len(inside):
            fresh = rows[inside].mean(axis=0, dtype=np.float64).astype(np.float32)
            assert clusters.centre[c].tobytes() == fresh.tobytes()
        assert clusters.size[clusters.alias[c]] or not len(inside)


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5), st.booleans()), max_size=80), st.integers(0, 5), st.integers(0, 5)
)
@settings(max_examples=60, deadline=None)
def test_votes_add_up_also_after_a_merge(said: list[tuple[int, int, bool]], gone: int, into: int) -> None:
    votes, alias = Votes.none(5), np.arange(6, dtype=np.int32)
    for item, cluster, marked in said:
        votes.add(item, cluster, marked=marked)
    alias[gone] = into
    for item in range(5):
        expected: dict[int, tuple[float, float]] = {}
        for one, cluster, marked in said:
            if one == item:
                yes, no = expected.get(int(alias[cluster]), (0.0, 0.0))
                expected[int(alias[cluster])] = (yes + 1, no) if marked else (yes, no + 1)
        assert votes.on(item, alias) == expected


# -- what was said -----------------------------------------------------------------------------------------------------------


def test_labels_never_go_against_what_only_one_side_has_said() -> None:
    """Right answers never contradict each other: each mark is together, each cell without one apart, at every moment."""
    catalogue, said = sampler(), list[Answer]()
    for _ in range(60):
        sheet = list(catalogue.ask(1))
        if not sheet:
            break
        said += (answers := [right(q) for q in sheet])
        catalogue.tell(answers)
        labels = catalogue.result().labels
        apart = [a for a in said if a.value == 0.0 and labels[a.u] == labels[a.v]]
        assert not apart, "items of which people said that they differ are in one group"
    labels = catalogue.result().labels
    assert all(labels[a.u] == labels[a.v] for a in said if a.value == 1.0)


def test_a_mark_that_is_taken_back_late_undoes_the_merge_that_it_made() -> None:
    catalogue, straight = sampler(), sampler()
    played(catalogue, 9)
    played(straight, 9)
    sheet = list(catalogue.ask(1))
    assert sheet == list(straight.ask(1))
    catalogue.tell([replace(right(q), value=1.0) for q in sheet])  # everything was marked …
    straight.tell([right(q) for q in sheet])
    catalogue.ask(1)
    straight.ask(1)
    catalogue.tell([right(q) for q in sheet])  # … and that was undone
    marked = catalogue._look().book.clusters.label
    never = straight._look().book.clusters.label
    pairs = [(i, j) for i in range(40) for j in range(i)]
    together = [(i, j) for i, j in pairs if marked[i] == marked[j] >= 0]
    assert all(LABELS[i] == LABELS[j] for i, j in together)
    assert (marked >= 0).sum() >= (never >= 0).sum() - 1


@pytest.mark.parametrize(("value", "said"), [(1.0, "mark everything"), (0.0, "mark nothing")])
def test_who_marks_everything_or_nothing_is_noticed(value: float, said: str) -> None:
    catalogue = sampler()
    for _ in range(12):
        catalogue.tell([Answer(q.id, q.u, q.v, value) for q in catalogue.ask(1)])
    warning = catalogue.result().warning
    assert warning is not None
    assert said in warning


def test_a_picture_of_which_nobody_can_tell_is_not_asked_about_for_ever() -> None:
    catalogue, shown = sampler(), 0
    bad = 17
    for _ in range(120):
        sheet = list(catalogue.ask(1))
        if not sheet:
            break
        shown += sum(bad in (q.u, q.v) for q in sheet[:1]) or any(q.v == bad for q in sheet)
        catalogue.tell([replace(right(q), value=None) if bad in (q.u, q.v) else right(q) for q in sheet])
    assert catalogue.done
    assert shown <= 8
    rest = np.arange(len(LABELS)) != bad
    assert ari(LABELS[rest], catalogue.result().labels[rest]) > 0.99


def test_what_is_known_from_elsewhere_is_where_it_begins() -> None:
    catalogue = sampler()
    pairs = [(i, j) for c in range(6) for i, j in zip(np.flatnonzero(c == LABELS), np.flatnonzero(c == LABELS)[1:], strict=False)]
    catalogue.know([OutsideAnswer(-1, int(u), int(v), 1.0) for u, v in pairs])
    known = LABELS < 6
    assert ari(LABELS[known], catalogue.result().labels[known]) == 1.0
    without = sampler()
    assert played(catalogue, 200) < played(without, 200)


@pytest.mark.parametrize(("number", "u", "v", "value"), [(99, 0, 1, 1.0), (0, 0, 0, 1.0), (0, None, None, 2.0)])
def test_an_answer_that_cannot_be_is_refused(number: int, u: int | None, v: int | None, value: float) -> None:
    catalogue = sampler()
    first = catalogue.ask(1)[0]
    with pytest.raises(InputError, match="question"):
        catalogue.tell([Answer(number, first.u if u is None else u, first.v if v is None else v, value)])


# -- what is learned ---------------------------------------------------------------------------------------------------------


def test_rates_are_learned_from_cells_and_begin_at_the_usual_ones() -> None:
    none = np.zeros(0)
    usual = learned_rates(none, none.astype(np.bool_))
    assert (usual.miss, usual.false) == pytest.approx((SheetRates().miss, SheetRates().false))
    random = np.random.default_rng(0)
    same = np.repeat([1.0, 0.0], [4000, 8000])
    marked = np.where(same > 0, random.random(12000) >= 0.125, random.random(12000) < 0.03)
    found = learned_rates(same, marked)
    assert found.miss == pytest.approx(0.125, abs=0.02)
    assert found.false == pytest.approx(0.03, abs=0.006)


def test_the_level_of_new_makes_its_mean_what_it_should_be() -> None:
    new = np.random.default_rng(0).uniform(0.01, 0.9, 500)
    level = fitted_level(new, 0.2)
    moved = 1 / (1 + np.exp(-(np.log(new / (1 - new)) + level)))
    assert moved.mean() == pytest.approx(0.2, abs=1e-6)


def test_a_platt_curve_finds_slope_and_shift_and_fades() -> None:
    random = np.random.default_rng(0)
    odds = random.normal(0, 2, 600)
    marked = (random.random(600) < 1 / (1 + np.exp(-(0.5 * odds - 1)))).astype(np.float64)
    slope, shift = fitted_platt(odds, marked, np.zeros(600))
    assert slope == pytest.approx(0.5, abs=0.15)
    assert shift == pytest.approx(-0.9, abs=0.3)
    assert fitted_platt(odds, marked, np.full(600, 5000.0)).tolist() == pytest.approx([1.0, 0.0], abs=1e-6)


def test_the_shift_of_the_opinion_follows_the_random_pages() -> None:
    def pages_of(rights: int, wrongs: int) -> list[RandomPage]:
        return [RandomPage(0, True, 0.9, k < rights, 0, 1, False) for k in range(rights + wrongs)]

    def mean(pages: list[RandomPage]) -> float:
        return float((shift_posterior(pages, SheetRates(0.004, 0.001)) * SHIFTS).sum())

    assert mean([]) == pytest.approx(0.0, abs=1e-9)
    assert mean(pages_of(90, 10)) == pytest.approx(0.0, abs=0.15)
    assert mean(pages_of(50, 50)) < -1.5 < 0.5 < mean(pages_of(100, 0))


def test_the_estimator_asks_sheets_by_page_and_says_how_good_it_is() -> None:
    class Person:
        glances = 0

        def __call__(self, u: int, v: int) -> bool:
            raise AssertionError("a sheet is asked at once")

        def page(self, u: int, vs: list[int]) -> list[bool]:
            self.glances += 1
            return [bool(LABELS[v] == LABELS[u]) for v in vs]

    person = Person()
    found = PairwiseClusterer("catalogue", budget=200, k=20, parameters={"random_every": 4}).fit(VECTORS, oracle=person)
    assert found.n_glances_ == person.glances > 20
    assert found.n_questions_ == 0
    assert found.human_seconds_ == pytest.approx(30.0 * person.glances)
    assert ari(LABELS, found.labels_) > 0.95
    assert found.quality_ is not None
    assert found.quality_.right is not None
    assert found.quality_.precision is not None
    assert found.quality_.recall is not None
