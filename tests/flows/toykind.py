"""A kind of campaign that cccount does not have, in one file: which items are like the first one? Run by test_plugins.py."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import pyarrow as pa

from cccount_dist.campaign.inputs import Inputs
from cccount_dist.campaign.kind import CampaignKind, register_kind
from cccount_dist.campaign.options import CampaignOptions
from cccount_dist.campaign.outcome import CampaignOutcome
from cccount_dist.campaign.progress import Progressing, silent
from cccount_dist.campaign.runner import CampaignRunner, Progress, State
from cccount_dist.options import PARAMETER_IS, Option, Options
from cccount_dist.sampling.methods import Method, find_method, register_method
from cccount_dist.sampling.types import Answer, Question, Sampler
from storage.campaigns import CampaignFolder
from storage.collection import Collection
from storage.schema import Column, TableSpec
from storage.settings import Goal

LIKENESSES = TableSpec("likenesses", (
    Column("answers", pa.int64(), "rows of the answer log that this rests on"),
    Column("questions", pa.int64(), "asked of the oracle"),
    Column("alike", pa.int64(), "items that are like the first one"),
    Column("state", pa.string(), "running, waiting, done or stopped"),
    Column("refreshed_at", pa.timestamp("us", tz="UTC"), "when"),
))  # fmt: skip


@dataclass(frozen=True, slots=True)
class LineParameters(Options):
    """How it goes through the items."""

    wording = PARAMETER_IS
    step: Annotated[int, Option("Look at every so many-th item.", least=1)] = 1


class InLine:
    """Asks about one item after the other. Memory and time grow with the answers."""

    def __init__(self, items: int, step: int) -> None:
        self._left = list(range(1, items, step))
        self._asked = 0
        self._alike: dict[int, bool] = {}

    def ask(self, limit: int) -> Sequence[Question]:
        items, self._left = self._left[:limit], self._left[limit:]
        found = [Question(self._asked + place, 0, item) for place, item in enumerate(items)]
        self._asked += len(found)
        return found

    def tell(self, answers: Sequence[Answer]) -> None:
        self._alike.update({answer.question_id: answer.value == 1.0 for answer in answers})

    def result(self) -> int:
        return sum(self._alike.values())

    @property
    def done(self) -> bool:
        return not self._left and len(self._alike) == self._asked


@dataclass(frozen=True, slots=True, kw_only=True)
class LikeOptions(CampaignOptions):
    """What `cccount like` may be told."""

    kind = "like"
    default_method = "in-line"
    method_called = "way to look"


class LikeRunner(CampaignRunner[int]):
    """Advances a campaign of the kind `like`."""

    def make_sampler(self) -> Sampler[int]:
        method = find_method("like", self.settings.method)
        return method.build(int(np.count_nonzero(~np.isnan(self.inputs.degree))), method.read(self.settings.parameters))

    def result(self) -> int:
        return self.sampler.result()

    def reached_target(self, goal: Goal) -> bool | None:
        return None

    def write_results(self, state: State, result: int) -> None:
        row = {"answers": self.ledger.position, "questions": self.ledger.questions, "alike": result, "state": state}
        self.folder.append_row(LIKENESSES, row)


@dataclass(frozen=True, slots=True, kw_only=True)
class LikeOutcome(CampaignOutcome):
    """How many are like the first one."""

    alike: int

    def words(self) -> str:
        return "\n".join([f"{self.alike} are like the first one, from {self.questions} answers.", *self.standing])


class LikeKind(CampaignKind[LikeOptions]):
    """Items that are like the first one."""

    name = "like"
    doing = "Looking"
    help = """Say how many items are like the first one.

    Example: cccount like census --oracle labels
    """
    options = LikeOptions
    shown = ("alike",)

    @property
    def course(self) -> TableSpec:
        return LIKENESSES

    @property
    def runner_type(self) -> type[LikeRunner]:
        return LikeRunner

    def outcome(self, folder: CampaignFolder, reached: Progress[int], inputs: Inputs, *, opening: bool) -> LikeOutcome:
        return LikeOutcome(
            campaign=folder.name, method=folder.settings().method, questions=reached.questions, inferred=reached.inferred,
            state=reached.state, pending=reached.pending, contradictions=reached.contradictions, alike=reached.result,
        )  # fmt: skip

    def brief(self, row: Mapping[str, Any]) -> str:
        return f"{row['alike']} alike"

    def report(
        self, folder: CampaignFolder, collection: Collection, price: float | None = None, progress: Progressing = silent
    ) -> bytes:
        alike = (folder.last_row(LIKENESSES) or {}).get("alike", 0)
        return f"<!doctype html><html><title>like</title><p>{alike} alike</p></html>".encode()


register_method(
    Method("in-line", "like", "One item after the other.", lambda items, given: InLine(items, given.step), LineParameters)
)
register_kind(LikeKind())
