"""cccount as a later version will be: its log has more columns, and a chain that covers them if told so.

A process of its own, for `become` changes the declarations before anything else reads them:
`python -m tests.laterversion verify WORKSPACE` is that version's command.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
CHAIN = "LATER_CHAIN"  # in the environment: the version also has a chain of version 2


def become() -> None:
    """Be the later version from now on; nothing of cccount may have been imported."""
    import pyarrow as pa

    from storage import formats, schema

    if CHAIN in os.environ:
        formats.CHAIN = formats.Format("chain", "-", {1: "0.1.0", 2: "0.9.0"})
        from storage import chain

        chain.COVERED[2] = (*chain.COVERED[1], "confidence")
    confidence = schema.Column("confidence", pa.float64(), "how sure", required=False, later=True)
    stratum = schema.Column("stratum", pa.string(), "where from", required=False, later=True)
    link = schema.CHAINED.columns[-1]
    schema.QUESTIONS = schema.TableSpec("questions", (*schema.QUESTIONS.columns, stratum))
    schema.ANSWERS = schema.TableSpec("answers", (*schema.ANSWERS.columns, confidence))
    schema.CHAINED = schema.TableSpec("answers", (*schema.ANSWERS.columns, link))


def later(*arguments: str | Path, code: str | None = None, chain: bool = False) -> subprocess.CompletedProcess[str]:
    """Run the later version's command, or some code after `become`; what it prints is in `stdout`."""
    said = (
        ["-c", f"from tests.laterversion import become\nbecome()\n{code}"] if code is not None else ["-m", "tests.laterversion"]
    )
    plain = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    variables = {**plain, "PYTHONPATH": str(ROOT), "DO_NOT_TRACK": "1", **({CHAIN: "1"} if chain else {})}
    command = [sys.executable, *said, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=variables, timeout=240, check=False)


if __name__ == "__main__":
    become()
    from flows.commands.cli import main

    main()
