"""`rating`: how similar are the two? A number in [0, 1]. Very similar is not the same: ratings never enter the closure."""

from cccount_dist.sampling.questions.kind import QuestionKind
from cccount_dist.sampling.settling import settle_by_mean
from cccount_dist.sampling.values import DIFFERENT, SAME

RATING_QUESTION = QuestionKind(
    name="rating",
    help="how similar are the two? a number from 0 to 1",
    also_read={"same": SAME, "yes": SAME, "different": DIFFERENT, "no": DIFFERENT},
    is_a_similarity=True,
    settle=settle_by_mean,
    sheet="rating",
    scripts=("rating.js",),
)
