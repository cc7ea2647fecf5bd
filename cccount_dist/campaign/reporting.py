"""Writing the report of a campaign, whatever its kind: once for a result, and for what is said by hand about individuals.

Reads only, except for that file, and needs no lease: a campaign may go on meanwhile.
"""

import hashlib
from html import escape

from cccount_dist.campaign.advancing import kind_of
from cccount_dist.campaign.progress import Progressing, silent
from cccount_dist.sampling.ledger import is_correction, is_flag
from storage.campaigns import CampaignFolder
from storage.collection import Collection
from storage.individuals import read_known_pairs, read_known_pictures, read_names
from storage.nameentries import FOLDER
from storage.version import __version__
from storage.workspace import Workspace


def write_report(
    folder: CampaignFolder,
    collection: Collection | None = None,
    *,
    price: float | None = None,
    progress: Progressing = silent,
) -> str:
    """Write the report and return where it is; `price` is that of a question."""
    kind = kind_of(folder)
    mark = _mark(folder)  # before the answers are read: if some come meanwhile, the report is written once more
    page = kind.report(folder, collection or folder.workspace.collection(), price, progress)
    return folder.write_result(kind.report_name, page + mark)


def refresh_report(folder: CampaignFolder, progress: Progressing = silent) -> str | None:
    """Write the report if the result rests on other answers than the report says; return where it is.

    None for a kind whose reports are written only when somebody wants to look.
    """
    kind = kind_of(folder)
    if not kind.refreshes_report:
        return None
    if is_current(folder):
        return f"{folder.workspace.location}/{folder.prefix}/results/{kind.report_name}"
    return write_report(folder, progress=progress)


def is_current(folder: CampaignFolder) -> bool:
    """Whether there is nothing to write: the report shows the newest result, or is of a kind that is written on request."""
    kind = kind_of(folder)
    written = folder.read_result(kind.report_name)
    return not kind.refreshes_report or (written is not None and written.endswith(_mark(folder)))


def _by_hand(workspace: Workspace) -> str:
    """What was said by hand so far, in a word: names, notes, corrections in any campaign, a catalogue. "" for nothing yet.

    Time: the answers of all campaigns, but only where somebody has looked at individuals, named or corrected one.
    """
    if not workspace.objects.keys(FOLDER):
        return ""
    told = [entry.id for entry in read_names(workspace)]
    for name in workspace.campaigns():
        table = CampaignFolder(workspace, name).log.answers()
        named = zip(*(table.column(column).to_pylist() for column in ("answer_id", "source")), strict=True)
        told += [answer for answer, source in named if is_correction(source) or is_flag(source)]
    told += [str(row) for row in (read_known_pictures(workspace).num_rows, read_known_pairs(workspace).num_rows)]
    return hashlib.blake2b("\n".join(told).encode(), digest_size=6).hexdigest()


def _mark(folder: CampaignFolder) -> bytes:
    """The end of a report, by which it is known later which result it shows."""
    last = folder.last_row(kind_of(folder).course)
    if last is None:
        return b""
    noun, epoch = folder.goal().noun, folder.epochs()[-1].number  # the same result in other words is written again
    said = f"{last['answers']} answers, {last['state']}, cccount {__version__}{'' if noun is None else f', {escape(noun)}'}"
    said += f", epoch {epoch + 1}" if epoch else ""
    if by_hand := _by_hand(folder.workspace):
        said += f", by hand {by_hand}"
    return f"\n<!-- {said} -->\n".encode()
