"""Pictures with boxes: COCO, and a FiftyOne dataset on disk. Both name the files where they lie; no picture is copied."""

import json
from typing import Any

from cccount_dist.campaign.answerwords import plural
from flows.exchange.formats.source import Source, Written, called, notes
from flows.exchange.individuals import written


def coco(source: Source) -> Written:
    """Images, boxes and a category for each individual; a picture without a box is its own box, where its size is known."""
    images: dict[str, dict[str, object]] = {}
    annotations, unknown = [], 0
    for item, one in source.pictures:
        path, size = source.address(item).path, source.size(item)
        width, height = size or (0, 0)
        unknown += size is None
        image = images.setdefault(path, {"id": len(images) + 1, "file_name": path, "width": width, "height": height})
        left, top, wide, high = source.box(item) or (0.0, 0.0, 1.0, 1.0)
        drawn = [round(share * side, 2) for share, side in zip((left, top, wide, high), (width, height) * 2, strict=True)]
        annotations.append({
            "id": item + 1, "image_id": image["id"], "category_id": one.individual, "bbox": drawn,
            "area": round(drawn[2] * drawn[3], 2), "iscrowd": 0,
        })  # fmt: skip
    categories = [{"id": one.individual, "name": called(one)} for one in source.census.individuals]
    document = {"info": {"description": "cccount"}, "images": list(images.values()), "annotations": annotations,
                "categories": categories}  # fmt: skip
    note = f"{plural(unknown, 'picture')} without a size: they have boxes of 0 pixels" if unknown else None
    return Written({"": json.dumps(document, indent=1).encode()}, len(annotations), note)


def fiftyone(source: Source) -> Written:
    """A folder that FiftyOne imports: `fiftyone.Dataset.from_dir("DIR", dataset_type=fiftyone.types.FiftyOneDataset)`.

    A sample for each file, with a `Detection` for each box on it; where the whole picture shows one individual, a
    `Classification` `individual`.
    """
    samples: dict[str, dict[str, Any]] = {}  # FiftyOne's own JSON
    unknown = 0
    for item, one in source.pictures:
        path, box = source.address(item).path, source.box(item)
        sample = samples.setdefault(
            path, {"_cls": "Sample", "filepath": path, "tags": [], "taken_at": written(source.when(item)),
                   "place": source.place(item) or None, "cccount_id": source.census.facts.ids[item]}
        )  # fmt: skip
        label = {"label": called(one), "individual": one.individual, "side": source.side(item) or None,
                 "checked": item in one.checked_items, "sure": one.sure}  # fmt: skip
        if box is not None:
            found = sample.setdefault("individuals", {"_cls": "Detections", "detections": []})
            found["detections"].append({"_cls": "Detection", "bounding_box": [round(share, 6) for share in box], **label})
        elif source.address(item).box is not None:
            unknown += 1
        else:
            sample["individual"] = {"_cls": "Classification", **label}
    info = {"name": source.individuals.workspace.location.rstrip("/").rpartition("/")[2], "media_type": "image",
            "info": {"made_by": "cccount", "campaign": source.census.campaign}}  # fmt: skip
    files = {
        "metadata.json": json.dumps(info, indent=1).encode(),
        "samples.json": json.dumps({"samples": list(samples.values())}, indent=1).encode(),
    }
    left = f"{plural(unknown, 'box', 'boxes')} left out: the size of the picture is not known" if unknown else None
    absent = sum(not source.uri(item) for item, _ in source.pictures)
    return Written(files, len(samples), notes(left, f"{plural(absent, 'item')} without a file" if absent else None))


__all__ = ["coco", "fiftyone"]
