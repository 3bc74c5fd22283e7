"""Acceptance over real wireframes, kept beside the checkout; skipped where they are not."""

from __future__ import annotations

import csv
import warnings
from pathlib import Path

import numpy as np
import pytest
from shapes import odd_on_purpose

import geodomain
from geodomain import GeodomainWarning, Mesh, read_mesh
from geodomain.formats.mesh_text import merge_equal
from geodomain.mesh.check import check

CORPUS = {
    "cubefold": "corpus/cubefold.ply",
    "slivertet": "corpus/slivertet.ply",
    "plateholes": "corpus/plateholes.STL",
    "traybottom": "corpus/traybottom.STL",
    "crayleft": "corpus/crayleft.obj",
    "legocar": "corpus/legocar.obj",
    "dom1": "demo1/dom1.vtp",
    "capsule": "corpus/capsule.obj",
    "offset1": "corpus/offset1.obj",
    "mpz": "babbitt/Mpz.stl",
}

COUNTS = ("boundary_edges", "nonmanifold_edges", "unbalanced_edges", "degenerate", "zero_area")
COUNTS += ("dup_faces", "shells", "euler")


def manifest(folder: Path) -> dict[str, dict[str, str]]:
    """Return what is known of each mesh of the corpus, by its name."""
    with (folder / "corpus" / "manifest.tsv").open(encoding="utf-8") as file:
        return {row["name"]: row for row in csv.DictReader(file, delimiter="\t")}


@pytest.mark.parametrize("name", CORPUS)
def test_the_corpus_has_the_counts_of_its_manifest(shared_data, name):
    known, path = manifest(shared_data)[name], shared_data / CORPUS[name]
    if name == "mpz":
        with pytest.warns(GeodomainWarning, match=r"only accurate to 0\.25"):
            mesh = read_mesh(path)
    else:
        mesh = read_mesh(path)
    assert len(mesh.triangles) == int(known["n_tri"])
    corners = mesh.vertices[mesh.triangles]
    distinct, _ = merge_equal(corners.reshape(-1, 3))
    assert len(distinct) == int(known["n_vert"])
    volume = np.einsum("ti,ti->t", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])).sum() / 6
    assert volume == pytest.approx(float(known["signed_volume"]), rel=1e-4, abs=1e-12)


@pytest.mark.parametrize(
    ("path", "triangles"),
    [("babbitt/Mpt.stl", 28106), ("babbitt/domain.stl", 31948)],
)
def test_the_babbitt_deposit(shared_data, path, triangles):
    with pytest.warns(GeodomainWarning, match="single precision"):
        mesh = read_mesh(shared_data / path)
    assert len(mesh.triangles) == triangles
    assert np.array_equal(mesh.vertices, mesh.vertices.astype(np.float32))


def test_obj_agrees_with_another_reader(shared_data):
    trimesh = pytest.importorskip("trimesh")
    for path in [shared_data / "bunny/bunny.obj", shared_data / "corpus/crayleft.obj"]:
        theirs = trimesh.load(path, process=False, force="mesh", maintain_order=True)
        ours = read_mesh(path)
        assert np.array_equal(ours.vertices[ours.triangles], theirs.vertices[theirs.faces])


def read_reference(path: Path) -> Mesh:
    """Read a mesh without the package's own readers, in float64 as the file has it."""
    if path.suffix == ".obj":
        lines = [line.split() for line in path.read_text().splitlines()]
        vertices = [line[1:4] for line in lines if line[:1] == ["v"]]
        faces = [[int(word.split("/")[0]) for word in w[1:]] for w in lines if w[:1] == ["f"]]
        # A negative index counts from the end, and here all vertices come first.
        faces = [[i - 1 if i > 0 else i + len(vertices) for i in face] for face in faces]
        fans = [(f[0], f[i], f[i + 1]) for f in faces for i in range(1, len(f) - 1)]
        return Mesh(np.array(vertices, dtype=float), fans)
    if path.suffix == ".ply" and b"format ascii" in path.read_bytes():
        head, _, body = path.read_text().partition("end_header\n")
        count = int(head.split("element vertex")[1].split()[0])
        rows = [line.split() for line in body.splitlines()]
        points = np.array([row[:3] for row in rows[:count]], dtype=float)
        return Mesh(points, np.array([row[1:4] for row in rows[count:] if row], dtype=int))
    surface = pytest.importorskip("pyvista").read(path)
    return Mesh(surface.points, surface.regular_faces)


@pytest.mark.parametrize("name", CORPUS)
def test_counts_equal_the_manifest(name, shared_data):
    known = manifest(shared_data)[name]
    report = check(read_reference(shared_data / CORPUS[name]))
    assert {c: getattr(report, c) for c in COUNTS} == {c: int(known[c]) for c in COUNTS}
    assert f"{report.signed_volume:.6g}" == f"{float(known['signed_volume']):.6g}"
    assert report.triangles == int(known["n_tri"])
    assert report.vertices == int(known["n_vert"])
    assert report.closed == (known["closed_even"] == "True")
    diagonal = np.linalg.norm(report.bounds[1] - report.bounds[0])
    assert diagonal == pytest.approx(float(known["bbox_diag"]), rel=1e-5)


@odd_on_purpose
@pytest.mark.parametrize("name", CORPUS)
def test_reference_meshes(name: str, shared_data, backend: str) -> None:
    row = manifest(shared_data)[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", geodomain.GeodomainWarning)  # single precision, far away
        mesh = geodomain.read_mesh(shared_data / CORPUS[name])
    truth = np.load(shared_data / "corpus" / f"{name}.truth.npz")
    locator = geodomain.PointLocator(mesh, allow_open=row["closed_even"] != "True", backend=backend)
    valid = truth["valid"]
    assert np.array_equal(locator.contains(truth["points"])[valid], truth["inside"][valid])
    crossings = locator.count_crossings(truth["points"])
    assert np.array_equal((crossings % 2 == 1)[valid], truth["inside"][valid])
    if mesh.is_balanced:
        assert np.array_equal(locator.winding_numbers(truth["points"])[valid], truth["wn"][valid])
    off = truth["hard_valid"] & ~truth["hard_on"]
    assert off.sum() > 100
    labels = locator.contains(truth["hard_points"])
    assert np.array_equal(labels[off], truth["hard_inside"][off])
    assert np.array_equal(locator.on_surface(truth["hard_points"]), truth["hard_on"])
