"""Structured logs: one JSON object for each event of a run on standard error, with workspace, campaign, stage and run.

Off unless CCCOUNT_LOG=json: a person at a terminal reads progress bars. Prefect keeps the log of its runs besides.
"""

import json
import logging
import os
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

LOGGER = logging.getLogger("cccount")
LOGGER.addHandler(logging.NullHandler())  # or else Python prints errors bare where nobody asked for logs


class JsonLine(logging.Formatter):
    """A record as one JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        fields = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            "trace": self.formatException(record.exc_info) if record.exc_info and record.exc_info[0] else None,
            **getattr(record, "fields", {}),
        }
        return json.dumps({name: value for name, value in fields.items() if value is not None}, default=str)


def set_up() -> None:
    """Send events to standard error as JSON if CCCOUNT_LOG=json."""
    there = any(isinstance(handler.formatter, JsonLine) for handler in LOGGER.handlers)
    if os.environ.get("CCCOUNT_LOG") == "json" and not there:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(JsonLine())
        LOGGER.addHandler(handler)
        LOGGER.setLevel(logging.INFO)
        LOGGER.propagate = False


def run_id() -> str:
    """Return Prefect's flow run, or an id of this process's own."""
    return os.environ.get("PREFECT__FLOW_RUN_ID") or _OWN


_OWN = uuid.uuid4().hex[:12]


@contextmanager
def logged(stage: str, **facts: object) -> Iterator[dict[str, object]]:
    """Log begin and end of a stage; what the caller puts into the yielded mapping is logged with the end."""
    set_up()
    common = {"stage": stage, "run": run_id(), "pid": os.getpid(), **facts}
    LOGGER.info("begun", extra={"fields": common})
    began = time.perf_counter()
    outcome: dict[str, object] = {}
    try:
        yield outcome
    except BaseException as error:
        seconds = round(time.perf_counter() - began, 3)
        LOGGER.error(  # noqa: TRY400  one line: whoever calls has the traceback
            "failed", extra={"fields": {**common, "seconds": seconds, "error": f"{type(error).__name__}: {error}"}}
        )
        raise
    LOGGER.info("done", extra={"fields": {**common, "seconds": round(time.perf_counter() - began, 3), **outcome}})


def event(text: str, **facts: Any) -> None:
    """Log something that happened on the way."""
    set_up()
    LOGGER.info(text, extra={"fields": {"run": run_id(), "pid": os.getpid(), **facts}})


__all__ = ["JsonLine", "event", "logged", "run_id", "set_up"]
