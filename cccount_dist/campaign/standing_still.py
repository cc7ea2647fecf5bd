"""What the last step came to, kept with everything that a step looks at: as long as all of it is the same, the next step is that.

A campaign that waits for people is advanced again and again. With nothing new, no sampler is built and no answer is read into a
ledger. A step that would write a result again, because somebody deleted or damaged it, is taken. Time passes nothing on: the
longer nobody answers, the fewer questions have to lie ready. Time: the logs of the workspace and the files of `results/`, once.

What a campaign came to at its end is a result (`results/finished.json`), and no snapshot: over other inputs it could not be made
again, and a campaign that was finished keeps its result until somebody gives it a larger goal.
"""

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from cccount_dist.campaign.adoption import KNOWN_PAIRS
from cccount_dist.campaign.inputs import Inputs
from cccount_dist.campaign.kind import KINDS
from cccount_dist.campaign.outcome import CampaignOutcome
from cccount_dist.campaign.snapshots import deciding, digest_of, plugin_rooms
from cccount_dist.sampling.freezing import freeze
from cccount_dist.sampling.frozen import Frozen, UnfrozenError
from cccount_dist.sampling.thawing import thaw
from storage.campaigns import CampaignFolder
from storage.errors import CorruptionError, InputError, StoreError, WorkspaceError
from storage.individuals import read_known_pairs
from storage.schema import MATCHES, NEIGHBOR_INDEX, NEIGHBOR_SIMILARITY, ArraySpec
from storage.settings import Goal
from storage.stamp import intact
from storage.version import __version__

if TYPE_CHECKING:
    from cccount_dist.campaign.runner import CampaignRunner

NAME = "last"
FINISHED = "finished.json"
_ROOMS = ("cccount_dist.campaign", "cccount_dist.kinds")
_BESIDE = (".html", "/individuals.parquet", FINISHED)  # reports and lists are written beside the steps
_DECIDED = ("goal", "chain")  # of what a step looks at: the same for a campaign that nobody has touched
_PREPARED = (".npz",)  # what a method has prepared beside its log


def last_outcome(folder: CampaignFolder, inputs: Inputs, *, opening: bool, strict: bool) -> CampaignOutcome | None:
    """Return what the last step came to, if a step now would come to the same and write nothing; else None.

    Unless `strict`, also if the campaign was at its end then and only its inputs are others now: a result stays what it was until
    somebody gives the campaign a larger goal. Over more items it is another question.
    """
    last, finished = folder.snapshots.read(NAME), _finished(folder)
    if (last is None and finished is None) or not _is_quiet(folder):
        return None
    now = _seen(folder, inputs)
    if last is not None and last.get("seen") == now and last.get("opening") is opening:
        return _thawed(folder, last)
    before = {} if finished is None else finished.get("seen", {})
    if strict or before.get("inputs") == now["inputs"] or before.get("chain") != now["chain"]:
        return None
    if before.get("goal") not in (now["goal"], digest_of(folder.goal_as_written())):  # of which 0.2.0 kept the file's digest
        return None
    return None if finished is None else _thawed(folder, finished)


def _finished(folder: CampaignFolder) -> Mapping[str, Any] | None:
    """What the campaign came to when it was last at its end; None if it never was, or if the file is damaged."""
    data = folder.read_result(FINISHED)
    if data is None or intact(data) is not True:
        return None
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _thawed(folder: CampaignFolder, document: Mapping[str, Any]) -> CampaignOutcome | None:
    try:
        arrays = [np.array(values, np.dtype(str(kind))) for kind, values in document["arrays"]]
        found = thaw(Frozen(document["outcome"], arrays), rooms=_rooms(folder))
        if not isinstance(found, CampaignOutcome):
            return None
        for field in fields(found):  # what another release kept may lack a field of this one
            if not hasattr(found, field.name) and field.default is None:  # not known
                object.__setattr__(found, field.name, field.default)
        found.json(), found.words()  # or further in
    except (CorruptionError, LookupError, TypeError, ValueError, OverflowError, AttributeError):
        return None
    return found


def keep_outcome(
    folder: CampaignFolder, inputs: Inputs, runner: "CampaignRunner[Any]", outcome: CampaignOutcome, *, opening: bool
) -> None:
    """Keep what a step came to, unless something has come since that it did not see."""
    if outcome.state == "running":
        return
    try:
        frozen = freeze(outcome, rooms=_rooms(folder))
    except UnfrozenError:  # of a plug-in: the next step is taken
        return
    seen = _seen(folder, inputs)
    if runner.has_seen(seen["answers"], seen["others"]):
        arrays = [[array.dtype.str, array.tolist()] for array in frozen.arrays]  # of some dozen numbers
        said = {"outcome": frozen.graph, "arrays": arrays}
        document = {"opening": opening, "seen": seen, **said}
        try:
            if outcome.state in ("done", "stopped"):
                decided = {name: seen[name] for name in ("inputs", *_DECIDED)}
                with folder.written_by(runner.lease):
                    folder.write_result(FINISHED, json.dumps({"seen": decided, **said}).encode())
            if folder.snapshots.read(NAME) != document:
                folder.snapshots.write(NAME, (), lambda: document)
        except StoreError:  # a full disk: what matters is written already
            return


def _rooms(folder: CampaignFolder) -> tuple[str, ...]:
    settings = folder.settings()
    module = type(KINDS.get(settings.kind)).__module__
    own = () if module.startswith("cccount_dist.") else (module.rpartition(".")[0] or module,)
    return (*_ROOMS, *own, *plugin_rooms(settings))


def _is_quiet(folder: CampaignFolder) -> bool:
    """Whether no answer waits in the journal of this host."""
    if not folder.journal_path.exists():
        return True
    with folder.journal() as journal:
        return not journal.pending().num_rows


def _seen(folder: CampaignFolder, inputs: Inputs) -> dict[str, Any]:
    """Everything that a step looks at."""
    workspace, log, settings = folder.workspace, folder.log, folder.settings()
    asked = log.questions().num_rows
    rows, chain = log.tip()
    objects, results = workspace.objects, f"{folder.prefix}/results"
    names = [name for name in workspace.campaigns() if name != folder.name]
    kept = [key for key in objects.keys(results) if not key.endswith(_BESIDE)]
    kept += [key for key in objects.keys(folder.prefix) if key.endswith(_PREPARED) and key.count("/") == 2]
    return {
        "version": __version__,
        "deciding": deciding(settings),
        "place": workspace.location,
        "settings": digest_of(settings.to_toml()),
        "goal": _goal_digest(folder.goal()),
        "collection": digest_of(objects.read("collection.parquet")),
        "inputs": {**inputs.fingerprints, **_neighbors(folder)},
        "questions": [asked, log.asked_digest(asked)],
        "answers": rows,
        "chain": chain,
        "others": {
            KNOWN_PAIRS: read_known_pairs(workspace).num_rows,
            **{name: CampaignFolder(workspace, name).log.answers().num_rows for name in names},
        },
        "results": {key: digest_of(objects.read(key)) for key in kept},
    }


def _goal_digest(goal: Goal) -> str:
    """A digest of what is wanted, and not of the words around it: a later release writes other words and has more fields."""
    wanted = {field.name: getattr(goal, field.name) for field in fields(goal) if getattr(goal, field.name) != field.default}
    return digest_of(json.dumps(wanted, sort_keys=True).encode())


def _neighbors(folder: CampaignFolder) -> Mapping[str, str]:
    def fingerprint(spec: ArraySpec) -> str:
        try:
            return folder.workspace.array(spec).fingerprint()
        except (WorkspaceError, InputError, CorruptionError):  # it is not there, or not whole: whoever needs it says so
            return ""

    return {spec.name: fingerprint(spec) for spec in (NEIGHBOR_INDEX, NEIGHBOR_SIMILARITY, MATCHES)}


__all__ = ["keep_outcome", "last_outcome"]
