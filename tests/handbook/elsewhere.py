"""All that stands on a page and that no test types as it stands: each with the reason, and with what holds it instead.

`test_blocks.py` lets nothing else be left out, and nothing stay here that is on no page any more. Lines of `cccount` are also
read by the command's own parser, paths and targets of make are looked up, and shell is read by bash.
"""

from handbook.blocks import Block

COMMANDS = {  # lines of the shell: a pattern, and where it is tried
    r"^pip install ": "make release installs the wheel",
    r"^make ": "the targets are in the Makefile; CI runs them",
    r"^pytest |^python -m tests\.": "the tests themselves",
    r"^cccount demo": "tests/flows/test_demo.py",
    r"^cccount run (?:--example|census\.toml)": "tests/flows/test_run.py",
    r"^cccount review ": "serves until Ctrl-C: tests/review",
    r"s3://|^export AWS": "an object store: tests/flows/test_s3.py",
    r"--compute (?:slurm|kubernetes|\./mine\.toml)": "a queue: tests/flows/test_compute.py",
    r"^prefect |cccount deploy|^export PREFECT": "a Prefect server: tests/flows/test_deployment.py",
    r"^docker |^kubectl |^sbatch |^infra/|^cat infra|^export CCCOUNT_TLS": "containers, certificates: tests/test_infra.py",
    r"timm:|onnx:": "weights: tests/cccount_dist/embedding",
    r"^frictionless ": "tests/individuals/test_export.py",
    r"--package original": "a package that the pictures came from: tests/individuals/test_formats.py",
    r"answers-count-ana": "a file that a browser saves: tests/review/test_pack.py",
    r"birthday": "a plug-in: tests/flows/test_own_sampler.py",
}
_R = "R is not installed: docs/evidence/exports.md says what R read; the files that it names are looked for"
_LIBRARY = "the library is not installed: docs/evidence/exports.md says what it read; the files that it names are looked for"
_SAMPLER = "tests/cccount_dist/test_testing.py and tests/flows/test_own_sampler.py run the page's four blocks"
BLOCKS = (  # whole blocks: the page, words of the block, and the reason
    ("exports.md", "read.csv(", _R),
    ("exports.md", "read_camtrapdp", _R),
    ("exports.md", "read.capthist(\"out/secr", _R),
    ("exports.md", "lapply(", _R),
    ("exports.md", "wildlife_datasets", _LIBRARY),
    ("exports.md", "import fiftyone", _LIBRARY),
    ("exports.md", "linker.evaluation", _LIBRARY),
    ("write-your-own-sampler.md", "class Birthday:", _SAMPLER),
    ("write-your-own-sampler.md", "import check_sampler", _SAMPLER),
    ("write-your-own-sampler.md", "import SamplerCase", _SAMPLER),
    ("write-your-own-sampler.md", "register_method(", _SAMPLER),
    ("design.md", "embed──▶", "a drawing"),
    ("sides.md", "By side: left", "an example of what a count says: tests/flows/test_sides.py makes such words"),
)  # fmt: skip


def excuse(block: Block) -> str | None:
    """Why nothing runs this block as it stands; None if something does."""
    found = [reason for page, words, reason in BLOCKS if block.page.name == page and words in block.text]
    return found[0] if found else None
