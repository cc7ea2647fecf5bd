"""Formats that individuals go out in: a function for each, and its line in `FORMATS`."""

from collections.abc import Callable

from flows.exchange.formats.camtrap import camtrap_dp
from flows.exchange.formats.captures import mark, secr
from flows.exchange.formats.images import coco, fiftyone
from flows.exchange.formats.source import Source, Written
from flows.exchange.formats.tables import csv_tables, darwin_core, pairs, wildlife_datasets

FORMATS: dict[str, Callable[[Source], Written]] = {
    "csv": csv_tables,
    "camtrap-dp": camtrap_dp,
    "darwin-core": darwin_core,
    "secr": secr,
    "mark": mark,
    "wildlife-datasets": wildlife_datasets,
    "fiftyone": fiftyone,
    "coco": coco,
    "pairs": pairs,
}

__all__ = ["FORMATS"]
