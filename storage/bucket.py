"""`python -m storage.bucket s3://bucket/prefix`: make the bucket of a workspace if it is missing.

For `infra/first-start`: the store may still be starting. cccount itself never makes buckets; where they are paid for, people do.
"""

import os
import sys
import time
from collections.abc import Callable

import pyarrow as pa
from pyarrow.fs import FileType, S3FileSystem

from storage.errors import CccountError, InputError, StoreError

WAIT_SECONDS = 120.0


def make_bucket(location: str, *, wait: float = WAIT_SECONDS, sleep: Callable[[float], None] = time.sleep) -> bool:
    """Make the bucket of `s3://bucket/prefix`; False if it was there. A store that is silent is tried for `wait` seconds."""
    scheme, _, rest = location.partition("://")
    bucket = rest.partition("/")[0]
    if scheme != "s3" or not bucket:
        raise InputError(f"{location!r} names no bucket: write s3://bucket/prefix")
    ends = time.monotonic() + wait
    while True:
        try:
            store = _store()
            missing = store.get_file_info(bucket).type is FileType.NotFound
            if missing:
                store.create_dir(bucket)
        except (OSError, pa.ArrowException) as error:
            if time.monotonic() > ends:
                raise StoreError(f"cannot make the bucket {bucket}: {' '.join(str(error).split())}") from error
            sleep(1.0)
        else:
            return missing


def _store() -> S3FileSystem:
    """Credentials come from the environment, as everywhere."""
    names = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
    url = next((url for name in names if (url := os.environ.get(name))), "https://s3.amazonaws.com")
    scheme, _, host = url.partition("://")
    return S3FileSystem(
        endpoint_override=host.rstrip("/"),
        scheme=scheme,
        region=os.environ.get("AWS_REGION", "us-east-1"),
        allow_bucket_creation=True,
        connect_timeout=5,
        request_timeout=10,
    )


def main(location: str) -> int:
    try:
        made = make_bucket(location)
    except CccountError as error:
        sys.stderr.write(f"cccount: {error}\n")
        return 1
    sys.stderr.write(f"the bucket of {location} {'was made' if made else 'is there'}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
