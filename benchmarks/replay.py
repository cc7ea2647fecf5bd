"""How long it takes to resume a count from its log: `python -m benchmarks.replay`. n = 100,000 x 128, rounds of 100 questions."""

import argparse
import time

import numpy as np

from cccount_dist.counting.methods import make_counter
from cccount_dist.sampling.replay import Round, replay
from cccount_dist.sampling.types import Answer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--answers", type=int, nargs="+", default=[10_000, 100_000])
    chosen = parser.parse_args()
    items, dimensions = chosen.items, 128
    random = np.random.default_rng(0)
    vectors = random.standard_normal((items, dimensions), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    degree = random.random(items) * 1000
    print("| method | answers | anchors | replay | result |\n|---|---|---|---|---|")
    for method in ("nis", "nested-mc", "nis-released"):  # their questions do not depend on answers
        for count in chosen.answers:
            sampler = make_counter(method, vectors=vectors, degree=degree)
            rounds, answers = list[Round](), list[Answer]()
            for number in range(count // 100):
                questions = sampler.ask(100)
                rounds.append(Round(number, len(answers), questions))
                answers += [Answer(q.id, q.u, q.v, float(q.id % 50 == 0)) for q in questions]
            start = time.perf_counter()
            resumed = make_counter(method, vectors=vectors, degree=degree)
            replay(resumed, rounds, answers)
            replayed = time.perf_counter() - start
            start = time.perf_counter()
            result = resumed.result()
            refreshed = time.perf_counter() - start
            print(f"| {method} | {count:,} | {result.anchors} | {replayed:.2f} s | {1000 * refreshed:.1f} ms |")


if __name__ == "__main__":
    main()
