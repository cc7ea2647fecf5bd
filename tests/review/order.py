"""A kind of question that cccount does not have, in one file: which of two items is older? `order.js` draws it."""

from pathlib import Path

from cccount_dist.sampling.questions.kind import QuestionKind

ORDER = QuestionKind(
    name="order",
    help="which of the two is older? the first, the second or unsure",
    words={"first": 1.0, "second": 0.0},
    from_labels=lambda first, second: None if first == second else float(first > second),
    sheet="order",
    scripts=(Path(__file__).with_suffix(".js"),),
)
