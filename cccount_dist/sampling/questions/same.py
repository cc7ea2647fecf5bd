"""`same`: do the two show the same? Answered same, different or unsure; what people say here is what the closure is made of."""

from cccount_dist.sampling.questions.kind import QuestionKind
from cccount_dist.sampling.settling import settle
from cccount_dist.sampling.values import DIFFERENT, SAME

SAME_QUESTION = QuestionKind(
    name="same",
    help="are the two the same? same, different or unsure; or a page: which of the others are the same as this one?",
    words={"same": SAME, "different": DIFFERENT},
    also_read={"yes": SAME, "no": DIFFERENT},
    returns="True, False or None",
    links=True,
    may_be_inferred=True,
    is_shared=True,
    tells_about_people=True,
    settle=settle,
    sheet="pair",
    page_sheet="grid",
    scripts=("pair.js", "grid.js"),
)
