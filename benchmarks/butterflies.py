"""Pictures that belong to nobody: butterflies, drawn. An individual is its wing pattern; a photograph varies the rest.

Used by the tests of the review page, its benchmark, and the picture in the README.
"""

import colorsys
import math

import numpy as np
from PIL import Image, ImageDraw, ImageEnhance, ImageFilter

SIZE = (480, 360)
_SCALE = 2  # drawn larger and shrunk: smooth edges


def photograph(individual: int, take: int, *, size: tuple[int, int] = SIZE) -> Image.Image:
    """Return a photograph; the same numbers give the same pixels."""
    scene = np.random.default_rng((individual, take))
    width, height = size[0] * _SCALE, size[1] * _SCALE
    picture = _leaves(scene, width // 4, height // 4).resize((width, height), Image.Resampling.BICUBIC)
    wings = _butterfly(np.random.default_rng(individual), min(width, height))
    wings = wings.rotate(float(scene.uniform(-40, 40)), Image.Resampling.BICUBIC, expand=True)
    wings = wings.crop(wings.getbbox())
    scale = float(scene.uniform(0.75, 0.92)) * min(width / wings.width, height / wings.height)
    wings = wings.resize((int(wings.width * scale), int(wings.height * scale)), Image.Resampling.LANCZOS)
    place = (_middle(scene, picture.width, wings.width), _middle(scene, picture.height, wings.height))
    shadow = wings.getchannel("A").point([alpha * 2 // 5 for alpha in range(256)]).filter(ImageFilter.BoxBlur(width // 90))
    picture.paste((0, 0, 0), (place[0] + width // 55, place[1] + width // 40), shadow)
    picture.paste(wings, place, wings)
    picture = picture.resize(size, Image.Resampling.LANCZOS).filter(ImageFilter.GaussianBlur(float(scene.uniform(0, 0.8))))
    picture = ImageEnhance.Brightness(picture).enhance(float(scene.uniform(0.75, 1.15)))
    return ImageEnhance.Color(picture).enhance(float(scene.uniform(0.7, 1.1)))


def _middle(scene: np.random.Generator, room: int, own: int) -> int:
    return int((room - own) / 2 + scene.uniform(-0.06, 0.06) * room)


def _leaves(scene: np.random.Generator, width: int, height: int) -> Image.Image:
    hue = scene.uniform(0.22, 0.36)
    picture = Image.new("RGB", (width, height), _colour(hue, 0.35, 0.34))
    pen = ImageDraw.Draw(picture)
    for _ in range(26):
        x, y, long = scene.uniform(0, width), scene.uniform(0, height), scene.uniform(0.2, 0.5) * width
        angle, broad = scene.uniform(0, math.tau), scene.uniform(0.12, 0.24)
        ends = [(x + long * t * math.cos(angle), y + long * t * math.sin(angle)) for t in np.linspace(0, 1, 14)]
        side = [broad * long * math.sin(math.pi * t) for t in np.linspace(0, 1, 14)]
        left = [(px - s * math.sin(angle), py + s * math.cos(angle)) for (px, py), s in zip(ends, side, strict=True)]
        right = [(px + s * math.sin(angle), py - s * math.cos(angle)) for (px, py), s in zip(ends, side, strict=True)]
        pen.polygon([*left, *right[::-1]], fill=_colour(hue + scene.uniform(-0.05, 0.05), 0.4, scene.uniform(0.22, 0.5)))
        pen.line([ends[0], ends[-1]], fill=_colour(hue, 0.3, 0.5), width=1)
    return picture.filter(ImageFilter.GaussianBlur(float(scene.uniform(1.5, 3))))


def _butterfly(own: np.random.Generator, side: int) -> Image.Image:
    """The animal itself, seen from above, on nothing."""
    picture = Image.new("RGBA", (side, side), (0, 0, 0, 0))
    half = Image.new("RGBA", (side // 2, side), (0, 0, 0, 0))
    pen = ImageDraw.Draw(half)
    hue, dark = own.choice([0.05, 0.09, 0.13, 0.58, 0.62, 0.02]) + own.uniform(-0.02, 0.02), own.uniform(0.1, 0.2)
    for top, low, reach in ((0.02, 0.66, 0.98), (0.42, 1.0, 0.78 + own.uniform(-0.05, 0.1))):
        outline = _wing(own, side, top, low, reach)
        pen.polygon(outline, fill=_colour(hue, 0.7, dark))
        inner = [
            (0.06 * side + (x - 0.06 * side) * 0.86, (y - side * (top + low) / 2) * 0.84 + side * (top + low) / 2)
            for x, y in outline
        ]
        pen.polygon(inner, fill=_colour(hue + own.uniform(-0.02, 0.02), 0.85, own.uniform(0.75, 0.95)))
        for _ in range(int(own.integers(3, 7))):  # veins
            end = inner[int(own.integers(3, len(inner) - 3))]
            pen.line([(0, side * 0.5), end], fill=_colour(hue, 0.7, dark), width=max(2, side // 150))
        for _ in range(int(own.integers(2, 6))):  # the spots that tell individuals apart
            at = inner[int(own.integers(2, len(inner) - 2))]
            share, radius = own.uniform(0.45, 0.85), side * own.uniform(0.018, 0.05)
            x, y = at[0] * share, (at[1] - side * 0.5) * share + side * 0.5
            pen.ellipse([x - radius, y - radius, x + radius, y + radius], fill=_colour(hue, 0.6, dark))
            r = radius * own.uniform(0.3, 0.65)
            pen.ellipse([x - r, y - r, x + r, y + r], fill=_colour(own.choice([0.12, 0.55, 0.0]), own.uniform(0, 0.6), 0.97))
        for point in inner[4:-4:2]:  # a row of light dots along the edge
            r = side * 0.009
            x, y = point[0] * 1.07, (point[1] - side * 0.5) * 1.06 + side * 0.5
            pen.ellipse([x - r, y - r, x + r, y + r], fill=_colour(0.12, 0.1, 0.96))
    picture.paste(half, (side // 2, 0), half)
    picture.paste(half.transpose(Image.Transpose.FLIP_LEFT_RIGHT), (0, 0), half.transpose(Image.Transpose.FLIP_LEFT_RIGHT))
    pen = ImageDraw.Draw(picture)
    middle = side / 2
    pen.ellipse([middle - side * 0.022, side * 0.28, middle + side * 0.022, side * 0.76], fill=_colour(hue, 0.5, 0.16))
    for lean in (-1, 1):
        pen.line(
            [(middle, side * 0.3), (middle + lean * side * 0.1, side * 0.1)],
            fill=_colour(hue, 0.5, 0.16),
            width=max(3, side // 130),
        )
    return picture


def _wing(own: np.random.Generator, side: int, top: float, low: float, reach: float) -> list[tuple[float, float]]:
    """A rounded outline from the body and back to it."""
    points = []
    wave, skew = own.uniform(0.0, 0.05), own.uniform(0.75, 1.25)
    for t in np.linspace(0, 1, 30):
        out = math.sin(math.pi * t**skew) ** 0.62
        x = side * 0.5 * reach * out * (1 + wave * math.sin(9 * math.pi * t))
        y = side * (top + (low - top) * t + (0.5 - (top + (low - top) * t)) * (1 - out) ** 1.4)
        points.append((x, y))
    return points


def _colour(hue: float, saturation: float, value: float) -> tuple[int, int, int]:
    r, g, b = colorsys.hsv_to_rgb(float(hue) % 1.0, float(saturation), float(min(1.0, max(0.0, value))))
    return int(r * 255), int(g * 255), int(b * 255)
