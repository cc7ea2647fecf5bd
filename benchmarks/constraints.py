"""How long the closure takes for a million answers, in seconds of one core: `python -m benchmarks.constraints`.

Items in clusters of 50; half of the answers are about items of one cluster, half about any two; 3 % of them are wrong.
"""

import argparse
import math
import time

import numpy as np

from cccount_dist.sampling.constraints import Constraints, Link


def links(count: int, seed: int = 0, wrong: float = 0.03) -> list[Link]:
    random = np.random.default_rng(seed)
    items = count // 2
    labels = np.arange(items) // 50
    u = random.integers(0, items, count)
    near = u // 50 * 50 + random.integers(0, 50, count)
    v = np.where(random.random(count) < 0.5, np.minimum(near, items - 1), random.integers(0, items, count))
    values = (labels[u] == labels[v]) != (random.random(count) < wrong)
    names = [f"answer-{number}" for number in range(count)]
    return list(zip(u.tolist(), v.tolist(), values.astype(float).tolist(), names, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answers", type=int, nargs=2, default=(100_000, 1_000_000), help="so many, and so many later")
    sizes: tuple[int, int] = tuple(parser.parse_args().answers)
    Constraints().extend(links(100))  # compiles
    seconds: dict[str, list[float]] = {"one by one": [], "all at once": [], "rebuilt after a removal": []}
    print("| answers | conflicts | one by one | all at once | rebuilt after a removal |\n|---|---|---|---|---|")
    for count in sizes:
        data = links(count)
        single, closure = Constraints(), Constraints()
        start = time.process_time()
        for u, v, value, name in data:
            single.add(u, v, value, name)
        seconds["one by one"].append(time.process_time() - start)
        start = time.process_time()
        closure.extend(data)
        seconds["all at once"].append(time.process_time() - start)
        start = time.process_time()
        closure.remove("answer-0")
        conflicts = len(closure.conflicts)
        seconds["rebuilt after a removal"].append(time.process_time() - start)
        print(f"| {count:,} | {conflicts:,} | " + " | ".join(f"{times[-1]:.2f} s" for times in seconds.values()) + " |")
    print(
        "| growth exponent | | "
        + " | ".join(f"{math.log(times[1] / times[0]) / math.log(sizes[1] / sizes[0]):.2f}" for times in seconds.values())
        + " |"
    )


if __name__ == "__main__":
    main()
