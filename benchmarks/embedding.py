"""Images per second of `cccount embed`, beside the bare model's forward pass on the same workers in the same run.

    python -m benchmarks.embedding --items 10000 --workers 2
    python -m benchmarks.embedding --items 10000 --workers 2 --encoders efficientnet-lite0 composite efficientnet-lite0 composite
    python -m benchmarks.embedding --items 100000 --workers 2 --encoders efficientnet-lite0

JPEG files of 112 px are written to a temporary folder below --folder (at most 10,000; a manifest repeats them beyond that). The
bare forward pass is the model alone on pictures that are decoded, resized and scaled already, on every worker at once; it is
timed before and after `embed`, because a busy machine drifts, and the mean counts. On a busy machine the processor seconds of the
workers during `embed` are the fairer measure of two encoders: they are given too. An encoder may be named more than once, so that
two take turns; those of `composite` hold its map.
"""

import argparse
import tempfile
import time
from pathlib import Path

import distributed
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from cccount_dist.embedding.encoders import available_encoders, open_encoder
from cccount_dist.embedding.encoders.onnx import OnnxEncoder
from cccount_dist.embedding.images import load_image, resized
from flows.compute.clients import open_client
from flows.stages.embed import embed
from flows.stages.initialise import initialise
from flows.stages.options import InitOptions

SIDE = 112
MOST_FILES = 10_000
BARE_SECONDS = 5.0


def write_images(folder: Path, items: int) -> Path:
    """Write the files and a manifest that names each item; return the manifest."""
    random = np.random.default_rng(0)
    files = min(items, MOST_FILES)
    for number in range(files):
        small = random.integers(0, 256, (14, 14, 3), np.uint8)  # about as many bytes a file as a photograph of this size
        Image.fromarray(small).resize((SIDE, SIDE), Image.Resampling.BICUBIC).save(folder / f"{number:05d}.jpg", quality=85)
    lines = (f"{number % files:05d}.jpg,{number}\n" for number in range(items))
    manifest = folder / "manifest.csv"
    manifest.write_text("path,id\n" + "".join(lines))
    return manifest


def bare(name: str, folder: str) -> float:
    """Return images per second of the forward pass alone, in this process."""
    encoder = open_encoder(name)
    pictures = [load_image(str(path), encoder.side) for path in sorted(Path(folder).glob("*.jpg"))[: encoder.batch]]
    ready = resized(pictures, encoder.side)
    scaled: NDArray[np.float32] | None = encoder._scaling.apply(ready) if isinstance(encoder, OnnxEncoder) else None
    done, start = 0, time.perf_counter()
    while (spent := time.perf_counter() - start) < BARE_SECONDS:
        if scaled is not None and isinstance(encoder, OnnxEncoder):
            encoder._run(scaled)
        else:
            encoder.encode(pictures)
        done += len(pictures)
    return done / spent


def bare_on_all(client: distributed.Client, name: str, folder: Path) -> float:
    workers = list(client.scheduler_info()["workers"])
    futures = [client.submit(bare, name, str(folder), workers=[worker], pure=False) for worker in workers]
    return float(sum(client.gather(futures)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--encoders", nargs="*", default=[name for name, works, _ in available_encoders() if works and ":" not in name]
    )
    parser.add_argument("--folder", default=None, help="where to write; default: the system's temporary folder")
    options = parser.parse_args()
    print(f"{options.items:,} images of {SIDE} px, {options.workers} workers of one thread\n")
    print(
        "| encoder | dimensions | images/s | bare forward pass, images/s | ratio | CPU s of the workers | peak of a worker |\n"
        "|---|---|---|---|---|---|---|"
    )
    with tempfile.TemporaryDirectory(dir=options.folder) as temporary:
        folder = Path(temporary)
        manifest = write_images(folder, options.items)
        for turn, name in enumerate(options.encoders):
            workspace = str(folder / f"workspace-{turn}")
            initialise(workspace, InitOptions(manifest=str(manifest)))
            with open_client(workers=options.workers) as client:  # a new one: the peak of memory is of this encoder alone
                before = bare_on_all(client, name, folder)
                began = sum(client.run(time.process_time).values())
                report = embed(workspace, encoder=name, client=client)
                busy = sum(client.run(time.process_time).values()) - began
                forward = (before + bare_on_all(client, name, folder)) / 2
            rate = report.items_per_second
            peak = report.peak_worker_bytes / 2**20
            print(
                f"| {name} | {report.dimensions} | {rate:,.0f} | {forward:,.0f} | {rate / forward:.2f} | {busy:.0f} "
                f"| {peak:,.0f} MiB |",
                flush=True,
            )


if __name__ == "__main__":
    main()
