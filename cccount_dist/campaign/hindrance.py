"""Why the next step of a campaign cannot be taken yet, and what to run: between new items and their vectors, say.

Answers to what was asked before count all the same: items never change. Time: the markers of two arrays.
"""

import shlex

from cccount_dist.campaign.kind import KINDS
from storage.campaigns import CampaignFolder
from storage.errors import CccountError
from storage.schema import DEGREE, EMBEDDINGS
from storage.workspace import Workspace


def hindrance(folder: CampaignFolder) -> str | None:
    """Return what stands in the way of the next step, with the command that helps; None if nothing does."""
    settings = folder.settings()
    if not KINDS.get(settings.kind).needs_vectors(settings.method, settings.parameters):
        return None
    try:
        lacks = missing_input(folder.workspace)
        return f"waits for {lacks[0]}: run `{lacks[1]}`" if lacks is not None else _of_change(folder)
    except CccountError as error:  # damage: the next step says the same
        return str(error)


def missing_input(workspace: Workspace) -> tuple[str, str] | None:
    """Return what campaigns wait for before they can go on, and the command that makes it; None if everything is there."""
    place, items = shlex.quote(workspace.location), workspace.collection().items
    embeddings = workspace.array(EMBEDDINGS) if workspace.has_array(EMBEDDINGS) else None
    if embeddings is None or embeddings.shape[0] < items or embeddings.missing():
        without = items if embeddings is None else _rows_missing(workspace)
        components = None if embeddings is None else embeddings.attributes.get("components")
        shorter = "" if components is None else f" --components {components}"
        encoder = None if embeddings is None or components is not None else embeddings.attributes.get("encoder")
        makes = {"given": f"extend {place} --embeddings FILE", "distances": f"init {place} --distances FILE"}
        run = f"cccount {makes.get(str(encoder), f'embed {place}{shorter}')}"
        return f"the vectors of {without:,} item{'' if without == 1 else 's'}", run
    degree = workspace.array(DEGREE) if workspace.has_array(DEGREE) else None
    if degree is None or degree.missing() or degree.attributes.get("embeddings") != embeddings.fingerprint():
        k = "" if degree is None else f" --k {degree.attributes.get('k')} --metric {degree.attributes.get('metric')}"
        return "the neighbours of the present vectors", f"cccount neighbors {place}{k}"
    return None


def _of_change(folder: CampaignFolder) -> str | None:
    """What to run where the inputs are whole, and others than the last epoch began with."""
    expected, workspace = folder.epochs()[-1].fingerprints or {}, folder.workspace
    arrays = {"embeddings": EMBEDDINGS, "degree": DEGREE}
    if all(workspace.array(spec).fingerprint() == expected[name] for name, spec in arrays.items() if name in expected):
        return None
    settings, place = folder.settings(), shlex.quote(workspace.location)
    last = folder.last_row(KINDS.get(settings.kind).course)
    if last is not None and last["state"] in ("done", "stopped"):
        return (
            "was finished before items, vectors or neighbours changed: to go on over them, give it a larger budget "
            f"(`cccount {settings.kind} {place} --campaign {folder.name} --budget …`)"
        )
    return f"goes on in a new epoch with its next step: run `cccount advance {place} --campaign {folder.name}`"


def _rows_missing(workspace: Workspace) -> int:
    array = workspace.array(EMBEDDINGS)
    ranges = [array.shard_range(shard) for shard in array.missing()]
    return workspace.collection().items - array.shape[0] + sum(stop - start for start, stop in ranges)


__all__ = ["hindrance", "missing_input"]
