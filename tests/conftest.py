"""Servers that tests of several packages share."""

from collections.abc import Iterator

import pytest

from tests.servers import BUCKET, s3_server


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A bucket on an S3 server of this test run, and the environment in which every process finds it."""
    with s3_server(tmp_path_factory.mktemp("s3")) as variables, pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        yield f"s3://{BUCKET}"
