"""`cccount demo`: the whole way on bundled images, by the real `cccount run`, with a SIGKILL in the middle of the count.

scikit-learn's 1,797 handwritten digits become image files whose names say nothing; how many different digits are there? The job
is killed while it counts, and the same command goes on where it stopped: nothing that was answered is lost or asked again.
"""

import csv
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cccount_dist.campaign.campaign import CampaignStatus
from cccount_dist.campaign.outcome import Outcome
from flows.stages.campaigns import status
from storage.errors import ComputeError, InputError

BUDGET = 400
SIDE = 32  # pixels: the digits come as 8 x 8
_MARKER = ".cccount-demo"  # only a folder with it is ever removed
_KILL_AFTER = (4, 1)  # written parts of the answer log, at the first try and at the second
_POLL_SECONDS = 0.01
_JOB = f"""\
workspace = "workspace"

[collection]
images = "images"
labels = "labels.csv"
noun = "digit"

[embed]
encoder = "hog"

[[campaign]]
kind = "count"
budget = {BUDGET}
oracle = "labels"
"""


@dataclass(frozen=True, slots=True)
class Demonstrated(Outcome):
    """Where the report is, the truth, the estimate and its interval."""

    report: str
    workspace: str
    truth: int
    estimate: float
    low: float
    high: float
    level: float
    interrupted: bool
    answers_at_kill: int
    seconds: float

    def words(self) -> str:
        return f"Open {self.report}"


def demo(directory: str) -> Demonstrated:
    """Run everything in `directory` and return where the report is, the truth, the estimate and its interval."""
    began = time.monotonic()
    folder = _fresh_folder(Path(directory))
    images, labels, workspace = folder / "images", folder / "labels.csv", str(folder / "workspace")
    _say(f"Writing handwritten digits as image files to {images}: how many different digits are there?")
    truth = write_digits(images, labels)
    job = folder / "job.toml"
    job.write_text(_JOB)
    _say(f"The whole job is one file, {job}:\n\n{_JOB.rstrip()}")
    run = ("run", str(job))
    kept = _run_and_kill(workspace, run)
    _run("where the campaign stands now", "status", workspace)
    _run(f"the same command goes on: the {kept:,} answers are kept, and none is asked again", *run)
    report = shutil.copyfile(folder / "workspace/campaigns/count/results/report.html", folder / "report.html")
    standing = _standing(workspace)
    result = standing.result or {}
    seconds = time.monotonic() - began
    _say(f"There are {truth} digits. Counted: {standing.brief}. Killed once, {seconds:.0f} s in all.\nReport: {report}")
    return Demonstrated(
        report=str(report),
        workspace=workspace,
        truth=truth,
        estimate=result["estimate"],
        low=result["low"],
        high=result["high"],
        level=result["level"],
        interrupted=True,
        answers_at_kill=kept,
        seconds=seconds,
    )


def write_digits(images: Path, labels: Path, most: int | None = None) -> int:
    """Write the digits, or so many, as PNG files in random order, and their labels as csv; return how many kinds there are."""
    import numpy as np
    from PIL import Image
    from sklearn.datasets import load_digits

    data = load_digits()
    images.mkdir()
    with labels.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "label"])
        # Shuffled: in the order of the data set, the number of a file would give its digit away.
        for number, place in enumerate(np.random.default_rng(0).permutation(len(data.target))[:most]):
            name = f"scan-{number:04d}.png"
            ink = Image.fromarray((255 - data.images[place] * (255 / 16)).astype(np.uint8))
            ink.resize((SIDE, SIDE), Image.Resampling.BICUBIC).save(images / name)
            rows.writerow([name, data.target[place]])
    return len(set(data.target.tolist()))


def _fresh_folder(folder: Path) -> Path:
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise InputError(f"{folder} is not a folder: choose another one with --directory")
    if folder.exists() and any(folder.iterdir()):
        if not (folder / _MARKER).exists():
            raise InputError(f"{folder} is there already and is no earlier demo: choose another folder with --directory")
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _MARKER).write_text("Made by `cccount demo`, which removes this whole folder when it is run again.\n")
    return folder


def _run_and_kill(workspace: str, arguments: Sequence[str]) -> int:
    """Start the job, kill it in the middle of the count, and return how many answers were safe by then."""
    campaign = Path(workspace, "campaigns/count")
    for parts in _KILL_AFTER:
        _announce(
            "a workspace, a vector for each image, who is similar to whom, and how many different ones there are; killed in the "
            "middle of the count, to show that it does no harm",
            arguments,
        )
        if _killed_after(campaign / "answers", parts, arguments):
            kept = _standing(workspace).questions
            if kept < BUDGET:
                _say(f"Killed with SIGKILL after {kept:,} of {BUDGET:,} answers.")
                return kept
        _say("It was done before it could be killed: once more from the beginning, with an earlier kill.")
        shutil.rmtree(campaign)
    raise ComputeError("the count was done before it could be killed, twice: run the demo on a slower machine")


def _killed_after(answers: Path, parts: int, arguments: Sequence[str]) -> bool:
    """Run a command and kill its whole process group once the log has so many parts; False if it ended by itself.

    However long that takes: it says on the screen how far it is, and a first try must not fail because a machine is busy.
    """
    process = subprocess.Popen(_command(arguments), stdout=subprocess.DEVNULL, start_new_session=True)  # noqa: S603
    try:
        while process.poll() is None and len(list(answers.glob("part-*.parquet"))) < parts:
            time.sleep(_POLL_SECONDS)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        code = process.wait()
    if code > 0:
        raise _failed(arguments, code)
    return code == -signal.SIGKILL


def _standing(workspace: str) -> CampaignStatus:
    return status(workspace, "count").campaigns[0]


def _run(why: str, *arguments: str) -> None:
    _announce(why, arguments)
    # Standard output belongs to the demo's own result: what a command says is shown on standard error.
    done = subprocess.run(_command(arguments), stdout=subprocess.PIPE, text=True, check=False)  # noqa: S603
    sys.stderr.write(done.stdout)
    sys.stderr.flush()
    if done.returncode:
        raise _failed(arguments, done.returncode)


def _command(arguments: Sequence[str]) -> list[str]:
    return [sys.executable, "-P", "-m", "flows", *arguments]


def _failed(arguments: Sequence[str], code: int) -> ComputeError:
    return ComputeError(f"the demo stopped: `cccount {shlex.join(arguments)}` ended with exit code {code}")


def _announce(why: str, arguments: Sequence[str]) -> None:
    _say(f"# {why}\n$ cccount {shlex.join(arguments)}")


def _say(text: str) -> None:
    sys.stderr.write(f"\n{text}\n")
    sys.stderr.flush()


__all__ = ["demo", "write_digits"]

if __name__ == "__main__":  # for `infra/first-start` and the tutorials: only the images, as many as the second word says
    write_digits(Path(sys.argv[1]), Path(sys.argv[1]).with_suffix(".csv"), *map(int, sys.argv[2:]))
