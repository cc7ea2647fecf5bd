"""Holders of a lease whose clock is wrong."""

import json
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from storage.errors import LeaseError
from storage.lease import Lease, is_held
from storage.objects import LocalObjects

KEY = "campaigns/c/lease.json"


def held_elsewhere(root: Path, ahead: timedelta, seconds: float) -> None:
    """What a process of another host leaves that was killed while it held the lease, its clock ahead."""
    objects = LocalObjects(root)
    Lease.acquire(objects, KEY, seconds=seconds)
    edit(root, lambda content: content["holder"].update(host="elsewhere"), ahead)


def edit(root: Path, change: Any, ahead: timedelta) -> None:
    content = json.loads((root / KEY).read_bytes())
    change(content)
    content["expires_at"] = (datetime.now(UTC) + ahead).isoformat()
    LocalObjects(root).replace(KEY, json.dumps(content).encode())  # whole, as every holder writes it; without its stamp


def test_a_holder_that_was_killed_with_its_clock_400_days_ahead_does_not_block_others(tmp_path: Path) -> None:
    held_elsewhere(tmp_path, timedelta(days=400), seconds=1.5)
    assert not is_held(LocalObjects(tmp_path), KEY)
    began = time.monotonic()
    lease = Lease.acquire(LocalObjects(tmp_path), KEY, seconds=1.5)
    assert time.monotonic() - began < 30
    assert lease.fence == 2


def test_a_living_holder_with_its_clock_ahead_keeps_the_lease(tmp_path: Path) -> None:
    held_elsewhere(tmp_path, timedelta(days=400), seconds=6.0)
    stop = threading.Event()

    def renew() -> None:
        while not stop.wait(0.3):
            edit(tmp_path, lambda _: None, timedelta(days=400))

    thread = threading.Thread(target=renew)
    thread.start()
    try:
        with pytest.raises(LeaseError, match="is being advanced by pid"):
            Lease.acquire(LocalObjects(tmp_path), KEY)
    finally:
        stop.set()
        thread.join()


def test_a_holder_whose_clock_is_right_is_waited_for_as_ever(tmp_path: Path) -> None:
    held_elsewhere(tmp_path, timedelta(seconds=50), seconds=60.0)
    began = time.monotonic()
    with pytest.raises(LeaseError):
        Lease.acquire(LocalObjects(tmp_path), KEY)
    assert time.monotonic() - began < 5
