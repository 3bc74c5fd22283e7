"""Rotated models: what their heads say of the frame, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from geodomain.errors import GeodomainWarning, TableError
from geodomain.tables.frames import LocalFrame
from geodomain.tables.layout import read_layout
from geodomain.tables.options import TableOptions

DATAMINE = """IJK,XC,YC,ZC,XINC,YINC,ZINC,XMORIG,YMORIG,ZMORIG,X0,Y0,Z0,ANGLE1,ANGLE2,ANGLE3,\
ROTAXIS1,ROTAXIS2,ROTAXIS3,AU
1,505,1010,102.5,10,20,5,500,1000,100,7000,9000,50,30,-,-,3,0,-,1.25
2,515,1010,102.5,10,20,5,500,1000,100,7000,9000,50,30,-,-,3,0,-,1.25
"""


def frame_of(head: str, options: TableOptions | None = None):
    return read_layout(head.encode(), options, name="blocks.csv").frame


def test_a_datamine_prototype_is_a_frame() -> None:
    with pytest.warns(GeodomainWarning, match="ANGLE1 is 30.*XC, YC, ZC are local.*z=30"):
        frame = frame_of(DATAMINE)
    assert frame.local == LocalFrame([("z", 30)], (7000, 9000, 50), (500, 1000, 100))


def test_three_turns_in_the_order_of_the_prototype() -> None:
    turned = DATAMINE.replace("30,-,-,3,0,-", "30,-60,5,3,1,2")
    with pytest.warns(GeodomainWarning, match="z=30,x=-60,y=5"):
        local = frame_of(turned).local
    assert local and local.turns == (("z", 30), ("x", -60), ("y", 5))


ORIGINS = "7000,9000,50"


def test_no_angle_is_no_frame() -> None:
    level = DATAMINE.replace(ORIGINS, "500,1000,100")
    assert frame_of(level.replace(",30,", ",0,")).local is None
    assert frame_of(level.replace("3,0,-", "0,0,-")).local is None


def test_without_an_angle_two_origins_are_not_certain() -> None:
    level = DATAMINE.replace(",30,", ",0,")
    said = (
        r"angles are all 0, but its origin is 7000, 9000, 50 in X0.* and 500, 1000, 100 in XMORIG.*"
        r"may be local.*rotation='z=0', origin='7000,9000,50', local_origin='500,1000,100'"
    )
    with pytest.warns(GeodomainWarning, match=said):
        assert frame_of(level).local is None
    # Nobody is asked who has said it, or whose prototype never had an origin in the world.
    assert frame_of(level, TableOptions(x="XC", y="YC", z="ZC")).local is None
    assert frame_of(level.replace(ORIGINS, "0,0,0")).local is None


def test_the_proposed_turn_by_nothing_moves_the_model() -> None:
    frame = LocalFrame([("z", 0)], (7000, 9000, 50), (500, 1000, 100))
    assert frame.to_world(np.array([[505.0, 1010, 102.5]])).tolist() == [[7005, 9010, 52.5]]


LACKING = {
    "no origin in the world": (DATAMINE.replace("X0", "XX"), "X0 is missing"),
    "no origin of the model": (DATAMINE.replace("YMORIG", "YM"), "YMORIG is missing"),
    "no axis": (DATAMINE.replace("ROTAXIS1", "AXIS1"), "ROTAXIS1 is missing"),
    "two models in one": (DATAMINE.replace("7000", "7001", 1), "X0 differs among the rows"),
    "another axis": (DATAMINE.replace("30,-,-,3", "30,-,-,4"), "not 0, 1, 2 or 3"),
}


@pytest.mark.parametrize("case", LACKING.values(), ids=LACKING.keys())
def test_a_frame_that_is_not_told_is_refused(case: tuple[str, str]) -> None:
    head, lacking = case
    with pytest.raises(TableError, match=f"rotated model.*{lacking}.*rotation= and origin="):
        frame_of(head)


def test_the_user_has_the_last_word() -> None:
    mine = LocalFrame([("z", 5)], (1, 2, 3))
    assert frame_of(DATAMINE, TableOptions(rotation=mine)).local == mine
    assert frame_of("X,Y,Z\n1,2,3\n", TableOptions(rotation=mine)).local == mine


def micromine(angles: str, points: np.ndarray, position: str = "Centre") -> str:
    rows = "".join(f"{x:.3f},10,{y:.3f},10,{z:.3f},5,1\n" for x, y, z in points)
    turned = f"{angles},500,1000,100\n" if angles else ""
    return (
        "EAST,_EAST,NORTH,_NORTH,RL,_RL,AU\nR,R,R,R,R,R,R\n"
        f"500,10,1000,10,100,5,{position}\n{turned}{rows}"
    )


i, j = (part.ravel() for part in np.meshgrid(range(5), range(4)))
LOCAL = np.stack([505 + 10.0 * i, 1005 + 10.0 * j, 102.5 + 0 * i], axis=1)
TURN = LocalFrame([("z", 35)], origin=(500, 1000, 100), local_origin=(500, 1000, 100))


def test_micromine_blocks_on_the_lattice_are_local() -> None:
    with pytest.warns(GeodomainWarning, match="row is 35, 0, 0.*are local to it"):
        assert frame_of(micromine("35,0,0", LOCAL)).local == TURN


def test_micromine_blocks_on_the_turned_lattice_are_in_the_world() -> None:
    with pytest.warns(GeodomainWarning, match="already rotated.*world"):
        assert frame_of(micromine("35,0,0", TURN.to_world(LOCAL))).local is None


DOUBTS = {
    "sense": (micromine("35,10,0", LOCAL), "about X and Y is not certain"),
    "few": (micromine("35,0,0", LOCAL[:4]), "not enough blocks"),
    "neither": (micromine("35,0,0", LOCAL + np.array([3.3, 1.7, 0])), "do not show whether"),
    "both": (micromine("90,0,0", LOCAL), "do not show whether"),
    "corners": (
        micromine("35,0,0", TURN.to_world(LOCAL - np.array([5, 5, 2.5])), "Bottom-Left corner"),
        "corners of rotated blocks",
    ),
    "upper corners": (
        micromine("", LOCAL + np.array([5, 5, 2.5]), "Top-Right corner"),
        "upper corners",
    ),
}


@pytest.mark.parametrize("case", DOUBTS.values(), ids=DOUBTS.keys())
def test_micromine_in_doubt_is_refused(case: tuple[str, str]) -> None:
    head, sentence = case
    with pytest.raises(TableError, match=sentence):
        frame_of(head)


def test_micromine_says_that_coordinates_are_corners() -> None:
    assert (
        frame_of(micromine("", LOCAL - np.array([5, 5, 2.5]), "Bottom-Left corner")).position
        == "corner"
    )
    assert frame_of(micromine("", LOCAL)).position == "centroid"
    corner = TableOptions(position="corner")
    assert frame_of(micromine("", LOCAL), corner).position == "corner"
    with pytest.warns(GeodomainWarning, match="local"):
        head = micromine("35,0,0", LOCAL - np.array([5, 5, 2.5]), "Bottom-Left corner")
        assert frame_of(head).position == "corner"


def test_corners_without_sizes_are_refused() -> None:
    with pytest.raises(TableError, match="no size columns: name them with dx="):
        frame_of("X,Y,Z\n1,2,3\n", TableOptions(position="corner"))
