"""`sheet`: which of these show the same one as the anchor? As `same`, but always a page, and any number of cells may be right.

A person marks cells one by one, so a cell is missed, or falsely marked, by itself; on a page of `same` at most one is right, and
it is found or missed as a whole.
"""

from dataclasses import replace

from cccount_dist.sampling.questions.same import SAME_QUESTION

SHEET_QUESTION = replace(
    SAME_QUESTION,
    name="sheet",
    help="which of these are the same as this one? any number of them, or none",
    cell_by_cell=True,
    page_sheet="marking",
    scripts=(*SAME_QUESTION.scripts, "marking.js"),
)
