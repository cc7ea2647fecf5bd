"""Places to compute: profiles for SLURM, Kubernetes and this machine, and TLS that lets nobody in without a certificate."""

import inspect
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import distributed
import pytest

from flows.compute import clients as compute
from flows.compute.clients import open_client, run_tasks
from flows.compute.profiles import Profile, known_profiles, profile_cluster, security_of
from storage.errors import ComputeError, InputError
from tests.flows.conftest import ROOT


def certificates(folder: Path) -> Path:
    subprocess.run([ROOT / "infra/tls/make-certificates", folder], check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return certificates(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def encrypted(tls: Path) -> Iterator[str]:
    """A scheduler and a worker that speak TLS."""
    security = security_of(tls)
    with distributed.LocalCluster(
        1, processes=False, threads_per_worker=1, host="127.0.0.1", protocol="tls://", security=security, dashboard_address=":0"
    ) as cluster:
        yield str(cluster.scheduler_address)


def _square(number: int) -> int:
    return number * number


def test_the_key_is_for_its_owner_alone(tls: Path) -> None:
    assert (tls / "key.pem").stat().st_mode & 0o777 == 0o600
    assert {path.name for path in tls.iterdir()} == {"ca.pem", "cert.pem", "key.pem"}
    stored = subprocess.run(["git", "ls-files", "infra"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert ".pem" not in stored


def test_a_client_with_our_certificate_computes(encrypted: str, tls: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CCCOUNT_TLS", str(tls))
    with open_client(encrypted) as client:
        assert run_tasks(client, _square, [3], describe="squares", unit="numbers") == [9]


@pytest.mark.parametrize("kind", ["plaintext", "foreign", "none"])
def test_any_other_client_is_refused(encrypted: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compute, "CONNECT_SECONDS", 2)
    address = encrypted
    if kind == "plaintext":
        address = encrypted.replace("tls://", "tcp://")
    elif kind == "foreign":
        monkeypatch.setenv("CCCOUNT_TLS", str(certificates(tmp_path / "theirs")))
    with pytest.raises(ComputeError, match=r"no Dask scheduler answers|needs certificates"), open_client(address):
        pass


def test_a_folder_without_certificates_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CCCOUNT_TLS", str(tmp_path))
    with pytest.raises(InputError, match=r"ca\.pem: make certificates with"), open_client("tls://127.0.0.1:1"):
        pass


def test_workers_come_with_the_work() -> None:
    with open_client("adaptive") as client:
        before = len(client.scheduler_info()["workers"])
        slow = client.map(time.sleep, [1.0] * 10, pure=False)
        deadline = time.monotonic() + 30
        while len(client.scheduler_info(n_workers=-1)["workers"]) <= before and time.monotonic() < deadline:
            time.sleep(0.1)
        assert len(client.scheduler_info(n_workers=-1)["workers"]) > before
        client.gather(slow)


@pytest.fixture
def queue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`sbatch` and `scancel` that run jobs on this machine: everything above them is the real dask-jobqueue."""
    scripts = {
        "sbatch": (
            f'#!/bin/sh\ncp "$1" {tmp_path}/job.sh\n'
            f'setsid bash {tmp_path}/job.sh >{tmp_path}/log 2>&1 &\necho "Submitted batch job $!"\n'
        ),
        "scancel": '#!/bin/sh\nkill -9 -- "-$1" 2>/dev/null || true\n',
    }
    for name, script in scripts.items():
        (tmp_path / name).write_text(script)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return tmp_path


def test_slurm_jobs_are_workers(queue: Path, tls: Path) -> None:
    profile = queue / "small.toml"
    profile.write_text(
        f'kind = "slurm"\ntls = "{tls}"\nwait_seconds = 60\n[cluster]\nqueue = "normal"\ncores = 1\nmemory = "1GiB"\n'
        f'local_directory = "{queue}"\ninterface = "lo"\nscheduler_options = {{ dashboard_address = ":0" }}\n'
        f'job_script_prologue = ["export PYTHONPATH={ROOT}"]\n[adapt]\nminimum = 1\nmaximum = 1\n'
    )
    with open_client(str(profile)) as client:
        assert str(client.scheduler_info()["address"]).startswith("tls://")
        assert run_tasks(client, _square, [4], describe="squares", unit="numbers") == [16]
    script = (queue / "job.sh").read_text()
    assert "#SBATCH -p normal" in script
    assert "--tls-ca-file" in script


def test_the_slurm_profile_makes_a_job_script(queue: Path) -> None:
    from dask_jobqueue.slurm import SLURMCluster

    options = Profile.read("slurm").cluster
    with SLURMCluster(**options, interface="lo", scheduler_options={"dashboard_address": ":0"}) as cluster:
        script = cluster.job_script()
    assert "#SBATCH -t 04:00:00" in script
    assert "--nworkers 4" in script
    assert "--lifetime 230m" in script


def test_the_kubernetes_profile_is_what_the_operator_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    from dask_kubernetes.operator import KubeCluster, make_cluster_spec

    monkeypatch.setenv("CCCOUNT_IMAGE", "registry.example/cccount:0.1.0")
    options = Profile.read("kubernetes").cluster
    assert options.keys() <= inspect.signature(KubeCluster.__init__).parameters.keys()
    known = inspect.signature(make_cluster_spec).parameters.keys()
    spec = make_cluster_spec(**{name: value for name, value in options.items() if name in known})
    (container,) = spec["spec"]["worker"]["spec"]["containers"]
    assert container["image"] == "registry.example/cccount:0.1.0"
    assert container["resources"]["limits"] == {"memory": "4Gi"}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('kind = "pbs"', "has the kind 'pbs'"),
        ('kind = "local"\ncolour = 1', "does not know colour"),
        ("kind =", "not valid TOML"),
    ],
)
def test_a_profile_that_is_wrong_is_one_line(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "x.toml").write_text(content)
    with pytest.raises(InputError, match=said), profile_cluster(str(tmp_path / "x.toml")):
        pass


def test_a_profile_that_is_not_there_is_named() -> None:
    said = r"there is no profile 'moon' \(there are adaptive, kubernetes, slurm\)"
    with pytest.raises(InputError, match=said), open_client("moon"):
        pass
    with pytest.raises(InputError, match=r"there is no file places/moon\.toml"), open_client("places/moon.toml"):
        pass


def test_a_profile_of_ones_own_stands_before_that_of_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CCCOUNT_PROFILES", str(tmp_path))
    assert Profile.read("slurm").wait_seconds == 3600
    (tmp_path / "slurm.toml").write_text('kind = "slurm"\nwait_seconds = 7')
    assert Profile.read("slurm").wait_seconds == 7
    (tmp_path / "moon.toml").write_text('kind = "local"')
    assert known_profiles() == ["adaptive", "kubernetes", "moon", "slurm"]
