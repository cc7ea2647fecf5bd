"""What Prometheus may ask: answers, questions, open ones and contradictions of every campaign; shards that are done.

Read off the workspace at the moment of asking: there is nothing to keep in step, and a restart loses nothing. `cccount metrics`
prints the text, writes it (for node_exporter's textfile folder) or serves it. Rates are `rate()` over these.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cccount_dist.campaign.outcome import Outcome
from flows.stages.campaigns import status
from storage.arrays import ShardedArray
from storage.campaigns import CampaignFolder
from storage.errors import CccountError, InputError
from storage.objects import temporary_beside
from storage.schema import ARRAYS
from storage.workspace import Workspace

_STATES = ("running", "waiting", "done", "stopped")


def collect(workspace: str) -> Iterator[tuple[str, str, dict[str, str], float]]:
    """Yield (name, meaning, labels, value)."""
    opened = Workspace.open(workspace)
    for row in status(workspace).campaigns:
        labels = {"campaign": row.campaign, "method": row.method}
        yield "cccount_questions", "questions that were asked and answered by somebody", labels, row.questions
        yield "cccount_answers", "rows of the answer log, inferred ones too", labels, row.answers
        yield "cccount_pending", "questions that lie ready for people", labels, row.pending
        yield "cccount_contradictions", "answers that contradict each other", labels, row.contradictions
        for name, value in (row.result or {}).items():
            if isinstance(value, int | float):
                yield f"cccount_result_{name}", f"the campaign's {name}", labels, value
        for state in _STATES:
            yield "cccount_state", "1 for the state that the campaign is in", {**labels, "state": state}, row.state == state
        held = CampaignFolder(opened, row.campaign).is_being_advanced
        yield "cccount_lease_held", "whether a process is advancing the campaign", labels, held
    for spec in ARRAYS:
        if opened.has_array(spec):
            array: ShardedArray = opened.array(spec)
            labels = {"array": spec.name}
            yield "cccount_shards", "shards of the array", labels, array.shards
            yield "cccount_shards_done", "shards that are written and marked done", labels, len(array.done())


def render(workspace: str) -> bytes:
    """Return the metrics in Prometheus' text format; a workspace that cannot be read is a metric as well."""
    try:
        from prometheus_client import CollectorRegistry, Gauge, generate_latest
    except ModuleNotFoundError as error:
        raise InputError("cccount metrics needs an extra package: install it with `pip install 'cccount[metrics]'`") from error
    registry = CollectorRegistry()
    gauges: dict[str, Gauge] = {}
    began = time.perf_counter()
    up = 1.0
    try:
        for name, meaning, labels, value in collect(workspace):
            if name not in gauges:
                gauges[name] = Gauge(name, meaning, ("workspace", *labels), registry=registry)
            gauges[name].labels(workspace, *labels.values()).set(value)
    except CccountError:
        up = 0.0
    Gauge("cccount_up", "whether the workspace can be read", ("workspace",), registry=registry).labels(workspace).set(up)
    seconds = Gauge("cccount_scrape_seconds", "how long it took to read the workspace", ("workspace",), registry=registry)
    seconds.labels(workspace).set(time.perf_counter() - began)
    return bytes(generate_latest(registry))


@dataclass(frozen=True, slots=True)
class Metrics(Outcome):
    """The metrics at this moment."""

    workspace: str

    def words(self) -> str:
        return render(self.workspace).decode().rstrip("\n")

    def json(self) -> dict[str, object]:
        rows = [{"name": name, **labels, "value": float(value)} for name, _, labels, value in collect(self.workspace)]
        return {"metrics": rows}


@dataclass(frozen=True, slots=True)
class MetricsWritten(Outcome):
    """A file of metrics."""

    file: str
    metrics: int

    def words(self) -> str:
        return f"{self.metrics} metrics in {self.file}"


def read(workspace: str) -> Metrics:
    """The metrics, to be printed."""
    return Metrics(workspace)


def write(workspace: str, file: str) -> MetricsWritten:
    """Write the metrics as a file, whole or not at all."""
    data = render(workspace)
    path = Path(file)
    temporary = temporary_beside(path)
    temporary.write_bytes(data)
    temporary.replace(path)
    return MetricsWritten(file, data.count(b"\n") - 2 * data.count(b"# HELP"))


def serve(workspace: str, host: str, port: int) -> None:
    """Answer GET /metrics until the process is ended."""
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    class Scraped(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = self.path == "/metrics"
            data = render(workspace) if found else b"see /metrics\n"
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002, ARG002
            return  # one line for each scrape helps nobody

    with ThreadingHTTPServer((host, port), Scraped) as server:
        server.serve_forever()


__all__ = ["collect", "read", "render", "serve", "write"]
