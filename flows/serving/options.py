"""What `cccount review` may be told, declared once. Light to import."""

from dataclasses import dataclass
from typing import Annotated

from cccount_dist.options import Option, Options
from storage.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewOptions(Options):
    """How the page is served."""

    host: Annotated[str, Option("Where to listen; others can reach it only if annotators have tokens.")] = "127.0.0.1"
    port: Annotated[int, Option("The port; 0 takes a free one.", least=0, most=65535, rule="between 0 and 65535")] = 8765
    annotator: Annotated[str | None, Option("Who answers, while nobody has a token.", metavar="NAME", shown="your user name")] = (
        None
    )
    advance: Annotated[bool, Option("Keep new questions ready, in another process.")] = True
    overlap: Annotated[int, Option("How many people see each question.", metavar="1..5")] = 1
    gold: Annotated[float, Option("Share of the sheets whose answer is known.", metavar="SHARE")] = 0.03
    repeats: Annotated[float, Option("Share of the sheets that the same person answered before.", metavar="SHARE")] = 0.02
    certificate: Annotated[str | None, Option("TLS certificate.", metavar="FILE")] = None
    key: Annotated[str | None, Option("Its key.", metavar="FILE")] = None

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if (self.certificate is None) != (self.key is None):
            raise InputError("--certificate and --key belong together: give both, or neither")
