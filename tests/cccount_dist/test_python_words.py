"""What a Python user sees: names, documentation, one type for one thing, and errors in Python's words."""

import math
import pydoc
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

import cccount_dist
from cccount_dist import Campaign, ClusterCounter, PairwiseClusterer
from storage.errors import InputError
from tests.review.campaigns import make_folder, pairs

X, Y = load_digits(n_class=3, return_X_y=True)
X, Y = X[:60], Y[:60]


class Frame:
    """What a data frame looks like to whoever takes one: columns, and an array."""

    def __init__(self, columns: list[object]) -> None:
        self.columns = columns

    def __array__(self, dtype: object = None, copy: object = None) -> object:
        return np.asarray(X, dtype=np.float32)


def same(u: int, v: int) -> bool:
    return bool(Y[u] == Y[v])


def test_dir_shows_the_public_names() -> None:
    shown = [name for name in dir(cccount_dist) if not name.startswith("_")]
    assert shown == ["Campaign", "ClusterCounter", "Individuals", "PairwiseClusterer", "Response", "Subclusterer"]
    assert all(hasattr(cccount_dist, name) for name in shown)


def test_a_campaign_is_documented_and_says_what_it_is(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, pairs(2))
    assert repr(Campaign(folder)) == f"<Campaign 'c' of {folder.workspace.location}: count by nis>"
    text = pydoc.plain(pydoc.render_doc(Campaign))
    for said in ("Attributes", "Examples", "Campaign.create(", "ask(limit"):
        assert said in text
    public = [name for name in vars(Campaign) if not name.startswith("_")]
    assert [name for name in public if not (getattr(Campaign, name).__doc__ or name == "questions")] == []


def test_n_clusters_is_always_of_one_type() -> None:
    none = ClusterCounter(budget=0).fit(X, oracle=same)
    some = ClusterCounter(budget=40).fit(X, oracle=same)
    exact = ClusterCounter(budget=5000).fit(X[:6], oracle=same)
    assert [type(one.n_clusters_) for one in (none, some, exact)] == [float, float, float]
    assert math.isnan(none.n_clusters_)
    assert {type(end) for one in (none, some, exact) for end in one.interval_} == {float}
    assert type(PairwiseClusterer(budget=10).fit(X, oracle=same).n_clusters_) is int


def test_names_of_features_are_kept_and_forgotten() -> None:
    names = [f"pixel {number}" for number in range(X.shape[1])]
    for estimator in (ClusterCounter(budget=5), PairwiseClusterer(budget=5)):
        assert estimator.fit(Frame([*names]), oracle=same).feature_names_in_.tolist() == names  # type: ignore[arg-type]
        assert not hasattr(estimator.fit(X, oracle=same), "feature_names_in_")
        assert not hasattr(estimator.fit(Frame([*range(X.shape[1])]), oracle=same), "feature_names_in_")  # type: ignore[arg-type]
        assert estimator.n_features_in_ == X.shape[1]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"budget": -3}, "budget must be"),
        ({"target_width": 0.0}, "target_width must be"),
        ({"oracle": "nobody"}, "oracle takes people or labels"),
        ({"oracle": "labels", "overlap": 2}, "overlap is for oracle people"),
        ({"noun": "a/b/c"}, "noun takes one word"),
        ({"parameter": ("ratio",)}, "write NAME=VALUE"),
        ({"bugdet": 3}, "has no option bugdet: it has"),
    ],
)
def test_errors_of_python_calls_have_no_options_of_a_command(tmp_path: Path, options: dict[str, object], said: str) -> None:
    folder = make_folder(tmp_path, pairs(2))
    with pytest.raises(InputError) as caught:
        Campaign.create(folder.workspace.location, "new", **options)  # type: ignore[arg-type]
    assert said in str(caught.value)
    assert "--" not in str(caught.value)


def test_errors_of_estimators_have_no_options_of_a_command() -> None:
    for wrong in (
        lambda: PairwiseClusterer("hacc", budget=5).fit(X, oracle=same),
        lambda: PairwiseClusterer("apc", n_clusters=3, budget=5).fit(X, oracle=same),
        lambda: PairwiseClusterer("hacc", n_clusters=4000).fit(X, oracle=same),
        lambda: ClusterCounter("nis", parameters={"grid": 4}).fit(X, oracle=same),
        lambda: ClusterCounter(wrong_answers="some").fit(X, oracle=same),
    ):
        with pytest.raises(InputError) as caught:
            wrong()
        assert "--" not in str(caught.value)
