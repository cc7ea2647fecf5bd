"""Methods of other papers to compare with: simple, told K where they need it, for some thousand items. Not for campaigns."""
