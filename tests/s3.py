"""moto's S3 server, one request at a time: a real store checks a condition and writes in one step, and threads of moto do not."""

import logging
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, run_simple
from werkzeug.test import Client


class OneAtATime:
    def __init__(self, application: Callable[..., Iterable[bytes]]) -> None:
        self.application = application
        self.mutex = threading.Lock()

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        with self.mutex:
            return list(self.application(environ, start_response))


class KeepAlive(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"  # or else every request opens a connection


def main(port: int, bucket: str) -> None:
    """Serve; an empty `bucket` makes none."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    application = OneAtATime(DomainDispatcherApplication(create_backend_app))
    if bucket:
        Client(application).put(f"http://127.0.0.1:{port}/{bucket}", headers={"Host": f"127.0.0.1:{port}"})
    run_simple("127.0.0.1", port, application, threaded=True, request_handler=KeepAlive)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
