"""Label Studio: open questions out as tasks with their labelling config, annotations back in as answers.

A task is `{"data": {"first": uri, "second": uri, "question_id": …}}`; an exported annotation (JSON or JSON-MIN) has the choice
`same`, `different` or `unsure`, or a number for a rating. Ids follow from Label Studio's own, so an import can be repeated.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from cccount_dist.sampling.types import Question
from flows.answerfiles import Row
from storage.collection import Collection
from storage.errors import InputError, StoreError

CONFIG = """<View>
  <View style="display: flex; gap: 1em">
    <Image name="first" value="$first" zoom="true" brightnessControl="true" contrastControl="true"/>
    <Image name="second" value="$second" zoom="true" brightnessControl="true" contrastControl="true"/>
  </View>
  {control}
</View>
"""
CHOICES = """<Choices name="answer" toName="first" choice="single-radio" required="true">
    <Choice value="same" hotkey="s"/><Choice value="different" hotkey="d"/><Choice value="unsure" hotkey="u"/>
  </Choices>"""
RATING = """<Number name="answer" toName="first" min="0" max="1" step="0.05" required="true"/>"""


def write_tasks(path: Path, questions: Sequence[Question], collection: Collection, campaign: str) -> str:
    """Write a task for each question, and beside it the labelling config; return where that is."""
    if path.suffix != ".json":
        raise InputError(f"{path}: Label Studio takes tasks from a .json file")
    without = [q for q in questions if collection.uri(q.u) is None or collection.uri(q.v) is None]
    if without:
        raise InputError(f"question {without[0].id} is about an item without an image: Label Studio shows images")
    tasks = [
        {
            "data": {
                "first": collection.uri(q.u),
                "second": collection.uri(q.v),
                "question_id": q.id,
                "campaign": campaign,
                "id_u": collection.ids[q.u],
                "id_v": collection.ids[q.v],
            }
        }
        for q in questions
    ]
    config = path.with_suffix(".xml")
    rating = any(q.kind == "rating" for q in questions)
    try:
        path.write_text(json.dumps(tasks, indent=1), encoding="utf-8")
        config.write_text(CONFIG.format(control=RATING if rating else CHOICES), encoding="utf-8")
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}") from error
    return str(config)


def is_task(row: Row) -> bool:
    """Whether a row of a JSON file is one of Label Studio's: a task with annotations, or an annotation of a JSON-MIN file."""
    return isinstance(row.get("annotations"), list) or "annotation_id" in row


def answers_of_task(row: Row, campaign: str) -> Iterator[Row]:
    """Return the rows of answers that a task has; one that was skipped has none. `InputError` for what is no answer."""
    if "annotation_id" in row:
        yield _row(row, row.get("answer"), row.get("annotator"), row, f"{row.get('id')}-{row['annotation_id']}", campaign)
        return
    data = row.get("data")
    if not isinstance(data, dict):
        raise InputError("the task has no data")
    for annotation in row["annotations"]:
        if isinstance(annotation, dict) and not annotation.get("was_cancelled"):
            number = f"{row.get('id')}-{annotation.get('id')}"
            yield _row(data, _choice(annotation), annotation.get("completed_by"), annotation, number, campaign)


def _row(data: Row, value: object, who: object, timing: Row, number: str, campaign: str) -> Row:
    if data.get("campaign") not in (None, campaign):
        raise InputError(f"the task belongs to campaign {data['campaign']!r}, not to {campaign!r}")
    who = who.get("email") or who.get("id") if isinstance(who, dict) else who
    return {
        "question_id": data.get("question_id"),
        "value": "" if value is None else value,
        "annotator": f"label-studio {who}",
        "seconds": timing.get("lead_time") or 0.0,
        "answer_id": f"label-studio-{campaign}-{data.get('question_id')}-{number}",
    }


def _choice(annotation: Row) -> Any:
    for result in annotation.get("result") or []:
        value = result.get("value") or {}
        if value.get("choices"):
            return value["choices"][0]
        if "number" in value:
            return value["number"]
    return None
