"""Reading what the last step found about sides."""

from cccount_dist.campaign.inputs import Inputs
from cccount_dist.campaign.sidewords import SIDES_FILE, SideFigures
from storage.campaigns import CampaignFolder
from storage.errors import CorruptionError


def sides_of(folder: CampaignFolder, inputs: Inputs | None = None) -> SideFigures | None:
    """Return the figures of the last step; None for a campaign that does not keep sides apart."""
    if inputs is not None and inputs.sides is None:
        return None
    try:
        return SideFigures.read(folder.read_result(SIDES_FILE))
    except (ValueError, TypeError) as error:
        where = f"{folder.workspace.location}/{folder.prefix}/results/{SIDES_FILE}"
        raise CorruptionError(f"{where} is damaged ({error}): delete it, the next step writes it again") from error


__all__ = ["sides_of"]
