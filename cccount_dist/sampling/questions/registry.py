"""Every kind of question that is known here, by its name. Whoever adds one registers it once, before logs are read."""

import re

from cccount_dist.registry import Registry
from cccount_dist.sampling.questions.kind import QuestionKind
from cccount_dist.sampling.questions.rating import RATING_QUESTION
from cccount_dist.sampling.questions.same import SAME_QUESTION
from cccount_dist.sampling.questions.sheet import SHEET_QUESTION
from storage.errors import InputError

QUESTION_KINDS = Registry[QuestionKind]("kind of question")
_NAME = re.compile(r"[a-z][a-z0-9-]{0,31}")


def register_question_kind(kind: QuestionKind) -> QuestionKind:
    """Make a kind known; `InputError` for a name that another one has, or for values that the log cannot keep."""
    if not _NAME.fullmatch(kind.name):
        raise InputError(f"the name of a kind of question is lower-case letters, digits and '-', not {kind.name!r}")
    outside = [word for word, value in kind.words.items() if not 0.0 <= value <= 1.0]
    if outside:
        raise InputError(f"the kind of question {kind.name!r} has a value outside [0, 1] for {outside[0]!r}")
    QUESTION_KINDS.add(kind.name, kind)
    return kind


def question_kind(name: str) -> QuestionKind:
    """Return the kind of this name; `InputError` that names it if there is none."""
    return QUESTION_KINDS.get(name)


register_question_kind(SAME_QUESTION)
register_question_kind(RATING_QUESTION)
register_question_kind(SHEET_QUESTION)
