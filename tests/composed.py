"""What `docker compose up` starts on an empty machine, as plain processes: the same commands, variables, users, volumes, secrets.

Networks, process numbers and mounts are namespaces of their own (Linux, as root), so names and ports are those of
infra/compose.yaml. Each service has a root of its own that is read-only: programs and code are bound into it, its volumes, its
secrets and an empty /tmp. Stand-ins: Debian's PostgreSQL for the database, moto for the store, and one worker of Prefect.
`python -m tests.composed up FOLDER` prints what was seen as JSON.
"""

import base64
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from tests.servers import postgres_binaries

ROOT = Path(__file__).parent.parent
INFRA = ROOT / "infra"
COMPOSE: dict[str, Any] = yaml.safe_load((INFRA / "compose.yaml").read_text())
USER = 10_001  # of infra/Dockerfile
SYSTEM = ("usr", "bin", "sbin", "lib", "lib64", "etc", "dev", "proc", "sys")
Seen = dict[str, Any]


# -- one container --------------------------------------------------------------------------------------------------------


def box(name: str, folder: Path, *command: str) -> None:
    """Become a service of the compose file; with a command: something else, in the place of that service."""
    service = COMPOSE["services"][name]
    root = folder / f"root-{os.getpid()}"
    root.mkdir()
    _mount("-t", "tmpfs", "-o", "mode=755", "root", root)
    for made in ("tmp", "app", "run/secrets"):
        (root / made).mkdir(parents=True)
    _mount("-t", "tmpfs", "-o", "mode=1777", "tmp", root / "tmp")
    for top in SYSTEM:
        source = Path("/", top)
        if source.is_symlink():
            (root / top).symlink_to(source.readlink())
        elif source.exists():
            _bind(source, root, str(source), read_only=top not in ("dev", "proc", "sys"))
    _mount("--bind", folder / "hosts", root / "etc/hosts")
    for path in [ROOT, Path(sys.prefix), Path(sys.base_prefix), *map(Path, sys.path)]:
        if path.is_dir() and not (root / path.relative_to("/")).exists():
            _bind(path, root, str(path), read_only=True)
    for volume in service.get("volumes", ()):
        named, target, *options = volume.split(":")
        kept = folder / "volumes" / named.removeprefix("./")
        if not kept.exists():
            kept.mkdir(parents=True)
            os.chown(kept, USER, USER)
        _bind(kept, root, target, read_only=options == ["ro"])
    for secret in service.get("secrets", ()):
        shutil.copy(folder / COMPOSE["secrets"][secret]["file"], root / "run/secrets" / secret)
    _mount("-o", "remount,bind,ro", root)
    os.chroot(root)
    os.chdir("/app")
    given = {**_image(), **{key: str(value) for key, value in service.get("environment", {}).items()}}
    rights = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--no-new-privs", "--bounding-set=-all"]
    os.execvpe(rights[0], [*rights, "entrypoint", *(command or service["command"])], given)


def _mount(*arguments: str | Path) -> None:
    subprocess.run(["mount", *arguments], check=True)


def _bind(source: Path, root: Path, target: str, *, read_only: bool) -> None:
    place = root / target.lstrip("/")
    place.mkdir(parents=True, exist_ok=True)
    _mount("--rbind" if source == Path("/dev") else "--bind", source, place)
    if read_only:
        _mount("-o", "remount,bind,ro", place)


def _image() -> dict[str, str]:
    """What the image sets, but for the place of its programs."""
    lines = (INFRA / "Dockerfile").read_text().rpartition("\nFROM ")[2].replace("\\\n", " ").splitlines()
    pairs = [pair for line in lines if line.startswith("ENV ") for pair in shlex.split(line)[1:]]
    programs = f"{Path(sys.executable).parent}:{INFRA}:/usr/local/bin:/usr/bin:/bin"
    return {**dict(pair.split("=", 1) for pair in pairs), "PATH": programs, "HOME": "/home/cccount"}


# -- all of them ----------------------------------------------------------------------------------------------------------


class Machine:
    """An empty machine: its volumes, its secrets, and what runs on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        _mount("-t", "proc", "proc", "/proc")
        (folder / "hosts").write_text(f"127.0.0.1 localhost {' '.join(COMPOSE['services'])}\n")
        secrets = subprocess.run([INFRA / "make-secrets", folder / "secrets"], check=True, capture_output=True, text=True)
        self.log("make-secrets").write_text(secrets.stdout)

        self._bring_kernels()

    def _bring_kernels(self) -> None:
        """Compiled kernels of this checkout, as far as there are some: compiling them anew takes a minute, and shows nothing."""
        from numba.core.caching import UserProvidedCacheLocator as Locator

        cache = self.folder / "volumes/cache"
        for kernel in [*(ROOT / "cccount_dist").rglob("*.nb[ic]")]:
            within: str = Locator.get_suitable_cache_subpath(str(kernel.parent.parent / "x.py"))  # type: ignore[no-untyped-call]
            place = cache / "numba" / within / kernel.name
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(kernel, place)
        cache.mkdir(parents=True, exist_ok=True)
        for path in (cache, *cache.rglob("*")):
            os.chown(path, USER, USER)

    def log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def secret(self, name: str) -> str:
        return (self.folder / "secrets" / name).read_text()

    def start(self, service: str, *command: str, name: str | None = None) -> "subprocess.Popen[bytes]":
        inside = [sys.executable, "-m", "tests.composed", "box", str(self.folder), service, *command]
        with self.log(name or service).open("ab") as sink:
            return subprocess.Popen(["unshare", "--mount", *inside], cwd=ROOT, stdout=sink, stderr=sink, env=_bare())

    def start_store(self) -> None:
        with self.log("store").open("ab") as sink:
            subprocess.Popen([sys.executable, "-m", "tests.s3", "9000", ""], cwd=ROOT, stdout=sink, stderr=sink, env=_bare())

    def start_database(self) -> None:
        binaries, data = postgres_binaries(), self.folder / "database"
        assert binaries is not None
        data.mkdir()
        shutil.copy(self.folder / "secrets/database-password", data / "password")
        for path in (data, data / "password"):
            shutil.chown(path, "postgres")
        make: list[str | Path] = [
            str(binaries / "initdb"),
            "-D",
            data / "d",
            "-U",
            "postgres",
            "-A",
            "scram-sha-256",
            f"--pwfile={data / 'password'}",
            "-N",
        ]
        run: list[str | Path] = [
            binaries / "postgres",
            "-D",
            data / "d",
            "-k",
            data,
            "-c",
            "fsync=off",
            "-c",
            "listen_addresses=127.0.0.1",
        ]
        with self.log("database").open("ab") as sink:
            subprocess.run(make, user="postgres", cwd=data, stdout=sink, stderr=sink, check=True)
            subprocess.Popen(run, user="postgres", cwd=data, stdout=sink, stderr=sink)
        ask: list[str | Path] = [binaries / "psql", "-h", "127.0.0.1", "-U", "postgres", "-qc", "create database prefect"]
        surroundings = {**os.environ, "PGPASSWORD": self.secret("database-password")}
        until(lambda: subprocess.run(ask, env=surroundings, capture_output=True, check=False).returncode == 0, 30, "the database")


def _bare() -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"}


def until(true: Callable[[], bool], seconds: float, what: str) -> None:
    ends = time.monotonic() + seconds
    while not true():
        if time.monotonic() > ends:
            raise AssertionError(f"{what} did not come in {seconds:.0f} s")
        time.sleep(0.2)


class Reply:
    """What a server said."""

    def __init__(self, url: str, body: object = None, *, method: str | None = None, **headers: str) -> None:
        data = None if body is None else json.dumps(body).encode()
        named = {key.replace("_", "-"): value for key, value in headers.items()}
        named |= {"content-type": "application/json"} if data else {}
        request = urllib.request.Request(url, data, named, method=method)
        try:
            with urllib.request.urlopen(request, timeout=20) as reply:
                self.status, self.headers, self.text = reply.status, dict(reply.headers), reply.read().decode(errors="replace")
        except urllib.error.HTTPError as error:
            self.status, self.headers, self.text = error.code, dict(error.headers), error.read().decode(errors="replace")
        except OSError as error:
            self.status, self.headers, self.text = 0, {}, str(error)


API = "http://127.0.0.1:4200/api"
REVIEW = "http://127.0.0.1:8765"


def up(folder: Path) -> Seen:
    """Start everything in the order that the compose file asks for, and look at it from outside. It ends with this process."""
    machine = Machine(folder)
    machine.start_store()
    first = machine.start("first-start")
    scheduler = machine.start("scheduler")
    machine.start_database()
    prefect = machine.start("prefect")
    seen: Seen = {"first_start": first.wait(240)}
    if seen["first_start"] != 0:
        return seen
    review = machine.start("review")
    until(lambda: Reply(f"{API}/health").status == 200 or prefect.poll() is not None, 120, "Prefect")
    machine.start("worker")
    until(lambda: Reply(REVIEW).status == 200 or review.poll() is not None, 60, "the review page")
    seen["review"] = looked_at_review(machine.secret("review-token").strip())
    seen["prefect"] = looked_at_prefect(machine)
    seen["again"] = machine.start("first-start", name="first-start again").wait(120)
    seen["running"] = [one.poll() is None for one in (review, scheduler, prefect)]
    return seen


def looked_at_review(token: str) -> Seen:
    wrong = Reply(f"{REVIEW}/api/login", {"token": "x" * 40})
    right = Reply(f"{REVIEW}/api/login", {"token": token})
    cookie = right.headers.get("set-cookie", "").partition(";")[0]
    return {
        "page": Reply(REVIEW).status,
        "wrong": wrong.status,
        "right": right.status,
        "without": Reply(f"{REVIEW}/api/count/sheets").status,
        "campaigns": [one["name"] for one in json.loads(Reply(f"{REVIEW}/api/session", Cookie=cookie).text)["campaigns"]],
        "sheets": Reply(f"{REVIEW}/api/count/sheets", Cookie=cookie).text,
        "picture": Reply(f"{REVIEW}/images/0", Cookie=cookie).status,
    }


def looked_at_prefect(machine: Machine) -> Seen:
    password = {"Authorization": f"Basic {base64.b64encode(machine.secret('prefect-auth').encode()).decode()}"}
    page = Reply("http://127.0.0.1:4200/", Accept="text/html")

    def allowed(origin: str) -> str | None:
        asked = Reply(f"{API}/flows/filter", method="OPTIONS", Origin=origin, Access_Control_Request_Method="POST")
        return asked.headers.get("access-control-allow-origin")

    (machine.folder / "volumes/state/census.toml").write_text(JOB)
    deployed = machine.start("worker", "sh", "-c", "cd /state && cccount deploy census.toml --json", name="deploy").wait(120)
    found = Reply(f"{API}/deployments/name/cccount-verify/verify", **password)
    seen = {
        "page": page.status,
        "is_page": "<html" in page.text,
        "without": Reply(f"{API}/deployments/", {"name": "x", "flow_id": "0" * 8}).status,
        "wrong": Reply(f"{API}/flows/filter", {}, Authorization="Basic Y2Njb3VudDp4").status,
        "with": Reply(f"{API}/flows/filter", {}, **password).status,
        "cors_elsewhere": allowed("https://elsewhere.example"),
        "cors_own": allowed("http://127.0.0.1:4200"),
        "deploy": deployed,
        "deployment": json.loads(found.text) if found.status == 200 else found.text,
    }
    if found.status == 200:
        run = json.loads(Reply(f"{API}/deployments/{json.loads(found.text)['id']}/create_flow_run", {}, **password).text)["id"]

        def state() -> str:
            return str(json.loads(Reply(f"{API}/flow_runs/{run}", **password).text)["state_type"])

        until(lambda: state() in ("COMPLETED", "FAILED", "CRASHED"), 120, "the end of a run")
        seen["run"] = state()
    return seen


JOB = """\
workspace = "s3://census/ws"
[[campaign]]
kind = "count"
budget = 400
"""


def main() -> None:
    what, folder, *rest = sys.argv[1:]
    if what == "box":
        box(rest[0], Path(folder), *rest[1:])
    else:
        sys.stdout.write(json.dumps(up(Path(folder))) + "\n")


if __name__ == "__main__":
    main()
