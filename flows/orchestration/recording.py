"""Run a stage under Prefect when a Prefect server is configured, and plainly when none is.

Calling a Prefect flow without a server starts a hidden one, which takes longer than most of our stages and can fail by its own
timeout. So without a server the stage's plain function runs: nothing is lost, because the truth about a stage is in the
workspace (done-markers, log), never in Prefect. `docs/evidence/prefect.md` has the measurement.
"""

import os
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cccount_dist.campaign.outcome import Outcome
from flows.compute.logs import logged
from flows.stages.jobfile import Job
from flows.stages.registry import stages
from storage.errors import ComputeError
from storage.reading import known_errors, read_regular, reason
from storage.toml import load_toml

ANSWER_SECONDS = 3
_LOGGED = ("items", "tiles", "tiles_resumed", "shards", "shards_resumed", "questions", "state", "pending", "ok")  # of reports


def server_url() -> str | None:
    """The Prefect API that the environment or the active profile names. Reads files, so that Prefect need not be imported."""
    if url := os.environ.get("PREFECT_API_URL"):
        return url
    home = Path(os.environ.get("PREFECT_HOME", "~/.prefect")).expanduser()
    path = Path(os.environ.get("PREFECT_PROFILES_PATH", home / "profiles.toml"))
    try:
        profiles = load_toml(read_regular(path))
        active = os.environ.get("PREFECT_PROFILE", profiles.get("active", ""))
        url = profiles.get("profiles", {}).get(active, {}).get("PREFECT_API_URL")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except known_errors() as error:
        raise ComputeError(f"{path} is not valid TOML ({reason(error)}): correct it, or set PREFECT_API_URL") from error
    return str(url) if url else None


def run_stage(name: str, **parameters: Any) -> Outcome:
    """Run a stage of the registry, as a Prefect flow run if a server is configured."""
    url = server_url()
    with logged(name, workspace=parameters.get("workspace"), campaign=parameters.get("campaign")) as outcome:
        done = stages()[name](**parameters) if url is None else _run_recorded(name, parameters, url)
        report = done.json()
        outcome.update({field: report[field] for field in _LOGGED if field in report})
    return done


def run_recorded(job: Job) -> Outcome:
    """Run the whole job of a file, as one Prefect flow run if a server is configured: its tasks are the stages."""
    from flows.stages.job import check_job, run_job

    url = server_url()
    with logged("pipeline", workspace=job.workspace):
        if url is None:
            return run_job(job)
        check_job(job)  # a file that is wrong is no run
        require_answer(url)
        _settle()
        from flows.orchestration.scheduled import pipeline

        given: dict[str, Any] = dict(job.content)  # the flow's own parameters, which Prefect checks
        done: Outcome = pipeline(**given)
        return done


def require_server() -> str:
    """Return the server's address; `ComputeError` if none is configured, or it does not answer."""
    url = server_url()
    if url is None:
        raise ComputeError(
            "no Prefect server is configured: start one with `prefect server start`, and set PREFECT_API_URL to its address, "
            "such as http://127.0.0.1:4200/api"
        )
    require_answer(url)
    _settle()
    return url


def _run_recorded(name: str, parameters: Mapping[str, Any], url: str) -> Outcome:
    require_answer(url)
    _settle()
    from flows.orchestration.scheduled import FLOWS

    done: Outcome = FLOWS[name](**parameters)
    return done


def _settle() -> None:
    """Set Prefect up as we want it, before it is imported."""
    os.environ.setdefault("DO_NOT_TRACK", "1")
    os.environ.setdefault("PREFECT_SERVER_ANALYTICS_ENABLED", "false")
    os.environ.setdefault("PREFECT_SERVER_ALLOW_EPHEMERAL_MODE", "false")
    # The server keeps the run's log; the terminal shows our own progress, and a failure as one line instead of a traceback.
    os.environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "CRITICAL")


def require_answer(url: str) -> None:
    try:
        with urllib.request.urlopen(f"{url.rstrip('/')}/health", timeout=ANSWER_SECONDS):  # noqa: S310  the user's own server
            return
    except urllib.error.HTTPError:
        return  # it answers; whether we may use it is for Prefect's client to say
    except (OSError, ValueError) as error:
        raise ComputeError(
            f"the Prefect server at {url} does not answer ({error}): start it with `prefect server start`, "
            "or unset PREFECT_API_URL to run without one"
        ) from error
