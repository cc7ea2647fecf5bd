"""Our grouping methods beside the paper's baselines and COBRAS, in one run: NMI / ARI after the same number of questions.

    python -m benchmarks.grouping_peers --data FOLDER --sets market20 handwritten digits --seeds 3 --cobras cobras/bin/python

Random-P, FFQS, NPU and URASC are told the true K; ours, COBRA and COBRAS are not. COBRAS is its authors' program in an
interpreter of its own (`benchmarks/cobras_peer.py` says how to make one), left out without --cobras. Seconds: CPU of a whole run.
"""

import argparse
import resource
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.grouping import PAGE, cells, head, run
from benchmarks.groupingsets import SETS, Data, loaded
from benchmarks.pasting import paste
from cccount_dist.clustering.agreement import ari, nmi
from cccount_dist.clustering.baselines.asking import Asker
from cccount_dist.clustering.baselines.byname import BASELINES
from cccount_dist.similarity.metrics import prepare

OURS = ("evidence", "apc")
Score = tuple[float, float, float]  # NMI, ARI, seconds


def ours(data: Data, method: str, budget: int, seed: int) -> Score:
    found = run(data, method, budget, 0.0, seed, 1)
    return found.nmi, found.ari, found.first_seconds + found.milliseconds * found.asked / 1000


def baseline(data: Data, name: str, budget: int, seed: int) -> Score:
    x, y = _shuffled(data, seed)
    began = _cpu(resource.RUSAGE_SELF)
    found = BASELINES[name](x, len(np.unique(y)), Asker(lambda u, v: bool(y[u] == y[v]), budget), seed)
    return nmi(y, found), ari(y, found), _cpu(resource.RUSAGE_SELF) - began


def cobras(data: Data, python: str, budget: int, seed: int) -> Score:
    x, y = _shuffled(data, seed)
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "given.npz", Path(folder) / "found.npy"
        np.savez(source, x=x, y=y, budget=budget, seed=seed)
        began = _cpu(resource.RUSAGE_CHILDREN)
        subprocess.run([python, Path(__file__).with_name("cobras_peer.py"), source, target], check=True, timeout=600)
        found = np.load(target)
    return nmi(y, found), ari(y, found), _cpu(resource.RUSAGE_CHILDREN) - began


def _shuffled(data: Data, seed: int) -> Data:
    order = np.random.default_rng(seed).permutation(len(data[1]))
    return prepare(data[0][order], "cosine"), data[1][order]


def _cpu(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=["market20", "handwritten", "digits"])
    parser.add_argument("--methods", nargs="+", choices=[*OURS, *BASELINES, "cobras"], default=[*OURS, *BASELINES, "cobras"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--budget", type=int, help="questions, instead of the usual number of each set")
    parser.add_argument("--cobras", metavar="PYTHON", help="interpreter that has cobras-ts")
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE}")
    chosen = parser.parse_args()
    lines = head(["set", "questions", "method", "told K", "NMI", "ARI", "CPU of a run"])
    print("\n".join(lines), flush=True)
    for name in chosen.sets:
        if (data := loaded(name, chosen.data)) is None:
            continue
        budget = chosen.budget or SETS[name][1]
        for method in chosen.methods:
            if method == "cobras" and not chosen.cobras:
                continue
            scores = []
            for seed in range(chosen.seeds):
                if method in OURS:
                    scores.append(ours(data, method, budget, seed))
                elif method == "cobras":
                    scores.append(cobras(data, chosen.cobras, budget, seed))
                else:
                    scores.append(baseline(data, method, budget, seed))
            mutual, rand, seconds = np.mean(scores, axis=0)
            told = "yes" if method in ("random-p", "ffqs", "npu", "urasc") else "no"
            lines.append(cells(name, str(budget), method, told, f"{mutual:.3f}", f"{rand:.3f}", f"{seconds:.1f} s"))
            print(lines[-1], flush=True)
            if chosen.write:
                paste(PAGE, "peers", lines)


if __name__ == "__main__":
    main()
