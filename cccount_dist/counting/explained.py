"""What each counting method does, for the reader of a report."""

NIS = (
    "Items are drawn at random, those that few others resemble more often, and each is compared with items drawn by their "
    "similarity to it. How often the two are the same says how large the item's cluster is, and from the sizes follows the "
    "number of clusters. That some are drawn more often than others is weighed out again, so with many answers a poor "
    "similarity costs precision and does not shift the result (Perez, Sheldon, Van Horn and Maji, 2023)."
)
NESTED_MC = (
    "Items are drawn evenly at random, and each is compared with others that are also drawn evenly. How often the two are "
    "the same says how large the item's cluster is, and from the sizes follows the number of clusters."
)
RELEASED = " The item itself is forced into each comparison, as in the program that the paper's authors released."
PLACING = (
    "Items are drawn evenly at random, and each is compared with one member of every cluster found so far, the likeliest first, "
    "until somebody says that they are the same; an item that differs from all of them is a new cluster. How often clusters were "
    "drawn once, twice and so on says how many were not drawn at all: by Chao's bound, and by a posterior over how unequal "
    "clusters are. The interval holds both. Where answers may be wrong, unlikely ones are asked again, and false splits that are "
    "expected to be left are taken out."
)
SHEETS = (
    "A sheet shows one item and up to 24 others, and all that are the same are marked. Every third sheet is about the next item "
    "of a uniform random order that is in no group yet; the others compare groups with each other, and find more of what is "
    "alike. How many classes nobody has seen follows from which classes the random items are of, and whether sheets had found "
    "them before, by a posterior over how unequal classes are and how much sheets miss. Groups that may still be parts of others "
    "lower the estimate and widen the interval."
)
SHEETS_EARLY = (
    "While many items are in no group, parts of a class that have not found each other may be more than expected: the estimate "
    "is then too high, and its interval too narrow. More answers bring both closer to the truth; placing is safer."
)
INVERSE = (
    "An item is drawn at random, then others until one is the same. The number of draws is the number of clusters on average, "
    "exactly, whatever their sizes: nothing is assumed about them, at the price of a wider interval."
)
PCKMEANS = (
    "k-means that keeps to the answers, for every number of clusters; the number is where its objective bends. No interval."
)
EARLY = (
    "With this method the estimate is then often far off, mostly too high, and its interval too narrow: more answers bring both "
    "closer to the truth."
)
