"""Named places to compute: a small TOML file says which kind of cluster it is, what its class is told, how it scales, its TLS.

`--compute slurm` reads `slurm.toml` in the folder that CCCOUNT_PROFILES names, or the one that comes with the package (the folder
`profiles` beside this file); `--compute x.toml` reads that file. The cluster classes are those of dask-jobqueue, dask-kubernetes
and distributed: everything under [cluster] goes to them. Light to import: a profile is checked before anything is computed.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from importlib import import_module
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from storage.errors import ComputeError, InputError
from storage.reading import known_errors, reason
from storage.toml import load_toml

if TYPE_CHECKING:
    import distributed

FOLDER = "CCCOUNT_PROFILES"
_CLASSES = {  # kind: module, class, what to install
    "local": ("distributed", "LocalCluster", "distributed"),
    "slurm": ("dask_jobqueue", "SLURMCluster", "cccount[slurm]"),
    "kubernetes": ("dask_kubernetes.operator", "KubeCluster", "cccount[kubernetes]"),
}
_TYPES: dict[str, tuple[Any, str]] = {
    "cluster": (dict, "a section"),
    "adapt": (dict, "a section"),
    "tls": (str, "a folder"),
    "wait_seconds": (int | float, "a number of seconds"),
}
_TLS_FILES = {"ca": "ca.pem", "cert": "cert.pem", "key": "key.pem"}  # as infra/tls/make-certificates writes them


@dataclass(frozen=True, slots=True)
class Profile:
    """What a profile's file says."""

    kind: str
    cluster: Mapping[str, Any]  # keywords of the cluster class, which is not ours
    adapt: Mapping[str, Any]  # keywords of its adapt()
    tls: str | None = None  # a folder with ca.pem, cert.pem and key.pem
    wait_seconds: float = 600.0  # for the first worker: a queue may be long

    @classmethod
    def read(cls, name: str) -> "Profile":
        path = _place(name)
        try:
            found = load_toml(path.read_bytes())
        except known_errors() as error:
            raise InputError(f"{path} is not valid TOML: {reason(error)}") from error
        strangers = found.keys() - {field.name for field in fields(cls)}
        if strangers or str(found.get("kind")) not in _CLASSES:
            wrong = f"does not know {', '.join(sorted(strangers))}" if strangers else f"has the kind {found.get('kind')!r}"
            raise InputError(f"{path} {wrong}: it takes kind ({', '.join(_CLASSES)}), tls, wait_seconds, [cluster], [adapt]")
        for key, (right, what) in _TYPES.items():
            if key in found and (not isinstance(found[key], right) or isinstance(found[key], bool)):
                raise InputError(f"{path}: {key} must be {what}, not {found[key]!r}")
        return cls(**{"cluster": {}, "adapt": {}, **_expanded(found)})

    def security(self) -> "distributed.Security | None":
        return None if self.tls is None else security_of(Path(self.tls))


def security_of(folder: Path) -> "distributed.Security":
    """Encrypted and mutual: whoever has no certificate of this authority is refused, on both sides."""
    import distributed

    files = {name: folder / file for name, file in _TLS_FILES.items()}
    missing = [str(path) for path in files.values() if not path.is_file()]
    if missing:
        raise InputError(f"there is no {missing[0]}: make certificates with infra/tls/make-certificates, or name another folder")
    roles = {f"tls_{role}_{part}": str(files[part]) for role in ("client", "scheduler", "worker") for part in ("cert", "key")}
    return distributed.Security(require_encryption=True, tls_ca_file=str(files["ca"]), **roles)


def security_from_environment() -> "distributed.Security | None":
    """What CCCOUNT_TLS names; None leaves it to Dask's own configuration (DASK_DISTRIBUTED__COMM__TLS__…)."""
    folder = os.environ.get("CCCOUNT_TLS")
    return None if not folder else security_of(Path(folder))


@contextmanager
def profile_cluster(name: str) -> Iterator[tuple[Any, float]]:
    """Start the cluster of a profile for as long as the context lasts; yields it, and how long to wait for its first worker."""
    profile = Profile.read(name)
    module, kind, package = _CLASSES[profile.kind]
    try:
        cluster_class = getattr(import_module(module), kind)
    except ModuleNotFoundError as error:
        raise ComputeError(f"--compute {name} needs an extra package: install it with `pip install '{package}'`") from error
    security = profile.security()
    options = dict(profile.cluster) if security is None else {**profile.cluster, "security": security, "protocol": "tls://"}
    try:
        cluster = cluster_class(**options)
    except (TypeError, ValueError, OSError, RuntimeError) as error:
        raise ComputeError(f"--compute {name}: the cluster does not start: {' '.join(str(error).split())}") from error
    with cluster:
        if profile.adapt:
            cluster.adapt(**profile.adapt)
        yield cluster, profile.wait_seconds


def is_profile(compute: str) -> bool:
    """Whether this can name a profile, and is not an address.

    >>> is_profile("slurm"), is_profile("tcp://host:8786")
    (True, False)
    """
    return bool(compute) and "://" not in compute


def known_profiles() -> list[str]:
    """The names of the profiles that are there: the user's own, and those of the package."""
    return sorted({found.name.removesuffix(".toml") for folder in _folders() if folder.is_dir() for found in folder.iterdir()})


def _folders() -> list[Traversable]:
    """Where profiles lie; the first that has one wins."""
    own = os.environ.get(FOLDER)
    return [*([Path(own)] if own else []), files("flows.compute") / "profiles"]


def _place(name: str) -> Traversable:
    places = [Path(name)] if name.endswith(".toml") else [folder / f"{name}.toml" for folder in _folders()]
    for place in places:
        if place.is_file():
            return place
    what = f"file {name}" if name.endswith(".toml") else f"profile {name!r}"
    raise InputError(
        f"--compute takes local, tcp://host:port, tls://host:port, or a profile, and there is no {what} (there are "
        f"{', '.join(known_profiles())}): write one, or set {FOLDER} to the folder of your profiles"
    )


def _expanded(value: Any) -> Any:
    """Fill in $VARIABLES of the environment: paths and images differ from place to place, and secrets are not for files."""
    if isinstance(value, dict):
        return {name: _expanded(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_expanded(inner) for inner in value]
    return os.path.expandvars(value) if isinstance(value, str) else value


__all__ = ["Profile", "is_profile", "known_profiles", "profile_cluster", "security_from_environment", "security_of"]
