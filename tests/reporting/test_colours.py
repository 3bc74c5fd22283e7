"""Colours of domains: what they say, and whether people with colour-blindness tell them apart."""

from __future__ import annotations

import colorsys
import random
from itertools import combinations

import numpy as np
import pytest

from geodomain.reporting.look import colours_of, kind_of_name, with_ground

# The smallest distance in CIELAB between the colours of up to 8 domains and of their background.
APART = 12.0
NAMES = (
    "ORE", "RICH ORE", "LOW GRADE ORE", "VEIN_1", "LODE", "HG", "COAL", "REEF NORTH", "Gold 2",
    "WASTE", "DYKE", "HOST", "FW", "HW", "SILL", "BARREN", "BASEMENT", "COUNTRY ROCK",
    "AIR", "COVER", "SOIL", "OXIDE", "FRESH", "TRANSITION", "D1", "D2", "D3", "7", "Body", "NORTH",
)  # fmt: skip

# Viénot, Brettel and Mollon (1999): linear RGB to cones, and what dichromats confuse. The package
# itself uses other matrices.
TO_CONES = np.array(
    [[17.8824, 43.5161, 4.11935], [3.45565, 27.1554, 3.86714], [0.0299566, 0.184309, 1.46709]]
)
SIGHTS = {
    "normal": np.eye(3),
    "protanopia": np.array([[0, 2.02344, -2.52581], [0, 1, 0], [0, 0, 1]]),
    "deuteranopia": np.array([[1, 0, 0], [0.494207, 0, 1.24827], [0, 0, 1]]),
}


def lab(colour: str, sight: np.ndarray) -> np.ndarray:
    """Return the CIELAB coordinates of a colour as it is seen."""
    srgb = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    seen = np.linalg.inv(TO_CONES) @ sight @ TO_CONES @ linear
    to_xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    ratios = (to_xyz @ np.clip(seen, 0, 1)) / (to_xyz @ np.ones(3))
    x, y, z = (
        r ** (1 / 3) if r > (6 / 29) ** 3 else r / (3 * (6 / 29) ** 2) + 4 / 29 for r in ratios
    )
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def least_distance(colours: list[str], sight: str) -> float:
    places = [lab(colour, SIGHTS[sight]) for colour in colours]
    return min(float(np.linalg.norm(one - two)) for one, two in combinations(places, 2))


@pytest.mark.parametrize("sight", SIGHTS)
def test_up_to_eight_domains_are_told_apart_by_every_sight(sight: str) -> None:
    rng = random.Random(7)
    for _ in range(60):
        names = rng.sample(NAMES, 8)
        found = with_ground(names, ["background"])
        assert least_distance(list(found.values()), sight) > APART, names


@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize("names", [NAMES[:8], NAMES[9:17], [f"D{at}" for at in range(8)]])
def test_eight_domains_of_one_kind_are_told_apart(names: list[str], sight: str) -> None:
    assert least_distance(list(with_ground(names, ["background"]).values()), sight) > APART


def hue(colour: str) -> float:
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return 360 * colorsys.rgb_to_hsv(red, green, blue)[0]


def test_ore_is_warm_waste_cool_and_air_white() -> None:
    found = colours_of(NAMES[:8])
    assert all(hue(colour) < 60 or hue(colour) > 340 for colour in found.values())
    found = colours_of(NAMES[9:17])
    assert all(180 < hue(colour) < 250 for colour in found.values())
    assert colours_of(["ORE", "AIR"])["AIR"] == "#ffffff"
    assert with_ground(["ORE", "Air"], ["Air"])["Air"] == "#ffffff"
    chosen = with_ground(["ORE", "AIR"], [], {"AIR": "#123456"})
    assert chosen["AIR"] == "#123456"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("ORE", "ore"), ("ore_body_2", "ore"), ("Mineralized", "ore"), ("HG1", "ore"),
        ("WASTE", "waste"), ("hangingwall", "waste"), ("waste ore", "waste"), ("Dike", "waste"),
        ("AIR", "air"), ("Overburden", "cover"), ("FORE", "other"), ("3", "other"), ("", "other"),
    ],
)  # fmt: skip
def test_words_of_a_name_tell_its_kind(name: str, kind: str) -> None:
    assert kind_of_name(name) == kind


def test_a_colour_near_that_of_the_user_is_not_taken() -> None:
    alone = colours_of(["ORE"])["ORE"]
    found = colours_of(["ORE", "MINE"], {"MINE": alone})
    assert found["ORE"] != alone and least_distance(list(found.values()), "normal") > 25


def test_many_domains_have_many_colours() -> None:
    found = colours_of([f"D{at}" for at in range(60)] + [f"ORE{at}" for at in range(12)])
    assert len(set(found.values())) == 72
