"""All cells of a lattice at once: labels by hand, and the counts of cells asked one by one."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from shapes import joined
from wireframes import box, cube, roofless

from geodomain import Domain, Mesh, PointError, Stack, Summary, label_file
from geodomain.domains.order import Domains
from geodomain.formats.cells import LatticeCells
from geodomain.labelling import files, whole_lattice
from geodomain.labelling.counts import Tally
from geodomain.labelling.labeller import Labeller
from geodomain.labelling.settings import LabelSettings
from geodomain.labelling.whole_lattice import label_whole
from geodomain.lattice import even_lattice

pytestmark = pytest.mark.filterwarnings("ignore::geodomain.GeodomainWarning")

FIRST = box((0.1, 0.1, 0.1), (22.1, 18.1, 31.1), name="first")
SECOND = box((10.1, 10.1, 5.1), (40.1, 30.1, 300.1), name="second")
AWAY = box((900, 0, 0), (901, 1, 1), name="away")
ABOVE_ALL = box((20.1, 5.1, 131.1), (35.1, 25.1, 148.1), name="above")
FACES = (np.arange(11) * 5 - 3.0, np.arange(10) * 4 - 2.0, np.arange(81) * 2.5 - 10.0)
PLAIN = [Domain("A", FIRST), Domain("B", SECOND), Domain("C", ABOVE_ALL), Domain("D", AWAY)]
DOMAINS = {
    "the first wins": Domains(PLAIN),
    "the last wins": Domains(PLAIN, order="last"),
    "one keeps": Domains([Domain("A", FIRST), Domain("B", SECOND, keep=True)], order="last"),
    "a union": Domains([Domain("U", [FIRST, SECOND, AWAY]), Domain("C", ABOVE_ALL)]),
    "outside": Domains([Domain("A", FIRST, invert=True), Domain("B", SECOND)]),
    "outside of two": Domains([Domain("B", SECOND), Domain("A", [FIRST, AWAY], invert=True)]),
}


def lattice(faces: tuple = FACES) -> LatticeCells:
    return LatticeCells("cells", faces)


def within(mesh: Mesh, points: np.ndarray) -> np.ndarray:
    """Return which points are in a box."""
    low, high = mesh.bounds
    return ((low < points) & (points < high)).all(axis=1)


def centres(cells: LatticeCells) -> np.ndarray:
    x, y, z = cells.centres
    grid = np.meshgrid(z, y, x, indexing="ij")
    return np.stack([axis.ravel() for axis in grid[::-1]], axis=1)


@pytest.mark.parametrize("held", [1 << 25, 1 << 13, 1])
@pytest.mark.parametrize("what", DOMAINS)
def test_labels_and_counts_are_those_of_boxes(
    monkeypatch: pytest.MonkeyPatch, what: str, held: int
) -> None:
    monkeypatch.setattr(whole_lattice, "_HELD", held)  # 64, 16 and 1 layers at a time
    cells, domains = lattice(), DOMAINS[what]
    tally, points, done = Tally(domains.targets), centres(lattice()), []
    found = label_whole(
        cells, Labeller(domains), tally, flags=True,
        progress=lambda now, total: done.append((now, total)),
    )  # fmt: skip
    assert found is not None and done[-1] == (7200, 7200)
    codes, *flags = found
    own = []
    for domain in domains:
        times = sum(within(mesh, points).astype(int) for mesh in domain.meshes)
        own.append(times == 0 if domain.invert else times > 0)
        doubled = 0 if domain.invert else np.count_nonzero(times > 1)
        assert tally.doubled[len(own) - 1] == doubled
    ranked = list(enumerate(own))
    if domains.order == "last":
        ranked = [r for r in ranked[::-1] if not domains.domains[r[0]].keep] + [
            r for r in ranked if domains.domains[r[0]].keep
        ]
    expected = np.full(len(points), len(own))
    for index, inside in ranked[::-1]:
        expected[inside] = index
    assert (codes == expected).all() and (np.array(flags) == own).all()
    assert (tally.blocks == np.bincount(expected, minlength=len(own) + 5)).all()
    assert (tally.own_blocks == [each.sum() for each in own]).all()
    solid = [each & (not domain.invert) for each, domain in zip(own, domains, strict=True)]
    shared = [[(a & b).sum() * (i < j) for j, b in enumerate(solid)] for i, a in enumerate(solid)]
    assert tally.overlaps.pairs.tolist() == np.flatnonzero(shared).tolist()
    assert tally.overlaps.blocks.tolist() == np.array(shared)[np.nonzero(shared)].tolist()
    for counted, volumes in (
        (tally.blocks, tally.volumes),
        (tally.own_blocks, tally.own_volumes),
        (tally.overlaps.blocks, tally.overlaps.volumes),
    ):
        assert (volumes == 50 * counted).all()
    assert tally.bounds.tolist() == [[-3, -2, -10], [47, 34, 190]]
    places = {tuple(place) for place in points.tolist()}
    assert {tuple(place) for place in tally.sample.tolist()} == places


def summary(path: Path, domains: Domains, **options: object) -> Summary:
    return label_file(path, domains, path.with_name("out.vti"), overwrite=True, **options)


_TIMES = ("seconds", "rows_per")


def fields(found: Summary) -> dict[str, object]:
    """Return what does not depend on the clock, and not on how volumes are rounded."""
    held = dataclasses.asdict(found)
    for part in (*held["domains"], held["background"], *held["overlaps"]):
        for name, value in part.items():
            part[name] = float(f"{value:.12g}") if isinstance(value, float) else value
    return {
        name: value for name, value in held.items() if not name.startswith(("seconds", "rows_"))
    }


@pytest.mark.parametrize("origin", [(-3.0, 0.3, -9.7), (0, 0, 0), (-101.5, -99, -1)])
@pytest.mark.parametrize("what", DOMAINS)
def test_files_say_what_they_say_of_blocks_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, origin: tuple
) -> None:
    pv = pytest.importorskip("pyvista")
    # Centres may be 0 or -99, which are warned of where they are far from others.
    grid = pv.ImageData(dimensions=(31, 11, 81), spacing=(5, 2.1, 2.5), origin=origin)
    grid.save(tmp_path / "a.vti")
    options = {"allow_disjoint": True, "codes": False, "flags": True, "uncertain": True}
    at_once = summary(tmp_path / "a.vti", DOMAINS[what], **options)
    labels = pv.read(tmp_path / "out.vti").cell_data
    monkeypatch.setattr(files, "label_whole", lambda *_, **__: None)
    one_by_one = summary(tmp_path / "a.vti", DOMAINS[what], **options)
    others = pv.read(tmp_path / "out.vti").cell_data
    assert fields(at_once) == fields(one_by_one)
    assert [*labels] == [*others] and len(labels) > 3
    for name in labels:
        assert (labels[name] == others[name]).all()


def answer(domains: Domains, cells: LatticeCells | None = None, **options: object) -> object:
    tally = Tally(domains.targets)
    labeller = Labeller(domains, LabelSettings(allow_open=True, **options))
    found = label_whole(cells or lattice(), labeller, tally)
    assert found is not None or not tally.rows
    return found


def test_what_bits_do_not_tell_is_asked_one_by_one() -> None:
    two = joined(box((0, 0, 0), (9, 9, 9)), box((2, 2, 2), (30, 30, 30)))
    assert answer(DOMAINS["a union"]) is not None
    for domain in (
        Domain("open", roofless()),
        Domain("of two bodies", two),
        Domain("by winding", cube(), rule="winding"),
        Domain("of a condition", cube(), only_if={"AU": "> 1"}),
        Domain("above", roofless(), kind="above"),
        Domain("near", cube(), kind="either", within=2),
    ):
        assert answer(Domains([domain])) is None
    assert answer(Domains(PLAIN, stacks=[Stack([roofless()], ["over", "under"])])) is None
    assert answer(DOMAINS["a union"], count_on_wall=True) is None
    assert answer(Domains([Domain(f"{n}", cube()) for n in range(300)])) is None


def test_a_new_key_of_a_domain_is_never_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bits answer the keys that are listed; a domain with another key is asked one by one."""
    domains = Domains([Domain("A", FIRST, invert=True)])
    assert answer(domains) is not None
    known = whole_lattice._ANSWERED - {"invert"}
    monkeypatch.setattr(whole_lattice, "_ANSWERED", known)
    assert answer(domains) is None
    assert answer(Domains(PLAIN)) is not None
    names = {entry.name for entry in dataclasses.fields(Domain)}
    assert known | {"invert", "only_if", "within", "beyond"} == names


def test_lattices_that_need_a_look_at_each_block() -> None:
    x, y, z = FACES
    assert even_lattice(lattice()) is not None
    uneven = np.append(x[:-1], x[-1] + 1e-6)
    with np.errstate(all="ignore"):
        uneven_ones = (
            (x[:8], y, z),
            (x[::-1], y, z),
            (uneven, y, z),
            (x * 0, y, z),
            (x, y, z * np.nan),
            (x * 1e308, y, z),
            (x * 1e200, y * 1e200, z),
            (x + 1e17, y, z),
        )
        for faces in uneven_ones:
            assert even_lattice(lattice(faces)) is None
    turned = LatticeCells("cells", FACES, (0, 0, 0), np.eye(3)[[1, 0, 2]])
    assert even_lattice(turned) is None
    assert answer(DOMAINS["a union"], LatticeCells("cells", FACES, order="zyx")) is None


def test_rounded_faces_are_even() -> None:
    faces = (7_480_000.1 + np.arange(2001) * 0.1, *FACES[1:])
    found = even_lattice(lattice(faces))
    assert found is not None
    assert found.volume == pytest.approx(0.1 * 4 * 2.5, rel=1e-9)
    assert len(found.sample(10_000)) == 10_000 and len(np.unique(found.sample(10_000)[:, 0])) > 1000


def test_a_mesh_of_more_triangles_than_cells_is_asked_about_points() -> None:
    cells = lattice(tuple(axis[:9] for axis in FACES))
    fine = cube()
    many = Mesh(fine.vertices, np.tile(fine.triangles, (51, 1)))
    assert answer(Domains([Domain("A", fine)]), cells) is not None
    assert answer(Domains([Domain("A", many)]), cells) is None


def test_cells_that_cannot_be_decided_are_left_to_the_index(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> None:
        message = "too small"
        raise PointError(message)

    monkeypatch.setattr(whole_lattice, "label_bits", refuse)
    assert answer(DOMAINS["a union"]) is None
