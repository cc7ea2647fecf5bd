"""How well vectors separate individuals: leave-one-out 5-NN through the stored neighbour lists, and d', on real collections.

    python -m benchmarks.encoder_accuracy --data FOLDER

Every row is made by the stages themselves: `init`, `embed`, `neighbors`. Two halves of the classes, none in both, are collections
of their own, with a map of their own: what was chosen on the first is confirmed on the second. Small collections are drawn at
random from the whole. d' is the distance of the mean similarities of equal and of different pairs, in standard deviations. Frames
of one track of GTSRB are no proof of anything: such pairs are left out of the measures.
With --local: `composite`, then `matches`; the nearest of 200 random queries by vectors, and with local matches beside them.
The collections may be used for research only and are not in the repository; docs/evidence/embedding.md says what they are.
"""

import argparse
import contextlib
import io
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import distributed
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from benchmarks.butterflies import photograph
from benchmarks.data import npz
from cccount_dist.embedding.fitting import fit_in_memory
from cccount_dist.similarity.inmemory import neighbors_in_memory
from cccount_dist.similarity.localscores import reordered
from flows.compute.clients import open_client
from flows.stages.embed import embed
from flows.stages.initialise import initialise
from flows.stages.matches import matches
from flows.stages.neighbors import neighbors
from flows.stages.options import InitOptions
from storage.schema import EMBEDDINGS, ENCODED, MATCHES, NEIGHBOR_INDEX, NEIGHBOR_SIMILARITY
from storage.workspace import Workspace

WAYS = (("efficientnet-lite0", "none"), ("efficientnet-lite0", "auto"), ("hog", "none"), ("hog", "auto"), ("composite", None))
SETS = ("C-Zoo", "GTSRB", "Omniglot", "AT&T")
DRAWN = "butterflies"  # 24 of 8 pictures, drawn here: needs no folder
LISTS = 100  # neighbours kept, so that five of other tracks are among them
SMALL = (96, 192, 480)
DRAWS = 5
QUERIES = 200


@dataclass(frozen=True, slots=True)
class Pictures:
    files: list[tuple[str, bytes]]  # ending and content
    labels: NDArray[np.int64]
    tracks: NDArray[np.int64]  # pairs of one track are left out; -1: of none


def pictures(data: Path, name: str) -> Pictures:
    if name == DRAWN:
        drawn = [_png(np.asarray(photograph(own, take, size=(96, 72)))) for own in range(24) for take in range(8)]
        return Pictures([("png", one) for one in drawn], np.repeat(np.arange(24), 8), np.full(len(drawn), -1))
    if name in ("C-Zoo", "GTSRB"):
        with np.load(npz(data, "chimp_czoo_112px_jpeg" if name == "C-Zoo" else "gtsrb_32x32_webp")) as arrays:
            labels, raw, cuts = arrays["labels"].astype(np.int64), arrays["jpeg"].tobytes(), arrays["offsets"].tolist()
            chosen, tracks = np.arange(len(labels)), np.full(len(labels), -1)
            if name == "GTSRB":
                chosen = np.sort(np.random.default_rng(0).choice(len(labels), 4000, replace=False))[::2]
                tracks = arrays["track"].astype(np.int64) + 100_000 * labels
        parts = [raw[a:b] for a, b in pairwise(cuts)]
        ending = "jpg" if name == "C-Zoo" else "webp"
        return Pictures([(ending, parts[i]) for i in chosen], labels[chosen], tracks[chosen])
    with np.load(npz(data, "omniglot_28x28" if name == "Omniglot" else "att_faces_112x92")) as arrays:
        images = arrays["images"]
        labels = arrays["labels"].astype(np.int64) if "labels" in arrays else np.repeat(np.arange(40), 10)
    chosen = np.arange(400)
    if name == "Omniglot":
        chosen = np.concatenate([np.flatnonzero(labels == one)[:10] for one in range(100)])
    return Pictures([("png", _png(images[i])) for i in chosen], labels[chosen], np.full(len(chosen), -1))


def _png(image: NDArray[np.uint8]) -> bytes:
    sink = io.BytesIO()
    Image.fromarray(image).save(sink, "png")
    return sink.getvalue()


def halves(labels: NDArray[np.int64]) -> dict[str, NDArray[np.bool_]]:
    classes = np.random.default_rng(7).permutation(np.unique(labels))
    first = np.isin(labels, classes[: len(classes) // 2])
    return {"chosen on": first, "confirmed on": ~first, "whole": np.ones(len(labels), bool)}


def measured(
    lists: NDArray[np.int32], vectors: NDArray[np.float32], labels: NDArray[np.int64], tracks: NDArray[np.int64]
) -> tuple[float, float]:
    """Return the leave-one-out accuracy of the five nearest of the lists, and d'."""
    alone = np.array([np.count_nonzero((labels == label) & ((tracks != track) | (track < 0))) - (track < 0)
                      for label, track in zip(labels, tracks, strict=True)]) == 0  # fmt: skip
    right = []
    for item, near in enumerate(lists):
        others = [one for one in near.tolist() if one >= 0 and (tracks[item] < 0 or tracks[one] != tracks[item])][:5]
        right.append(bool(others) and Counter(labels[others].tolist()).most_common(1)[0][0] == labels[item])
    rows = vectors.astype(np.float64)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    first, second = np.triu_indices(len(labels), 1)
    counted = (tracks[first] < 0) | (tracks[first] != tracks[second])
    similarity = (rows @ rows.T)[first, second][counted]
    same = (labels[first] == labels[second])[counted]
    a, b = similarity[same], similarity[~same]
    return float(np.mean(np.array(right)[~alone])), float((a.mean() - b.mean()) / np.sqrt((a.var() + b.var()) / 2))


def encoded(found: Pictures, encoder: str, folder: Path, client: distributed.Client) -> NDArray[np.float32]:
    """Return what the encoder gives for every picture, through the stages."""
    place, files = folder / "workspace", folder / "files"
    files.mkdir(parents=True)
    for number, (ending, content) in enumerate(found.files):
        (files / f"{number:06d}.{ending}").write_bytes(content)
    with contextlib.redirect_stderr(io.StringIO()):
        initialise(str(place), InitOptions(images=str(files)))
        embed(str(place), encoder=encoder, client=client)
    opened = Workspace.open(place)
    return np.asarray(opened.array(ENCODED if opened.has_array(ENCODED) else EMBEDDINGS).read())


def through_stages(
    vectors: NDArray[np.float32], wanted: str | None, folder: Path, client: distributed.Client
) -> Iterator[Workspace]:
    """Make a workspace of these vectors, with or without their map, and its neighbour lists."""
    with tempfile.TemporaryDirectory(dir=folder) as place, contextlib.redirect_stderr(io.StringIO()):
        np.save(f"{place}/x.npy", vectors)
        initialise(f"{place}/w", InitOptions(embeddings=(f"{place}/x.npy",)))
        if wanted != "none":
            embed(f"{place}/w", map="auto", client=client)
        neighbors(f"{place}/w", k=min(LISTS, len(vectors) - 1), client=client)
        yield Workspace.open(f"{place}/w")


def row(vectors: NDArray[np.float32], found: Pictures, kept: NDArray[np.bool_], wanted: str | None, folder: Path,
        client: distributed.Client) -> tuple[float, float]:  # fmt: skip
    for one in through_stages(vectors[kept], wanted, folder, client):
        lists, rows = one.array(NEIGHBOR_INDEX).read(), one.array(EMBEDDINGS).read()
    return measured(lists, rows, found.labels[kept], found.tracks[kept])


def small_ones(found: Pictures, vectors: dict[str, NDArray[np.float32]], name: str) -> None:
    """Random small collections, whole classes where a class is small; in memory, which gives the same bytes as the stages."""
    rng = np.random.default_rng(1)
    for items in SMALL:
        if items >= len(found.labels):
            continue
        measures: dict[str, list[tuple[float, float]]] = {}
        for _ in range(DRAWS):
            kept = np.zeros(len(found.labels), bool)
            if len(found.labels) // len(np.unique(found.labels)) <= 10:
                kept[np.isin(found.labels, rng.permutation(np.unique(found.labels))[: -(-items // 10)])] = True
            else:
                kept[rng.permutation(len(kept))[:items]] = True
            for encoder, given in vectors.items():
                fitted = fit_in_memory(given[kept]) if encoder == "composite" else None
                rows = given[kept] if fitted is None else fitted[0].apply(given[kept])
                lists = neighbors_in_memory(rows, min(LISTS, len(rows) - 1)).index
                measures.setdefault(encoder, []).append(measured(lists, rows, found.labels[kept], found.tracks[kept]))
        cells = " | ".join(f"{np.mean(m, axis=0)[0]:.3f} {np.mean(m, axis=0)[1]:.2f}" for m in measures.values())
        print(f"| {name}, {items} | {cells} |", flush=True)


def with_matches(found: Pictures, kept: NDArray[np.bool_], folder: Path, client: distributed.Client) -> tuple[float, float]:
    """Return the 1-NN accuracy of 200 queries through the stages: of the neighbour lists, and of these with local matches."""
    chosen = np.flatnonzero(kept)
    labels, tracks = found.labels[kept], found.tracks[kept]
    encoded(Pictures([found.files[i] for i in chosen], labels, tracks), "composite", folder, client)
    place = str(folder / "workspace")
    with contextlib.redirect_stderr(io.StringIO()):
        neighbors(place, k=min(LISTS, len(chosen) - 1), client=client)
        matches(place, client=client)
    opened = Workspace.open(place)
    lists, similarity = opened.array(NEIGHBOR_INDEX).read(), opened.array(NEIGHBOR_SIMILARITY).read()
    again = reordered(lists, similarity, opened.array(MATCHES).read())
    queries = np.random.default_rng(1).choice(len(chosen), min(QUERIES, len(chosen)), replace=False)

    def right(near: NDArray[np.int32]) -> float:
        firsts = [next(j for j in near[i].tolist() if tracks[i] < 0 or tracks[j] != tracks[i]) for i in queries.tolist()]
        return float(np.mean(labels[firsts] == labels[queries]))

    return right(lists), right(again)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--sets", nargs="*", default=SETS, choices=[*SETS, DRAWN])
    parser.add_argument("--small", action="store_true", help="small collections instead of whole ones and halves")
    parser.add_argument("--local", action="store_true", help="local matches beside the vectors of composite")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made, open_client("local", workers=2) as client:
        if options.local:
            print("| set, part: 1-NN of 200 | composite | and local matches |\n|---|---|---|")
        elif options.small:
            print("| set, items | efficientnet-lite0: 5-NN, d' | composite and map: 5-NN, d' |\n|---|---|---|")
        else:
            ways = " | ".join(f"{encoder}, map {wanted or 'auto'}" for encoder, wanted in WAYS)
            print(f"| set, part: 5-NN, d' | {ways} |\n|---|{'---|' * len(WAYS)}")
        for name in options.sets:
            found = pictures(options.data, name)
            if options.local:
                for part, kept in halves(found.labels).items():
                    before, after = with_matches(found, kept, Path(made, name, part), client)
                    print(f"| {name}, {part} ({np.count_nonzero(kept):,}) | {before:.3f} | {after:.3f} |", flush=True)
                continue
            names = ("efficientnet-lite0", "composite") if options.small else dict(WAYS)
            vectors = {encoder: encoded(found, encoder, Path(made, name, encoder), client) for encoder in names}
            if options.small:
                small_ones(found, vectors, name)
                continue
            for part, kept in halves(found.labels).items():
                measures = [row(vectors[encoder], found, kept, wanted, Path(made), client) for encoder, wanted in WAYS]
                cells = " | ".join(f"{accuracy:.3f} {separation:.2f}" for accuracy, separation in measures)
                print(f"| {name}, {part} ({np.count_nonzero(kept):,}) | {cells} |", flush=True)


if __name__ == "__main__":
    main()
