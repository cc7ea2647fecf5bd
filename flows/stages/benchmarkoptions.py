"""What `cccount benchmark counting` may be told, declared once. Light to import."""

from dataclasses import dataclass
from typing import Annotated

from cccount_dist.options import Option
from flows.compute.options import ComputeOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkOptions(ComputeOptions):
    """What `cccount benchmark counting` may be told."""

    methods: Annotated[str, Option("Methods of `cccount count`, with commas.")] = "placing"
    runs: Annotated[
        int, Option("How often each method runs on each collection, each time with another seed.", least=1, rule="at least 1")
    ] = 100
    efforts: Annotated[str, Option("After how many answers to look, in parts of n.")] = "0.1,0.25,0.5,1"
    noise: Annotated[
        str,
        Option(
            "Wrong answers: one rate, or how often the same are called different, and the different the same.", metavar="E|M,F"
        ),
    ] = "0"
    repeating: Annotated[float, Option("Share of the wrong answers that come again for the same pair.")] = 0.0
    wrong_answers: Annotated[
        str | None, Option("What the method is told about wrong answers.", shown="none without noise, else estimate")
    ] = None
    grid: Annotated[int, Option("Clusters on one page; a page costs 3 pairs.", metavar="1..24")] = 1
    search: Annotated[str, Option("Whether placing may skip unlikely pairs.", metavar="full|fast|trusting")] = "fast"
    preset: Annotated[
        str | None, Option("A named setting of each method: paper is the algorithm as printed.", metavar="NAME")
    ] = None
    parameter: Annotated[
        tuple[str, ...], Option("A parameter of each method that has it; may be given several times.", metavar="NAME=VALUE")
    ] = ()
    stop: Annotated[float | None, Option("Stop each run at this width.", metavar="W")] = None
    results: Annotated[str, Option("Finished runs; the same command goes on.", metavar="DIR")] = "benchmark-runs"
