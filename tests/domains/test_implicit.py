"""Units of implicit models as closed solids: shared contacts, the box, and relations of groups."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from implicit_models import BOX, Turn, element, gempy_model, loop_model
from late import pandas

import geodomain
from geodomain import DomainError, GeodomainWarning, MeshError, Stack
from geodomain.domains.implicit import _Grid

INF = float("inf")
VOLUME = float(np.prod(BOX[1] - BOX[0]))
POINTS = BOX[0] + (BOX[1] - BOX[0]) * np.random.default_rng(1).uniform(size=(4000, 3))


def height(xyz):
    return xyz[:, 2] - 20.0


def folded(xyz):
    """An overturned fold: on some vertical lines the field has a value three times."""
    x, z = xyz[:, 0], xyz[:, 2]
    return x - 50 + 25 * np.sin(z / 8)


def sloping(xyz):
    return 0.5 * xyz[:, 0] + xyz[:, 2] - 55


UNITS = [("TOP", 15.0, INF), ("MIDDLE", 0.0, 15.0)]


def volumes(domains) -> dict[str, float]:
    return {each.name: sum(mesh.volume for mesh in each.meshes) for each in domains}


def test_level_units_have_the_volumes_of_boxes() -> None:
    model = loop_model([("strati", height, UNITS)], basement=True)
    units = geodomain.model_domains(model)
    area = 100 * 80
    assert volumes(units) == pytest.approx(
        {"TOP": 25 * area, "MIDDLE": 15 * area, "Basement": 20 * area}
    )
    assert units.background == "OUTSIDE"
    for mesh in units.meshes:
        assert geodomain.check(mesh).fit and mesh.is_closed and mesh.is_balanced


@pytest.mark.parametrize("field", [height, folded, sloping])
def test_no_point_of_the_box_is_lost_between_units(field) -> None:
    model = loop_model([("strati", field, [("A", 10, INF), ("B", 0, 10), ("C", -10, 0)])])
    labels = geodomain.label_points(POINTS, model)
    assert set(labels) == {"A", "B", "C", "NO UNIT"}
    names = np.array(["NO UNIT", "C", "B", "A"])
    values = field(POINTS)
    right = names[np.digitize(values, [-10, 0, 10])]
    near = np.min(np.abs(values[:, None] - [-10, 0, 10]), axis=1) < 2.0  # the error of the grid
    assert (labels == right)[~near].all()
    assert sum(volumes(geodomain.model_domains(model)).values()) == pytest.approx(VOLUME)


def test_points_on_a_contact_get_one_of_the_two_units() -> None:
    model = loop_model([("strati", height, UNITS)], basement=True)
    contact = np.column_stack([POINTS[:, :2], np.full(len(POINTS), 35.0)])
    nodes = np.stack(np.meshgrid([5.0, 50, 95], [5.0, 40, 75], [20.0, 35.0]), -1).reshape(-1, 3)
    assert set(geodomain.label_points(contact, model)) == {"TOP"}
    assert set(geodomain.label_points(nodes, model)) == {"TOP", "MIDDLE"}


def test_points_outside_the_box_are_labelled_apart() -> None:
    model = loop_model([("strati", height, UNITS)], basement=True)
    beyond = [[-1, 40, 30], [50, 81, 30], [50, 40, 61], [50, 40, -1], [50, 40, 30]]
    assert geodomain.label_points(beyond, model).tolist() == ["OUTSIDE"] * 4 + ["MIDDLE"]
    assert geodomain.label(np.array(beyond[:1]), model, background="AIR").tolist() == ["AIR"]


def test_neighbours_share_the_vertices_of_their_contact_bit_for_bit() -> None:
    model = gempy_model([("g", "ERODE", sloping, {"A": 8, "B": -7})], degrees=30)
    upper, lower, base = (each.meshes[0] for each in geodomain.model_domains(model))
    sets = [{tuple(point) for point in mesh.vertices.tolist()} for mesh in (upper, lower, base)]
    assert len(sets[0] & sets[1]) > 100 and len(sets[1] & sets[2]) > 100
    assert not sets[0] & sets[2]


def test_a_younger_group_erodes_the_older_one() -> None:
    model = loop_model(
        [("young", height, [("COVER", 0, INF)]), ("old", sloping, [("A", 0, INF), ("B", -20, 0)])]
    )
    units = geodomain.model_domains(model)
    assert [each.name for each in units] == ["COVER", "A", "B", "NO UNIT"]
    labels = geodomain.label_points([[90, 40, 30], [90, 40, 12], [70, 40, 10], [5, 5, 5]], units)
    assert labels.tolist() == ["COVER", "A", "B", "NO UNIT"]
    # The solid of A reaches into COVER, which erodes it; shares leave that out.
    frame = pandas.DataFrame({"x": [80.0], "y": [40.0], "z": [30.0], "dx": 20.0, "dy": 20.0})
    shares = geodomain.proportions_blocks(frame.assign(dz=60.0), model)
    columns = [name for name in shares if name.startswith("prop_")]
    assert shares[columns].sum(axis=1).tolist() == [pytest.approx(1)]
    alone = geodomain.proportions_blocks(frame.assign(dz=60.0), model, proportions="itself")
    assert alone[columns].sum(axis=1).gt(1.1).all()


def test_space_above_the_top_of_the_column_has_no_unit() -> None:
    units = geodomain.model_domains(loop_model([("strati", height, [("A", 0, 10)])]))
    area = 100 * 80
    assert volumes(units) == pytest.approx({"A": 10 * area, "NO UNIT": 50 * area})


def test_a_unit_outside_the_box_is_left_out_and_said() -> None:
    model = loop_model([("strati", height, [("HIGH", 900, INF), ("A", 0, 900)])], basement=True)
    with pytest.warns(GeodomainWarning, match="HIGH has no volume in the box of the model"):
        assert [each.name for each in geodomain.model_domains(model)] == ["A", "Basement"]


def test_nodes_without_a_value_are_in_the_lowest_unit() -> None:
    def holed(xyz):
        values = height(xyz)
        values[xyz[:, 0] > 70] = np.nan
        return values

    model = loop_model([("strati", holed, UNITS)], basement=True)
    assert geodomain.label_points([[90, 40, 50], [20, 40, 50]], model).tolist() == [
        "Basement", "TOP",
    ]  # fmt: skip


def test_gempy_levels_are_bases_whatever_the_order_of_elements() -> None:
    for levels in ({"A": 15, "B": 0}, {"B": 0, "A": 15}):
        units = geodomain.model_domains(gempy_model([("g", "ERODE", height, levels)]))
        area = 100 * 80
        assert volumes(units) == pytest.approx(
            {"A": 25 * area, "B": 15 * area, "basement": 20 * area}
        )


def test_gempy_faults_are_no_units() -> None:
    groups = [("f", "FAULT", folded, {"fault": 0}), ("g", "ERODE", height, {"A": 0})]
    assert [each.name for each in geodomain.model_domains(gempy_model(groups))] == ["A", "basement"]


def test_a_turned_grid_of_gempy_is_in_world_coordinates() -> None:
    model = gempy_model([("g", "ERODE", height, {"A": 0})], degrees=30)
    points = Turn(30).apply_inverse_with_pivot(POINTS, BOX[0])
    labels = geodomain.label_points(points, model)
    assert (labels == np.where(height(POINTS) > 0, "A", "basement")).all()
    assert "OUTSIDE" in geodomain.label_points(POINTS, model)
    assert sum(volumes(geodomain.model_domains(model)).values()) == pytest.approx(VOLUME)


@given(
    st.lists(st.integers(-2, 2), min_size=36, max_size=36),
    st.lists(st.sampled_from([-1.5, -1.0, 0.0, 0.5, 1.0]), min_size=1, max_size=3, unique=True),
)
def test_any_field_is_cut_into_closed_solids_that_fill_the_box(values, levels) -> None:
    """Whole numbers at the nodes, so that contacts go through nodes, along edges and faces."""
    grid = _Grid([np.array([0.0, 1, 3]), np.array([0.0, 2, 3, 4]), np.array([0.0, 1, 2])])
    field = np.array(values, np.float64).reshape(grid.shape)
    bounds = [-INF, *sorted(levels), INF]
    total = 0.0
    for low, high in pairwise(bounds):
        mesh = grid.between(field, low, high, "unit")
        assert mesh.is_closed and mesh.is_balanced
        if len(mesh.triangles):
            total += mesh.volume
            assert (mesh.bounds[0] >= 0).all() and (mesh.bounds[1] <= [3, 4, 2]).all()
    assert total == pytest.approx(24)


def plane(z: float) -> tuple[list[list[float]], list[list[int]]]:
    corners = [[10.0, 10, z], [90, 10, z], [90, 70, z], [10, 70, z]]
    return corners, [[0, 1, 2], [0, 2, 3]]


def surface(name: str, z: float) -> SimpleNamespace:
    """Return a Surface of LoopStructural."""
    vertices, triangles = plane(z)
    return SimpleNamespace(
        vertices=np.array(vertices), triangles=np.array(triangles), name=name, normals=None
    )


@pytest.mark.parametrize("library", ["loop", "gempy"])
def test_the_surfaces_of_the_library_make_a_stack(library: str) -> None:
    if library == "loop":
        surfaces = [surface("TOP", 35), surface("MIDDLE", 20)]
        model = loop_model([("strati", height, UNITS)], basement=True, surfaces=surfaces)
        base = "Basement"
    else:
        meshes = {"TOP": plane(35), "MIDDLE": plane(20)}
        levels = {"TOP": 15.0, "MIDDLE": 0.0}
        model = gempy_model([("g", "ERODE", height, levels)], meshes=meshes)
        base = "basement"
    units = geodomain.model_domains(model, as_stack=True)
    assert isinstance(units.stacks[0], Stack)
    points = [[50, 40, 50], [1, 1, 30], [50, 40, 10], [50, 40, 61]]
    assert geodomain.label_points(points, units).tolist() == ["TOP", "MIDDLE", base, "OUTSIDE"]


def test_units_that_are_young_at_the_bottom_make_a_stack_too() -> None:
    model = loop_model(
        [("strati", lambda xyz: -height(xyz), [("YOUNG", 0, INF)])],
        basement=True, surfaces=[surface("YOUNG", 20)],
    )  # fmt: skip
    units = geodomain.model_domains(model, as_stack=True)
    assert geodomain.label_points([[50, 40, 50], [50, 40, 10]], units).tolist() == [
        "Basement", "YOUNG",
    ]  # fmt: skip


def test_a_surface_above_itself_is_no_surface_of_a_stack() -> None:
    vertices, triangles = plane(35)
    twice = ([*vertices, *plane(36)[0]], [*triangles, [4, 5, 6]])
    model = gempy_model([("g", "ERODE", height, {"A": 15.0})], meshes={"A": twice})
    with pytest.raises(DomainError, match="the surface of A lies above itself at"):
        geodomain.model_domains(model, as_stack=True)
    model = gempy_model([("g", "ERODE", height, {"A": 15.0})])
    with pytest.raises(DomainError, match="no surface for the base of A"):
        geodomain.model_domains(model, as_stack=True)


def test_groups_that_grow_downwards_make_no_stack_together() -> None:
    model = loop_model(
        [("a", height, [("A", 15, INF)]), ("b", lambda xyz: -height(xyz), [("B", 0, INF)])],
        surfaces=[surface("A", 35), surface("B", 20)],
    )
    with pytest.raises(DomainError, match="do not all grow upwards"):
        geodomain.model_domains(model, as_stack=True)


WRONG = {
    "the model has an onlap, uc": loop_model([("s", height, UNITS)], relation="ONLAPUNCONFORMITY"),
    "the model has a domain fault": loop_model([("s", height, UNITS)], relation="DOMAINFAULT"),
    "the stratigraphic column of the model has no unit": loop_model([]),
    "the group Group_1 of the strat": loop_model([], basement=True),
    "no scalar fields on its grid": gempy_model([("g", "ERODE", height, {"A": 0})], computed=False),
    "every group is a fault": gempy_model([("f", "FAULT", height, {"F": 0})]),
    "onlaps an older group": gempy_model([("g", "ONLAP", height, {"A": 0})]),
}


@pytest.mark.parametrize("message", WRONG)
def test_models_without_solids_are_refused_in_one_sentence(message: str) -> None:
    with pytest.raises(DomainError, match=message):
        geodomain.label_points(POINTS[:1], WRONG[message])


def test_other_objects_are_refused_in_one_sentence() -> None:
    with pytest.raises(TypeError, match="a model must be a GeologicalModel of LoopStructural"):
        geodomain.model_domains(object())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a model of LoopStructural or GemPy, or the path"):
        geodomain.label_points(POINTS[:1], SimpleNamespace(solutions=1))


def test_as_mesh_takes_the_surfaces_of_both() -> None:
    mesh = geodomain.as_mesh(surface("BASE", 5))
    assert mesh.name == "BASE" and len(mesh.triangles) == 2
    assert geodomain.as_mesh(surface("BASE", 5), name="mine").name == "mine"
    mesh = geodomain.as_mesh(element("rock1", mesh=plane(7)))
    assert mesh.name == "rock1" and mesh.bounds[0].tolist() == [10, 10, 7]
    with pytest.raises(MeshError, match="basement has no mesh: compute the model of GemPy first"):
        geodomain.as_mesh(element("basement"))


def test_a_mesh_of_gempys_solutions_is_refused_because_its_frame_is_another() -> None:
    vertices, edges = plane(0.1)
    mesh = SimpleNamespace(vertices=np.array(vertices), edges=np.array(edges), dc_data=None)
    with pytest.raises(TypeError, match="in its own coordinates, so pass an element of"):
        geodomain.as_mesh(mesh)
