"""Label Studio: open questions out as tasks with their labelling config, annotations back in as answers.

A task is `{"data": {"first": uri, "second": uri, "question_id": …}}`; an exported annotation (JSON or JSON-MIN) has the choice
`same`, `different` or `unsure`, or a number for a rating. Ids follow from Label Studio's own, so an import can be repeated.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from cccount_dist.sampling.questions.kind import QuestionKind
from cccount_dist.sampling.questions.registry import question_kind
from cccount_dist.sampling.questions.same import SAME_QUESTION
from cccount_dist.sampling.types import Question
from flows.exchange.answerfiles import Row, require_absent, write_new
from flows.exchange.cells import shortened, text
from flows.exchange.origin import COLUMNS, Origin
from storage.errors import InputError

ANNOTATION = "label-studio annotation"  # of a row that is made here: which one it was

CONFIG = """<View>
  <View style="display: flex; gap: 1em">
    <Image name="first" value="$first" zoom="true" brightnessControl="true" contrastControl="true"/>
    <Image name="second" value="$second" zoom="true" brightnessControl="true" contrastControl="true"/>
  </View>
  {control}
</View>
"""
CHOICES = """<Choices name="answer" toName="first" choice="single-radio" required="true">
    {choices}
  </Choices>"""
NUMBER = """<Number name="answer" toName="first" min="0" max="1" step="0.05" required="true"/>"""


def write_tasks(path: Path, questions: Sequence[Question], origin: Origin, *, overwrite: bool = False) -> str:
    """Write a task for each question, and beside it the labelling config; return where that is."""
    if path.suffix.lower() != ".json":
        raise InputError(f"{path}: Label Studio takes tasks from a .json file")
    collection = origin.collection
    without = [q for q in questions if collection.uri(q.u) is None or collection.uri(q.v) is None]
    if without:
        raise InputError(f"question {without[0].id} is about an item without an image: Label Studio shows images")
    tasks = [
        {"data": {"first": collection.uri(q.u), "second": collection.uri(q.v), "question_id": q.id, **origin.told(q)}}
        for q in questions
    ]
    config = path.with_suffix(".xml")
    kinds = {q.kind: question_kind(q.kind) for q in questions}
    kind = next((kind for kind in kinds.values() if not kind.words), None) or next(iter(kinds.values()), SAME_QUESTION)
    if not overwrite:
        require_absent(config)
    write_new(path, json.dumps(tasks, indent=1).encode(), overwrite=overwrite)
    write_new(config, CONFIG.format(control=_control(kind)).encode(), overwrite=overwrite)
    return str(config)


def _control(kind: QuestionKind) -> str:
    """What somebody chooses or enters: one of the kind's words, or a number."""
    if not kind.words:
        return NUMBER
    keys: set[str] = set()
    choices = ""
    for word in (*kind.words, "unsure"):
        key = next((letter for letter in word if letter not in keys), "")
        keys.add(key)
        choices += f'<Choice value="{word}" hotkey="{key}"/>' if key else f'<Choice value="{word}"/>'
    return CHOICES.format(choices=choices)


def is_task(row: Row) -> bool:
    """Whether a row of a JSON file is one of Label Studio's: a task with annotations, or an annotation of a JSON-MIN file."""
    return "annotations" in row or "annotation_id" in row


def answers_of_task(row: Row) -> Iterator[Row | InputError]:
    """Return the rows of answers that a task has, one that was skipped none; in the place of what is no answer, why not."""
    if "annotation_id" in row:
        yield _caught(lambda: _row(row, row.get("answer"), row.get("annotator"), row, f"{row.get('id')}-{row['annotation_id']}"))
        return
    data, annotations = row.get("data"), row["annotations"]
    if not isinstance(data, dict) or not isinstance(annotations, list):
        yield InputError("a task needs `data`, an object, and `annotations`, a list")
        return
    for annotation in annotations:
        if not isinstance(annotation, dict):
            yield InputError(f"an annotation is an object, not {type(annotation).__name__}")
        elif not annotation.get("was_cancelled"):
            yield _caught(partial(_annotated, data, annotation, row.get("id")))


def _caught(made: Callable[[], Row]) -> Row | InputError:
    try:
        return made()
    except InputError as error:
        return error


def _annotated(data: Row, annotation: Row, task: object) -> Row:
    return _row(data, _choice(annotation), annotation.get("completed_by"), annotation, f"{task}-{annotation.get('id')}")


def _row(data: Row, value: object, who: object, timing: Row, number: str) -> Row:
    who = who.get("email") or who.get("id") if isinstance(who, dict) else who
    return {
        "question_id": data.get("question_id"),
        "value": "" if value is None else value,
        "annotator": f"label-studio {text(who, 'completed_by')}".strip(),
        "seconds": timing.get("lead_time"),
        ANNOTATION: number,
        **{name: data[name] for name in COLUMNS if name in data},
    }


def _choice(annotation: Row) -> object:
    """What was chosen or entered; None for an annotation without a result."""
    results = annotation.get("result")
    if results is not None and not isinstance(results, list):
        raise InputError(f"the result of an annotation is a list, not {type(results).__name__}")
    for result in results or []:
        value = result.get("value") if isinstance(result, dict) else None
        if not isinstance(value, dict):
            raise InputError("a result of an annotation needs `value`, an object")
        if choices := value.get("choices"):
            if not isinstance(choices, list) or len(choices) != 1:
                raise InputError(f"an answer is one choice, not {shortened(choices)}")
            return choices[0]
        if "number" in value:
            return value["number"]
    return None


__all__ = ["ANNOTATION", "answers_of_task", "is_task", "write_tasks"]
