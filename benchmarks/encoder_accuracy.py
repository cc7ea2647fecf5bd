"""Leave-one-out 5-NN accuracy (cosine) of each encoder on real collections, as it is, centred, and with fewer components.

    python -m benchmarks.encoder_accuracy --data ../shared/data

The collections may be used for research only and are not in the repository; docs/embedding.md says what they are.
"""

import argparse
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cccount_dist.embedding.encoders import available_encoders, open_encoder
from cccount_dist.embedding.images import decode

COMPONENTS = (256, 128)


def pictures(data: Path, name: str) -> tuple[list[NDArray[np.uint8]], NDArray[np.int64]]:
    with np.load(data / f"{name}.npz", allow_pickle=False) as arrays:
        labels = arrays["labels"].astype(np.int64)
        if name.startswith("omniglot"):
            first = labels < 200
            return [np.repeat(image[:, :, None], 3, axis=2) for image in arrays["images"][first]], labels[first]
        files, cuts = arrays["jpeg"].tobytes(), arrays["offsets"].tolist()
        return [decode(files[a:b]) for a, b in pairwise(cuts)], labels


def five_nearest(vectors: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    similarity = unit @ unit.T
    np.fill_diagonal(similarity, -2)
    nearest = np.argsort(-similarity, axis=1, kind="stable")[:, :5]
    votes = [Counter(labels[row].tolist()).most_common(1)[0][0] for row in nearest]
    return float(np.mean(np.array(votes) == labels))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    options = parser.parse_args()
    print("| collection | encoder | as it is | centred |" + "".join(f" {k} components |" for k in COMPONENTS))
    print("|---|---|---|---|" + "---|" * len(COMPONENTS))
    for name in ("chimp_czoo_112px_jpeg", "omniglot_28x28"):
        images, labels = pictures(options.data, name)
        for encoder in [open_encoder(found) for found, works, _ in available_encoders() if works and ":" not in found]:
            parts = [encoder.encode(images[i : i + encoder.batch]) for i in range(0, len(images), encoder.batch)]
            plain = np.concatenate(parts).astype(np.float64)
            centred = plain - plain.mean(axis=0)
            _, directions = np.linalg.eigh(centred.T @ centred)
            shorter = [centred @ directions[:, ::-1][:, :k] for k in COMPONENTS]
            cells = " | ".join(f"{five_nearest(vectors, labels):.3f}" for vectors in (plain, centred, *shorter))
            print(f"| {name.partition('_1')[0].partition('_2')[0]} | {encoder.name} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
