"""Contrast: every text colour on every ground that it stands on, light and dark."""

import re

import pytest

from cccount_dist.report.style import CSS

SCHEMES = re.findall(r":root \{(.*?)\}", CSS, flags=re.DOTALL)


def luminance(colour: str) -> float:
    digits = colour if len(colour) == 6 else "".join(2 * digit for digit in colour)
    parts = [int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: str, second: str) -> float:
    darker, lighter = sorted((luminance(first), luminance(second)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("scheme", SCHEMES, ids=["light", "dark", "print"])
def test_text_has_the_contrast_that_wcag_asks_for(scheme: str) -> None:
    colours = dict(re.findall(r"--(\w+): #([0-9a-f]+)", scheme))
    for ground in ("ground", "panel"):
        for text in ("ink", "soft", "accent", "truth", "same", "different", "unsure"):
            assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
