"""The index of the benchmarks: the short form of each, and the files that it reads from a folder (`data.py`)."""

from dataclasses import dataclass, field

VIEWS = tuple(f"handwritten_view{view}" for view in range(6))
COUNTED = ("chimp_czoo_mobilenetv2", "gtsrb_hog", "handwritten_view1", "market20", "omniglot_hog")
GROUPED = ("att_faces_112x92", "chimp_czoo_mobilenetv2", "gtsrb_hog", *VIEWS, "market20", "omniglot_hog")
PICTURES = ("att_faces_112x92", "chimp_czoo_112px_jpeg", "gtsrb_32x32_webp", "omniglot_28x28")


@dataclass(frozen=True)
class Benchmark:
    quick: tuple[str, ...]  # what the short form is told; it needs no folder, and takes a minute or two
    files: tuple[str, ...] = field(default=())  # of `--data FOLDER`; without them their rows are left out, or it says so


INDEX = {
    "asking_ahead": Benchmark(("--people", "1", "--answers", "40", "--seeds", "1")),
    "catalogue": Benchmark(("--quick",), GROUPED),
    "census": Benchmark(()),
    "constraints": Benchmark(("--answers", "1000", "10000")),
    "counting": Benchmark(("--sets", "digits", "--runs", "2", "--efforts", "0.1"), COUNTED),
    "counting_baselines": Benchmark(("--sets", "digits", "--runs", "1"), COUNTED),
    "counting_heldout": Benchmark(("--to", "made-sets"), ("att_faces_112x92", "omniglot_hog")),
    "counting_scale": Benchmark(("--items", "2000", "--answers", "200")),
    "counting_skipping": Benchmark(("--sets", "blank", "--runs", "1"), COUNTED),
    "crowd": Benchmark(("--questions", "200", "--seeds", "2")),
    "embedding": Benchmark(("--items", "200", "--workers", "1")),
    "encoder_accuracy": Benchmark(("--sets", "butterflies", "--small"), PICTURES),
    "encoder_worth": Benchmark(("--sets", "butterflies", "--seeds", "1"), PICTURES),
    "grouping": Benchmark(("--sets", "digits", "--seeds", "1", "--noise", "0", "--budget", "20"), GROUPED),
    "grouping_growth": Benchmark(("--sizes", "1000", "2000")),
    "grouping_peers": Benchmark(("--sets", "digits", "--seeds", "1", "--methods", "evidence", "--budget", "20"), GROUPED),
    "hacc": Benchmark(("iris",), ("chimp_czoo_mobilenetv2", "gtsrb_hog", "market20", "omniglot_hog")),
    "kills": Benchmark(("--kills", "4", "--budget", "40")),
    "local_worth": Benchmark(("--sets", "butterflies", "--seeds", "1"), PICTURES),
    "log": Benchmark(("--answers", "1000", "--singles", "100")),
    "longlife": Benchmark(("--items", "1000", "--dimensions", "16", "--answers", "200", "--review", "0", "--methods", "placing")),
    "mapping": Benchmark(("--items", "2000", "--dimensions", "128")),
    "matching": Benchmark(("--items", "200")),
    "million": Benchmark(("--items", "3000", "--budget", "20")),
    "neighbors": Benchmark(("--scale", "0.02", "--repeats", "1")),
    "papers": Benchmark(("--only", "iu-red-step"), ("att_faces_112x92", "chimp_czoo_mobilenetv2", *VIEWS, "market20")),
    "prefect_start": Benchmark(("--runs", "1")),
    "replay": Benchmark(("--items", "2000", "--answers", "1000")),
    "review": Benchmark(("--annotators", "2", "--seconds", "3", "--no-browser")),
    "scale": Benchmark(("--items", "2000", "--budget", "200")),
    "scaling": Benchmark(("--items", "4096", "--repeats", "1", "--only", "orchestration")),
    "sides": Benchmark(("2",)),
    "spectral": Benchmark(("gaps", "--sets", "iris")),
    "subclustering": Benchmark(("--parts", "passive", "--seeds", "1"), ("chimp_czoo_mobilenetv2", "gtsrb_hog", "omniglot_hog")),
    "waiting": Benchmark(("--quick",)),
}
