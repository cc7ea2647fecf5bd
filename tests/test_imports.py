"""What packages may import. The order of their rooms stands in pyproject.toml, and `make lint` holds it (import-linter)."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ALLOWED = {"storage": {"storage"}, "cccount_dist": {"storage", "cccount_dist"}, "flows": {"storage", "cccount_dist", "flows"}}
FORBIDDEN_LIBRARIES = {
    "storage": {"prefect", "dask", "distributed", "typer", "sklearn", "scipy", "numba"},
    "cccount_dist": {"prefect", "typer", "dask", "distributed"},
    "flows": set(),
}


def wrong_imports(package: str, source: str) -> list[str]:
    """Modules that a file of `package` imports and must not; imports inside functions count as well."""
    ours = set(ALLOWED)
    names = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.append(node.module)
    tops = [(name, name.partition(".")[0]) for name in names]
    return [name for name, top in tops if (top in ours and top not in ALLOWED[package]) or top in FORBIDDEN_LIBRARIES[package]]


@pytest.mark.parametrize("package", sorted(ALLOWED))
def test_packages_import_only_what_lies_below_them(package: str) -> None:
    files = sorted((ROOT / package).rglob("*.py"))
    assert files
    wrong = {str(path.relative_to(ROOT)): found for path in files if (found := wrong_imports(package, path.read_text()))}
    assert not wrong


def test_an_import_against_the_direction_is_found() -> None:
    assert wrong_imports("storage", "from cccount_dist.clustering.agreement import nmi") == ["cccount_dist.clustering.agreement"]
    assert wrong_imports("cccount_dist", "def f():\n    import prefect.flows") == ["prefect.flows"]
    assert wrong_imports("flows", "import cccount_dist, storage.errors") == []


def test_the_command_line_imports_nothing_heavy() -> None:
    heavy = ["prefect", "distributed", "dask", "numpy", "pyarrow", "zarr", "sklearn", "numba", "matplotlib"]
    script = f"import sys; from flows.commands.cli import make_app; make_app(); print([n for n in {heavy!r} if n in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True, capture_output=True, text=True)
    assert shown.stdout.strip() == "[]"


def test_the_science_is_imported_without_its_optional_parts() -> None:
    """Also with every public name looked up: names are imported when they are wanted."""
    heavy = ["prefect", "distributed", "dask", "fastapi", "starlette", "uvicorn", "matplotlib"]
    script = f"""import sys, cccount_dist
for name in cccount_dist.__all__:
    getattr(cccount_dist, name)
print([name for name in {heavy!r} if name in sys.modules])"""
    shown = subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True, capture_output=True, text=True)
    assert shown.stdout.strip() == "[]"


def test_nothing_is_unpickled() -> None:
    """A file that is unpickled runs as a program. (Dask's protocol does it too: that is why it runs on TLS.)"""
    for package in ALLOWED:
        for path in sorted((ROOT / package).rglob("*.py")):
            tree = ast.parse(path.read_text())
            imported = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
            imported += [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
            unsafe = {"pickle", "cloudpickle", "dill", "joblib", "shelve", "marshal"}
            if path.name == "checkpoint.py":  # its unpickler knows four names and runs nothing (test_checkpoint.py)
                unsafe -= {"pickle"}
            assert not unsafe & {name.partition(".")[0] for name in imported}, path
            for node in ast.walk(tree):
                if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
                    assert isinstance(node.value, ast.Constant), path
                    assert node.value.value is False, path


def test_python_alone_loads_no_server_no_scheduler_and_no_cluster() -> None:
    """`from cccount_dist import ClusterCounter`, and a fit, must not pay for what they do not use."""
    unused = ["prefect", "dask", "distributed", "fastapi", "uvicorn", "sqlalchemy", "onnxruntime", "typer"]
    script = f"import sys; from cccount_dist import Campaign, ClusterCounter; print([n for n in {unused!r} if n in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True, capture_output=True, text=True)
    assert shown.stdout.strip() == "[]"


def test_a_step_loads_what_it_uses() -> None:
    """Every step of every campaign is a process of its own: half a second for what only sided collections need is felt."""
    unused = ["scipy.stats", "scipy.optimize", "sklearn", "dask", "matplotlib"]
    script = f"""if True:
        import sys
        import cccount_dist.kinds.cluster.runner
        print([n for n in {["scipy.special", *unused]!r} if n in sys.modules])
        import cccount_dist.kinds.count.runner
        print([n for n in {unused!r} if n in sys.modules])
    """
    shown = subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True, capture_output=True, text=True)
    assert shown.stdout.split() == ["[]", "[]"]
