"""The stages of the batch job: each is declared once, and is a command, a Prefect flow and a Python call from that.

Every kind of campaign is a stage by itself. Light to import: a stage imports what it needs when it runs, so that a count does not
wait for Dask to load.
"""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from cccount_dist.campaign.kind import KINDS
from cccount_dist.campaign.outcome import Outcome
from cccount_dist.options import Declared, Options, Value, declared, listed
from flows.compute.options import PreparingOptions
from flows.stages.options import GONE, AdvanceOptions, EmbedOptions, InitOptions, MatchesOptions, NeighborsOptions, ReportOptions
from storage.errors import InputError

_NEW_OBJECTS = 20_000  # between two searches in a step; Python's own number is 700


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of the batch job.

    name : of the command and the flow
    help : what `--help` says, with an example
    parts : the options classes that it takes, together its parameters
    work : does it: (workspace, campaign, one instance of each part)
    campaign : the name of the campaign if none is given; None: it is about the workspace
    """

    name: str
    help: str
    parts: tuple[type[Options], ...]
    work: Callable[..., Outcome]
    campaign: str | None = None

    @property
    def parameters(self) -> tuple[Declared, ...]:
        """What it may be told, beside workspace and campaign."""
        return tuple(one for part in self.parts for one in declared(part) if not one.option.hidden)

    def read(self, given: dict[str, Value]) -> list[Options]:
        """Return the options; a wrong name or value is refused."""
        known = [one.name for one in self.parameters]
        for name in given:
            if name in GONE:
                raise InputError(f"{name} {GONE[name]}")
            if name not in known:
                raise InputError(f"{self.name} has no option {name!r}: it has {listed(known, ' and ')}")
        return [
            part.read({one.name: given[one.name] for one in declared(part) if one.name in given}, self.name)
            for part in self.parts
        ]

    def __call__(self, workspace: str, campaign: str | None = None, **given: Value) -> Outcome:
        """Do it, with options by name; what is left out has its default."""
        return self.work(workspace, campaign or self.campaign, *self.read(given))


def _init(workspace: str, _: str | None, options: InitOptions) -> Outcome:
    from flows.stages.initialise import initialise

    return initialise(workspace, options)


def _embed(workspace: str, _: str | None, options: EmbedOptions) -> Outcome:
    from flows.stages.embed import embed

    with options.client() as client:
        return embed(
            workspace,
            encoder=options.encoder,
            components=options.components,
            map=options.map,
            strict=options.strict,
            client=client,
        )


def _neighbors(workspace: str, _: str | None, options: NeighborsOptions) -> Outcome:
    from cccount_dist.similarity.metrics import check_metric
    from flows.stages.neighbors import neighbors

    metric = None if options.metric is None else check_metric(options.metric)
    with options.client() as client:
        return neighbors(
            workspace,
            k=options.k,
            metric=metric,
            engine=options.engine,
            client=client,
        )


def _matches(workspace: str, _: str | None, options: MatchesOptions) -> Outcome:
    from cccount_dist.embedding.localfeatures import require_opencv
    from flows.stages.matches import matches

    require_opencv()  # before a cluster is started in vain
    with options.client() as client:
        return matches(workspace, nearest=options.nearest, client=client)


def _campaign(workspace: str, campaign: str, options: Any, preparing: PreparingOptions | None = None) -> Outcome:
    from flows.stages.campaigns import run_campaign

    return run_campaign(workspace, campaign, options, preparing or PreparingOptions())


@contextmanager
def _seldom_searched() -> Iterator[None]:
    """Have Python search for cycles of objects seldom: a step keeps what it loads and reads until it ends, and going through all
    of that again and again was a sixth of its work.
    """
    before = gc.get_threshold()
    gc.set_threshold(_NEW_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _advance(workspace: str, campaign: str, options: AdvanceOptions) -> Outcome:
    with _seldom_searched():
        from flows.stages.campaigns import advance_campaign

        return advance_campaign(workspace, campaign, strict=options.strict_replay)


def _report(workspace: str, _: str | None, options: ReportOptions) -> Outcome:
    from flows.stages.campaigns import refresh_reports

    return refresh_reports(workspace, options.campaigns)


def _verify(workspace: str, _: str | None) -> Outcome:
    from flows.stages.verify import verify

    return verify(workspace)


INIT = Stage(
    "init",
    """Make a workspace from images, a table or vectors.

    Example: cccount init census --images photos/
    """,
    (InitOptions,),
    _init,
)
EMBED = Stage(
    "embed",
    """Give every image a vector.

    An image that cannot be read is recorded with its reason and left out; the others go on. With the default encoder, or with
    --map auto, a map of the collection is fitted to the vectors: neighbours and everything after them use what comes out of it.

    Example: cccount embed census

    Example: cccount embed census --encoder hog --map auto
    """,
    (EmbedOptions,),
    _embed,
)
NEIGHBORS = Stage(
    "neighbors",
    """Find the nearest neighbours and the degree of every item.

    Example: cccount neighbors census --k 50
    """,
    (NeighborsOptions,),
    _neighbors,
)
MATCHES = Stage(
    "matches",
    """Look for points that the pictures of near neighbours share: a second score where pictures have texture.

    Needs `pip install 'cccount[local]'`. Optional: campaigns that are started afterwards use what it finds as far as answers show
    that it is worth something.

    Example: cccount matches census
    """,
    (MatchesOptions,),
    _matches,
)
ADVANCE = Stage(
    "advance",
    """Advance a campaign by one step: what a scheduled run does.

    Reads new answers, asks new questions, refreshes the result. Run twice or killed anywhere, the campaign is the same.

    Example: cccount advance census --campaign count
    """,
    (AdvanceOptions,),
    _advance,
    campaign="count",
)
VERIFY = Stage(
    "verify",
    """Check everything that is stored; say what is damaged, lost or unknown, and what to do.

    Example: cccount verify census
    """,
    (),
    _verify,
)
REPORT = Stage("report", "Write the reports whose answers have changed.", (ReportOptions,), _report)


def campaign_stages() -> list[Stage]:
    """A stage for each kind of campaign."""
    return [
        Stage(
            kind.name, kind.help, (kind.options, *((PreparingOptions,) if kind.prepares else ())), _campaign, campaign=kind.name
        )
        for kind in KINDS
    ]


def stages() -> dict[str, Stage]:
    """Every stage by its name, in the order in which they are run."""
    return {one.name: one for one in (EMBED, NEIGHBORS, MATCHES, *campaign_stages(), ADVANCE, VERIFY)}
