"""Writing the report of a campaign, whatever its kind: only when its result has changed, and then once.

Reads only, except for that file, and needs no lease: a campaign may go on meanwhile.
"""

from html import escape

from cccount_dist.campaign.advancing import kind_of
from cccount_dist.campaign.progress import Progressing, silent
from storage.campaigns import CampaignFolder
from storage.collection import Collection
from storage.version import __version__


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


def _mark(folder: CampaignFolder) -> bytes:
    """The end of a report, by which it is known later which result it shows."""
    last = folder.last_row(kind_of(folder).course)
    if last is None:
        return b""
    noun, epoch = folder.goal().noun, folder.epochs()[-1].number  # the same result in other words is written again
    said = f"{last['answers']} answers, {last['state']}, cccount {__version__}{'' if noun is None else f', {escape(noun)}'}"
    said += f", epoch {epoch + 1}" if epoch else ""
    return f"\n<!-- {said} -->\n".encode()
