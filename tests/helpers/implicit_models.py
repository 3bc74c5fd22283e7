"""Small models with the attributes of those of LoopStructural 1.9 and GemPy 2026."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace

import numpy as np
from numpy.typing import NDArray

Field = Callable[[NDArray[np.float64]], NDArray[np.float64]]
BOX = np.array([[0.0, 0.0, 0.0], [100.0, 80.0, 60.0]])


class Unit(SimpleNamespace):
    """A unit of the stratigraphic column: its name, and the field at its base and its top."""

    def min(self) -> float:
        return self.low

    def max(self) -> float:
        return self.high


def loop_model(
    groups: Sequence[tuple[str, Field, Sequence[tuple[str, float, float]]]],
    *,
    steps: tuple[int, int, int] = (21, 17, 13),
    basement: bool = False,
    relation: str = "",
    surfaces: Sequence[object] = (),
) -> SimpleNamespace:
    """Return a model whose groups, from young to old, have a field and units from top to bottom."""
    column = [
        SimpleNamespace(name=name, units=[Unit(name=n, low=a, high=b) for n, a, b in units])
        for name, _, units in groups
    ]
    if basement:
        column.append(SimpleNamespace(name="Group_1", units=[Unit(name="Basement", low=0, high=9)]))
    features = {
        name: SimpleNamespace(
            name=name,
            type=SimpleNamespace(name="INTERPOLATED"),
            evaluate_value=lambda xyz, ignore_regions, field=field: field(xyz),
        )
        for name, field, _ in groups
    }
    listed = list(features.values())
    if relation:
        listed.append(SimpleNamespace(name="uc", type=SimpleNamespace(name=relation)))
    return SimpleNamespace(
        bounding_box=SimpleNamespace(origin=BOX[0], maximum=BOX[1], nsteps=np.array(steps)),
        stratigraphic_column=SimpleNamespace(get_groups=lambda: list(column)),
        features=listed,
        feature_name_index={name: place for place, name in enumerate(features)},
        get_feature_by_name=features.__getitem__,
        get_stratigraphic_surfaces=lambda: list(surfaces),
    )


class Turn:
    """A rotation about the vertical, as GemPy's Transform applies it around a pivot."""

    def __init__(self, degrees: float = 0.0) -> None:
        angle = np.radians(degrees)
        cos, sin = np.cos(angle), np.sin(angle)
        self.matrix = np.array([[cos, sin, 0], [-sin, cos, 0], [0, 0, 1]])

    def apply_inverse_with_pivot(
        self, points: NDArray[np.float64], pivot: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        return (points - pivot) @ self.matrix + pivot


def gempy_model(
    groups: Sequence[tuple[str, str, Field, Mapping[str, float]]],
    *,
    shape: tuple[int, int, int] = (20, 16, 12),
    degrees: float = 0.0,
    computed: bool = True,
    meshes: Mapping[str, tuple[object, object]] | None = None,
) -> SimpleNamespace:
    """Return a model whose groups have a name, a relation, a field, and levels by element."""
    axes = [
        low + (high - low) * (np.arange(count) + 0.5) / count
        for low, high, count in zip(*BOX, shape, strict=True)
    ]
    centres = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    fields = np.array([field(centres) for _, _, field, _ in groups])
    grid = SimpleNamespace(
        extent=BOX.T.ravel(), resolution=np.array(shape), transform=Turn(degrees)
    )
    frame = [
        SimpleNamespace(
            name=name,
            structural_relation=SimpleNamespace(name=relation),
            elements=[element(each, level, (meshes or {}).get(each))
                      for each, level in levels.items()],
        )
        for name, relation, _, levels in groups
    ]  # fmt: skip
    arrays = SimpleNamespace(scalar_field_matrix=fields) if computed else None
    return SimpleNamespace(
        structural_frame=SimpleNamespace(structural_groups=frame),
        grid=SimpleNamespace(dense_grid=None, octree_grid=grid),
        solutions=SimpleNamespace(raw_arrays=arrays) if computed else None,
    )


def element(
    name: str, level: float = 0.0, mesh: tuple[object, object] | None = None
) -> SimpleNamespace:
    """Return a StructuralElement: its name, its level, and its mesh in world coordinates."""
    vertices, edges = mesh or (None, None)
    return SimpleNamespace(
        name=name, scalar_field_at_interface=level, is_active=True, surface_points=(),
        vertices=None if vertices is None else np.asarray(vertices, np.float64),
        edges=None if edges is None else np.asarray(edges),
    )  # fmt: skip
