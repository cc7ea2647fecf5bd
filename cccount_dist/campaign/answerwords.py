"""Numbers of answers and spans of time as people say them; what an answer is stands in `effort.py`. Light to import."""


def parts(pairs: int, pages: int) -> str:
    """What answers consist of; nothing where all of them are pairs.

    >>> parts(23, 5), parts(1, 1), parts(7, 0), parts(0, 2)
    ('23 pairs and 5 pages', '1 pair and 1 page', '', '2 pages')
    """
    if not pages:
        return ""
    said = f"{pages:,} page{'' if pages == 1 else 's'}"
    return f"{pairs:,} pair{'' if pairs == 1 else 's'} and {said}" if pairs else said


def answers_words(pairs: int, pages: int) -> str:
    """
    >>> answers_words(23, 5), answers_words(1, 0)
    ('28 answers (23 pairs and 5 pages)', '1 answer')
    """
    count, said = pairs + pages, parts(pairs, pages)
    return f"{count:,} answer{'' if count == 1 else 's'}" + (f" ({said})" if said else "")


def percent_words(share: float) -> str:
    """
    >>> percent_words(0.95), percent_words(0.999), percent_words(0.02)
    ('95 %', '99.9 %', '2 %')
    """
    return f"{share * 100:.3g} %"


def further_words(free: int, carried: int) -> str:
    """What a result rests on beside the answers of its campaign; nothing where no other campaign is behind it.

    >>> further_words(2, 66), further_words(0, 66), further_words(2, 0)
    (', 2 that followed from others and 66 of other campaigns', ' and 66 of other campaigns', '')
    """
    if not carried:
        return ""
    followed = f", {free:,} that followed from others" if free else ""
    return f"{followed} and {carried:,} of other campaigns"


def rest_words(pairs: int, pages: int, free: int, carried: int) -> str:
    """What a result rests on: answers of its campaign, those that nobody had to give, and those of other campaigns.

    >>> rest_words(0, 0, 2, 66), rest_words(400, 0, 0, 0)
    ('0 answers, 2 that followed from others and 66 of other campaigns', '400 answers')
    >>> rest_words(23, 5, 986, 0)
    '28 answers (23 pairs and 5 pages), and 986 that followed from them'
    """
    followed = f", and {free:,} that followed from them" if free else ""
    return answers_words(pairs, pages) + (further_words(free, carried) or followed)


def plural(count: int, one: str, many: str | None = None) -> str:
    """
    >>> plural(1, "picture"), plural(1200, "picture"), plural(0, "reply", "replies")
    ('1 picture', '1,200 pictures', '0 replies')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def time_words(seconds: float) -> str:
    """
    >>> time_words(20), time_words(150), time_words(27000), time_words(18000), time_words(900000)
    ('20 seconds', '2 minutes', '7 h 30', '5 hours', '250 hours')
    """
    if seconds < 90:
        return f"{seconds:,.0f} second{'' if round(seconds) == 1 else 's'}"
    whole, rest = divmod(round(seconds / 60), 60)
    if seconds < 5400:
        return f"{seconds / 60:,.0f} minutes"
    return f"{whole} h {rest:02}" if rest and whole < 100 else f"{seconds / 3600:,.0f} hours"
