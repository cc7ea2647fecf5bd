"""`python -m benchmarks list`: every benchmark and what it measures; `python -m benchmarks run NAME [--quick] …`: run one.

`--quick` is a short form that shows that it works, in a minute or two; its figures prove nothing. Other options are
the benchmark's own.
"""

import argparse
import ast
import re
import runpy
import sys
from dataclasses import dataclass
from pathlib import Path

ROOM = Path(__file__).parent
QUICK: dict[str, tuple[str, ...]] = {  # what a short form is told
    "asking_ahead": ("--people", "1", "--answers", "40", "--seeds", "1"),
    "catalogue": ("--quick",),
    "counting": ("--sets", "digits", "--runs", "2", "--efforts", "0.1"),
    "crowd": ("--questions", "200", "--seeds", "2"),
    "embedding": ("--items", "200", "--workers", "1"),
    "grouping": ("--sets", "digits", "--seeds", "1", "--noise", "0", "--budget", "20"),
    "grouping_growth": ("--sizes", "1000", "2000"),
    "kills": ("--kills", "4", "--budget", "40"),
    "log": ("--answers", "1000", "--singles", "100"),
    "mapping": ("--items", "2000", "--dimensions", "128"),
    "neighbors": ("--scale", "0.02", "--repeats", "1"),
    "scale": ("--items", "2000", "--budget", "200"),
    "waiting": ("--quick",),
}
SOURCES = "Omniglot, GTSRB, C-Zoo, AT&T and others, for research only: docs/evidence/index.md names them"


@dataclass(frozen=True)
class Benchmark:
    """One script of this folder: what it measures, and whether it needs a folder of collections."""

    name: str
    says: str
    needs_data: bool

    @property
    def data(self) -> str:
        return "--data FOLDER" if self.needs_data else "makes its own"


def benchmarks() -> list[Benchmark]:
    """Every script that can be run, by name. None is imported."""
    found = []
    for path in sorted([*ROOM.glob("*.py"), *ROOM.glob("*/__main__.py")]):
        source = path.read_text(encoding="utf-8")
        if path == Path(__file__) or "__main__" not in source:
            continue
        name = path.parent.name if path.name == "__main__.py" else path.stem
        says = " ".join((ast.get_docstring(ast.parse(source)) or "").split("\n\n")[0].split())
        needs = bool(re.search(r'"--data"|DATA_FOLDER', source))
        found.append(Benchmark(name, re.sub(r":? `python -m benchmarks[^`]*`", "", says), needs))
    return found


def listed() -> str:
    lines = ["| benchmark | what it measures | data | --quick |", "|---|---|---|---|"]
    lines += [f"| {one.name} | {one.says} | {one.data} | {'yes' if one.name in QUICK else ''} |" for one in benchmarks()]
    return "\n".join([*lines, "", f"--data FOLDER: .npz files of {SOURCES}."])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__, add_help=False)
    parser.add_argument("--help", action="store_true")
    parser.add_argument("what", nargs="?", choices=("list", "run"), default="list")
    parser.add_argument("name", nargs="?")
    parser.add_argument("--quick", action="store_true")
    told, rest = parser.parse_known_args()
    if told.what == "list":
        sys.stdout.write(f"{__doc__ if told.help else listed()}\n")
        return
    names = {one.name for one in benchmarks()}
    if told.name not in names:
        raise SystemExit(f"there is no benchmark {told.name!r}: python -m benchmarks list")
    if told.quick and told.name not in QUICK:
        raise SystemExit(f"{told.name} has no short form: python -m benchmarks run {told.name} --help")
    wanted = [*(QUICK[told.name] if told.quick else ()), *rest, *(["--help"] if told.help else [])]
    sys.argv = [f"benchmarks.{told.name}", *wanted]
    runpy.run_module(f"benchmarks.{told.name}", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
