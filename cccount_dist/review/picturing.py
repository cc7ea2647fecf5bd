"""A process that makes pictures for the review page: a JSON line in, a JSON line and the bytes out, one after the other.

First comes an empty line, once everything is imported: what a start takes is not the time of a picture. The process is apart
from the server, so that a picture that takes long, hangs in a read or breaks the decoder costs nobody an answer: it has little
priority, a bound on its memory, and an alarm that ends it when one picture takes too long, whatever it hangs in and whether or
not the server still lives.
"""

import hashlib
import json
import os
import resource
import signal
import sys
from contextlib import suppress
from pathlib import Path

from cccount_dist.embedding.address import Address
from cccount_dist.embedding.images import UnreadableImageError
from cccount_dist.review.encoding import QUALITY, encoded
from storage.errors import CccountError
from storage.picturecache import PictureCache

SECONDS = 20.0  # for one picture
_MOST_MEMORY = 3 * 2**30


def main() -> None:
    """Make the pictures that standard input asks for, until it ends. Arguments: the folder for caches, seconds for a picture."""
    caches, seconds = Path(sys.argv[1]), float(sys.argv[2])
    with suppress(OSError):
        os.nice(10)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the server's to hear
    cache = PictureCache(caches)
    sys.stdout.buffer.write(b"\n")
    sys.stdout.buffer.flush()
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            kind, data = picture(str(asked["uri"]), int(asked["side"]), cache)
            told = {"kind": kind, "size": len(data)}
        except UnreadableImageError as error:
            told, data = {"problem": str(error)}, b""
        except CccountError as error:
            told, data = {"broken": str(error)}, b""  # names places: for the log
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        sys.stdout.buffer.write(json.dumps(told).encode() + b"\n" + data)
        sys.stdout.buffer.flush()


def picture(uri: str, side: int, cache: PictureCache) -> tuple[str, bytes]:
    """Return content type and bytes of a picture, from the disk if it was made before from the same file."""
    name = _name(uri, side)
    for ending, kind in ((".jpg", "image/jpeg"), (".png", "image/png")):
        if (found := cache.get(name + ending)) is not None:
            return kind, found
    media_type, data = encoded(uri, side)
    cache.put(name + (".jpg" if media_type == "image/jpeg" else ".png"), data)
    return media_type, data


def _name(uri: str, side: int) -> str:
    """A digest of everything that a picture depends on: a file that was changed in its place has another one."""
    made_from = [uri, str(side), str(QUALITY)]
    with suppress(OSError):  # it is in a store, or gone
        about = Path(Address.parse(uri).path).stat()
        made_from += [str(about.st_mtime_ns), str(about.st_size)]
    return hashlib.blake2b("\n".join(made_from).encode(errors="surrogatepass"), digest_size=16).hexdigest()


if __name__ == "__main__":
    main()
