"""What runs cccount elsewhere: linted, rendered and checked against the schemas, for no container engine runs in the tests."""

import os
import shutil
import subprocess
import sys
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
import yaml
from prefect.utilities.callables import parameter_schema

from flows.orchestration import scheduled
from flows.orchestration.deploy import Deployment, PrefectFile, filled_in
from flows.stages.jobexample import example
from flows.stages.jobfile import Job
from flows.stages.jobsections import TOP

ROOT = Path(__file__).parent.parent
INFRA = ROOT / "infra"
DEPLOYMENTS = PrefectFile.read().deployments
COMPOSE = yaml.safe_load((INFRA / "compose.yaml").read_text())
SCRIPTS = ["audit", "entrypoint", "first-start", "make-secrets", "slurm/cccount.sbatch", "tls/make-certificates"]


def run(*command: str | Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    surroundings = {**os.environ, **variables}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=surroundings, cwd=ROOT)


@pytest.mark.parametrize("deployment", DEPLOYMENTS, ids=lambda deployment: deployment.name)
def test_a_deployment_names_a_flow_and_its_parameters(deployment: Deployment, tmp_path: Path) -> None:
    module, _, name = deployment.entrypoint.rpartition(".")
    assert module == scheduled.__name__  # a module, not a file: a worker has no checkout
    schema = parameter_schema(getattr(scheduled, name).fn)
    (tmp_path / "job.toml").write_text(example())
    filled = filled_in(PrefectFile.read(), Job.from_file(tmp_path / "job.toml"))
    for one in filled:
        if one.entrypoint == deployment.entrypoint:
            assert set(schema.required) <= set(one.parameters) <= set(schema.properties)
    assert len(filled) == 5


def test_the_pipeline_takes_what_the_file_takes() -> None:
    schema = parameter_schema(scheduled.pipeline.fn)
    assert set(schema.properties) == set(TOP)


def test_the_campaign_step_is_scheduled() -> None:
    schedules = {deployment.name: deployment.cron for deployment in DEPLOYMENTS}
    assert schedules == {"pipeline": None, "advance": "*/5 * * * *", "verify": "0 3 * * *"}


def test_data_files_are_in_the_package() -> None:
    """A user has the wheel and no checkout: what the code reads must be beside it, and what the build packs."""
    assert (resources.files("flows.orchestration") / "prefect.yaml").is_file()
    profiles = {found.name for found in (resources.files("flows.compute") / "profiles").iterdir()}
    assert profiles == {"adaptive.toml", "kubernetes.toml", "slurm.toml"}
    tracked = run("git", "ls-files", "flows").stdout.split()
    assert {"flows/orchestration/prefect.yaml", "flows/compute/profiles/slurm.toml"} <= set(tracked)
    built = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert built == {"packages": ["storage", "cccount_dist", "flows"]}  # whole folders, data included


def tool(name: str) -> str:
    found = shutil.which(name, path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    assert found is not None, f"{name} comes with the extra `dev`"
    return found


def test_the_image_has_nothing_to_complain_about() -> None:
    linted = run(tool("hadolint"), INFRA / "Dockerfile")
    assert linted.returncode == 0, linted.stdout
    lines = (INFRA / "Dockerfile").read_text().splitlines()
    assert [line for line in lines if line.startswith("USER")] == ["USER 10001:10001"]
    assert all(":" in line and ":latest" not in line for line in lines if line.startswith("FROM"))
    for line in lines:
        if line.startswith("COPY") and "--from" not in line:
            for source in [part for part in line.split()[1:-1] if not part.startswith("--")]:
                assert (ROOT / source).exists(), source


@pytest.mark.parametrize("script", SCRIPTS)
def test_scripts_are_sound(script: str) -> None:
    linted = run(tool("shellcheck"), INFRA / script)
    assert linted.returncode == 0, linted.stdout
    assert os.access(INFRA / script, os.X_OK) or script.endswith(".sbatch")


def test_secrets_come_from_files_and_only_those_that_are_meant(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("a b$c")
    shown = run(
        INFRA / "entrypoint", "sh", "-c", 'printf "%s|%s" "$AWS_SECRET_ACCESS_KEY" "${OTHER-}"',
        AWS_SECRET_ACCESS_KEY_FILE=str(tmp_path / "key"), OTHER_FILE=str(tmp_path / "key"),
    )  # fmt: skip
    assert shown.stdout == "a b$c|"


def test_no_secret_lies_in_the_repository() -> None:
    files = run("git", "ls-files", "infra").stdout.split()
    assert not [file for file in files if file.endswith((".pem", ".key")) or "/secrets/" in file]


def test_the_compose_file_follows_the_specification() -> None:
    checked = run(tool("check-jsonschema"), "--builtin-schema", "vendor.compose-spec", INFRA / "compose.yaml")
    assert checked.returncode == 0, checked.stdout


def test_the_compose_file_renders(tmp_path: Path) -> None:
    shutil.copytree(INFRA, tmp_path / "infra")
    file = tmp_path / "infra" / "compose.yaml"
    assert run(INFRA / "make-secrets", file.parent / "secrets").returncode == 0
    if shutil.which("docker") and run("docker", "compose", "version").returncode == 0:
        compose = ["docker", "compose"]
    elif shutil.which("docker-compose"):
        compose = ["docker-compose"]  # Debian's is older than the name of a project
        file.write_text("".join(line for line in file.read_text().splitlines(keepends=True) if not line.startswith("name:")))
    else:
        pytest.skip("neither `docker compose` nor docker-compose on this machine: `apt-get install docker-compose` brings one")
    rendered = run(*compose, "-f", file, "config")
    assert rendered.returncode == 0, rendered.stderr
    services = yaml.safe_load(rendered.stdout)["services"]
    assert services.keys() == COMPOSE["services"].keys()
    assert services["worker"]["environment"]["AWS_REGION"] == "us-east-1"


@pytest.mark.parametrize("name", COMPOSE["services"])
def test_a_service_has_no_rights_and_a_fixed_image(name: str) -> None:
    service: dict[str, Any] = COMPOSE["services"][name]
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert not service.get("privileged")
    assert service["image"].rpartition(":")[2] not in ("", "latest")
    assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))
    assert set(service.get("secrets", ())) <= set(COMPOSE["secrets"])
    assert set(service.get("depends_on", ())) <= set(COMPOSE["services"])
    named = {volume.partition(":")[0] for volume in service.get("volumes", ()) if volume != "./images:/images:ro"}
    assert named <= set(COMPOSE["volumes"])
    for value in service.get("environment", {}).values():
        if str(value).startswith("/run/secrets/"):
            assert str(value).removeprefix("/run/secrets/") in service["secrets"], value


def test_the_topology_is_whole() -> None:
    assert COMPOSE["services"].keys() == {
        "database", "prefect", "worker", "scheduler", "dask-worker", "first-start", "review", "store",
    }  # fmt: skip


def test_only_the_review_page_is_published_unless_somebody_asks_for_more() -> None:
    """Whoever reaches Prefect's port has programs run by the worker."""
    published = {name: service["ports"] for name, service in COMPOSE["services"].items() if "ports" in service}
    assert published == {"review": ["127.0.0.1:8765:8765"]}
    more = yaml.safe_load((INFRA / "compose.ports.yaml").read_text())["services"]
    assert all(one.keys() == {"ports"} and all(port.startswith("127.0.0.1:") for port in one["ports"]) for one in more.values())


def test_every_process_that_talks_to_prefect_has_its_password(manifests: list[dict[str, Any]], tmp_path: Path) -> None:
    """The variable for clients everywhere, the one for the server at the server; compose and Kubernetes alike."""
    server, origin = COMPOSE["services"]["prefect"]["environment"], "http://127.0.0.1:4200"
    for name in ("worker", "review"):
        assert COMPOSE["services"][name]["environment"]["PREFECT_API_AUTH_STRING_FILE"] == "/run/secrets/prefect-auth"
    assert server["PREFECT_SERVER_API_AUTH_STRING_FILE"] == "/run/secrets/prefect-auth"
    assert server["PREFECT_SERVER_CORS_ALLOWED_ORIGINS"] == origin
    assert run(INFRA / "make-secrets", tmp_path).returncode == 0
    user, _, password = (tmp_path / "prefect-auth").read_text().partition(":")
    assert (user, len(password)) == ("cccount", 48)
    (common,) = [one["data"] for one in manifests if one["kind"] == "ConfigMap"]
    (held,) = [one["data"] for one in manifests if one["kind"] == "Secret" and "prefect-auth" in one["data"]]
    assert common["PREFECT_API_AUTH_STRING_FILE"] == "/secrets/prefect-auth"
    assert "review-token" in held
    (pod,) = [m for m in manifests if m["kind"] == "Deployment" and m["metadata"]["name"] == "prefect"]
    variables = {one["name"]: one["value"] for one in pod["spec"]["template"]["spec"]["containers"][0]["env"]}
    assert variables["PREFECT_SERVER_API_AUTH_STRING_FILE"] == "/secrets/prefect-auth"
    assert variables["PREFECT_SERVER_CORS_ALLOWED_ORIGINS"] == origin
    assert variables["PREFECT_UI_STATIC_DIRECTORY"].startswith("/tmp/")  # the root is read-only


@pytest.fixture(scope="module")
def manifests(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("kubernetes")
    shutil.copytree(INFRA / "kubernetes", folder, dirs_exist_ok=True)
    assert run(INFRA / "make-secrets", folder / "secrets").returncode == 0
    if shutil.which("kubectl") is None:
        pytest.skip("no kubectl on this machine to render the manifests with")
    rendered = run("kubectl", "kustomize", folder)
    assert rendered.returncode == 0, rendered.stderr
    return list(yaml.safe_load_all(rendered.stdout))


def test_manifests_follow_the_schemas(manifests: list[dict[str, Any]]) -> None:
    import kubernetes_validate

    for manifest in manifests:
        kubernetes_validate.validate(manifest, "1.31", strict=True)


def test_a_killed_prefect_server_knows_who_holds_a_campaign(manifests: list[dict[str, Any]]) -> None:
    """The default is its memory: a run that dies with it would keep the place of its campaign for ever."""
    setting = "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE"
    server = COMPOSE["services"]["prefect"]
    assert server["environment"][setting].endswith(".filesystem")
    assert server["volumes"] == [f"prefect:{Path(server['environment']['PREFECT_HOME']).parent}"]
    (pod,) = [
        m["spec"]["template"]["spec"] for m in manifests if m["kind"] == "Deployment" and m["metadata"]["name"] == "prefect"
    ]
    variables = {variable["name"]: variable["value"] for variable in pod["containers"][0]["env"]}
    assert variables[setting] == server["environment"][setting]
    assert variables["PREFECT_HOME"] == server["environment"]["PREFECT_HOME"]
    assert {"name": "state", "persistentVolumeClaim": {"claimName": "prefect-state"}} in pod["volumes"]


def test_pods_have_the_least_rights(manifests: list[dict[str, Any]]) -> None:
    pods = [manifest["spec"]["template"]["spec"] for manifest in manifests if manifest["kind"] == "Deployment"]
    assert len(pods) == 5
    for pod in pods:
        assert pod["securityContext"]["runAsNonRoot"]
        assert pod["automountServiceAccountToken"] is False
        for container in [*pod["containers"], *pod.get("initContainers", ())]:
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
            assert container["securityContext"]["readOnlyRootFilesystem"]
            assert container["securityContext"]["allowPrivilegeEscalation"] is False
            assert container["resources"]["limits"]["memory"]
            assert container["image"] == "cccount:0.1.0"
    assert not [manifest for manifest in manifests if "Role" in manifest["kind"]]
