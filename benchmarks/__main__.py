"""`python -m benchmarks list`: every benchmark and what it measures; `python -m benchmarks run NAME [--quick] …`: run one.

Each prints Markdown: a title, its tables, and a line that says when, from which revision and on what machine. Progress and what
is left out go to standard error. `--quick` is a short form that shows that it works, in a minute or two and without any folder;
its figures prove nothing. Other options are the benchmark's own: `run NAME --help`.
"""

import argparse
import ast
import re
import runpy
import sys
from pathlib import Path

from benchmarks.data import FILES, MissingFileError
from benchmarks.index import INDEX
from benchmarks.pasting import written
from benchmarks.stored import table

ROOM = Path(__file__).parent


def scripts() -> dict[str, Path]:
    """Every script of this folder that can be run, by its name; none is imported. One in another interpreter is none of them."""
    found = {}
    for path in sorted([*ROOM.glob("*.py"), *ROOM.glob("*/__main__.py")]):
        name = path.parent.name if path.name == "__main__.py" else path.stem
        if path != Path(__file__) and name != "cobras_peer" and "__main__" in path.read_text(encoding="utf-8"):
            found[name] = path
    return found


def says(name: str) -> str:
    """What a benchmark measures: the first sentence of its file."""
    told = ast.get_docstring(ast.parse(scripts()[name].read_text(encoding="utf-8"))) or ""
    first = " ".join(told.split("\n\n")[0].split())
    return re.sub(r":? `python -m benchmarks[^`]*`", "", first)


def listed() -> str:
    rows = [[name, says(name), "--data FOLDER" if one.files else "makes its own"] for name, one in INDEX.items()]
    files = [[f"{name}.npz", one.holds, one.origin, ", ".join(key for key, of in INDEX.items() if name in of.files)]
             for name, one in FILES.items()]  # fmt: skip
    return "\n".join([
        *table(["benchmark", "what it measures", "data"], rows), "",
        "`--data FOLDER`: a folder with these files. None is needed for `--quick`; a file that is not there is named.", "",
        *table(["file", "what it holds", "where it comes from", "for"], files),
    ])  # fmt: skip


def run(name: str, options: list[str]) -> None:
    """Run one as its own program; what it prints stands below its title."""
    asked_only = "--help" in options
    if not asked_only:
        print(f"# {name}\n\n{says(name)}\n", flush=True)
    sys.argv = [f"python -m benchmarks run {name}", *options]
    try:
        runpy.run_module(f"benchmarks.{name}", run_name="__main__", alter_sys=True)
    except MissingFileError as error:
        raise SystemExit(str(error)) from error
    if not asked_only:
        print(f"\n{written()}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__, add_help=False)
    parser.add_argument("--help", action="store_true")
    parser.add_argument("what", nargs="?", choices=("list", "run"), default="list")
    parser.add_argument("name", nargs="?")
    parser.add_argument("--quick", action="store_true")
    told, rest = parser.parse_known_args()
    if told.what == "list":
        print(__doc__ if told.help else listed())
    elif told.name not in INDEX:
        raise SystemExit(f"there is no benchmark {told.name!r}: python -m benchmarks list")
    else:
        run(told.name, [*(INDEX[told.name].quick if told.quick else ()), *rest, *(["--help"] if told.help else [])])


if __name__ == "__main__":
    main()
