"""`python -m handbook.release DIST`: what a stranger gets from the wheel, tried in an empty environment; and a list of its parts.

1. a new environment, without this checkout in sight, gets the wheel by `pip install`;
2. `cccount --version`, `cccount doctor` and `cccount demo` run there in an empty folder;
3. `DIST/sbom.cdx.json` (CycloneDX) names every package that was installed, with version and licence.
"""

import json
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
# Run by the new environment's own Python: what is installed there.
_INSTALLED = """
import importlib.metadata as m, json
print(json.dumps([[d.metadata["Name"], d.version, d.metadata.get("License-Expression") or d.metadata.get("License") or "",
    [c for c in d.metadata.get_all("Classifier") or [] if c.startswith("License ::")]] for d in m.distributions()]))
"""
_DATA = """
from importlib.resources import files
for package, name in (("flows.compute", "profiles/slurm.toml"), ("flows.orchestration", "prefect.yaml"), ("cccount_dist.review", "static/review.js")):
    assert files(package).joinpath(name).is_file(), name
"""  # noqa: E501


def main(dist: Path) -> None:
    (wheel,) = dist.glob("*.whl")
    with tempfile.TemporaryDirectory(prefix="cccount-release-") as name:
        place = Path(name)
        venv.create(place / "venv", with_pip=True)
        python = place / "venv/bin/python"
        run(place, [python, "-m", "pip", "install", "--quiet", "-c", ROOT / "constraints.txt", wheel.resolve()])
        run(place, [python, "-P", "-c", _DATA])
        command = place / "venv/bin/cccount"
        run(place, [command, "--version"])
        run(place, [command, "doctor"])
        said = run(place, [command, "demo", "--directory", "demo", "--json"])
        found = json.loads(said)
        assert found["low"] <= found["truth"] <= found["high"], said  # noqa: S101
        assert (place / "demo/report.html").is_file()  # noqa: S101
        installed = json.loads(run(place, [python, "-P", "-c", _INSTALLED]))
    (dist / "sbom.cdx.json").write_text(json.dumps(bill(installed), indent=1) + "\n")
    sys.stderr.write(f"{wheel.name} works in an empty environment; {len(installed)} packages in {dist / 'sbom.cdx.json'}\n")


def run(folder: Path, command: Sequence[str | Path]) -> str:
    """Run a command without anything of this checkout in its environment; what it printed."""
    plain = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(list(map(str, command)), cwd=folder, env=plain, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))} ended with {done.returncode}\n{done.stdout}")
    return done.stdout


def bill(installed: Sequence[tuple[str, str, str, list[str]]]) -> dict[str, object]:
    """A CycloneDX bill of materials.

    >>> bill([("zarr", "3.1.6", "MIT", [])])["components"][0]["purl"]
    'pkg:pypi/zarr@3.1.6'
    """
    parts = []
    for name, version, licence, classifiers in sorted(installed, key=lambda one: one[0].lower()):
        said = licence if licence and len(licence) < 64 else "; ".join(one.rpartition(" :: ")[2] for one in classifiers)
        part: dict[str, object] = {
            "type": "library",
            "name": name,
            "version": version,
            "purl": f"pkg:pypi/{name.lower()}@{version}",
        }
        parts.append({**part, "licenses": [{"license": {"name": said}}]} if said else part)
    return {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "components": parts}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
